"""Products of cooperative vectors: with matrices in memory, and what training accumulates there."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec import Struct

from cts.case.model.component import ComponentType
from cts.case.model.feature import Feature
from cts.case.model.instruction import Accumulation, Product, TypingResult
from cts.case.model.matrices import MulAddOperand
from cts.case.model.operand import Operand, SpecBool, SpecInt, constant_of
from cts.case.model.types import Problem, VectorType
from cts.case.model.vectors import COOPERATIVE_VECTOR, VectorInstructionBase

if TYPE_CHECKING:
    from cts.case.model.names import TypingContext

__all__ = [
    "Interpretation", "MatrixLayout", "SpecInterpretation", "SpecLayout", "TrainingInstruction", "VectorMatrixMul",
    "VectorOuterProductAccumulate", "VectorReduceSumAccumulate", "interpretation_of", "layout_of",
]  # fmt: skip


class Interpretation(enum.Enum):
    """How the multiplication reads components (CV-002): component types, and four 8-bit ones packed in a uint32."""

    float16 = "float16"
    float32 = "float32"
    float8_e4m3fn = "float8_e4m3fn"
    float8_e5m2 = "float8_e5m2"
    int8 = "int8"
    uint8 = "uint8"
    int16 = "int16"
    uint16 = "uint16"
    int32 = "int32"
    uint32 = "uint32"
    int8_packed = "int8_packed"
    uint8_packed = "uint8_packed"

    @property
    def packed(self) -> bool:
        return self.value.endswith("_packed")

    @property
    def component(self) -> ComponentType:
        """The type of one component."""
        return ComponentType(self.value.removesuffix("_packed"))

    @property
    def spirv(self) -> str:
        """SPIR-V's name of it among the component types."""
        name = self.component.descriptor.spirv
        return f"{name.removesuffix('NV')}PackedNV" if self.packed else name

    @property
    def number(self) -> int:
        """Its VkComponentTypeKHR."""
        return _PACKED[self.component.is_signed] if self.packed else self.component.descriptor.number


#: VK_COMPONENT_TYPE_UINT8_PACKED_NV and VK_COMPONENT_TYPE_SINT8_PACKED_NV.
_PACKED = (1000491001, 1000491000)


class MatrixLayout(enum.Enum):
    """Where a matrix has its elements in memory (CV-002). Optimal layouts are known to the device alone."""

    RowMajor = "RowMajor"
    ColumnMajor = "ColumnMajor"
    InferencingOptimal = "InferencingOptimal"
    TrainingOptimal = "TrainingOptimal"

    @property
    def optimal(self) -> bool:
        return self in (MatrixLayout.InferencingOptimal, MatrixLayout.TrainingOptimal)


class SpecInterpretation(Struct, frozen=True, forbid_unknown_fields=True):
    """An interpretation delivered as a specialization constant."""

    spec: Interpretation


class SpecLayout(Struct, frozen=True, forbid_unknown_fields=True):
    """A matrix layout delivered as a specialization constant."""

    spec: MatrixLayout


def interpretation_of(declared: Interpretation | SpecInterpretation) -> Interpretation:
    """The interpretation, however it is delivered."""
    return declared.spec if isinstance(declared, SpecInterpretation) else declared


def layout_of(declared: MatrixLayout | SpecLayout) -> MatrixLayout:
    """The matrix layout, however it is delivered."""
    return declared.spec if isinstance(declared, SpecLayout) else declared


TRAINING = COOPERATIVE_VECTOR | {Feature.COOPERATIVE_VECTOR_TRAINING}


#: CV-016: 32-bit integers, 16- and 32-bit floats.
_RESULTS = tuple(t for t in ComponentType if t.is_ieee or (not t.is_float and t.size == 4))


