"""Deviations that leave the very memory of a failing case, of the whole vocabulary.

A driver has a bug in all instructions of a kind, or in those that meet a condition. So a model of one case is a deed at
all instructions of a kind, or at some of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cts.base.memory import guarded
from cts.case import model
from cts.case.oracle.deviation import RESULT, Deviation, Step
from cts.findings.learning.deeds import Deed, deeds
from cts.judging.compare import Bytes, compare
from cts.judging.deviations import Place, leaves, places
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


def models(case: model.Case, memory: Mapping[str, Bytes]) -> Iterator[Model]:
    """All models of a failing case, those at all instructions of a kind before those at one of them."""
    wrong = places(compare(case, registry.oracle().expect(case), memory))
    reach = {place: _reach(case, place) for place in range(len(case.program))}
    singles: list[tuple[str, Deed, int]] = []
    for kind in dict.fromkeys(type(one).__name__ for one in case.program):
        every = places_of(case, kind)
        if not _covers(set().union(*(reach[place] or wrong for place in every)), wrong):
            continue
        for deed in dict.fromkeys(deed for place in every for deed in deeds(case, place)):
            found = Model(kind, deed, every)
            if leaves(case, found.at(every), memory):
                yield found
            elif len(every) > 1:
                singles += [(kind, deed, one) for one in every if _covers(reach[one] or wrong, wrong)]
    for kind, deed, place in singles:
        found = Model(kind, deed, (place,))
        if leaves(case, found.at((place,)), memory):
            yield found


def shows(case: model.Case, deviations: Sequence[Deviation]) -> bool:
    """Whether a driver that deviates so fails the case."""
    return bool(deviations and _changed(case, deviations))


def _changed(case: model.Case, deviations: Sequence[Deviation]) -> set[Place] | None:
    """The bytes of elements that deviations make wrong; None if the oracle cannot say."""
    expectation = registry.oracle().leaves(case, deviations)
    if expectation is None:
        return None
    memory = {name: guarded(allowed.exact) for name, allowed in expectation.buffers.items()}
    return places(compare(case, registry.oracle().expect(case), memory))


def _reach(case: model.Case, place: int) -> set[Place] | None:
    """The bytes that differ if the result of an instruction is another one; None if the oracle cannot say."""
    if not isinstance(case.program[place], model.MatrixInstruction | model.VectorInstruction):
        return None
    reached: set[Place] = set()
    for number in (3.0, 96.0):
        changed = _changed(case, [Deviation(place, RESULT, (Step("number", (number,)),))])
        if changed is None:
            return None
        reached |= changed
    return reached


def _covers(reached: set[Place], wrong: set[Place]) -> bool:
    """Whether most of what is wrong is reached: another value may be right by chance in a few elements."""
    return len(wrong & reached) * 10 >= len(wrong) * 9
