"""Cooperative matrix instructions: memory, arithmetic, conversions, reductions, callbacks."""

from __future__ import annotations

import enum
from typing import ClassVar, TypeAlias

from cts.model.component import ComponentType
from cts.model.feature import Feature
from cts.model.instruction import Computation, Constant, Instruction, Load, MatrixType, Store
from cts.model.operand import ComponentValue, Operand, Order, SpecInt, Use


class MulAddOperand(enum.Enum):
    """Cooperative Matrix Operands (KM-002)."""

    MatrixASigned = "MatrixASigned"
    MatrixBSigned = "MatrixBSigned"
    MatrixCSigned = "MatrixCSigned"
    MatrixResultSigned = "MatrixResultSigned"
    SaturatingAccumulation = "SaturatingAccumulation"


class Arithmetic(enum.Enum):
    """Element-wise operations (KM-017)."""

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


class Conversion(enum.Enum):
    """Conversions of every element (KM-018)."""

    FConvert = "FConvert"
    SConvert = "SConvert"
    UConvert = "UConvert"
    ConvertFToS = "ConvertFToS"
    ConvertFToU = "ConvertFToU"
    ConvertSToF = "ConvertSToF"
    ConvertUToF = "ConvertUToF"


class ReduceMode(enum.Enum):
    """What a reduction combines (CM-004)."""

    Row = "Row"
    Column = "Column"
    Square = "2x2"


class Through(enum.Enum):
    """The ways of a matrix that change nothing: what a `MatrixCopy` passes it through."""

    CopyObject = "CopyObject"
    Variable = "Variable"
    Function = "Function"
    Array = "Array"
    Struct = "Struct"
    Component = "Component"


class MatrixConstant(Constant, frozen=True):
    """A matrix with every component equal to `value` (KM-016).

    A literal is OpConstantComposite, `{spec: v}` OpSpecConstantComposite, `{dynamic: v}`
    OpCompositeConstruct of a value read at run time; where `replicated`, their Replicate forms of
    SPV_EXT_replicated_composites (KM-021).
    """

    opcode: ClassVar[str] = "OpConstantComposite"
    facts = ("KM-016",)
    component_values = ("value",)
    id: str
    type: MatrixType
    value: ComponentValue
    replicated: bool = False

    @property
    def features(self) -> frozenset[Feature]:
        return self.needs | {Feature.REPLICATED_COMPOSITES} if self.replicated else self.needs

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *(("KM-021",) if self.replicated else ()))


class MatrixNull(Constant, frozen=True):
    """A matrix of zeros by OpConstantNull (KM-016)."""

    opcode: ClassVar[str] = "OpConstantNull"
    facts = ("KM-016",)
    id: str
    type: MatrixType


class MatrixLoadTensor(Load, frozen=True):
    """CM-010. The result has the type of `object`, which supplies clipped elements (TA-038).

    `buffer` is a buffer or a pointer (`Pointer`); `offset` counts elements (pointees) of the buffer.
    `decode` and `decode_vector` name functions (DV-010): the pointee is then the function's block
    (TA-037), and the buffer's own type does not matter.
    """

    opcode: ClassVar[str] = "OpCooperativeMatrixLoadTensorNV"
    facts = ("CM-010",)
    effects = ("TA-036",)
    exercises = ("TA-034", "TA-035", "TA-040", "TA-043", "TA-069", "TA-070", "NU-014")
    needs = frozenset({Feature.TENSOR_ADDRESSING})
    id: str
    object: str
    buffer: str
    layout: str
    view: str | None = None
    offset: Operand = 0
    decode: str | None = None
    decode_vector: str | None = None

    @property
    def features(self) -> frozenset[Feature]:
        found = self.needs
        if self.decode is not None:
            # The functions take a physical pointer, whatever the load's own (VK-011).
            found |= {Feature.BLOCK_LOADS, Feature.BUFFER_DEVICE_ADDRESS}
        return found if self.decode_vector is None else found | {Feature.DECODE_VECTOR}

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, "TA-031" if self.view is None else "TA-033")


