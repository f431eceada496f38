"""The driver: options, capabilities, and a cache of parsed and compiled modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from cts.case.stages import Stage
from cts.device import driver_options
from cts.device.driver import Described, Fault, Job, Outcome, Status, SweepJob
from cts.device.job import ModuleJob
from cts.device.vendors import VENDORS, refuse_beside
from cts.drivers.interpreter.compile import Program, compile_module
from cts.drivers.interpreter.launch import launch
from cts.drivers.interpreter.mutants import mutants
from cts.drivers.interpreter.options import MAX_SUBGROUP_SIZE, Options
from cts.drivers.interpreter.parse import Module, parse
from cts.drivers.interpreter.problems import Internal, Malformed, OutOfMemory, Problem, Unsupported
from cts.drivers.interpreter.target import Target
from cts.spirv.subprocess_tools import NOT_VALIDATED, find_program, validate_apart

if TYPE_CHECKING:
    from cts.device.capabilities import Capabilities

#: How many modules, and how many compiled programs, are remembered.
_REMEMBERED = 256

#: What spirv-val of the package does not know: it refuses good modules with it.
_UNKNOWN_TO_VALIDATOR = ("5429", "5438", "5447", "LongVector", "Invalid capability operand")

T = TypeVar("T")


class Interpreter:
    """Executes SPIR-V words, with `Options` by name."""

    def __init__(self, **options: Any) -> None:
        self.name = "interpreter"
        self.options = Options(**options)
        vendor = VENDORS.get(self.options.vendor)
        self.subgroup_size = self.options.subgroup_size if vendor is None else vendor.subgroup_size
        self._modules: OrderedDict[Hashable, Module] = OrderedDict()
        self._programs: OrderedDict[Hashable, Program] = OrderedDict()

    def capabilities(self) -> Capabilities:
        from cts.device.capabilities import (  # in terms of the case model, of which dispatches need nothing
            everything,
            limited,
        )

        every = replace(everything(subgroup_size=self.subgroup_size), stage=self.options.stage)
        return limited(every, VENDORS[self.options.vendor]) if self.options.vendor else every

    def subgroup_sizes(self) -> tuple[int, ...]:
        """Those that devices may have (Vulkan 1.4, VkPhysicalDeviceSubgroupProperties); any other number works, too."""
        return tuple(1 << n for n in range(MAX_SUBGROUP_SIZE.bit_length()))

    def run(self, job: Job) -> Outcome:
        """Run a case's module; memory comes back for the case's own buffers."""
        return _only_memory_of(job.memory, self.run_module(job.module()))

    def run_sweeps(self, jobs: Iterable[SweepJob]) -> Iterator[Outcome]:
        """Each job's module; memory comes back for the sweep's own buffers."""
        return (_only_memory_of(job.memory, self.run_module(job.module())) for job in jobs)

    def run_module(self, job: ModuleJob) -> Outcome:
        """Run any module. Never raises for anything the module does."""
        trace: list[str] = []
        try:
            result = launch(self._program(job), job, job.subgroup_size or self.subgroup_size, self.options, trace)
        except Internal as problem:
            return _failed(_explained(problem, job), trace)
        except Problem as problem:
            return _failed(problem, trace)
        except MemoryError:
            return _failed(OutOfMemory("the system has no more memory"), trace)
        except Exception as e:  # noqa: BLE001 - a bug of ours must not end the run of other cases
            return _failed(_explained(Internal(f"interpreter: {type(e).__name__}: {e}"), job), trace)
        return Outcome(Status.DONE, result.memory, matrices=result.matrices, trace=tuple(trace), idle=result.idle)

    def close(self) -> None:
        """Forget all modules."""
        self._modules.clear()
        self._programs.clear()

    def _program(self, job: ModuleJob) -> Program:
        size = job.subgroup_size or self.subgroup_size
        if not 1 <= size <= MAX_SUBGROUP_SIZE:
            raise Unsupported(f"subgroup size {size} (1 to {MAX_SUBGROUP_SIZE})")
        stage = Stage.COMPUTE if job.staged is None else job.staged.stage
        if stage is not self.options.stage:
            raise Unsupported(
                f"a module for the stage {stage.value}, where stage={self.options.stage.value} was asked for"
            )
        words = job.words.tobytes()
        target = Target.from_options(self.options, size)
        key = (words, job.entry, tuple(sorted(job.spec_constants.items())), target)
        module = _remember(self._modules, words, lambda: parse(job.words))
        return _remember(self._programs, key, lambda: compile_module(module, job.entry, job.spec_constants, target))


def _only_memory_of(names: Container[str], outcome: Outcome) -> Outcome:
    """An outcome with the memory of these buffers alone."""
    return replace(outcome, memory={name: data for name, data in outcome.memory.items() if name in names})


def _failed(problem: Problem, trace: list[str]) -> Outcome:
    beyond = getattr(problem, "beyond", None)
    fault = Fault(problem.code, problem.what, problem.where, beyond)
    return Outcome(problem.status, detail=str(problem), fault=fault, trace=tuple(trace))


def _explained(problem: Internal, job: ModuleJob) -> Problem:
    """An unexpected error: a bug of the interpreter, or a module that breaks a rule which is not checked before a run.

    Modules are validated only after such an error, because validation takes time.
    """
    if find_program("spirv-val") is None:
        return Internal(f"{problem.what} ({NOT_VALIDATED})", problem.where)
    message = validate_apart(job.words)
    if not message or any(capability in message for capability in _UNKNOWN_TO_VALIDATOR):
        return problem
    return Malformed(f"spirv-val says: {message} (seen as {problem.what})", problem.where)


def _remember(cache: OrderedDict[Hashable, T], key: Hashable, make: Callable[[], T]) -> T:
    if key in cache:
        cache.move_to_end(key)
        return cache[key]
    cache[key] = value = make()
    if len(cache) > _REMEMBERED:
        cache.popitem(last=False)
    return value


class Factory:
    """Builds interpreters from their options, of which `cts dispatch` has some as well."""

    option_struct = Options
    runs_stages = True
    takes = frozenset({"max_steps", "max_seconds", "max_memory", "robust", "check", "trace"})

    def __call__(self, options: dict[str, str]) -> Interpreter:
        """The interpreter. Raises BadInput."""
        refuse_beside(options, "subgroup_size")
        return Interpreter(**msgspec.structs.asdict(driver_options.parse(Options, options, "interpreter")))

    def mutants(self) -> list[Described]:
        return mutants()


create = Factory()
