"""Cooperative vector instructions: memory, composites, arithmetic, matrix multiplication, training."""

from __future__ import annotations

import enum
from typing import ClassVar, TypeAlias

from msgspec import Struct

from cts.model.component import ComponentType
from cts.model.feature import Feature
from cts.model.instruction import Accumulation, Computation, Constant, Instruction, Load, Store
from cts.model.matrices import MulAddOperand
from cts.model.operand import ComponentValue, Operand, SpecBool, SpecInt


class VectorType(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """OpTypeCooperativeVectorNV (CV-010)."""

    component: ComponentType
    length: int | SpecInt


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


class VectorOperation(enum.Enum):
    """Operations on every component (CV-012), by their SPIR-V or GLSL.std.450 name."""

    SNegate = "SNegate"
    FNegate = "FNegate"
    IAdd = "IAdd"
    ISub = "ISub"
    IMul = "IMul"
    SDiv = "SDiv"
    UDiv = "UDiv"
    FAdd = "FAdd"
    FSub = "FSub"
    FMul = "FMul"
    FDiv = "FDiv"
    ShiftLeftLogical = "ShiftLeftLogical"
    ShiftRightLogical = "ShiftRightLogical"
    ShiftRightArithmetic = "ShiftRightArithmetic"
    BitwiseOr = "BitwiseOr"
    BitwiseXor = "BitwiseXor"
    BitwiseAnd = "BitwiseAnd"
    Not = "Not"
    FMin = "FMin"
    UMin = "UMin"
    SMin = "SMin"
    NMin = "NMin"
    FMax = "FMax"
    UMax = "UMax"
    SMax = "SMax"
    NMax = "NMax"
    FClamp = "FClamp"
    UClamp = "UClamp"
    SClamp = "SClamp"
    NClamp = "NClamp"
    Step = "Step"
    Exp = "Exp"
    Log = "Log"
    Tanh = "Tanh"
    Atan = "Atan"
    Fma = "Fma"


#: The operations of GLSL.std.450.
EXTENDED = frozenset(
    o
    for o in VectorOperation
    if o.value.endswith(("Min", "Max", "Clamp")) or o.value in ("Step", "Exp", "Log", "Tanh", "Atan", "Fma")
)


class VectorConversion(enum.Enum):
    """Conversions of every component (CV-012)."""

    FConvert = "FConvert"
    SConvert = "SConvert"
    UConvert = "UConvert"
    ConvertFToS = "ConvertFToS"
    ConvertFToU = "ConvertFToU"
    ConvertSToF = "ConvertSToF"
    ConvertUToF = "ConvertUToF"


#: What every vector instruction needs, and what one that trains does.
COOPERATIVE_VECTOR = frozenset({Feature.COOPERATIVE_VECTOR})
TRAINING = COOPERATIVE_VECTOR | {Feature.COOPERATIVE_VECTOR_TRAINING}


class VectorConstant(Constant, frozen=True):
    """A vector with every component equal to `value`, or of `values`, one each (CV-011).

    Literals are OpConstantComposite, spec values OpSpecConstantComposite, dynamic ones
    OpCompositeConstruct; a single value where `replicated` their Replicate forms (KM-021), which a
    length by specialization needs.
    """

    opcode: ClassVar[str] = "OpConstantComposite"
    refers: ClassVar[tuple[str, ...]] = ()
    facts = ("CV-011",)
    needs = COOPERATIVE_VECTOR
    component_values = ("value", "values")
    id: str
    type: VectorType
    value: ComponentValue | None = None
    values: tuple[ComponentValue, ...] | None = None
    replicated: bool = False

    @property
    def features(self) -> frozenset[Feature]:
        return self.needs | {Feature.REPLICATED_COMPOSITES} if self.replicated else self.needs

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *(("KM-021",) if self.replicated else ()))


class VectorNull(Constant, frozen=True):
    """A vector of zeros by OpConstantNull (CV-011)."""

    opcode: ClassVar[str] = "OpConstantNull"
    refers: ClassVar[tuple[str, ...]] = ()
    facts = ("CV-011",)
    needs = COOPERATIVE_VECTOR
    id: str
    type: VectorType


class VectorLoad(Load, frozen=True):
    """CV-013. `offset` counts bytes from the start of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeVectorLoadNV"
    refers: ClassVar[tuple[str, ...]] = ()
    facts = ("CV-013",)
    exercises = ("VK-050",)
    needs = COOPERATIVE_VECTOR
    id: str
    type: VectorType
    buffer: str
    offset: Operand = 0


class VectorStore(Store, frozen=True):
    """CV-013. `offset` counts bytes from the start of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeVectorStoreNV"
    refers: ClassVar[tuple[str, ...]] = ("vector",)
    facts = ("CV-013",)
    exercises = ("VK-050",)
    needs = COOPERATIVE_VECTOR
    vector: str
    buffer: str
    offset: Operand = 0

    @property
    def stored(self) -> str:
        return self.vector


