"""Parts of a failing case that most cases do not need: a reduction removes everything it can fail without.

If numbers alone do not decide, the parts that are left in a reduced case are evidence for the facts about them. A case
that stores more than one result does not count as reduced.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from cts.case.model import Accumulation, Case, Store
from cts.features.language import Condition, parse


class Needed(NamedTuple):
    """A fact, and the part of a case that it is about; `alone`: the part is evidence even without other evidence."""

    fact: str
    what: str
    alone: bool = True


#: Conditions of cases by features, the facts for which they are evidence, and their words.
_NEEDED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("times > 1", ("VK-057",), "is dispatched more than once"),
    ("y > 1 or z > 1 or not (size_by == LocalSize)", ("VK-027",), "has workgroups of a shape or size of their own"),
    ("robustness == robustBufferAccess2", ("VK-062", "VK-064"), "has robustness"),
    ("robustness == robustBufferAccess", ("VK-063", "VK-060"), "has robustness"),
    ("some(Return)", ("KM-024",), "has a Return"),
    ("some(Break | Continue)", ("KM-022",), "has an exit from a loop"),
    ("some(Switch)", ("KM-023",), "has a Switch"),
    ("some(Function, writes > 0)", ("CM-035",), "has a function that stores"),
    ("some(Function, reads > 0)", ("CM-032",), "has a function that loads"),
    ("some(Function, extras in (pointer, integer, count, members))", ("CM-036",), "passes more than numbers"),
    ("some(Function, kind == Helper)", ("CM-033",), "has functions that call others"),
    ("some(VectorMatrixMul, input_interpretation in (int8_packed, uint8_packed))", ("CV-034",), "has a packed input"),
    ("some(MatrixLoadTensor | MatrixStoreTensor, offset != 0)", ("TA-036",), "begins behind the start of a buffer"),
    ("some(MatrixLoadTensor, given(decode))", ("TA-037",), "decodes blocks"),
)  # fmt: skip

#: The same for parts that many cases have: evidence for a fact only beside other evidence.
_BESIDE: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("some(TensorLayoutSetBlockSize)", ("TA-013",), "sets a block size"),
    ("some(TensorLayoutSetStride)", ("TA-015",), "sets strides"),
    ("some(TensorLayoutSetClampValue)", ("TA-017",), "sets a clamp value"),
    ("count(TensorLayoutSlice) > 1", ("TA-016",), "has a slice of a slice"),
    ("count(TensorLayoutSetDimension) > 1", ("TA-014",), "sets dimensions twice"),
    ("some(TensorViewSetClip)", ("TA-032",), "has a clip"),
    ("some(TensorViewSetStride)", ("TA-020",), "sets strides of a view"),
    ("count(TensorViewSetDimension) > 1", ("TA-019",), "sets dimensions of a view twice"),
)  # fmt: skip

#: The facts of execution modes of floats.
_MODES = {
    "DenormPreserve": "NU-042",
    "DenormFlushToZero": "NU-043",
    "RoundingModeRTE": "NU-044",
    "RoundingModeRTZ": "NU-044",
    "SignedZeroInfNanPreserve": "NU-045",
}


@cache
def _conditions() -> tuple[tuple[Condition, tuple[str, ...], str, bool], ...]:
    every = [(row, True) for row in _NEEDED] + [(row, False) for row in _BESIDE]
    return tuple((parse(text), facts, words, alone) for (text, facts, words), alone in every)


def needed(case: Case) -> Iterator[Needed]:
    """Facts for which the parts of a case are evidence, if the case looks reduced."""
    if sum(isinstance(i, Store | Accumulation) for i in case.program) > 1:
        return
    for condition, facts, what, alone in _conditions():
        if condition(case):
            yield from (Needed(fact, f"the case {what}", alone) for fact in facts)
    for mode in dict.fromkeys(mode.value for modes in case.float_modes.values() for mode in modes):
        yield Needed(_MODES[mode], f"the case asks for {mode}")
