"""Transforms: `DRIVER|spirv-opt:-O` is a driver that gets modules after an optimiser has changed them.

What stands before the colon names a transform in the group `cts.transforms` of `cts.plugins.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np

from cts.base.errors import BadInput, described
from cts.device import driver as drivers
from cts.device.capabilities import Capabilities
from cts.device.job import ModuleJob
from cts.spirv.subprocess_tools import NOT_VALIDATED, find_program, validate_apart

if TYPE_CHECKING:
    from cts.case.model import Case


class TransformFailed(Exception):
    """There is no other module; `status` says whether a tool cannot make one, crashed or hung.

    `code` is what kind of failure of a tool it is, which stays the same when a case is made smaller.
    """

    def __init__(self, status: drivers.Status, what: str, code: str = "") -> None:
        super().__init__(what)
        self.status = status
        self.code = code

    @property
    def outcome(self) -> drivers.Outcome:
        """What a driver says whose module there is not."""
        what = str(self)
        return drivers.Outcome(self.status, detail=what, fault=drivers.Fault(self.code, what) if self.code else None)


@dataclass(frozen=True)
class Origin:
    """Where a module comes from: a case, and the size of the subgroups that it is lowered for."""

    case: Case
    subgroup_size: int


@runtime_checkable
class Transform(Protocol):
    """Makes another module of a module."""

    @property
    def text(self) -> str:
        """How it was asked for."""
        ...

    def job(self, job: ModuleJob, origin: Origin | None = None) -> ModuleJob:
        """The same dispatch of the other module, which may have its buffers elsewhere. Raises TransformFailed.

        `origin` is None where the module comes from elsewhere than from a case.
        """
        ...


#: Builds a transform from how it was asked for as a whole, and from what stands behind the first colon. Raises
#: BadInput, and HarnessTrouble where a program is not there.
TransformFactory: TypeAlias = Callable[[str, str], Transform]


@runtime_checkable
class ToolTransform(Transform, Protocol):
    """Optional: a transform by a program."""

    def version(self) -> str:
        """The program with its version: "SPIRV-Tools v2026.4"."""
        ...


@runtime_checkable
class CaseTransform(Transform, Protocol):
    """Optional: a transform that takes a module's origin in place of the module, so that none can come before it."""

    #: How a message says what it does.
    takes_cases: str


@runtime_checkable
class ListedTransform(Transform, Protocol):
    """Optional: a transform that does several things one after the other, so that fewer of them can be tried."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What it does, one after the other."""
        ...

    def with_parts(self, parts: Sequence[str]) -> ListedTransform:
        """One that does these things."""
        ...

    def expanded(self) -> ListedTransform:
        """One that does the same with more parts, where some of them stand for several; or itself."""
        ...


@runtime_checkable
class PipelineTransform(Transform, Protocol):
    """Optional: a transform that may also change how a device makes and submits a pipeline."""

    @property
    def pipelines(self) -> str:
        """What only drivers know that make pipelines, "" for nothing."""
        ...

    def on(self, driver: drivers.ModuleDriver) -> Transform:
        """The same for what the driver's device can do."""
        ...


@runtime_checkable
class DrawnTransform(Transform, Protocol):
    """Optional: a transform that does something else to each module."""

    def settled(self, job: ModuleJob) -> Transform:
        """What it does to this module, whatever the module."""
        ...


def parse(text: str) -> Transform:
    """A transform such as `spirv-opt:FLAGS` or `form:NAME+NAME:SEED`. Raises BadInput and HarnessTrouble."""
    from cts.plugins import registry

    name, _, rest = text.partition(":")
    if name not in registry.names("cts.transforms"):
        raise not_a_transform(text)
    return registry.transform_factory(name)(text, rest)


def not_a_transform(text: str) -> BadInput:
    """What to say of a text that names no transform."""
    right = "for example spirv-opt:-O, form:drawn, or glslang"
    return BadInput("transform", f"{text!r} is not a transform", f"--transform {text}", right)