class VectorMatrixMul(VectorInstructionBase, Product, frozen=True):
    """CV-014..CV-018: matrix times vector, plus a bias where there is one (OpCooperativeVectorMatrixMulAddNV).

    `matrix` is a buffer or an opaque matrix, `bias` a buffer; offsets and `stride` count bytes. At an
    opaque matrix, `matrix_offset` must be where it begins.
    """

    refers: ClassVar[tuple[str, ...]] = ("input",)
    cooperative = True
    facts = ("CV-018", "CV-014")
    exercises = ("CV-016b", "CV-035", "VK-050", "VK-052")
    id: str
    type: VectorType
    input: str
    input_interpretation: Interpretation | SpecInterpretation
    matrix: str
    matrix_interpretation: Interpretation | SpecInterpretation
    m: int | SpecInt
    k: int | SpecInt
    layout: MatrixLayout | SpecLayout
    matrix_offset: Operand = 0
    stride: Operand = 0
    transpose: bool | SpecBool = False
    bias: str | None = None
    bias_offset: Operand = 0
    bias_interpretation: Interpretation | SpecInterpretation | None = None
    operands: tuple[MulAddOperand, ...] = ()

    @property
    def spirv(self) -> str:
        return f"OpCooperativeVectorMatrixMul{'Add' if self.bias is not None else ''}NV"

    def typed(self, context: TypingContext) -> TypingResult:
        """CV-016, CV-018."""
        source, m, k = context.vector(self.input), constant_of(self.m), constant_of(self.k)
        assert isinstance(m, int) and isinstance(k, int)
        if constant_of(self.type.length) != m:
            yield Problem("type.length", f"{constant_of(self.type.length)} components", f"M = {m}", "CV-016")
        if self.type.component not in _RESULTS:
            right = ", ".join(c.value for c in _RESULTS)
            yield Problem("type.component", f"a result of {self.type.component.value}", right, "CV-016")
        reading = interpretation_of(self.input_interpretation)
        needed = -(-k // 4) if reading.packed else k
        if reading.packed and source.component is not ComponentType.uint32:
            yield Problem("input", f"packed components in {source.component.value}", "a vector of uint32", "CV-016")
        if source.length < needed or (source.length > needed and not reading.packed):
            yield Problem("input", f"{source.length} components", f"{needed} for K = {k}", "CV-016")
        for field in ("matrix_interpretation", "bias_interpretation"):
            declared = getattr(self, field)
            if declared is not None and interpretation_of(declared).packed:
                yield Problem(field, "packed", "an unpacked type: only inputs are packed", "DQ-076")
        if (self.bias is None) != (self.bias_interpretation is None):
            yield Problem("bias_interpretation", "a bias by half", "`bias` and `bias_interpretation`, or neither")
        unknown = set(self.operands) - {MulAddOperand.MatrixBSigned, MulAddOperand.MatrixResultSigned}
        if unknown:
            names = ", ".join(sorted(o.value for o in unknown))
            yield Problem("operands", names, "MatrixBSigned (the input) and MatrixResultSigned", "CV-017")
        layout = layout_of(self.layout)
        if constant_of(self.transpose) and not layout.optimal:
            yield Problem("transpose", f"with {layout.value}", "an optimal layout", "CV-018")
        yield from _is_opaque("matrix", self.matrix, layout, context)
        if layout.optimal and self.matrix in context.opaque:
            matrix = context.opaque[self.matrix]
            extents = (k, m) if constant_of(self.transpose) else (m, k)
            if (matrix.rows, matrix.cols) != extents:
                what, right = f"a {matrix.rows}x{matrix.cols} matrix", f"{extents[0]}x{extents[1]}"
                yield Problem("matrix", what, right, "CV-018")
            if matrix.component is not interpretation_of(self.matrix_interpretation).component:
                right = matrix.component.value
                yield Problem("matrix_interpretation", "another type than the matrix is of", right, "CV-035")
        yield self.type


def _is_opaque(field: str, name: str, layout: MatrixLayout, context: TypingContext) -> Iterator[Problem]:
    """An optimal layout goes with an opaque matrix of that layout, others with a buffer."""
    matrix = context.opaque.get(name)
    if layout.optimal and matrix is None:
        yield Problem(
            field, f"{name!r} is not an opaque matrix", f"one of {', '.join(sorted(context.opaque)) or 'none'}"
        )
    elif matrix is not None and matrix.layout is not layout:
        yield Problem("layout", f"{layout.value} of a matrix in {matrix.layout.value}", matrix.layout.value)


#: The type of the vectors that an outer product multiplies (CV-037).
OUTER_FACTOR = ComponentType.float16


class VectorOuterProductAccumulate(VectorInstructionBase, Accumulation, frozen=True):
    """CV-020, CV-037: the matrix gains a times the transpose of b, atomically element by element."""

    opcode: ClassVar[str] = "OpCooperativeVectorOuterProductAccumulateNV"
    form = "matrix a b layout interpretation stride?"
    glsl = "coopVecOuterProductAccumulateNV(a, b, matrix, stride, layout, interpretation)"
    capability = "CooperativeVectorTrainingNV"
    refers: ClassVar[tuple[str, ...]] = ("a", "b")
    cooperative = True
    facts = ("CV-020", "CV-037")
    exercises = ("CV-038", "VK-050")
    needs = TRAINING
    a: str
    b: str
    matrix: str
    interpretation: Interpretation | SpecInterpretation
    layout: MatrixLayout | SpecLayout = MatrixLayout.TrainingOptimal
    offset: Operand = 0
    stride: Operand = 0

    def typed(self, context: TypingContext) -> TypingResult:
        """CV-020, CV-037."""
        a, b = context.vector(self.a), context.vector(self.b)
        if a.component is not b.component or a.component is not OUTER_FACTOR:
            yield Problem("a", f"{a.component.value} and {b.component.value}", "float16 and float16", "CV-037")
        reading, layout = interpretation_of(self.interpretation), layout_of(self.layout)
        if reading.packed or not reading.component.is_ieee:
            yield Problem("interpretation", reading.value, "float16 or float32", "CV-037")
        if layout is not MatrixLayout.TrainingOptimal:
            yield Problem("layout", layout.value, "TrainingOptimal", "CV-037")
        yield from _is_opaque("matrix", self.matrix, layout, context)
        matrix = context.opaque.get(self.matrix)
        if matrix is not None and (matrix.rows, matrix.cols) != (a.length, b.length):
            what = f"a {matrix.rows}x{matrix.cols} matrix"
            yield Problem("matrix", what, f"{a.length}x{b.length}, as the vectors are long", "CV-020")
        if matrix is not None and matrix.component is not reading.component:
            yield Problem("interpretation", reading.value, matrix.component.value, "CV-020")


class VectorReduceSumAccumulate(VectorInstructionBase, Accumulation, frozen=True):
    """CV-021: memory gains the vector, atomically component by component. `offset` counts bytes."""

    opcode: ClassVar[str] = "OpCooperativeVectorReduceSumAccumulateNV"
    form = "buffer vector"
    glsl = "coopVecReduceSumAccumulateNV(vector, buffer)"
    capability = "CooperativeVectorTrainingNV"
    refers: ClassVar[tuple[str, ...]] = ("vector",)
    cooperative = True
    facts = ("CV-021", "CV-037")
    exercises = ("VK-050",)
    needs = TRAINING
    vector: str
    buffer: str
    offset: Operand = 0

    def typed(self, context: TypingContext) -> TypingResult:
        """CV-037."""
        component = context.vector(self.vector).component
        if not component.is_ieee:
            yield Problem("vector", f"components {component.value}", "float16 or float32", "CV-037")


TrainingInstruction: TypeAlias = VectorOuterProductAccumulate | VectorReduceSumAccumulate


VectorProductInstruction: TypeAlias = VectorMatrixMul | TrainingInstruction
