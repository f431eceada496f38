"""The driver interface: anything that can run a case.

`Driver` and `DriverFactory` are all that a driver needs. The other protocols are options, each of them found by its
one method or attribute: no driver inherits anything. See docs/your-own-driver.md for a driver of 60 lines in a package
of its own.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

# For type checkers only: module drivers must not depend on the case model (see ARCHITECTURE.md), and completion of a
# command line needs the protocols, but no NumPy.
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from msgspec import Struct

    from cts.case.model import Case
    from cts.case.model.sweep import Sweep
    from cts.device.capabilities import Capabilities
    from cts.device.job import Making, ModuleJob, Submitting
    from cts.device.trials import Trial, Tried


#: An environment variable that is set in the processes of a run, so that a driver starts no further processes for a
#: device's cores.
IN_PROCESSES = "CTS_PROCESSES"

#: What stands before the things that were tried though unlisted.
TRIED = "tried although the device does not list it"


#: Codes of faults that are findings about the module, like a difference: its behaviour is undefined.
UNDEFINED = frozenset({"misuse", "race", "uninitialised"})


class Status(enum.Enum):
    """How a run on a driver ended; whether the result is right is not the driver's to say. SET_ASIDE: see `Job`."""

    DONE = "done"
    CRASH = "crash"
    TIMEOUT = "timeout"
    DEVICE_LOST = "device-lost"
    UNSUPPORTED = "unsupported"
    ERROR = "error"
    SET_ASIDE = "set-aside"


@dataclass(frozen=True)
class Fault:
    """The end of a run, for programs: `code` is one of few words, `where` the instruction if it is known.

    `beyond` is a memory, such as "buffer 'b'", and the bytes of an access outside it; None if unknown.
    """

    code: str
    what: str
    where: str = ""
    beyond: tuple[str, int] | None = None


@dataclass(frozen=True)
class Outcome:
    """What a driver hands back.

    `memory` holds every buffer of the job after the run, guard bytes included (dtype uint8), when `status` is DONE, and
    `detail` remarks if there are any; otherwise `detail` says what happened. `matrices` are intermediate results by id,
    shaped as an `Expectation`'s, from drivers that look inside. `fault` is `detail` as fields, from drivers that know
    more than a text, and `trace` the lines that they were asked to record. `unlisted` are unlisted features that were
    tried on request. `only_made`: pipelines were made and none ran, so `memory` is empty. `statistics` are the
    compiler's numbers for the module by name, `idle` the loops that no invocation went through, and `lacking` all that
    an unsupported run lacks, from drivers that know. `seconds` are the device's, by phase; without any, the caller's.
    """

    status: Status
    memory: dict[str, npt.NDArray[np.uint8]] = field(default_factory=dict)
    detail: str = ""
    matrices: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    fault: Fault | None = None
    trace: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    only_made: bool = False
    statistics: Mapping[str, float] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def remarks(self) -> str:
        """`detail`, after what was tried although it is `unlisted`."""
        tried = f"{TRIED}: {'; '.join(self.unlisted)}" if self.unlisted else ""
        return "\n".join(filter(None, (tried, self.detail)))


@dataclass(frozen=True)
class Job:
    """One case for one driver. `memory` is every buffer before the run, guard bytes included.

    A driver that runs SPIR-V calls `module()`, which lowers the case for the subgroup size of the driver's
    capabilities. After `patience` seconds it may give up with SET_ASIDE: the case comes again at the end of the run.
    """

    case: Case
    memory: dict[str, npt.NDArray[np.uint8]]
    module: Callable[[], ModuleJob]
    patience: float | None = None


@dataclass(frozen=True)
class SweepJob:
    """A sweep for one driver: all its parameter sets, none of which breaks a rule, in one dispatch.

    Memory and `module()` are as in a `Job`, with a window of buffers in `sweep.windows` and workgroups for each set.
    """

    sweep: Sweep
    memory: dict[str, npt.NDArray[np.uint8]]
    module: Callable[[], ModuleJob]


@dataclass(frozen=True)
class Described:
    """A named choice that a driver offers: an emulator's variant or mutant."""

    name: str
    area: str
    description: str