class MatrixStoreTensor(Store, frozen=True):
    """CM-011. `offset` counts elements (pointees) of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeMatrixStoreTensorNV"
    facts = ("CM-011",)
    effects = ("TA-036",)
    exercises = (
        "TA-034", "TA-035", "TA-036", "TA-040", "TA-043", "TA-067", "TA-068", "TA-069", "TA-070", "NU-014",
    )  # fmt: skip
    needs = frozenset({Feature.TENSOR_ADDRESSING})
    matrix: str
    buffer: str
    layout: str
    view: str | None = None
    offset: Operand = 0

    @property
    def stored(self) -> str:
        return self.matrix

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, "TA-031" if self.view is None else "TA-033")


class MatrixLoad(Load, frozen=True):
    """KM-012, KM-013. `offset` and `stride` count elements (pointees) of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeMatrixLoadKHR"
    facts = ("KM-013", "KM-012")
    exercises = ("VK-040", "NU-014")
    id: str
    type: MatrixType
    buffer: str
    stride: Operand
    order: Order = Order.RowMajor
    offset: Operand = 0

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *(("KM-002",) if self.order is Order.ColumnMajor else ()))


class MatrixStore(Store, frozen=True):
    """KM-012, KM-013. `offset` and `stride` count elements (pointees) of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeMatrixStoreKHR"
    facts = ("KM-013", "KM-012")
    exercises = ("VK-040", "NU-014")
    matrix: str
    buffer: str
    stride: Operand
    order: Order = Order.RowMajor
    offset: Operand = 0

    @property
    def stored(self) -> str:
        return self.matrix

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *(("KM-002",) if self.order is Order.ColumnMajor else ()))


class Pointer(Instruction, frozen=True):
    """A pointer to element `offset` of a buffer, for memory instructions to name as their `buffer`."""

    opcode: ClassVar[str] = "OpAccessChain"
    facts = ("KM-012",)
    effects = ("KM-013",)
    needs = frozenset({Feature.VARIABLE_POINTERS})
    stands_for = ("buffer",)
    id: str
    buffer: str
    offset: Operand = 0


class PointerSelect(Instruction, frozen=True):
    """One of two pointers into one buffer: `a` where `condition` is not 0. A variable pointer."""

    opcode: ClassVar[str] = "OpSelect"
    facts = ("KM-012",)
    effects = ("KM-013",)
    needs = frozenset({Feature.VARIABLE_POINTERS})
    id: str
    condition: Operand
    a: str
    b: str


class MatrixMulAdd(Computation, frozen=True):
    """KM-014, NU-001, NU-002, NU-010: A * B + C. The result has the type of `c`."""

    opcode: ClassVar[str] = "OpCooperativeMatrixMulAddKHR"
    facts = ("KM-014",)
    exercises = ("VK-021",)
    id: str
    a: str
    b: str
    c: str
    operands: tuple[MulAddOperand, ...] = ()


class MatrixArithmetic(Computation, frozen=True):
    """KM-017: an operation on the elements of one matrix (negations) or of two of the same type."""

    facts = ("KM-017",)
    id: str
    operation: Arithmetic
    a: str
    b: str | None = None

    @property
    def spirv(self) -> str:
        return f"Op{self.operation.value}"


class MatrixTimesScalar(Computation, frozen=True):
    """KM-017: every element times a value of its component type."""

    opcode: ClassVar[str] = "OpMatrixTimesScalar"
    facts = ("KM-017",)
    component_values = ("scalar",)
    id: str
    matrix: str
    scalar: ComponentValue


class MatrixConvert(Instruction, frozen=True):
    """KM-018, CM-050: every element converted to `component`, perhaps into another `use`.

    `saturate` is the decoration SaturatedToLargestFloat8NormalConversionEXT (NU-033).
    """

    facts = ("KM-018",)
    id: str
    matrix: str
    operation: Conversion
    component: ComponentType
    use: Use | None = None
    saturate: bool = False

    @property
    def features(self) -> frozenset[Feature]:
        return self.needs if self.use is None else self.needs | {Feature.CONVERSIONS}

    @property
    def spirv(self) -> str:
        return f"Op{self.operation.value}"


class MatrixBitcast(Instruction, frozen=True):
    """KM-018: an integer matrix as one of another integer type of the same width."""

    opcode: ClassVar[str] = "OpBitcast"
    facts = ("KM-018",)
    id: str
    matrix: str
    component: ComponentType


class MatrixConvertUse(Instruction, frozen=True):
    """CM-051: an Accumulator as A or B."""

    opcode: ClassVar[str] = "OpCooperativeMatrixConvertNV"
    facts = ("CM-051",)
    exercises = ("VK-029",)
    needs = frozenset({Feature.CONVERSIONS})
    id: str
    matrix: str
    use: Use


class MatrixTranspose(Instruction, frozen=True):
    """CM-052: an Accumulator as its transpose of Use B."""

    opcode: ClassVar[str] = "OpCooperativeMatrixTransposeNV"
    facts = ("CM-052",)
    exercises = ("VK-029",)
    needs = frozenset({Feature.CONVERSIONS})
    id: str
    matrix: str


class MatrixReduce(Computation, frozen=True):
    """CM-020..CM-023. `rows` and `cols` of the result where the mode leaves them free; else those of the source."""

    opcode: ClassVar[str] = "OpCooperativeMatrixReduceNV"
    facts = ("CM-022", "CM-020", "CM-021", "CM-023")
    exercises = ("CM-004",)
    needs = frozenset({Feature.REDUCTIONS})
    id: str
    matrix: str
    mode: tuple[ReduceMode, ...]
    combine: str
    rows: int | SpecInt | None = None
    cols: int | SpecInt | None = None


class MatrixPerElement(Computation, frozen=True):
    """CM-030, CM-031. `matrices` and `scalars` are the function's extra operands, each kind in order."""

    opcode: ClassVar[str] = "OpCooperativeMatrixPerElementOpNV"
    facts = ("CM-030", "CM-031")
    needs = frozenset({Feature.PER_ELEMENT})
    component_values = ("scalars",)
    id: str
    matrix: str
    function: str
    matrices: tuple[str, ...] = ()
    scalars: tuple[ComponentValue, ...] = ()


