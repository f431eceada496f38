"""Multiplications of matrices that are listed (VK-020..VK-022)."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case.model import Case, MatrixMulAdd, MatrixType, MulAddOperand, Use
from cts.device.capabilities import Capabilities, MulAddSupport
from cts.generators.listed.data import A, B, C, factors
from cts.generators.listed.matrices import Builder, Place, extents, places


def left_out(capabilities: Capabilities) -> Iterator[str]:
    """The rows that no case can say."""
    for row in capabilities.mul_adds:
        if not _is_sayable(row):
            types = " ".join(c.value for c in (row.a, row.b, row.c, row.result))
            yield f"multiplication {types}: a case's result has the type of C"


def _is_sayable(row: MulAddSupport) -> bool:
    """Whether a case can say it: the result of its multiplications has the type of C, whatever the sign of integers."""
    if row.c.is_float or row.result.is_float:
        return row.c is row.result
    return row.c.size == row.result.size


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
    of_c = MatrixType(row.result, row.scope, m, n, Use.Accumulator)
    builder.load("a", "of_a", of_a, factors(row.a, A, nonnegative=nonnegative))
    builder.load("b", "of_b", of_b, factors(row.b, B, nonnegative=nonnegative))
    builder.load("c", "of_c", of_c, factors(row.result if row.c.is_signed else row.c, C))
    bits = (
        (row.a, MulAddOperand.MatrixASigned),
        (row.b, MulAddOperand.MatrixBSigned),
        (row.c, MulAddOperand.MatrixCSigned),
        (row.result, MulAddOperand.MatrixResultSigned),
    )
    operands = tuple(bit for component, bit in bits if component.is_signed and not component.is_float)
    if row.saturating:
        operands += (MulAddOperand.SaturatingAccumulation,)
    builder.program.append(MatrixMulAdd(id="r", a="a", b="b", c="c", operands=operands))
    builder.store("r", "dst", of_c)
    types = "_".join(c.value for c in (row.a, row.b, row.c, row.result))
    saturating = "_saturating" if row.saturating else ""
    return builder.case(f"mul_add.{types}{saturating}.{m}x{n}x{k}", ("KM-014", "VK-022"))
