"""Deviations that leave the very memory of a failing case, of the whole vocabulary.

A driver has a bug in all instructions of a kind, or in those that meet a condition. So a model of one case is a deed at
all instructions of a kind, or at some of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations, zip_longest

from cts.case import model
from cts.case.oracle.deviation import OF_CASE, RESULT, Deviation, Step
from cts.findings.learning.deed import Deed
from cts.findings.learning.deeds import deeds
from cts.judging.compare import Bytes, compare
from cts.judging.deviations import Place, leaves, places
from cts.plugins import registry

#: Transforms of operands that reach further than the instruction's result.
_SPOIL = ("cleared", "overwritten")

#: Models of each part of each kind: the simple ones fit by chance, and the right one may be a longer one.
OF_A_PART = 8

#: Instructions of a kind of which each subset is tried, if not all of them deviate.
MOST_SITES = 4


@dataclass(frozen=True)
class Model:
    """A deed of instructions of a kind, and at which places of a case it leaves the memory that a driver left."""

    kind: str
    deed: Deed
    places: tuple[int, ...]

    @property
    def text(self) -> str:
        """The deviation of all instructions of the kind."""
        return f"wrong({self.kind}, {self.deed.text})"

    def at(self, places: Sequence[int]) -> list[Deviation]:
        """The deed at these places."""
        return [Deviation(place, self.deed.part, self.deed.steps, self.deed.word) for place in places]


def places_of(case: model.Case, kind: str) -> tuple[int, ...]:
    """Where a case has instructions of a kind, or conversions, or itself."""
    if kind == "Conversion":
        return tuple(OF_CASE - 1 - n for n in range(len(case.conversions)))
    if kind == "Case":
        return (OF_CASE,)
    return tuple(place for place, one in enumerate(case.program) if type(one).__name__ == kind)


def model_at(case: model.Case, place: int, deed: Deed) -> Model:
    """A deed of the instruction at a place, at all instructions of its kind."""
    kind = "Case" if place == OF_CASE else type(case.program[place]).__name__
    return Model(kind, deed, places_of(case, kind))


def models(case: model.Case, memory: Mapping[str, Bytes], most: int | None = None) -> Iterator[Model]:
    """Models of a failing case, those at all instructions of a kind before those at one of them.

    The commonest deeds of all kinds are tried first, and at `most` so many models, each of which runs the case in the
    oracle: all of the vocabulary at each instruction of a long program takes minutes.
    """
    wrong = places(compare(case, registry.oracle().expect(case), memory))
    for tried, candidate in enumerate(_candidates(case, wrong)):
        if tried == most:
            return
        if leaves(case, candidate.at(candidate.places), memory):
            yield candidate


def _candidates(case: model.Case, wrong: Set[Place]) -> Iterator[Model]:
    """What may leave this memory: deeds of instructions that reach most of what is wrong."""
    reach = _reaches(case, wrong)
    of_all: list[list[Model]] = []
    of_one: list[list[Model]] = []
    for kind in dict.fromkeys([*(type(one).__name__ for one in case.program), "Conversion", "Case"]):
        every = places_of(case, kind)
        reached: set[Place] = set()
        reached = reached.union(*(_reached(reach, place, wrong) for place in every))
        turns = zip_longest(*(deeds(case, place) for place in every))
        of_kind = list(dict.fromkeys(deed for turn in turns for deed in turn if deed is not None))
        if not _covers(reached, wrong):
            # What happens to an operand reaches what uses it besides.
            of_kind = [deed for deed in of_kind if deed.steps and deed.steps[0].name in _SPOIL]
        of_all.append([Model(kind, deed, every) for deed in of_kind])
        if len(every) > 1:
            some = [place for place in every if _covers(_reached(reach, place, wrong), wrong)]
            of_one.append([Model(kind, deed, (place,)) for deed in of_kind for place in some])
    for in_turn in (zip_longest(*of_all), zip_longest(*of_one)):
        yield from (candidate for turn in in_turn for candidate in turn if candidate is not None)


def _reached(reach: Sequence[Set[Place]], place: int, wrong: Set[Place]) -> Set[Place]:
    return reach[place] if place > OF_CASE else wrong


def simplest(found: Iterable[Model]) -> list[Model]:
    """Models, the simplest first: those at all instructions of a kind, shorter deeds, and few of a kind and part."""
    groups: dict[tuple[str, str], list[Model]] = defaultdict(list)
    unlike: dict[str, Model] = {}
    for one in sorted(found, key=lambda m: (len(m.places) == 1, len(m.deed.text))):
        unlike.setdefault(one.text, one)
    for one in unlike.values():
        groups[one.kind, one.deed.part].append(one)
    return [group[n] for n in range(OF_A_PART) for group in groups.values() if n < len(group)]


def alike(found: Sequence[Model], case: model.Case, memory: Mapping[str, Bytes]) -> list[Model]:
    """Those of some models that leave the memory of another failing case, too: at some of its instructions."""
    return [one for one in found if deviates_at(case, one, places_of(case, one.kind), memory)]


def deviates_at(case: model.Case, of: Model, among: Sequence[int], memory: Mapping[str, Bytes]) -> Sequence[int]:
    """The most places at which a model leaves the memory of a driver; empty if there are none."""
    for count in range(len(among), 0, -1):
        if count < len(among) and len(among) > MOST_SITES and count > 1:
            continue
        for some in combinations(among, count):
            if leaves(case, of.at(some), memory):
                return some
    return ()


def shows(case: model.Case, deviations: Sequence[Deviation]) -> bool:
    """Whether a driver that deviates so fails the case."""
    return bool(deviations and _changed(case, deviations))


def _changed(case: model.Case, deviations: Sequence[Deviation]) -> set[Place] | None:
    """The bytes of elements that deviations make wrong; None if the oracle cannot say."""
    expectation = registry.oracle().leaves(case, deviations)
    if expectation is None:
        return None
    memory = {name: allowed.memory for name, allowed in expectation.buffers.items()}
    return places(compare(case, registry.oracle().expect(case), memory))


def _reaches(case: model.Case, wrong: Set[Place]) -> list[Set[Place]]:
    """For each instruction the bytes that may differ if it is wrong: all that are, where nobody can say.

    A layout or a view reaches what the instructions reach that access memory by it.
    """
    reach: list[Set[Place] | None] = [_reach(case, place) for place in range(len(case.program))]
    for place in reversed(range(len(case.program))):
        instruction = case.program[place]
        if isinstance(instruction, model.LayoutInstruction | model.ViewInstruction):
            made = set(instruction.defines)
            users = [n for n in range(place + 1, len(reach)) if made & set(model.references(case.program[n]))]
            each = [reach[n] for n in users]
            reach[place] = set().union(*(some for some in each if some is not None)) if None not in each else None
    return [wrong if some is None else some for some in reach]


def _reach(case: model.Case, place: int) -> Set[Place] | None:
    """The bytes that differ if the result of an instruction is another one; None if the oracle cannot say."""
    instruction = case.program[place]
    if not isinstance(instruction, model.MatrixInstruction | model.VectorInstruction):
        return None
    # These write to memory besides, or elsewhere if their address is wrong.
    function = case.functions.get(getattr(instruction, "function", ""))
    if isinstance(instruction, model.Store) or (function is not None and model.outputs_of(function)):
        return None
    reached: set[Place] = set()
    for number in (3.0, 96.0):
        changed = _changed(case, [Deviation(place, RESULT, (Step("number", (number,)),))])
        if changed is None:
            return None
        reached |= changed
    return reached


def _covers(reached: Set[Place], wrong: Set[Place]) -> bool:
    """Whether most of what is wrong is reached: another value may be right by chance in a few elements."""
    return len(wrong & reached) * 10 >= len(wrong) * 9
