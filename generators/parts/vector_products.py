"""Multiplications of vectors (CV-014..CV-018): rows of the capabilities, and data with which sums are exact."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cts.base.choices import Choices
from cts.case.model import ComponentType, Data, RandomBits
from cts.case.model.component import Number
from cts.device.capabilities import Capabilities, Feature, VectorMulSupport
from cts.generators.build.contents import Contents, Wanted, consecutive, cycle, draw_contents, random_numbers, realistic
from cts.generators.build.specials import BOUNDED, draw_special
from cts.generators.build.value_ranges import UNBOUNDED, Known, anything, limits, rounded_sum, settled
from cts.generators.parts.full_range import addends, adds_up, ends, greatest_of, large, raised
from cts.generators.parts.products import FLOAT8_BITS, alike
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.vectors import VectorProductDraws

#: Numbers that a conversion to 8-bit integers rounds to even, and saturates (CV-031).
_TO_INTEGERS = (
    0.5, 1.5, -0.5, 2.5, -1.5, 127.5, 126.5, 128, -128.5, -129, 1000, 254.5, 255.5, 256, 0.25, 0.75, -0.75, -127.5, 3,
)  # fmt: skip


def usable_rows(capabilities: Capabilities) -> list[VectorMulSupport]:
    """The rows whose vectors the driver has, in its order."""
    if Feature.COOPERATIVE_VECTOR not in capabilities.features:
        return []
    return [r for r in capabilities.vector_muls if inputs_of(capabilities, r) and results_of(capabilities, r)]


def inputs_of(capabilities: Capabilities, row: VectorMulSupport) -> list[ComponentType]:
    """The types of vectors that a row takes: of integers that are not packed, of either sign (CV-017)."""
    types = (row.input,) if row.input_interpretation.packed else alike(row.input)
    return [c for c in types if c in capabilities.vector_components]


def results_of(capabilities: Capabilities, row: VectorMulSupport) -> list[ComponentType]:
    """The types of vectors that a row gives."""
    return [c for c in alike(row.result) if c in capabilities.vector_components]


@dataclass(frozen=True)
class Budget:
    """How large the numbers of one multiplication may be, in whole steps of their type's numbers, to add up exactly.

    `bias` is in steps of products.
    """

    input: int
    matrix: int
    bias: int


def bits_of(row: VectorMulSupport) -> int:
    """Significant bits with which sums of a row are sure to be made."""
    sums = (row.result, row.bias_interpretation.component)
    bits = min(c.format.precision if c.is_float else 31 for c in sums)
    return min(bits, FLOAT8_BITS) if row.matrix_interpretation.component.size == 1 else bits


def budget_of(row: VectorMulSupport, k: int, given: Known | None = None) -> Budget:
    """What adds up exactly in any order (NU-010), for an input of which `given` is known, or one yet to be chosen."""
    half = 1 << (bits_of(row) - 1)
    each = max(half // k, 1)
    size = max(math.isqrt(each), 1)
    if given is not None:
        size = max(math.ceil(given.size * 2.0 ** -(given.grain or 0)), 1)
    return Budget(size, max(each // size, 1), half)


#: Ordinary factors among the special ones, zeros included, so that infinity times zero is tested.
_BESIDE: tuple[Number, ...] = (1, 0, -2, 3, 0, -1, 2, 1, -3)


def draw_specials(choices: Choices, component: ComponentType) -> Contents:
    """Here and there an infinity, a NaN or a zero with a sign, among numbers that add up exactly."""
    return draw_special(
        choices,
        component,
        ("infinities", "zeros", "nans"),
        among=_BESIDE,
        one_in=choices.pick(VectorProductDraws.SPECIAL_ONE_IN),
    )


def draw_input(choices: Choices, row: VectorMulSupport, k: int, *, exact: bool, ieee: bool = False) -> Contents:
    """What a row's input holds: numbers that are the interpretation's, or that the conversion rounds or saturates.

    `ieee`: special ones, where they are not converted (AM-28).
    """
    reading, component = row.input_interpretation, row.input
    full, which = choices.record(6, 63)
    if full == 6 and (exact or not reading.component.is_float) and (contents := _full_range_input(row, k, which)):
        return contents
    if reading.packed:
        if choices.chance(VectorProductDraws.PACKED_BITS):
            return Contents(anything(component), Data(random_bits=RandomBits(seed=choices.pick(CaseDraws.SEEDS))))
        return draw_contents(choices, reading.component, Wanted())
    if not reading.component.is_float:
        return _draw_for_integers(choices, row, ieee=ieee)
    if ieee and component is reading.component and choices.chance(VectorProductDraws.SPECIAL_INPUT):
        return draw_specials(choices, component)
    if not component.is_float and choices.chance(VectorProductDraws.INTEGER_TIES):
        return ties(component, reading.component, choices.pick(VectorProductDraws.TIES))
    if not exact:
        return realistic(component, choices.pick(CaseDraws.SEEDS)) if component.is_float else consecutive(0, 5003)
    size = min(budget_of(row, k).input, 1 << reading.component.format.precision)
    return draw_contents(choices, component, Wanted(size=size, exact=True, full=False))


def _full_range_input(row: VectorMulSupport, k: int, which: int) -> Contents | None:
    """Numbers as large as the interpretation has, with products of them that can still add up; None: no such.

    A type that is wider than an integer interpretation has numbers twice as large as well, which saturate (CV-031).
    """
    reading, component = row.input_interpretation, row.input
    if not reading.component.is_float:
        negative = reading.packed or component.is_float or component.is_signed
        numbers = ends(reading.component, which, nonnegative=not negative)
        wider = not reading.packed and component.size > reading.component.size
        assert numbers.data.cycle is not None
        return cycle([2 * int(n) for n in numbers.data.cycle]) if wider and which % 2 else numbers
    if not component.is_float or reading.component.size == 1:
        return None
    inputs = large(component, min(greatest_of(component)[0], greatest_of(reading.component)[0]))
    ones = raised(row.matrix_interpretation.component, 3, 0).known
    fitting = [c for c in inputs if adds_up(c.known, ones, k, row.result, bits_of(row))]
    return fitting[which * len(fitting) // 64] if fitting else None


def ties(given: ComponentType, reading: ComponentType, seed: int) -> Contents:
    """Integers halfway between two floats, and next to these, all of one binade: so one factor of 1 shows each."""
    bits = reading.format.precision
    most = min(limits(given)[1], int(reading.format.greatest) + 1)
    binades = [e for e in range(bits, 33) if 2 << e <= most + 1]
    # The greatest ones half of the time: what is unsigned has its highest bit set there.
    exponent = binades[-1 - (seed // 2 % len(binades) if seed % 2 else 0)]
    step = 2 << (exponent - bits)
    numbers = [(1 << exponent) + n * step + step // 2 + near for n in (0, 1, 2, 5, 8, 21) for near in (0, -1, 1)]
    numbers += [(2 << exponent) - 1, (2 << exponent) - step // 2]
    numbers = [n for n in numbers if n <= limits(given)[1]]
    return cycle(numbers[seed % len(numbers) :] + numbers[: seed % len(numbers)])


def are_ties(row: VectorMulSupport, known: Known) -> bool:
    """Whether a row's input holds numbers of `ties`."""
    reading = row.input_interpretation.component
    return reading.is_float and not row.input.is_float and known.low >= 1 << reading.format.precision


