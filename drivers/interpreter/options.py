"""Options of the interpreter: implementation choices, limits, and what to watch for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cts.drivers.interpreter.fragments import QUAD
from cts.drivers.interpreter.mutants import mutants
from cts.errors import BadInput, did_you_mean
from cts.stages import Stage, named

DEFAULT_SUBGROUP_SIZE = 32
MAX_SUBGROUP_SIZE = 128

#: Instructions that a dispatch may execute, those of each batch of workgroups counted once.
DEFAULT_MAX_STEPS = 10_000_000

#: Bytes that a dispatch may take.
DEFAULT_MAX_MEMORY = 4 << 30

#: What can be watched for: data races, and reads of what was never written.
RACES, UNINITIALISED = "races", "uninitialised"


@dataclass(frozen=True)
class Options:
    """The options of the factory."""

    subgroup_size: int = DEFAULT_SUBGROUP_SIZE
    vector_decode: bool = True
    rounds_fp8_input: bool = True
    max_steps: int = DEFAULT_MAX_STEPS
    max_memory: int = DEFAULT_MAX_MEMORY
    robust: bool = False
    check: frozenset[str] = frozenset()
    trace: str = ""
    stage: Stage = Stage.COMPUTE
    mutant: str = ""


#: Options with two values, the one of an absent option first.
_CHOICES = {"decode": ("vector", "scalar"), "fp8_input": ("rounded", "kept"), "robust": ("no", "yes")}

#: Options that are numbers: the smallest and the largest.
_NUMBERS = {
    "subgroup_size": (1, MAX_SUBGROUP_SIZE),
    "max_steps": (1, 10**15),
    "max_memory": (1 << 20, 1 << 50),
}

_REMEDY = "; ".join(
    [
        *(f"{name}={low} to {high}" for name, (low, high) in _NUMBERS.items()),
        *(f"{name}={a} or {name}={b}" for name, (a, b) in _CHOICES.items()),
        f"check={RACES}, check={UNINITIALISED} or check={RACES}+{UNINITIALISED}",
        "trace= and the name or id of a function or result",
        "stage= and the name of a shader stage",
        "mutant= and the name of a planted bug, with stage=fragment",
    ]
)


def parse(options: Mapping[str, str]) -> Options:
    """Options of a spec string. Raises BadInput."""
    unknown = sorted(options.keys() - {*_CHOICES, *_NUMBERS, "check", "trace", "stage", "mutant"})
    if unknown:
        raise _bad(f"the interpreter has no option {unknown[0]!r}", _REMEDY)
    numbers = {name: _number(name, options[name]) for name in _NUMBERS if name in options}
    first = {}
    for name, choices in _CHOICES.items():
        chosen = options.get(name, choices[0])
        if chosen not in choices:
            raise _bad(f"{name} is {chosen!r}", " or ".join(choices))
        first[name] = chosen == choices[0]
    check = frozenset(filter(None, options.get("check", "").split("+")))
    if check - {RACES, UNINITIALISED}:
        raise _bad(f"check is {options['check']!r}", f"{RACES}, {UNINITIALISED} or {RACES}+{UNINITIALISED}")
    stage = _stage(options, numbers.get("subgroup_size", DEFAULT_SUBGROUP_SIZE))
    if check and stage is not Stage.COMPUTE:
        raise _bad(f"check is {options['check']!r} in the stage {stage.value}", "check= for compute shaders alone")
    return Options(
        vector_decode=first["decode"],
        rounds_fp8_input=first["fp8_input"],
        robust=not first["robust"],
        check=check,
        trace=options.get("trace", ""),
        stage=stage,
        mutant=_mutant(options, stage),
        **numbers,
    )


def _stage(options: Mapping[str, str], subgroup_size: int) -> Stage:
    stage = named(options.get("stage", Stage.COMPUTE.value), "interpreter")
    if stage is Stage.FRAGMENT and subgroup_size % QUAD:
        what = f"subgroups of {subgroup_size} invocations cannot hold the quads of a fragment shader"
        raise _bad(what, f"a multiple of {QUAD} (ST-005)")
    return stage


def _mutant(options: Mapping[str, str], stage: Stage) -> str:
    given = options.get("mutant", "")
    known = [m.name for m in mutants()]
    if given and given not in known:
        raise _bad(f"mutant is {given!r}", did_you_mean(given, known))
    if given and stage is not Stage.FRAGMENT:
        raise _bad(f"mutant {given} in the stage {stage.value}", f"stage=fragment,mutant={given}")
    return given


def _number(name: str, text: str) -> int:
    low, high = _NUMBERS[name]
    if not text.isascii() or not text.isdigit() or not low <= int(text[:20]) <= high:
        raise _bad(f"{name} is {text!r}", f"a number from {low} to {high}")
    return int(text)


def _bad(what: str, remedy: str) -> BadInput:
    return BadInput("driver-option", what, "interpreter", remedy)