class VectorConstruct(Instruction, frozen=True):
    """CV-011: scalars and vectors, one after the other; never a single vector."""

    opcode: ClassVar[str] = "OpCompositeConstruct"
    refers: ClassVar[tuple[str, ...]] = ("parts",)
    facts = ("CV-011",)
    needs = COOPERATIVE_VECTOR
    id: str
    type: VectorType
    parts: tuple[str, ...]


class VectorExtract(Instruction, frozen=True):
    """CV-011: a component as a scalar. A literal index is OpCompositeExtract, others OpVectorExtractDynamic."""

    opcode: ClassVar[str] = "OpVectorExtractDynamic"
    refers: ClassVar[tuple[str, ...]] = ("vector",)
    facts = ("CV-011",)
    needs = COOPERATIVE_VECTOR
    id: str
    vector: str
    index: Operand


class VectorInsert(Instruction, frozen=True):
    """CV-011: the vector with one component replaced by a scalar. Indices as in VectorExtract."""

    opcode: ClassVar[str] = "OpVectorInsertDynamic"
    refers: ClassVar[tuple[str, ...]] = (
        "vector",
        "scalar",
    )
    facts = ("CV-011",)
    needs = COOPERATIVE_VECTOR
    id: str
    vector: str
    scalar: str
    index: Operand


class VectorArithmetic(Computation, frozen=True):
    """CV-012: an operation on the components of one, two or three vectors of one type."""

    refers: ClassVar[tuple[str, ...]] = (
        "a",
        "b",
        "c",
    )
    facts = ("CV-012",)
    needs = COOPERATIVE_VECTOR
    id: str
    operation: VectorOperation
    a: str
    b: str | None = None
    c: str | None = None

    @property
    def spirv(self) -> str:
        return f"OpExtInst {self.operation.value}" if self.operation in EXTENDED else f"Op{self.operation.value}"


class VectorTimesScalar(Computation, frozen=True):
    """CV-012: every component times a scalar, an earlier one or a value."""

    opcode: ClassVar[str] = "OpVectorTimesScalar"
    refers: ClassVar[tuple[str, ...]] = (
        "vector",
        "scalar",
    )
    facts = ("CV-012",)
    needs = COOPERATIVE_VECTOR
    component_values = ("value",)
    id: str
    vector: str
    scalar: str | None = None
    value: ComponentValue | None = None


class VectorConvert(Instruction, frozen=True):
    """CV-012: every component converted."""

    refers: ClassVar[tuple[str, ...]] = ("vector",)
    facts = ("CV-012",)
    needs = COOPERATIVE_VECTOR
    id: str
    vector: str
    operation: VectorConversion
    component: ComponentType

    @property
    def spirv(self) -> str:
        return f"Op{self.operation.value}"


class VectorBitcast(Instruction, frozen=True):
    """CV-012: the same bits as components of another type of the same width."""

    opcode: ClassVar[str] = "OpBitcast"
    refers: ClassVar[tuple[str, ...]] = ("vector",)
    facts = ("CV-012",)
    needs = COOPERATIVE_VECTOR
    id: str
    vector: str
    component: ComponentType


class VectorMatrixMul(Computation, frozen=True):
    """CV-014..CV-018: matrix times vector, plus a bias where there is one (OpCooperativeVectorMatrixMulAddNV).

    `matrix` is a buffer or an opaque matrix, `bias` a buffer; offsets and `stride` count bytes. At an
    opaque matrix, `matrix_offset` must be where it begins.
    """

    refers: ClassVar[tuple[str, ...]] = ("input",)
    facts = ("CV-018", "CV-014")
    exercises = ("CV-016b", "CV-035", "VK-050", "VK-052")
    needs = COOPERATIVE_VECTOR
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


class VectorOuterProductAccumulate(Accumulation, frozen=True):
    """CV-020, CV-037: the matrix gains a times the transpose of b, atomically element by element."""

    opcode: ClassVar[str] = "OpCooperativeVectorOuterProductAccumulateNV"
    refers: ClassVar[tuple[str, ...]] = (
        "a",
        "b",
    )
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


class VectorReduceSumAccumulate(Accumulation, frozen=True):
    """CV-021: memory gains the vector, atomically component by component. `offset` counts bytes."""

    opcode: ClassVar[str] = "OpCooperativeVectorReduceSumAccumulateNV"
    refers: ClassVar[tuple[str, ...]] = ("vector",)
    facts = ("CV-021", "CV-037")
    exercises = ("VK-050",)
    needs = TRAINING
    vector: str
    buffer: str
    offset: Operand = 0


TrainingInstruction: TypeAlias = VectorOuterProductAccumulate | VectorReduceSumAccumulate
VectorInstruction: TypeAlias = (
    VectorConstant
    | VectorNull
    | VectorLoad
    | VectorStore
    | VectorConstruct
    | VectorExtract
    | VectorInsert
    | VectorArithmetic
    | VectorTimesScalar
    | VectorConvert
    | VectorBitcast
    | VectorMatrixMul
    | TrainingInstruction
)