def selection(k: int) -> Contents:
    """A matrix that takes one component of the input, or none: sums of these are exact."""
    apart = next(n for n in (7, 13, 31, 67, 131, 257, 521, 1031, 2053, 4099) if n > k)
    return cycle([1, *[0] * (apart - 1)])


def _draw_for_integers(choices: Choices, row: VectorMulSupport, *, ieee: bool) -> Contents:
    component, reading = row.input, row.input_interpretation.component
    kind, seed = choices.record(9, 15)
    if not component.is_float:
        wide = component.size > reading.size
        return (
            random_numbers(Known(-300 if component.is_signed else 0, 300), seed, 0)
            if wide and kind < 5
            else (draw_contents(choices, component, Wanted()))
        )
    if kind < 4:
        return draw_contents(choices, component, Wanted(size=120, exact=True))
    if kind < (5 if ieee else 7):
        return cycle(_TO_INTEGERS)
    if kind == 7 or (ieee and kind >= 5):
        # What is next to nothing is 0; what is too large for any integer saturates, infinity where it is judged.
        kinds = ("greatest", *BOUNDED, *(("infinities",) if ieee else ()))
        return draw_special(choices, component, kinds, among=_TO_INTEGERS[::3])
    return random_numbers(Known(-1200, 1200), seed, 1)


