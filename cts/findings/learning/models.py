"""Deviations that leave the very memory of a failing case, of the whole vocabulary.

A driver has a bug in all instructions of a kind, or in those that meet a condition. So a model of one case is a deed at
all instructions of a kind, or at some of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.memory import guard_pattern
from cts.case import model
from cts.case.oracle.deviation import RESULT, Deviation, Step
from cts.case.oracle.expectation import Expectation
from cts.findings.learning.deeds import Deed, deeds
from cts.judging.compare import Bytes, compare
from cts.judging.deviations import leaves
from cts.plugins import registry


@dataclass(frozen=True)
class Model:
    """A deed of instructions of a kind, and at which places of a case it leaves the memory that a driver left."""

    kind: str
    deed: Deed
    places: tuple[int, ...]

    def at(self, places: Sequence[int]) -> list[Deviation]:
        """The deed at these places."""
        return [Deviation(place, self.deed.part, self.deed.steps, self.deed.word) for place in places]


def places_of(case: model.Case, kind: str) -> tuple[int, ...]:
    """Where a case has instructions of a kind."""
    return tuple(place for place, one in enumerate(case.program) if type(one).__name__ == kind)


def models(case: model.Case, memory: Mapping[str, Bytes], time_is_up: Deadline = NO_DEADLINE) -> Iterator[Model]:
    """All models of a failing case, those at all instructions of a kind before those at one of them."""
    wrong = _differing(case, registry.oracle().expect(case), memory)
    reach = {place: _reach(case, place) for place in range(len(case.program))}
    singles: list[tuple[str, Deed, int]] = []
    for kind in dict.fromkeys(type(one).__name__ for one in case.program):
        places = places_of(case, kind)
        if not _covers(set().union(*(reach[place] or wrong for place in places)), wrong):
            continue
        seen = set()
        for place in places:
            for deed in deeds(case, place):
                if time_is_up():
                    return
                if deed in seen:
                    continue
                seen.add(deed)
                found = Model(kind, deed, places)
                if leaves(case, found.at(places), memory):
                    yield found
                elif len(places) > 1:
                    singles += [(kind, deed, one) for one in places if _covers(reach[one] or wrong, wrong)]
    for kind, deed, place in singles:
        if time_is_up():
            return
        found = Model(kind, deed, (place,))
        if leaves(case, found.at((place,)), memory):
            yield found


def shown(case: model.Case, expectation: Expectation) -> bool:
    """Whether a driver that leaves what is expected of a wrong program fails the case."""
    return compare(case, registry.oracle().expect(case), left(expectation)) is not None


def left(expectation: Expectation) -> dict[str, Bytes]:
    """Memory as an expectation has it, with guards."""
    guard = guard_pattern()
    return {name: np.concatenate([guard, allowed.exact, guard]) for name, allowed in expectation.buffers.items()}


def _reach(case: model.Case, place: int) -> set[tuple[str, int]] | None:
    """The bytes that differ if the result of an instruction is another one; None if the oracle cannot say."""
    if not isinstance(case.program[place], model.MatrixInstruction | model.VectorInstruction):
        return None
    reached: set[tuple[str, int]] = set()
    oracle = registry.oracle()
    for number in (3.0, 96.0):
        expectation = oracle.leaves(case, [Deviation(place, RESULT, (Step("number", (number,)),))])
        if expectation is None:
            return None
        reached |= _differing(case, oracle.expect(case), left(expectation))
    return reached


def _covers(reached: set[tuple[str, int]], wrong: set[tuple[str, int]]) -> bool:
    """Whether most of what is wrong is reached: another value may be right by chance in a few elements."""
    return len(wrong & reached) * 10 >= len(wrong) * 9


def _differing(case: model.Case, expectation: Expectation, memory: Mapping[str, Bytes]) -> set[tuple[str, int]]:
    """The first bytes of the elements that differ."""
    divergence = compare(case, expectation, memory)
    groups = () if divergence is None else divergence.groups
    return {(group.buffer, int(offset)) for group in groups for offset in group.offsets}
