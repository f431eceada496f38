"""Other parameter sets of a generated case: words that its generator could draw, words near them, other contents."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cts.base.choices import Recorded, Source
from cts.case import model
from cts.case.model.component import Bits, encode
from cts.case.model.dynamic_operands import component_of
from cts.case.model.operand import Scalar
from cts.case.model.sweep import Bytes, Sweep, Words, window_strides
from cts.case.oracle.expectation import Oracle
from cts.judging.judge import OpenDriver
from cts.running.drawing import Draws, Undrawn, made
from cts.running.sweeps.contents import Numbers
from cts.running.sweeps.judging import Judged, judge_sets, together
from cts.running.sweeps.states import have_verdict
from cts.spirv.lower.structure import Structure, structure_of

#: How many of the numbers that a case was drawn from are drawn anew, one at a time: each makes the whole case again.
REDRAWN = 24

#: How many sets are tried for each that is wanted: many are not valid.
ROUNDS = 4

#: The distances at which other numbers are tried: for counts, and for operands that must be multiples.
NEAR = tuple(sign * distance for distance in (1, 2, 4, 8, 16, 32, 64, 128) for sign in (1, -1))

#: The most bytes that the windows of all sets to try may have together: few sets are tried of cases of large buffers.
MOST_BYTES = 1 << 25

#: The longest loops that are tried: a device that misses a Break goes through all of its count.
ITERATIONS = 64

#: Components that are tried: exact in every type.
SMALL = tuple(range(9))


@dataclass(frozen=True, eq=False)
class Given:
    """Parameter sets that are given one by one, as sets are given to be judged.

    Set i has the words of row i, and in `data_buffers` the elements of the template, in an order that follows from
    `orders[i]`; 0 is the template's own.
    """

    template: model.Case
    words: Words
    orders: Numbers
    data_buffers: tuple[str, ...] = ()
    fixed: Mapping[str, object] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.words)

    def sweep(self, numbers: Numbers) -> Sweep:
        """The sets of these places."""
        data = {
            name: np.stack([_in_order(bits, order, index) for order in self.orders[numbers].tolist()])
            for index, (name, bits) in enumerate(self._contents.items())
        }
        return Sweep(self.template, self.words[numbers], data)

    @cached_property
    def _contents(self) -> dict[str, Bits]:
        return {name: model.initial_bits(self.template.buffers[name]) for name in self.data_buffers}


def _in_order(bits: Bits, order: int, buffer: int) -> Bytes:
    """The bytes of a buffer whose elements lie in another order."""
    return (np.random.default_rng((order, buffer)).permutation(bits) if order else bits).view(np.uint8)


def parameter_sets(draws: Draws, number: int, case: model.Case, count: int) -> Given | None:
    """Sets to try for the example of a number, without its own set: ROUNDS for each of the `count` wanted sets.

    None if there are no other sets, or if sets cannot share a dispatch: their windows lie beside each other, so no
    range of memory ends with a window, and no window begins late. The generator makes the case again with one number
    drawn anew; if the module stays the same, the words are new ones to try. Sets have these words, or combinations of
    them and integers near them, which need not be valid, with the case's contents or its elements in another order.
    """
    late = any(buffer.begins_at for buffer in case.buffers.values())
    if late or case.opaque or case.conversions or case.robustness is not None:
        return None
    buffers = _loaded(case)
    if not buffers and not any(model.case_dynamic_operands(case)):
        return None
    dice = random.Random(f"sets {draws.seed} {number}")
    own, most = model.dynamic_words(case), min(ROUNDS * count, MOST_BYTES // sum(window_strides(case, buffers)))
    tried = _words(draws.source, draws.recorded(number), case, most, dice) if own.size else [own] * most
    different: dict[tuple[bytes, int], Words] = {}
    for others in tried:
        order = dice.randrange(1, 1 << 32) if buffers and dice.randrange(4) else 0
        words = own if order and not dice.randrange(3) else others  # at times other contents alone
        if order or words.tobytes() != own.tobytes():
            different[words.tobytes(), order] = words
    if not different:
        return None
    orders = np.array([order for _, order in different], np.int64)
    return Given(case, np.stack(list(different.values())), orders, buffers)


def _words(
    source: Source[model.Case], first: Recorded, case: model.Case, count: int, dice: random.Random
) -> list[Words]:
    """So many words, the case's own perhaps among them: as the generator has them, and mixtures. No loop is long."""
    drawn = list(_redrawn(source, first, structure_of(case), dice))
    tried = [*drawn, *_mixed([model.dynamic_words(case), *drawn], case, dice, count)]
    loops = {i for i, instruction in enumerate(case.program) if isinstance(instruction, model.Loop)}
    counts = [
        place for place, (i, path, _) in enumerate(model.case_dynamic_operands(case)) if i in loops and path == "count"
    ]
    return [words for words in tried if (words[counts] <= ITERATIONS).all()][:count]


def _loaded(case: model.Case) -> tuple[str, ...]:
    """The buffers whose elements may lie in any order: loaded as they are, and not written.

    Bytes of blocks, and bytes that functions read by themselves, must stay in place.
    """
    types = model.types_of(case)
    decoded = {i.buffer for i in case.program if isinstance(i, model.MatrixLoadTensor) and i.decode is not None}
    loads = [i.buffer for i in case.program if isinstance(i, model.Load)]
    others = {*model.written(case), *decoded}
    others |= {part.buffer for function in case.functions.values() for part in model.buffers_of(function)}
    pointers = {name: t.buffer for name, t in types.items() if isinstance(t, model.PointerType)}
    only_loaded = {pointers.get(name, name) for name in loads} - {pointers.get(name, name) for name in others}
    return tuple(
        name
        for name, b in case.buffers.items()
        if name in only_loaded and b.storage is not model.StorageClass.Workgroup
    )


def judge_given(given: Given, count: int, driver: OpenDriver, oracle: Oracle) -> Judged:
    """The results of the sets, in their order, until so many have a verdict."""
    judged, start = Judged(np.zeros(0, np.uint8)), 0
    while start < len(given) and have_verdict(judged.states).sum() < count:
        numbers = np.arange(start, min(start + count, len(given)))
        judged = together([judged, judge_sets(given, numbers, driver, oracle)])
        start += count
    return judged


def _redrawn(source: Source[model.Case], first: Recorded, structure: Structure, dice: random.Random) -> Iterator[Words]:
    """The words of cases with one number drawn anew, if their module is the same."""
    made(source, first)
    places = [place for place, drawn in enumerate(first.drawn) if drawn.end > 1]
    for place in dice.sample(places, min(REDRAWN, len(places))):
        drawn, numbers = first.drawn[place], list(first.numbers)
        numbers[place] = (drawn.value + dice.randrange(1, drawn.end)) % drawn.end
        case = made(source, Recorded.again(numbers, first.policy))
        if not isinstance(case, Undrawn) and structure_of(case) == structure:
            yield model.dynamic_words(case)


def _mixed(known: Sequence[Words], case: model.Case, dice: random.Random, count: int) -> list[Words]:
    """So many sets, each a known set with a few words changed: to another set's words, near values, or small values."""
    # Of components the small values that are tried, of integers none.
    small = [
        None if isinstance(operand, Scalar) else encode(component_of(case, index, path), SMALL).astype(np.uint32)
        for index, path, operand in model.case_dynamic_operands(case)
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