def draw_matrix(
    choices: Choices, row: VectorMulSupport, k: int, given: Known, *, exact: bool, ieee: bool = False
) -> Contents:
    """What the matrix holds, in its own type; with special numbers (`ieee`)."""
    component = row.matrix_interpretation.component
    full, which = choices.record(4, 63)
    if ieee and component.is_float and choices.chance(VectorProductDraws.SPECIAL_MATRIX):
        return draw_specials(choices, component)
    if ieee and component.is_float and not given.bounded:
        return draw_contents(choices, component, Wanted(size=7, exact=True, halves=False))
    if not component.is_float:
        return ends(component, which) if full == 4 else draw_contents(choices, component, Wanted())
    if not exact:
        return realistic(component, choices.pick(CaseDraws.SEEDS))
    if full == 4 or (given.grain or 0) > 0:
        wide = (raised(component, 3, 0), *large(component))
        fitting = [c for c in wide if adds_up(given, c.known, k, row.result, bits_of(row))]
        if fitting:
            return fitting[which * len(fitting) // 64]
    size = min(budget_of(row, k, given).matrix, 1 << component.format.precision)
    return draw_contents(choices, component, Wanted(size=size, exact=True))


def draw_bias(choices: Choices, row: VectorMulSupport, product: Known, *, ieee: bool = False) -> Contents:
    """Contents of the bias: multiples of the step of the products, small enough for exact sums."""
    component = row.bias_interpretation.component
    if not component.is_float:
        return draw_contents(choices, component, Wanted())
    if ieee and choices.chance(VectorProductDraws.SPECIAL_BIAS):
        return draw_specials(choices, component)
    if not product.bounded:
        return draw_contents(choices, component, Wanted(size=7, exact=True, halves=False))
    if product.grain is None:
        return realistic(component, choices.pick(CaseDraws.SEEDS))
    if product.grain > 0:
        return choices.pick(addends(component, product.grain, row.result, bits_of(row)) or [raised(component, 3, 0)])
    room = budget_of(row, 1).bias * 2.0**product.grain
    return draw_contents(
        choices, component, Wanted(size=max(min(room, 1 << 11), 1), exact=True, halves=product.grain < 0)
    )


def read_input(row: VectorMulSupport, known: Known) -> Known:
    """What is known of an input as the multiplication reads it."""
    reading = row.input_interpretation
    if not reading.component.is_float:
        return anything(reading.component)
    if known.grain is not None and known.size <= math.ldexp(1, reading.component.format.precision + known.grain):
        return known
    return Known(known.low * 1.25 if known.low < 0 else 0, max(known.high * 1.25, 0), None)


def summed(row: VectorMulSupport, k: int, given: Known, matrix: Known, bias: Known | None) -> Known:
    """What is known of the result."""
    if not row.result.is_float:
        return anything(row.result)
    if not (given.bounded and matrix.bounded and (bias is None or bias.bounded)):
        return UNBOUNDED
    grains = [given.grain, matrix.grain]
    grain = None if None in grains else sum(g for g in grains if g is not None)
    size = k * given.size * matrix.size
    if bias is not None:
        size += bias.size
        grain = None if grain is None or bias.grain is None else min(grain, bias.grain)
    return rounded_sum(settled(row.result, -size, size, grain), size, k + 1, bits_of(row))
