"""The driver: options, capabilities, and a cache of parsed and compiled modules."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

from cts.capabilities import Capabilities, everything
from cts.driver import Job, Outcome, Status
from cts.drivers.interpreter.compile import Program, compile_module
from cts.drivers.interpreter.launch import launch
from cts.drivers.interpreter.parse import Module, parse
from cts.drivers.interpreter.problems import Internal, Problem, Unsupported
from cts.drivers.interpreter.target import Target
from cts.errors import BadInput
from cts.job import ModuleJob

DEFAULT_SUBGROUP_SIZE = 32
MAX_SUBGROUP_SIZE = 128

#: Blocks that a dispatch may execute, summed over its batches.
DEFAULT_MAX_BLOCKS = 1_000_000

#: How many modules, and how many compiled programs, are remembered.
_REMEMBERED = 256

T = TypeVar("T")


class Interpreter:
    """Executes SPIR-V words. See `create` for its options."""

    def __init__(
        self,
        subgroup_size: int = DEFAULT_SUBGROUP_SIZE,
        max_blocks: int = DEFAULT_MAX_BLOCKS,
        *,
        vector_decode: bool = True,
        rounds_fp8_input: bool = True,
    ) -> None:
        self.name = "interpreter"
        self.subgroup_size = subgroup_size
        self.vector_decode = vector_decode
        self.rounds_fp8_input = rounds_fp8_input
        self.max_blocks = max_blocks
        self._modules: OrderedDict[Hashable, Module] = OrderedDict()
        self._programs: OrderedDict[Hashable, Program] = OrderedDict()

    def capabilities(self) -> Capabilities:
        return everything(subgroup_size=self.subgroup_size)

    def run(self, job: Job) -> Outcome:
        """Run a case's module; memory comes back for the case's own buffers."""
        outcome = self.run_module(job.module())
        memory = {name: data for name, data in outcome.memory.items() if name in job.memory}
        return Outcome(outcome.status, memory, outcome.detail, outcome.matrices)

    def run_module(self, job: ModuleJob) -> Outcome:
        """Run any module. Never raises for anything the module does."""
        try:
            result = launch(self._program(job), job, job.subgroup_size or self.subgroup_size, self.max_blocks)
        except Problem as problem:
            return Outcome(problem.status, detail=str(problem))
        except Exception as e:  # noqa: BLE001 - a bug of ours must not end the run of other cases
            return Outcome(Internal.status, detail=f"interpreter: {type(e).__name__}: {e}")
        return Outcome(Status.DONE, result.memory, matrices=result.matrices)

    def close(self) -> None:
        """Forget all modules."""
        self._modules.clear()
        self._programs.clear()

    def _program(self, job: ModuleJob) -> Program:
        size = job.subgroup_size or self.subgroup_size
        if not 1 <= size <= MAX_SUBGROUP_SIZE:
            raise Unsupported(f"subgroup size {size} (1 to {MAX_SUBGROUP_SIZE})")
        digest = hashlib.blake2b(job.words.tobytes(), digest_size=16).digest()
        target = Target(size, self.vector_decode, self.rounds_fp8_input)
        key = (digest, job.entry, tuple(sorted(job.spec_constants.items())), target)
        module = _remember(self._modules, digest, lambda: parse(job.words))
        return _remember(self._programs, key, lambda: compile_module(module, job.entry, job.spec_constants, target))


def _remember(cache: OrderedDict[Hashable, T], key: Hashable, make: Callable[[], T]) -> T:
    if key in cache:
        cache.move_to_end(key)
        return cache[key]
    cache[key] = made = make()
    if len(cache) > _REMEMBERED:
        cache.popitem(last=False)
    return made


#: Options with two values, the one of an absent option first.
_CHOICES = {"decode": ("vector", "scalar"), "fp8_input": ("rounded", "kept")}


def create(options: dict[str, str]) -> Interpreter:
    """The interpreter, by its options. Raises BadInput.

    `subgroup_size=N`: 1 to 128, 32 when absent. `decode=vector|scalar`: whether a load that has a
    DecodeVectorFunc calls it, as it does when absent, or only its DecodeFunc. `fp8_input=rounded|kept`:
    whether a float16 vector that a multiplication reads as fp8 is rounded to it, as it is when absent,
    or keeps its values (CV-033).
    """
    unknown = sorted(options.keys() - {"subgroup_size", *_CHOICES})
    if unknown:
        raise BadInput(
            "driver-option",
            f"the interpreter has no option {unknown[0]!r}",
            "interpreter",
            f"subgroup_size=1 to 128, {', '.join(f'{k}={a} or {k}={b}' for k, (a, b) in _CHOICES.items())}",
        )
    text = options.get("subgroup_size", str(DEFAULT_SUBGROUP_SIZE))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MAX_SUBGROUP_SIZE:
        raise BadInput(
            "driver-option",
            f"subgroup_size is {text!r}",
            "interpreter",
            f"a number from 1 to {MAX_SUBGROUP_SIZE}",
        )
    is_default = {}
    for name, choices in _CHOICES.items():
        chosen = options.get(name, choices[0])
        if chosen not in choices:
            raise BadInput("driver-option", f"{name} is {chosen!r}", "interpreter", " or ".join(choices))
        is_default[name] = chosen == choices[0]
    return Interpreter(int(text), vector_decode=is_default["decode"], rounds_fp8_input=is_default["fp8_input"])
