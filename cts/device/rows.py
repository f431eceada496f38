"""The rows that a device lists - matrices, and multiplications of matrices and vectors - and what they cover."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from cts.case import model
from cts.case.model import ComponentType, Interpretation, MatrixShape, Scope, Use
from cts.case.model.matrices import effective
from cts.device.vendors import Vendor


@dataclass(frozen=True)
class MatrixSupport:
    """Matrices a device supports (VK-020, VK-021).

    Rows and columns must be multiples of `rows` and `cols`, or equal to them where `exact`.
    `subgroups` is the number of subgroups per workgroup that a Workgroup scope entry asks for
    (VK-025); None: any.
    """

    component: ComponentType
    use: Use
    scope: Scope
    rows: int = 1
    cols: int = 1
    exact: bool = False
    subgroups: int | None = None

    def admits(self, shape: MatrixShape, subgroups: int) -> bool:
        """Whether this row covers a matrix type in a workgroup of so many subgroups."""
        if (shape.component, shape.use, shape.scope) != (self.component, self.use, self.scope):
            return False
        if shape.scope is Scope.Workgroup and self.subgroups not in (None, subgroups):
            return False
        if self.exact:
            return (shape.rows, shape.cols) == (self.rows, self.cols)
        return shape.rows % self.rows == 0 and shape.cols % self.cols == 0


@dataclass(frozen=True)
class MulAddSupport:
    """One combination that OpCooperativeMatrixMulAddKHR may have (VK-020..VK-022).

    Components are as the operand mask reads them: int8 where the bit is set, uint8 where it is not.
    M, N and K must be multiples of `m`, `n` and `k`, or equal to them where `exact`.
    """

    a: ComponentType
    b: ComponentType
    c: ComponentType
    result: ComponentType
    scope: Scope
    saturating: bool = False
    m: int = 1
    n: int = 1
    k: int = 1
    exact: bool = False
    subgroups: int | None = None

    def admits(
        self,
        types: tuple[ComponentType, ...],
        scope: Scope,
        saturating: bool,
        sizes: tuple[int, int, int],
        subgroups: int,
    ) -> bool:
        """Whether this row covers a multiplication of these types and sizes (M, N, K) in such a workgroup."""
        if (types, scope, saturating) != ((self.a, self.b, self.c, self.result), self.scope, self.saturating):
            return False
        if scope is Scope.Workgroup and self.subgroups not in (None, subgroups):
            return False
        granules = (self.m, self.n, self.k)
        if self.exact:
            return sizes == granules
        return all(size % granule == 0 for size, granule in zip(sizes, granules, strict=True))


@dataclass(frozen=True)
class VectorMulSupport:
    """One combination that a cooperative vector's matrix multiplication may have (VK-052, CV-036).

    `input` and `result` are as the operand mask reads them. `bias` is not asked of a multiplication
    without one. `transpose` says whether the matrix may be transposed.
    """

    input: ComponentType
    input_interpretation: Interpretation
    matrix_interpretation: Interpretation
    bias_interpretation: Interpretation
    result: ComponentType
    transpose: bool = False


VectorMul: TypeAlias = tuple[ComponentType, Interpretation, Interpretation, Interpretation | None, ComponentType, bool]


def vector_mul(i: model.VectorMatrixMul, types: Mapping[str, object]) -> VectorMul:
    """What a multiplication asks of a row; integer vectors are as the operand mask reads them (CV-017)."""
    source = types[i.input]
    assert isinstance(source, model.VectorShape)
    reading = model.interpretation_of(i.input_interpretation)
    component = source.component
    if not reading.packed:
        component = effective(component, model.MulAddOperand.MatrixBSigned in i.operands)
    result = effective(i.type.component, model.MulAddOperand.MatrixResultSigned in i.operands)
    bias = None if i.bias_interpretation is None else model.interpretation_of(i.bias_interpretation)
    return (
        component,
        reading,
        model.interpretation_of(i.matrix_interpretation),
        bias,
        result,
        bool(model.constant_of(i.transpose)),
    )


def vector_muls(case: model.Case) -> dict[VectorMul, None]:
    """What the multiplications of vectors ask for, each once."""
    types = model.types_of(case)
    return dict.fromkeys(vector_mul(i, types) for i in case.program if isinstance(i, model.VectorMatrixMul))


MulAdd: TypeAlias = tuple[tuple[ComponentType, ...], Scope, bool, tuple[int, int, int]]


def mul_adds(case: model.Case) -> dict[MulAdd, None]:
    """What the multiplications of matrices ask for, each once: components, scope, saturation, and (M, N, K)."""
    types = model.types_of(case)
    wanted: dict[MulAdd, None] = {}
    for i in case.program:
        if isinstance(i, model.MatrixMulAdd):
            a, b, c = types[i.a], types[i.b], types[i.c]
            assert isinstance(a, MatrixShape) and isinstance(b, MatrixShape) and isinstance(c, MatrixShape)
            saturating = model.MulAddOperand.SaturatingAccumulation in i.operands
            wanted[model.mul_add_types(i, a, b, c), c.scope, saturating, (c.rows, c.cols, a.cols)] = None
    return wanted


def covers(row: VectorMulSupport, wanted: VectorMul) -> bool:
    """Whether a multiplication may be done by a row (VK-052)."""
    component, reading, matrix, bias, result, transpose = wanted
    return (
        (component, reading, matrix, result)
        == (row.input, row.input_interpretation, row.matrix_interpretation, row.result)
        and bias in (None, row.bias_interpretation)
        and (row.transpose or not transpose)
    )


def vector_mul_text(wanted: VectorMul) -> str:
    """The multiplication in words."""
    component, reading, matrix, bias, result, transpose = wanted
    text = f"{component.value} as {reading.value}, matrix {matrix.value}"
    text += f", bias {bias.value}" if bias is not None else ""
    return f"{text}, result {result.value}{', transposed' if transpose else ''}"


def _everywhere() -> Iterator[VectorMulSupport]:
    t, r = ComponentType, Interpretation
    for component, reading, matrix, bias, result in (
        (t.float16, r.float16, r.float16, r.float16, t.float16),
        (t.uint32, r.int8_packed, r.int8, r.int32, t.int32),
        (t.int8, r.int8, r.int8, r.int32, t.int32),
        (t.float32, r.int8, r.int8, r.int32, t.int32),
        (t.float16, r.float8_e4m3fn, r.float8_e4m3fn, r.float16, t.float16),
        (t.float16, r.float8_e5m2, r.float8_e5m2, r.float16, t.float16),
    ):
        yield VectorMulSupport(component, reading, matrix, bias, result)


#: What every device with cooperative vectors multiplies (CV-036, DQ-075).
EVERYWHERE = tuple(_everywhere())


def every_vector_mul() -> Iterator[VectorMulSupport]:
    """What every device must list (DQ-075), unsigned ones, those of mixed signs, wider results, integers as floats."""
    t, r = ComponentType, Interpretation
    f16, f32 = r.float16, r.float32
    for component, reading, matrix, bias, result in (
        (t.float16, f16, f16, f16, t.float16),
        (t.float16, f16, f16, f32, t.float32),
        (t.float32, f32, f32, f32, t.float32),
        (t.float32, f16, f16, f16, t.float16),
        (t.float16, r.float8_e4m3fn, r.float8_e4m3fn, f16, t.float16),
        (t.float16, r.float8_e5m2, r.float8_e5m2, f16, t.float16),
        (t.float32, r.float8_e4m3fn, r.float8_e4m3fn, f32, t.float32),
        (t.int32, f16, f16, f16, t.float16),
        (t.uint32, f32, f32, f32, t.float32),
    ):
        yield VectorMulSupport(component, reading, matrix, bias, result, transpose=True)
    for signed, packed, bias, result in (
        (r.int8, r.int8_packed, r.int32, t.int32),
        (r.uint8, r.uint8_packed, r.uint32, t.uint32),
    ):
        yield VectorMulSupport(t.uint32, packed, signed, bias, result, transpose=True)
        for component in (signed.component, t.float32, t.float16, t.int32, t.uint32):
            yield VectorMulSupport(component, signed, signed, bias, result, transpose=True)
    for read, packed, matrix in ((r.uint8, r.uint8_packed, r.int8), (r.int8, r.int8_packed, r.uint8)):
        yield VectorMulSupport(t.uint32, packed, matrix, r.int32, t.int32, transpose=True)
        yield VectorMulSupport(read.component, read, matrix, r.int32, t.int32, transpose=True)


def every_product() -> Iterator[tuple[ComponentType, ComponentType, ComponentType, ComponentType, bool]]:
    """Components of A, B, C and result, and saturation: what devices list, mixed signs, and C and results apart."""
    t = ComponentType
    float8 = tuple(component for component in t if component.is_float8)
    for a, b, results in (
        (t.float16, t.float16, (t.float16, t.float32)),
        (t.float32, t.float32, (t.float32,)),
        (t.bfloat16, t.bfloat16, (t.float32, t.bfloat16)),
        *((a, b, (t.float32, t.float16)) for a in float8 for b in float8),
    ):
        yield from ((a, b, c, c, False) for c in results)
    narrow = (t.int8, t.uint8, t.int16, t.uint16)
    for a in narrow:
        for b in narrow:
            for c in (t.int32, t.uint32):
                yield from ((a, b, c, c, False), (a, b, c, c, True))
    for a, c in ((t.float16, t.float16), (t.bfloat16, t.bfloat16), (t.float8_e4m3fn, t.float16)):
        yield from ((a, a, c, t.float32, False), (a, a, t.float32, c, False))
    for a, b in ((t.int8, t.int8), (t.uint8, t.uint8), (t.uint8, t.int8), (t.int16, t.uint16)):
        for c, result in ((t.int32, t.uint32), (t.uint32, t.int32), (t.int16, t.int32), (t.uint16, t.int32)):
            yield from ((a, b, c, result, False), (a, b, c, result, True))
        yield a, b, t.int32, t.int16, False


def rows_of_vendor(p: MulAddSupport, vendor: Vendor) -> Iterator[MulAddSupport]:
    """The row with each of the sizes that a profile lists for its types."""
    for (m, n, k), a, b, result, *c in vendor.rows:
        of_c = c[0] if c else result
        alike = (p.a.value, p.b.value, p.c.value, p.result.value) == (a, b, of_c, result)
        if alike and (not p.saturating or result == "int32"):
            yield replace(p, m=m, n=n, k=k, exact=not vendor.granular)


def factors(p: MulAddSupport) -> Iterator[MatrixSupport]:
    """The matrices of a product."""
    for component, use, rows, cols in (
        (p.a, Use.A, p.m, p.k),
        (p.b, Use.B, p.k, p.n),
        (p.c, Use.Accumulator, p.m, p.n),
        (p.result, Use.Accumulator, p.m, p.n),
    ):
        yield MatrixSupport(component, use, p.scope, rows, cols, p.exact)