def check_order(spec: str, transforms: Sequence[Transform]) -> None:
    """Raise BadInput where a transform that takes cases comes after another one."""
    for transform in transforms[1:]:
        if isinstance(transform, CaseTransform):
            what = f"{transform.text} {transform.takes_cases}, so no other transform can come before it"
            raise BadInput("transform", what, spec, f"|{transform.text} before the others")


def runs_no_modules(driver: str, text: str) -> BadInput:
    """What to say of a transform of a driver that takes cases alone."""
    what = f"driver {driver!r} runs no modules, so there is nothing to transform"
    return BadInput("transform", what, f"{driver}|{text}", "interpreter, vulkan or another module driver")


def makes_no_pipelines(driver: str, transform: PipelineTransform) -> BadInput:
    """What to say of a form of pipelines on a driver that has none."""
    what = f"driver {driver!r} makes no pipelines, so that {transform.pipelines!r} changes nothing"
    return BadInput("transform", what, f"{driver}|{transform.text}", "vulkan or another driver that makes pipelines")


@dataclass(frozen=True)
class _Ready:
    """A job with its module transformed, and the dispatch before and after."""

    job: drivers.Job
    before: ModuleJob
    after: ModuleJob


class Transformed:
    """A driver that gets modules after transforms, the first of which is applied first.

    What it is compared with is the same as for the driver itself.
    """

    def __init__(self, driver: drivers.Driver, transforms: Sequence[Transform]) -> None:
        if not isinstance(driver, drivers.ModuleDriver):
            raise runs_no_modules(driver.name, "|".join(t.text for t in transforms))
        for transform in transforms:
            if (
                isinstance(transform, PipelineTransform)
                and transform.pipelines
                and not isinstance(driver, drivers.PipelineDriver)
            ):
                raise makes_no_pipelines(driver.name, transform)
        self._driver: drivers.ModuleDriver = driver
        self.transforms = tuple(t.on(driver) if isinstance(t, PipelineTransform) else t for t in transforms)
        self.name = driver.name + self.suffix
        check_order(self.name, self.transforms)

    @property
    def own_process(self) -> bool:
        """Whether the driver is in a process of its own."""
        return isinstance(self._driver, drivers.SeparateDriver) and self._driver.own_process

    @property
    def restarts(self) -> int:
        """How often that process was started again."""
        return self._driver.restarts if isinstance(self._driver, drivers.SeparateDriver) else 0

    @property
    def only_makes(self) -> bool:
        """Whether it makes pipelines and runs none."""
        return isinstance(self._driver, drivers.CompilingDriver) and self._driver.only_makes

    @property
    def suffix(self) -> str:
        """The transforms as the end of a spec string."""
        return "".join(f"|{transform.text}" for transform in self.transforms)

    def with_transforms(self, transforms: Sequence[Transform]) -> Transformed:
        """The same driver, which either closes, with these transforms."""
        return Transformed(self._driver, transforms)

    def settled(self, job: drivers.Job) -> Transformed:
        """The same with what its transforms do to this job's module. Raises TransformFailed."""
        settled: list[Transform] = []
        module, origin = job.module(), self._origin(job)
        for transform in self.transforms:
            settled.append(transform.settled(module) if isinstance(transform, DrawnTransform) else transform)
            if any(isinstance(later, DrawnTransform) for later in self.transforms[len(settled) :]):
                module = settled[-1].job(module, origin)
        return self.with_transforms(settled)

    def capabilities(self) -> Capabilities:
        return self._driver.capabilities()

    def identity(self) -> str:
        """The driver's, and the transforms as they were asked for, with the versions of their programs."""
        own = self._driver.identity() if isinstance(self._driver, drivers.NamedDriver) else self._driver.name
        return ", ".join((own, *map(_described, self.transforms)))

    def run(self, job: drivers.Job) -> drivers.Outcome:
        return next(self.run_many([job]))

    def run_many(self, jobs: Iterable[drivers.Job]) -> Iterator[drivers.Outcome]:
        """The outcome of each job, in order; jobs whose modules cannot be transformed never reach the driver."""
        prepared = [self._prepared(job) for job in jobs]
        runnable = [ready.job for ready in prepared if isinstance(ready, _Ready)]
        if isinstance(self._driver, drivers.BatchDriver):
            outcomes = self._driver.run_many(runnable)
        else:
            outcomes = (self._driver.run(job) for job in runnable)
        for ready in prepared:
            yield (
                ready if isinstance(ready, drivers.Outcome) else self._blamed(next(outcomes), ready.before, ready.after)
            )

    def run_module(self, job: ModuleJob) -> drivers.Outcome:
        try:
            changed = self._changed(job, None)
        except TransformFailed as e:
            return e.outcome
        return self._blamed(self._driver.run_module(changed), job, changed)

    def close(self) -> None:
        self._driver.close()

    def _origin(self, job: drivers.Job) -> Origin:
        return Origin(job.case, self.capabilities().subgroup_size)

    def _changed(self, job: ModuleJob, origin: Origin | None) -> ModuleJob:
        for transform in self.transforms:
            try:
                job = transform.job(job, origin)
            except TransformFailed:
                raise
            except Exception as e:
                what = f"the transform {transform.text} raises {described(e)}"
                raise TransformFailed(drivers.Status.ERROR, what) from e
        return job

    def _prepared(self, job: drivers.Job) -> _Ready | drivers.Outcome:
        """The job with its module transformed, or the outcome of a failed transform, or of a case without a module."""
        try:
            module = job.module()
            changed = self._changed(module, self._origin(job))
        except TransformFailed as e:
            return e.outcome
        except Exception as e:  # noqa: BLE001 - it belongs to this case alone
            return drivers.Outcome(drivers.Status.ERROR, detail=described(e))
        return _Ready(replace(job, module=lambda: changed), module, changed)

    def _blamed(self, outcome: drivers.Outcome, before: ModuleJob, after: ModuleJob) -> drivers.Outcome:
        """The outcome; where a driver rejects what the transforms made invalid, that is their failure."""
        if outcome.only_made:
            return outcome
        if outcome.status is drivers.Status.DONE:
            return _with_the_buffers_of(before, outcome, after)
        if outcome.status is drivers.Status.UNSUPPORTED:
            return outcome
        if (
            outcome.status is drivers.Status.ERROR
            and outcome.fault is not None
            and outcome.fault.code in drivers.UNDEFINED
        ):
            what = f"undefined behaviour after {self.suffix.removeprefix('|')}: {outcome.detail}"
            return replace(outcome, status=drivers.Status.CRASH, detail=what)
        if find_program("spirv-val") is None:
            return replace(outcome, detail=f"{outcome.detail}\n{NOT_VALIDATED}")
        message = validate_apart(after.words)
        if not message or validate_apart(before.words):
            return outcome
        what = f"{self.suffix.removeprefix('|')} made an invalid module: {message}"
        return replace(outcome, status=drivers.Status.CRASH, detail=f"{what}\n{outcome.detail}")


def _described(transform: Transform) -> str:
    version = transform.version() if isinstance(transform, ToolTransform) else ""
    return f"{transform.text} ({version})" if version else transform.text


def _with_the_buffers_of(job: ModuleJob, outcome: drivers.Outcome, after: ModuleJob) -> drivers.Outcome:
    """An outcome without the buffers that a transform has added, to which nothing may have been written."""
    memory = dict(outcome.memory)
    for name in after.buffers.keys() - job.buffers.keys():
        changed = np.flatnonzero(memory.pop(name, after.buffers[name].data) != after.buffers[name].data)
        if changed.size:
            what = f"a store out of bounds changed the buffer {name!r} of the form, first at byte {changed[0]}"
            return replace(outcome, status=drivers.Status.CRASH, memory={}, detail=what)
    return replace(outcome, memory=memory)
