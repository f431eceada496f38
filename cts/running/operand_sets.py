"""Other parameter sets of a generated case, whose operands its generator draws again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cts.choices import Recorded, Source
from cts.model import Case, dynamic_words, dynamics
from cts.model.sweep import Sweep, Words
from cts.running.drawing import Undrawn, made, recorded
from cts.spirv.lower.structure import Structure, structure_of
from cts.sweeps.contents import Numbers

#: How often each number is drawn anew.
ROUNDS = 2


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
    """At most so many sets of the example of a number, none of them its own; None where it reads nothing at run time.

    The generator makes the case again with one number drawn anew, each in turn; what leaves the module as it is gives
    other words. Sets are those that it has made so, and then combinations of their words. A set need not be valid with
    the data of this case.
    """
    if not any(dynamics(case)) or case.opaque or case.conversions:
        return None
    first = recorded(seed, number)
    made(source, first)
    structure, dice = structure_of(case), random.Random(f"sets {seed} {number}")
    own = dynamic_words(case)
    found = [own]
    for _ in range(ROUNDS):
        for place, drawn in enumerate(first.drawn):
            if drawn.end > 1:
                numbers = list(first.numbers)
                numbers[place] = (drawn.value + dice.randrange(1, drawn.end)) % drawn.end
                words = _words(source, numbers, structure)
                if words is not None:
                    found.append(words)
    sets = np.unique(np.stack(found), axis=0)
    pools = [np.unique(column) for column in sets.T]
    mixed = [[dice.choice(pool) for pool in pools] for _ in range(count)]
    sets = np.unique(np.concatenate([sets, np.array(mixed, np.uint32)]), axis=0)
    sets = sets[(sets != own).any(axis=1)]
    chosen = sorted(dice.sample(range(len(sets)), min(count, len(sets))))
    return Given(case, sets[chosen]) if chosen else None


def _words(source: Source[Case], numbers: list[int], structure: Structure) -> Words | None:
    """The words of the case of these draws, where its module is the same."""
    case = made(source, Recorded.again(numbers))
    return None if isinstance(case, Undrawn) or structure_of(case) != structure else dynamic_words(case)
