"""Other parameter sets of a generated case: those that its generator would draw, and what is near them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cts.choices import Recorded, Source
from cts.judging.judge import OpenDriver
from cts.model import Case, Loop, dynamic_words, dynamics
from cts.model.component import encode
from cts.model.delivery import component_of
from cts.model.operand import Scalar
from cts.model.sweep import Sweep, Words
from cts.oracle.expectation import Oracle
from cts.running.drawing import Undrawn, made, recorded
from cts.spirv.lower.structure import Structure, structure_of
from cts.sweeps.contents import Numbers
from cts.sweeps.judging import Judged, have_verdict, judge_sets, together

#: How many of the numbers that a case was drawn from are drawn anew, one at a time: each makes the whole case again.
REDRAWN = 24

#: How many sets are tried for each that is wanted: many are not valid.
ROUNDS = 4

#: How far from a number another one is tried: counts, and what operands must be multiples of.
NEAR = tuple(sign * distance for distance in (1, 2, 4, 8, 16, 32, 64, 128) for sign in (1, -1))

#: The longest loops that are tried: a device that misses a Break goes through all of its count.
ITERATIONS = 64

#: Components that are tried: exact in every type.
SMALL = tuple(range(9))


@dataclass(frozen=True, eq=False)
class Given:
    """Parameter sets that are given one by one, as sets are given to be judged."""

    template: Case
    words: Words
    fixed: Mapping[str, object] = field(default_factory=dict)
    data_buffers: tuple[str, ...] = ()

    def sweep(self, numbers: Numbers) -> Sweep:
        """The sets of these places."""
        return Sweep(self.template, self.words[numbers])


def parameter_sets(source: Source[Case], seed: int | None, number: int, case: Case, count: int) -> Given | None:
    """Sets to try for the example of a number, none of them its own: ROUNDS for each of the `count` that are wanted.

    None where it reads nothing at run time, and where sets cannot share a dispatch: their windows lie beside each
    other, so that robust accesses of one reach another. The generator makes the case again with one number drawn anew;
    what leaves the module as it is gives other words. Sets are these, then combinations of them and integers near
    them, which need not be valid.
    """
    if not any(dynamics(case)) or case.opaque or case.conversions or case.robustness is not None:
        return None
    dice = random.Random(f"sets {seed} {number}")
    own = dynamic_words(case)
    drawn = list(_redrawn(source, recorded(seed, number), structure_of(case), dice))
    tried = [*drawn, *_mixed([own, *drawn], case, dice, ROUNDS * count)]
    loops = {i for i, instruction in enumerate(case.program) if isinstance(instruction, Loop)}
    counts = [place for place, (i, path, _) in enumerate(dynamics(case)) if i in loops and path == "count"]
    short = [words for words in tried if (words[counts] <= ITERATIONS).all()]
    different = {words.tobytes(): words for words in short if words.tobytes() != own.tobytes()}
    return Given(case, np.stack(list(different.values())[: ROUNDS * count])) if different else None


def judge_given(given: Given, count: int, driver: OpenDriver, oracle: Oracle) -> Judged:
    """What becomes of the sets, in their order, until so many have a verdict."""
    judged, start = Judged(np.zeros(0, np.uint8)), 0
    while start < len(given.words) and have_verdict(judged.states).sum() < count:
        numbers = np.arange(start, min(start + count, len(given.words)))
        judged = together([judged, judge_sets(given, numbers, driver, oracle)])
        start += count
    return judged


def _redrawn(source: Source[Case], first: Recorded, structure: Structure, dice: random.Random) -> Iterator[Words]:
    """The words of cases with one number drawn anew, where their module is the same."""
    made(source, first)
    places = [place for place, drawn in enumerate(first.drawn) if drawn.end > 1]
    for place in dice.sample(places, min(REDRAWN, len(places))):
        drawn, numbers = first.drawn[place], list(first.numbers)
        numbers[place] = (drawn.value + dice.randrange(1, drawn.end)) % drawn.end
        case = made(source, Recorded.again(numbers))
        if not isinstance(case, Undrawn) and structure_of(case) == structure:
            yield dynamic_words(case)


def _mixed(known: Sequence[Words], case: Case, dice: random.Random, count: int) -> list[Words]:
    """So many sets, each like a known one but for a few words: those of another one, near its own, or small values."""
    # Of components the small values that are tried, of integers none.
    small = [
        None if isinstance(operand, Scalar) else encode(component_of(case, index, path), SMALL).astype(np.uint32)
        for index, path, operand in dynamics(case)
    ]
    mixed = []
    for _ in range(count):
        words = dice.choice(known).copy()
        for _ in range(dice.choice((1, 1, 2, 3))):
            place = dice.randrange(len(words))
            values = small[place]
            if dice.randrange(2):
                words[place] = dice.choice(known)[place]
            elif values is not None:
                words[place] = dice.choice(values)
            else:
                words[place] = (int(words[place]) + dice.choice(NEAR)) & 0xFFFFFFFF
        mixed.append(words)
    return mixed
