"""Multiplications (KM-014): rows of the capabilities, sizes, operand masks, and data with which sums are exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from cts.base.choices import Choices
from cts.case.model import ComponentType, MatrixMulAdd, MulAddOperand, Scope, Use
from cts.case.model.component import Number
from cts.device.capabilities import Capabilities, MulAddSupport
from cts.generators.build.contents import Contents, Wanted, cycle, draw_contents, near_an_end, realistic
from cts.generators.build.kernels import Kernel, Matrix, Source, as_matrix
from cts.generators.build.specials import draw_special
from cts.generators.build.supports import LONG, MAX_ELEMENTS, Supports, can_run, draw_row, long_extent, shortened
from cts.generators.build.value_ranges import UNBOUNDED, Known, added, limits, reread, rounded_sum, settled
from cts.generators.parts.full_range import addends, adds_up, ends, is_greatest, large, raised
from cts.generators.parts.routes import Staging, draw_operand
from cts.generators.policy.matrices import ProductDraws

#: Significand bits that sums of float8 products may need: implementations keep fewer than the result has.
FLOAT8_BITS = 13


@dataclass(frozen=True)
class Sizes:
    """A is m x k, B is k x n, C and the result are m x n."""

    m: int
    n: int
    k: int

    @property
    def largest(self) -> int:
        """Elements of the largest of the three matrices."""
        return max(self.m * self.n, self.m * self.k, self.k * self.n)


def usable_products(supports: Supports) -> list[MulAddSupport]:
    """Rows whose matrices the driver can run and that are small enough, simplest first: the order of the device."""
    c = supports.capabilities
    rows = [
        row
        for row in c.mul_adds
        if can_run(c, row.scope, row.subgroups)
        and row.c.is_float == row.result.is_float
        and row.c.size == row.result.size
        and (row.c is row.result or not row.c.is_float)
        and Sizes(row.m, row.n, row.k).largest <= MAX_ELEMENTS
        and max(row.m, row.n, row.k) <= c.max_dimension
        and all(_declared(supports, row, use) for use in Use)
    ]
    return sorted(rows, key=lambda row: list(Scope).index(row.scope))


def _declared(supports: Supports, row: MulAddSupport, use: Use) -> list[ComponentType]:
    """The types that a matrix of this row may be declared with: for integers of either sign (VK-007)."""
    component, shape = {
        Use.A: (row.a, (row.m, row.k)),
        Use.B: (row.b, (row.k, row.n)),
        Use.Accumulator: (row.c, (row.m, row.n)),
    }[use]
    return [c for c in alike(component) if supports.admits(c, use, row.scope, shape, row.subgroups)]


def alike(component: ComponentType) -> Sequence[ComponentType]:
    """A type, and the integer type of the other sign."""
    if component.is_float:
        return (component,)
    other = component.value[1:] if not component.is_signed else f"u{component.value}"
    return component, ComponentType(other)


def draw_product_row(choices: Choices, rows: Sequence[MulAddSupport]) -> MulAddSupport:
    """A row; now and then one of those whose A and B have one type, as devices list them, however few these are."""
    row, alike = draw_row(choices, rows), choices.chance(ProductDraws.ALIKE)
    same = [r for r in rows if r.a is r.b is row.a and r.scope is row.scope]
    return choices.pick(same) if alike and same and row.a is not row.b else row


def draw_sizes(choices: Choices, row: MulAddSupport, capabilities: Capabilities) -> Sizes:
    """Mostly up to 16 rows and columns, and K up to several granules: no power of two as a rule.

    Two cases in five have M, N, both or K beyond the tiles of which devices make products.
    """
    if row.exact:
        return Sizes(row.m, row.n, row.k)
    beyond, *which = choices.record(14, len(LONG) - 1, len(LONG) - 1)
    granules = (row.m, row.n, row.k)
    extents = [
        granule * choices.between(1, max(min(most, capabilities.max_dimension) // granule, 1))
        for granule, most in zip(granules, (max(16, 2 * row.m), max(16, 2 * row.n), max(40, 5 * row.k)), strict=True)
    ]
    long = ((0,), (1,), (0,), (1,), (0, 1), (2,))[beyond - 9] if beyond >= 9 else ()
    for axis, number in zip(long, which, strict=False):
        extents[axis] = long_extent(number, granules[axis], capabilities.max_dimension)
    return Sizes(*shortened(extents, granules, long))


@dataclass(frozen=True)
class _Budget:
    """How large the numbers of A and B may be, and of C; whether they may be halves."""

    products: float
    c: float
    halves: bool


def _budget(row: MulAddSupport, k: int, times: int, *, halves: bool) -> _Budget:
    """For sums of `times` multiplications that are exact in any order (NU-010), or do not overflow (NU-002)."""
    if not row.result.is_float:
        return _Budget(limits(row.result)[1] / k, limits(row.c)[1], halves=False)
    total = 2.0 ** (_bits(row) - (2 if halves else 0)) / times
    return _Budget(max(total / 2 / k, 1), total / 2, halves)


def _bits(row: MulAddSupport) -> int:
    """Significant bits with which sums of a row are sure to be made."""
    bits = row.result.format.precision
    return min(bits, FLOAT8_BITS) if row.a.size == 1 else bits


def draw_factors(
    choices: Choices, row: MulAddSupport, k: int, times: int, *, ieee: bool = False
) -> tuple[Contents, Contents, Contents]:
    """Contents of A, B and C of a row; with `times` multiplications in a row; `ieee`: with special numbers."""
    free, halves = choices.record(9, 3)
    if ieee:
        return _draw_special_factors(choices, row, k)
    if row.result.is_float and free >= 8:
        return realistic(row.a, free), realistic(row.b, free + 2), realistic(row.c, free + 4)
    # A narrower result mostly has sums that stay near its ends.
    near = not row.result.is_float and row.result.size < row.c.size and free >= 3
    if not near and (full_range := _draw_full_range(choices, row, k, times)):
        return full_range
    budget = _budget(row, k, times, halves=halves == 3)
    saturating_unsigned = row.saturating and not row.result.is_signed
    wide = row.a.size * row.b.size > 1 and row.saturating
    largest = min(budget.products**0.5 if wide else budget.products, 1 << 15)
    if near:
        largest = min(largest, 3)
        budget = replace(budget, products=largest**2)

    def draw(component: ComponentType, size: float) -> Contents:
        positive = saturating_unsigned and component.is_signed
        sign = "nonnegative" if positive else "any"
        full = not (positive or wide or near)
        return draw_contents(
            choices, component, Wanted(size=size, sign=sign, exact=True, halves=budget.halves, full=full)
        )

    a = draw(row.a, largest)
    b = draw(row.b, largest if wide else max(budget.products / max(a.known.size, 1), 1))
    return a, b, draw_addend(choices, row, budget.c)


def _draw_full_range(
    choices: Choices, row: MulAddSupport, k: int, times: int
) -> tuple[Contents, Contents, Contents] | None:
    """Numbers as large as the types, and yet exact sums: now and then, and only where the row admits that."""
    wanted, *which = choices.record(5, 63, 63)
    bytes_alone = row.a.size == row.b.size == 1 and not row.result.is_float
    if wanted < (3 if bytes_alone else 4):
        return None
    if not row.result.is_float:
        if row.a.size * row.b.size > 1 and row.saturating:
            return None
        nonnegative = row.saturating and not row.result.is_signed
        a, b = (ends(c, n, nonnegative=nonnegative) for c, n in zip((row.a, row.b), which, strict=True))
        return a, b, draw_addend(choices, row, limits(row.c)[1])
    bits = _bits(row)
    pairs = [
        (a, b)
        for a in large(row.a)
        for b in (raised(row.b, 3, 0), *large(row.b))
        if adds_up(a.known, b.known, k * times, row.result, bits)
    ]
    if not pairs:
        return None
    greatest = [p for p in pairs if is_greatest(row.a, p[0]) or is_greatest(row.b, p[1])]
    if wanted == 5 and greatest:
        pairs = greatest
    a, b = pairs[which[0] * len(pairs) // 64]
    assert a.known.grain is not None and b.known.grain is not None
    of_c = addends(row.c, a.known.grain + b.known.grain, row.result, bits)
    return a, b, of_c[which[1] % len(of_c)]


#: Ordinary factors among the special ones: few bits, and zeros, so that infinity times zero is tested.
_BESIDE: tuple[Number, ...] = (1, 0, -2, 3, 0, -1, 2, 1, -3)


def _draw_special_factors(choices: Choices, row: MulAddSupport, k: int) -> tuple[Contents, Contents, Contents]:
    """Contents of A, B and C: here and there an infinity, a NaN or a zero with a sign, in one of them or in all.

    Mostly so few that many of the sums of K products have none.
    """
    which, rare = choices.record(6, 2)
    one_in = (max(16, 2 * k), max(31, 3 * k), 7)[rare]
    kinds = ("infinities", "zeros", "nans")

    def draw(n: int, component: ComponentType) -> Contents:
        # One of the three, or all of them, or two.
        if which in (n, 3) or (which > 3 and which - 4 != n):
            return draw_special(choices, component, kinds, among=_BESIDE, one_in=one_in)
        return draw_contents(choices, component, Wanted(size=7, exact=True, halves=False))

    return draw(0, row.a), draw(1, row.b), draw(2, row.c)


def draw_addend(choices: Choices, row: MulAddSupport, size: float) -> Contents:
    """Contents of C: for integers near an end of the type as a rule, where sums wrap or saturate (NU-001, NU-002).

    If the result is narrower, near the ends of the result's type, of either sign.
    """
    kind = choices.pick(ProductDraws.ADDENDS)
    if not row.c.is_float and kind >= 1 and row.result.size < row.c.size:
        ends = -1, *limits(row.result)
        return cycle(tuple(end + n for n in range(-4, 5) for end in ends))
    if not row.c.is_float and kind >= 4:
        return near_an_end(row.c, (251, 13, 4093)[kind % 3], top=kind < 7)
    return draw_contents(choices, row.c, Wanted(size=size, exact=True, halves=row.c.size > 1))


def draw_mul_add(
    choices: Choices,
    kernel: Kernel,
    row: MulAddSupport,
    a: Matrix,
    b: Matrix,
    c: Matrix,
    component: ComponentType | None = None,
) -> Matrix:
    """A * B + C as the row reads its operands; the result has components `component`, None: those of C."""
    result = component or c.component
    bits = (
        (row.a, MulAddOperand.MatrixASigned),
        (row.b, MulAddOperand.MatrixBSigned),
        (row.c, MulAddOperand.MatrixCSigned),
        (row.result, MulAddOperand.MatrixResultSigned),
    )
    operands = tuple(bit for component, bit in bits if component.is_signed)
    if row.saturating:
        operands += (MulAddOperand.SaturatingAccumulation,)
    name = kernel.name("m")
    other = None if result is c.component else result
    kernel.program.emit(MatrixMulAdd(id=name, a=a.id, b=b.id, c=c.id, operands=operands, component=other))
    of_result = replace(c, type=structs.replace(c.type, component=result), component=result)
    return as_matrix(of_result, name, _result(row, a, b, c, result))


def _result(row: MulAddSupport, a: Matrix, b: Matrix, c: Matrix, declared: ComponentType) -> Known:
    """What is known of a result, as its declared type reads it."""
    x, y, z = (reread(m.component, e, m.known) for m, e in ((a, row.a), (b, row.b), (c, row.c)))
    ends = [a.cols * p * q for p in (x.low, x.high) for q in (y.low, y.high)]
    grain = None if x.grain is None or y.grain is None else x.grain + y.grain
    if not (x.bounded and y.bounded and z.bounded):
        return UNBOUNDED
    if row.result.is_float:
        exact = added(row.result, settled(row.result, min(ends), max(ends), grain), z)
        return rounded_sum(exact, a.cols * x.size * y.size + z.size, a.cols + 1, _bits(row))
    low, high = min(ends) + z.low, max(ends) + z.high
    least, most = limits(row.result)
    known = Known(max(low, least), min(high, most)) if row.saturating else settled(row.result, low, high, 0)
    return reread(row.result, declared, known)


class Factors:
    """A and B of a row, by all ways that a program has to get them, and buffers that they have in common."""

    def __init__(
        self, choices: Choices, kernel: Kernel, row: MulAddSupport, sizes: Sizes, contents: tuple[Contents, Contents]
    ) -> None:
        self._kernel, self._row, self._contents = kernel, row, contents
        self._shapes = {Use.A: (sizes.m, sizes.k), Use.B: (sizes.k, sizes.n)}
        self._staging = Staging(kernel)
        self._sources: list[Source] = []
        self._staged = choices.chance(ProductDraws.ALL_STAGED)

    def draw(self, choices: Choices, use: Use) -> Matrix:
        """A matrix declared with the row's signs or, where the driver has such matrices, with the others."""
        row, kernel, shape = self._row, self._kernel, self._shapes[use]
        component = row.a if use is Use.A else row.b
        declared = declared_type(choices, kernel, row, use, shape)
        contents = self._contents[0 if use is Use.A else 1]
        if choices.chance(ProductDraws.CONSTANT_FACTOR) and (value := _one_of(contents.known, declared)) is not None:
            return kernel.constant(declared, *shape, use, value)
        source = self._source(choices, component, contents)

        def load(c: Choices, use: Use, rows: int, cols: int) -> Matrix:
            return kernel.load_from(c, source, rows, cols, use, declared)

        signs = not row.saturating
        return draw_operand(choices, self._staging, declared, use, shape, load, signs=signs, staged=self._staged)

    def _source(self, choices: Choices, component: ComponentType, contents: Contents) -> Source:
        """A buffer with these contents, now and then one that an earlier operand has."""
        again = choices.chance(ProductDraws.SOURCE_AGAIN)
        alike = [s for s in self._sources if s.type is component and s.data == contents.data]
        if again and alike:
            return alike[-1]
        source = self._kernel.source(choices, component, contents)
        self._sources.append(source)
        return source


def _one_of(known: Known, component: ComponentType) -> Number | None:
    """A number of the type as fine and no larger than others are; None where nothing is known of these."""
    if known.grain is None or not known.bounded:
        return None
    value = 2.0**known.grain
    fitting = next(
        (
            v
            for v in (3 * value, -value, value)
            if known.low <= v <= known.high and (v > 0 or component.is_float or component.is_signed)
        ),
        None,
    )
    return None if fitting is None else int(fitting) if fitting == int(fitting) else fitting


def declared_type(
    choices: Choices, kernel: Kernel, row: MulAddSupport, use: Use, shape: tuple[int, int]
) -> ComponentType:
    """A component type for a matrix of a row: for integers now and then that of the other sign (VK-007)."""
    options = [c for c in _declared(kernel.supports, row, use) if kernel.admits(c, *shape, use)]
    return options[1] if choices.chance(ProductDraws.OTHER_SIGN) and len(options) > 1 else options[0]
