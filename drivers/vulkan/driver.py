"""The vulkan driver: cases and modules on a real implementation, which lives in a worker process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from cts.base.errors import HarnessTrouble
from cts.case.model import Case
from cts.case.stages import Stage
from cts.device.capabilities import Capabilities
from cts.device.driver import Fault, Job, Outcome, Status, SweepJob
from cts.device.job import Making, ModuleJob, Submitting
from cts.device.trials import Trial, Tried
from cts.drivers.vulkan import batches, capabilities, descriptors, module, pipelining, report, stages, support
from cts.drivers.vulkan.features import widened
from cts.drivers.vulkan.journal import Journal
from cts.drivers.vulkan.options import DEFAULT_TIMEOUT, Options
from cts.drivers.vulkan.pool import give_back, shared
from cts.drivers.vulkan.session import Limits, Loss, Result
from cts.drivers.vulkan.start import Opening, Trials, ask_device
from cts.drivers.vulkan.worker import protocol
from cts.drivers.vulkan.worker.tables import CONVERSIONS

#: Ends of a submission that are those of each of its parameter sets: they have one pipeline.
_OF_ALL = (Status.UNSUPPORTED, Status.SET_ASIDE)

#: VK_SHADER_STAGE_COMPUTE_BIT.
_COMPUTE = 0x20


class Machine(Protocol):
    """What runs compiled code in place of a device."""

    def execute(
        self, run: protocol.Run, made: protocol.Done, make: Callable[[protocol.Run], Result]
    ) -> protocol.Done | Loss:
        """The result of a run, from the listing of its pipeline; `make` makes those of other runs."""


class VulkanDriver:
    """Runs modules on one Vulkan device. Raises HarnessTrouble or BadInput where there is no such device.

    With a `machine` the device compiles alone, and the machine runs what it made.
    """

    name = "vulkan"

    #: What a device does ends a worker, and not the suite.
    own_process = True

    def subgroup_sizes(self) -> tuple[int, ...]:
        """The sizes that a pipeline can require (VK-026), or the device's where it has one."""
        limits = support.Limits.from_description(self.description)
        v13 = self.description.properties["VkPhysicalDeviceVulkan13Properties"]
        stages = v13.get("requiredSubgroupSizeStages", 0)
        controls = bool(self.description.features.get("subgroupSizeControl"))
        if not (controls and isinstance(stages, int) and stages & _COMPUTE):
            return (limits.subgroup_size,)
        return tuple(n for n in (1 << i for i in range(8)) if limits.smallest_subgroup <= n <= limits.largest_subgroup)

    @property
    def only_makes(self) -> bool:
        """Whether pipelines are made and none is run."""
        return self._options.judge == "pipeline"

    def __init__(self, options: Options, machine: Machine | None = None) -> None:
        self._options = options
        self._machine = machine
        self._opening = Opening(
            options.worker, options.device, options.hello, options.open, options.start_timeout, options.limit
        )
        # With validation on, messages can be assigned to a run only if one run is in flight at a time.
        window = 1 if options.layered else 2 * options.threads_of_worker
        grace = min(5.0, max(1.0, options.timeout or DEFAULT_TIMEOUT))
        self.pool = shared(self._opening, window, Limits(options.pipeline_timeout, grace), options.processes)
        self._journal = Journal(options.journal)
        self._batches: dict[int, tuple[protocol.Run, list[batches.Item]]] = {}
        self._closed = False

    @property
    def restarts(self) -> int:
        """How often a worker was started again."""
        return self.pool.restarts

    @property
    def description(self) -> protocol.Description:
        """Everything the device reports."""
        return self.pool.description

    def capabilities(self) -> Capabilities:
        options = self._options
        return capabilities.capabilities(
            self.description,
            options.subgroup_size,
            unlisted=options.tries,
            large_buffers=options.large_buffers,
            stage=options.stage,
        )

    def identity(self) -> str:
        """Device, driver and version in one line."""
        device = self.description.device
        return f"{device.name}, {device.driver}"

    def report(self) -> list[tuple[str, str]]:
        """Everything worth showing of the device, by name."""
        return report.table(self.description)

    def stages(self) -> dict[str, str]:
        """The stages that the device lists for cooperative vectors; why it cannot be driven in one, "" where it can."""
        listed = stages.listed(self.description)
        return {stage.value: "; ".join(stages.undrivable(self.description, stage)) for stage in listed}

    def answers(self) -> dict[str, Any]:
        """What the device answers to every query, as docs/device-queries.md describes; asked in a worker of its own."""
        return ask_device(self._opening, self.description.device.uuid)

    def lacks_conversions(self) -> str:
        """Why trials cannot run: a feature without which the device has no conversions."""
        if self._options.layered:
            return "with validation=yes the layer keeps a call from the device that trials make on purpose (LC-009)"
        lacking = sorted(name for name in CONVERSIONS if not self.description.features.get(name))
        extension = "VK_NV_cooperative_vector"
        if extension not in self.description.extensions:
            return f"the device does not list the extension {extension}"
        return f"the device does not support {', '.join(lacking)}" if lacking else ""

    def convert(self, trials: Iterable[Trial]) -> Iterator[Tried]:
        """What comes of calls that convert matrices, in a worker of their own. Raises HarnessTrouble."""
        worker = Trials(self._opening, self.description.device.uuid)
        try:
            for trial in trials:
                yield worker.run(trial)
        finally:
            worker.close()

    def run(self, job: Job) -> Outcome:
        return next(self.run_many([job]))

    def run_module(self, job: ModuleJob) -> Outcome:
        """Run a module that comes from no case."""
        return next(self.run_modules([job]))

    def run_many(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """The outcome of each job, in order, with several in flight: much faster than one by one.

        Neighbours that differ in memory and push constants only share one submission.
        """
        return self._run(self._items((job.case, job) for job in jobs))

    def run_modules(self, jobs: Iterable[ModuleJob]) -> Iterator[Outcome]:
        """Like `run_many`, for modules."""
        return self._run(self._items((None, job) for job in jobs))

    def run_sweeps(self, jobs: Iterable[SweepJob]) -> Iterator[Outcome]:
        """Like `run_many`, each job one dispatch of its own."""
        return self._run(self._items((job.sweep.template, job) for job in jobs))

    def lacks_for(self, making: Making, submitting: Submitting) -> str:
        """Why the device cannot make and submit pipelines in these ways; "" where it can."""
        return "; ".join(pipelining.missing(self.description, making, submitting))

    def lacks_module(self, job: ModuleJob) -> str:
        """What the device lacks for a module; "" where it can run it."""
        refused = self._examine(batches.Item(self.pool.number(), None, job))
        return refused.detail if refused is not None and refused.status is Status.UNSUPPORTED else ""

    def layer(self) -> str:
        """The validation layer, its version and the device, in one line; "" where none is loaded."""
        layer = self.description.layer
        return f"{layer} on {self.description.device.name}" if layer else ""

    def judge_module(self, words: npt.NDArray[np.uint32], job: ModuleJob) -> tuple[Status, str]:
        """The validation layer's messages on a pipeline of the words, with the features that the job's own module
        needs.

        Nothing is dispatched. A refusal by Vulkan itself counts like a message of the layer.
        """
        item = batches.Item(self.pool.number(), None, job)
        refused = self._examine(item)
        if refused is not None:
            return refused.status, refused.detail
        assert item.support is not None
        run = batches.request(item.number, [item], item.support, self._timeout(job), frozenset())
        self.pool.submit(msgspec.structs.replace(run, module=words.tobytes(), only_pipeline=True))
        result = self.pool.result_of(item.number)
        rejected = "\n".join(m for m in result.messages if m.startswith("error"))
        if isinstance(result, Loss) and not rejected and not result.refused:
            return result.status, result.what
        return Status.DONE, rejected or (result.what if isinstance(result, Loss) else "")

    def compiled(self, job: ModuleJob) -> dict[str, str]:
        """The compiler's texts about the module's pipeline (VK_KHR_pipeline_executable_properties); nothing is run."""
        item = batches.Item(self.pool.number(), None, job)
        if not self.description.features.get("pipelineExecutableInfo") or job.staged or self._examine(item) is not None:
            return {}
        assert item.support is not None
        run = batches.request(item.number, [item], item.support, self._timeout(job), frozenset())
        made = self._made(batches.with_listing(run))
        return made.listing if isinstance(made, protocol.Done) else {}

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            give_back(self.pool)
            self._journal.close()

    def _items(self, jobs: Iterable[tuple[Case | None, Job | SweepJob | ModuleJob]]) -> Iterator[batches.Item]:
        for case, job in jobs:
            number = self.pool.number()
            try:
                made = job if isinstance(job, ModuleJob) else job.module()
                patience = job.patience if isinstance(job, Job) else None
                yield batches.Item(number, case, made, patience=patience)
            except HarnessTrouble as e:
                nothing = ModuleJob(np.zeros(0, np.uint32), (1, 1, 1), {}, {})
                yield batches.Item(number, case, nothing, outcome=Outcome(Status.ERROR, detail=str(e)))

    def _run(self, items: Iterator[batches.Item]) -> Iterator[Outcome]:
        """Outcomes in order. `queue` holds every item whose outcome has not been handed out."""
        queue: deque[batches.Item] = deque()
        batch: list[batches.Item] = []
        for item in items:
            queue.append(item)
            if item.outcome is None:
                item.outcome = self._examine(item)
            if item.outcome is None:
                if batch and not batches.shares(batch, item):
                    self._submit(batch)
                    batch = []
                batch.append(item)
            while len(self._batches) > self.pool.window:
                self._collect()
            while queue and queue[0].outcome is not None:
                yield self._finished(queue.popleft())
        if batch:
            self._submit(batch)
        while queue:
            while queue[0].outcome is None:
                self._collect()
            yield self._finished(queue.popleft())

    def _examine(self, item: batches.Item) -> Outcome | None:
        """Why an item cannot be run here, or None."""
        stage = Stage.COMPUTE if item.job.staged is None else item.job.staged.stage
        if stage is not self._options.stage and self._options.stage is not Stage.COMPUTE:
            what = (
                f"this is a module for {stage.value} shaders, and cannot be run with stage={self._options.stage.value}"
            )
            return Outcome(Status.UNSUPPORTED, detail=what)
        try:
            facts = module.facts(item.job.words, item.job.entry, item.job.spec_constants)
        except module.Unjudged as e:
            return Outcome(Status.UNSUPPORTED, detail=f"the module cannot be matched with the device: {e}")
        except module.Unreadable as e:
            what = f"the module cannot be matched with the device: {e}"
            return Outcome(Status.ERROR, detail=what, fault=Fault("malformed", what))
        examined = item.support = support.examine(self.description, facts, item.job)
        if examined.stops and self._options.tries:
            return Outcome(Status.UNSUPPORTED, detail="cannot be tried: " + "; ".join(examined.stops))
        if examined.missing and not self._options.tries:
            lacking = tuple(examined.missing)
            return Outcome(Status.UNSUPPORTED, detail="missing: " + "; ".join(lacking), lacking=lacking)
        if examined.misuse:
            return Outcome(Status.ERROR, detail=examined.misuse, fault=Fault("misuse", examined.misuse))
        if item.job.staged is not None and (item.job.making, item.job.submitting) != (batches.PLAIN, Submitting()):
            return Outcome(Status.UNSUPPORTED, detail="forms of pipelines are those of compute shaders")
        item.making = pipelining.fitted(item.job.making, self.description, facts, examined.subgroup_size)
        lacks = self.lacks_for(item.making, item.job.submitting)
        return Outcome(Status.UNSUPPORTED, detail=f"missing: {lacks}") if lacks else None

    def _submit(self, batch: list[batches.Item]) -> None:
        for item in batch:
            self._journal.begin(item.number, item.case, item.job)
        first = batch[0]
        assert first.support is not None
        dynamic: batches.Places = frozenset()
        if self._options.offsets == "dynamic":
            limits = self.description.properties["VkPhysicalDeviceLimits"]
            dynamic = descriptors.dynamic(first.support.descriptors, limits)
        run = batches.request(first.number, batch, first.support, self._timeout(first.job), dynamic)
        if self._options.all_features:
            enabled = widened(frozenset(run.features), self.description.features)
            run = msgspec.structs.replace(run, features=tuple(sorted(enabled)))
        if self.only_makes:
            counted = bool(self.description.features.get("pipelineExecutableInfo")) and run.staged is None
            features = (*run.features, "pipelineExecutableInfo") if counted else run.features
            features = tuple(sorted(set(features)))
            run = msgspec.structs.replace(run, only_pipeline=True, statistics=counted, features=features)
        if self._machine is not None:
            run = batches.with_listing(run)
        self._batches[run.id] = run, batch
        self.pool.submit(run, first.patience)

    def _timeout(self, job: ModuleJob) -> float:
        """Seconds that a dispatch may take: the driver's option overrides the job."""
        return self._options.timeout or job.timeout or DEFAULT_TIMEOUT

    def _collect(self) -> None:
        """Take the oldest result and give its items their outcomes."""
        number = next(iter(self._batches))
        result = self.pool.result_of(number)
        run, batch = self._batches.pop(number)
        if self._machine is not None and isinstance(result, protocol.Done):
            result = self._machine.execute(run, result, self._made)
        if isinstance(result, Loss) and result.status not in _OF_ALL and len(batch) > 1:
            lost = batches.LostBatch(result, len(batch))
            for item in batch:
                item.lost = lost
                self._submit([item])
            return
        for index, item in enumerate(batch):
            assert item.support is not None
            result = item.lost.settle(result) if item.lost else result
            made = batches.outcome_of_making(result, self._options.limit) if self.only_makes else None
            item.outcome = replace(made or batches.outcome_of(item, index, result), unlisted=item.support.missing)
            self._journal.end(item.number, item.outcome.status)

    def _made(self, run: protocol.Run) -> Result:
        """What comes of making the pipeline of a run, with a number of its own."""
        run = msgspec.structs.replace(run, id=self.pool.number())
        self.pool.submit(run)
        return self.pool.result_of(run.id)

    def _finished(self, item: batches.Item) -> Outcome:
        assert item.outcome is not None
        self._journal.keep(item.outcome, item.case, item.job)
        return item.outcome