class Driver(Protocol):
    """Runs cases. Constructed by the factory registered under entry point group `cts.drivers`."""

    name: str

    def capabilities(self) -> Capabilities: ...

    def run(self, job: Job) -> Outcome:
        """Run one case. Must not raise for anything the case or the device does."""
        ...

    def close(self) -> None:
        """Give back what the driver holds."""


@runtime_checkable
class BatchDriver(Driver, Protocol):
    """Optional: a driver that is faster when it knows what comes next."""

    def run_many(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """The outcome of each job, in order, several in flight. As `run`, it must not raise."""
        ...


@runtime_checkable
class SeparateDriver(Driver, Protocol):
    """Optional: a driver that runs cases in a separate process, and notices if that process ends."""

    @property
    def own_process(self) -> bool:
        """Whether they do; a driver that transforms modules for another one has what that one has."""
        ...

    @property
    def restarts(self) -> int:
        """How often that process was started again."""
        ...


@runtime_checkable
class CompilingDriver(Driver, Protocol):
    """Optional: a driver that can be asked to make pipelines and to run none, see `Outcome.only_made`."""

    @property
    def only_makes(self) -> bool:
        """Whether that was asked for; a driver that transforms modules for another one has what that one has."""
        ...


@runtime_checkable
class SizedDriver(Driver, Protocol):
    """Optional: a driver whose option `subgroup_size` is one of several sizes, see `--vary subgroup-sizes`."""

    def subgroup_sizes(self) -> tuple[int, ...]:
        """The sizes that can be asked for, the driver's own among them."""
        ...


@runtime_checkable
class NamedDriver(Driver, Protocol):
    """Optional: a driver that knows what is behind it."""

    def identity(self) -> str:
        """Device, driver and version in one line, for a quarantine's globs: "NVIDIA H200, NVIDIA 580.159.04"."""
        ...


@runtime_checkable
class ModuleDriver(Driver, Protocol):
    """Optional: a driver that runs any SPIR-V compute module, whether it comes from a case or not."""

    def run_module(self, job: ModuleJob) -> Outcome:
        """Run one dispatch. As `run`, it must not raise."""
        ...


@runtime_checkable
class ListingDriver(ModuleDriver, Protocol):
    """Optional: a driver whose compiler hands out what it makes of a module."""

    def compiled(self, job: ModuleJob) -> dict[str, str]:
        """Its texts by their names, such as machine code; none where there are none. As `run`, it must not raise."""
        ...


@runtime_checkable
class PipelineDriver(ModuleDriver, Protocol):
    """Optional: a driver that makes and submits pipelines, in the ways that a job asks for."""

    def lacks_for(self, making: Making, submitting: Submitting) -> str:
        """Why the device cannot make a pipeline, or submit it, in these ways; "" where it can."""
        ...


@runtime_checkable
class ModuleJudge(Driver, Protocol):
    """Optional: a driver whose validation layer accepts or rejects modules, without running them."""

    def layer(self) -> str:
        """The layer, its version and the device in one line; "" where no layer is loaded."""
        ...

    def judge_module(self, words: npt.NDArray[np.uint32], job: ModuleJob) -> tuple[Status, str]:
        """Make the pipeline of a module. DONE with what the layer objects to, "" for nothing; else what happened.

        `job` is that of a valid module, whose buffers and needs of a device are taken for those of `words`. Must not
        raise for anything the module or the device does.
        """
        ...


@runtime_checkable
class SweepDriver(Driver, Protocol):
    """Optional: a driver that runs many parameter sets of one template at a time. Others get them one by one."""

    def run_sweeps(self, jobs: Iterable[SweepJob]) -> Iterator[Outcome]:
        """The outcome of each job, in order; like `run`, without exceptions. May take further jobs while one runs.

        `memory` of an outcome is every buffer of the job, with its windows.
        """
        ...


@runtime_checkable
class ReportingDriver(Driver, Protocol):
    """Optional: a driver with something to show of what is behind it."""

    def report(self) -> list[tuple[str, str]]:
        """Rows of a name and a text of one line, for `cts drivers`."""
        ...


@runtime_checkable
class StagedDriver(Driver, Protocol):
    """Optional: a driver of a device, whose option `stage` runs cases in shaders of another stage than compute."""

    def stages(self) -> dict[str, str]:
        """The stages listed for cooperative vectors, by name; why one cannot be driven here, "" where it can."""
        ...


@dataclass
class QueryFailed(Exception):
    """A query about a device did not come back: `call` is the one, and `what` happened in words."""

    call: str
    what: str


@runtime_checkable
class QueriedDriver(Driver, Protocol):
    """Optional: a driver that returns a Vulkan device's answers to every query."""

    def answers(self) -> dict[str, Any]:
        """The answers in the format of docs/device-queries.md. Raises QueryFailed where the device gives none."""
        ...


@runtime_checkable
class ConvertingDriver(Driver, Protocol):
    """Optional: a driver that has the function and the command that convert matrices, with all that they return."""

    def lacks_conversions(self) -> str:
        """Why the device has no conversions; "" where it has."""
        ...

    def convert(self, trials: Iterable[Trial]) -> Iterator[Tried]:
        """What comes of each trial, in order. What a trial does to the device is a result; raises HarnessTrouble."""
        ...


class DriverFactory(Protocol):
    """What the entry point names: builds a driver from the options of its spec string.

    `options` are the `key=value` pairs after the colon; a bare word arrives under the key "".
    Raises `cts.base.errors.BadInput` for an option it does not know.
    """

    def __call__(self, options: dict[str, str]) -> Driver: ...


@runtime_checkable
class OptionsFactory(DriverFactory, Protocol):
    """Optional: a factory whose options are those of a struct, see `cts.device.driver_options`.

    They are parsed before a run begins, completed by shells, and listed by `cts drivers`.
    """

    @property
    def option_struct(self) -> type[Struct]:
        """The struct."""
        ...


@runtime_checkable
class CheckingFactory(DriverFactory, Protocol):
    """Optional: a factory that knows wrong options before it starts what is behind a driver."""

    def check(self, options: dict[str, str]) -> None:
        """Raise `cts.base.errors.BadInput` for options with which no driver can be built. Starts nothing."""
        ...


@runtime_checkable
class ValidatingFactory(DriverFactory, Protocol):
    """Optional: a factory whose drivers can load a validation layer."""

    #: Whether `--validation` is to add the option `validation=yes` to a spec that does not say otherwise.
    validates: bool


@runtime_checkable
class DeclaringFactory(DriverFactory, Protocol):
    """Optional: a factory that says what its drivers are before there is one."""

    #: Whether its drivers are `ModuleDriver`s, which transforms need.
    runs_modules: bool


@runtime_checkable
class PipelineFactory(DriverFactory, Protocol):
    """Optional: a factory of `PipelineDriver`s, which forms of pipelines need."""

    makes_pipelines: bool


@runtime_checkable
class StagedFactory(DriverFactory, Protocol):
    """Optional: a factory whose drivers run cases in any shader stage."""

    #: Whether `--vary stages` is to add drivers with the option `stage`, see `cts.case.stages`.
    runs_stages: bool


@runtime_checkable
class TunableFactory(DriverFactory, Protocol):
    """Optional: a factory whose drivers take options that `cts dispatch` has as well."""

    #: The options, of those that `cts dispatch` has: "max_steps", "max_memory", "robust", "check" and "trace".
    takes: frozenset[str]


@runtime_checkable
class VariantFactory(DriverFactory, Protocol):
    """Optional: a factory whose drivers can behave in several ways, all of them legal."""

    def variants(self) -> list[Described]:
        """The choices, each named by the text of its option, such as `subgroup_size=64`."""
        ...


@runtime_checkable
class MutantFactory(DriverFactory, Protocol):
    """Optional: a factory whose drivers can have a planted bug."""

    def mutants(self) -> list[Described]:
        """The bugs, each named by the value of the option `mutant`."""
        ...


@runtime_checkable
class WorkerFactory(DriverFactory, Protocol):
    """Optional: a factory whose drivers run in a worker that can stand on a machine without this suite."""

    def worker(self) -> bytes:
        """The worker as one file that Python runs, for `cts worker`. Raises CtsError where it cannot be made."""
        ...