class MatrixComponents(Computation, frozen=True):
    """A function of every component, reached through the per-invocation view (KM-011, KM-015).

    Each invocation loops over its OpCooperativeMatrixLengthKHR components through pointers.
    """

    opcode: ClassVar[str] = "OpCooperativeMatrixLengthKHR"
    facts = ("KM-011", "KM-015")
    id: str
    matrix: str
    function: str


class MatrixCopy(Instruction, frozen=True):
    """The same matrix, after a way through something that holds or passes matrices (KM-011).

    `Component` extracts component 0 of every invocation and inserts it again.
    """

    facts = ("KM-011",)
    id: str
    matrix: str
    through: Through

    @property
    def spirv(self) -> str:
        return {
            Through.CopyObject: "OpCopyObject",
            Through.Function: "OpFunctionCall",
            Through.Component: "OpCompositeInsert",
        }.get(self.through, "OpLoad")

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *(("KM-015",) if self.through is Through.Component else ()))


TensorInstruction: TypeAlias = MatrixLoadTensor | MatrixStoreTensor
StridedInstruction: TypeAlias = MatrixLoad | MatrixStore
MemoryInstruction: TypeAlias = TensorInstruction | StridedInstruction
PointerInstruction: TypeAlias = Pointer | PointerSelect
MatrixInstruction: TypeAlias = (
    MatrixConstant
    | MatrixNull
    | MemoryInstruction
    | MatrixMulAdd
    | MatrixArithmetic
    | MatrixTimesScalar
    | MatrixConvert
    | MatrixBitcast
    | MatrixConvertUse
    | MatrixTranspose
    | MatrixReduce
    | MatrixPerElement
    | MatrixComponents
    | MatrixCopy
)
