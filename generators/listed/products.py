"""Multiplications of matrices that are listed (VK-020..VK-022)."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case.model import Case, MatrixMulAdd, MatrixType, MulAddOperand, Use
from cts.device.capabilities import Capabilities, MulAddSupport
from cts.generators.listed.data import A, B, C, factors
from cts.generators.listed.matrices import Builder, Place, extents, places


def left_out(capabilities: Capabilities) -> Iterator[str]:
    """The rows of integers and floats: no sentence says how a product of the one becomes the other."""
    for row in capabilities.mul_adds:
        if not _is_sayable(row):
            types = " ".join(c.value for c in (row.a, row.b, row.c, row.result))
            yield f"multiplication {types}: no sentence says how integers become floats"


def _is_sayable(row: MulAddSupport) -> bool:
    return len({c.is_float for c in (row.a, row.b, row.c, row.result)}) == 1


def cases(capabilities: Capabilities) -> Iterator[Case]:
    """Of each row the smallest and the largest multiplication."""
    for row in filter(_is_sayable, capabilities.mul_adds):
        sizes = extents((row.m, row.n, row.k), capabilities.max_dimension, exact=row.exact)
        for number, (m, n, k) in enumerate(sizes):
            for place in places(capabilities, row.scope, row.subgroups, largest=number > 0):
                yield _product(row, (m, n, k), place)


def _product(row: MulAddSupport, sizes: tuple[int, int, int], place: Place) -> Case:
    """A * B + C; where the sum saturates at 0 its products are not negative, or they would be undefined (NU-002)."""
    m, n, k = sizes
    nonnegative = row.saturating and not row.result.is_signed
    builder = Builder(place)
    of_a = MatrixType(row.a, row.scope, m, k, Use.A)
    of_b = MatrixType(row.b, row.scope, k, n, Use.B)
    of_c = MatrixType(row.c, row.scope, m, n, Use.Accumulator)
    of_result = MatrixType(row.result, row.scope, m, n, Use.Accumulator)
    builder.load("a", "of_a", of_a, factors(row.a, A, nonnegative=nonnegative))
    builder.load("b", "of_b", of_b, factors(row.b, B, nonnegative=nonnegative))
    builder.load("c", "of_c", of_c, factors(row.c, C))
    bits = (
        (row.a, MulAddOperand.MatrixASigned),
        (row.b, MulAddOperand.MatrixBSigned),
        (row.c, MulAddOperand.MatrixCSigned),
        (row.result, MulAddOperand.MatrixResultSigned),
    )
    operands = tuple(bit for component, bit in bits if component.is_signed and not component.is_float)
    if row.saturating:
        operands += (MulAddOperand.SaturatingAccumulation,)
    other = None if row.result is row.c else row.result
    builder.program.append(MatrixMulAdd(id="r", a="a", b="b", c="c", operands=operands, component=other))
    builder.store("r", "dst", of_result)
    types = "_".join(c.value for c in (row.a, row.b, row.c, row.result))
    saturating = "_saturating" if row.saturating else ""
    return builder.case(f"mul_add.{types}{saturating}.{m}x{n}x{k}", ("KM-014b" if other else "KM-014", "VK-022"))
