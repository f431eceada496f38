"""Cooperative matrix instructions: constants, multiplication, arithmetic, copies."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec import structs

from cts.case.model.component import ComponentType, encode
from cts.case.model.feature import Feature
from cts.case.model.float_modes import FastMathBits
from cts.case.model.instruction import Computation, Constant, Instruction, Product, TypingResult
from cts.case.model.operand import ComponentValue, Scope, Use, number_of
from cts.case.model.operations import OPERATIONS, Operation
from cts.case.model.types import MatrixShape, MatrixType, Problem

if TYPE_CHECKING:
    from cts.case.model.names import TypingContext

__all__ = [
    "Arithmetic", "CopyPath", "MatrixArithmetic", "MatrixConstant", "MatrixCopy", "MatrixMulAdd", "MatrixNull",
    "MatrixTimesScalar", "MulAddOperand", "mul_add_types",
]  # fmt: skip


class MulAddOperand(enum.Enum):
    """Cooperative Matrix Operands (KM-002)."""

    MatrixASigned = "MatrixASigned"
    MatrixBSigned = "MatrixBSigned"
    MatrixCSigned = "MatrixCSigned"
    MatrixResultSigned = "MatrixResultSigned"
    SaturatingAccumulation = "SaturatingAccumulation"

    @property
    def spirv(self) -> str:
        """The bit by its name in the grammar."""
        return f"{self.value}{'Components' if self.value.endswith('Signed') else ''}KHR"


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

    @property
    def form(self) -> Operation:
        """How it is written, and of what."""
        return OPERATIONS[self.value]


class CopyPath(enum.Enum):
    """The ways of a matrix that change nothing: what a `MatrixCopy` passes it through."""

    CopyObject = "CopyObject"
    Variable = "Variable"
    Function = "Function"
    Array = "Array"
    Struct = "Struct"
    Component = "Component"
    CopyMemory = "CopyMemory"
    CopyLogical = "CopyLogical"


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

    def typed(self, context: TypingContext) -> TypingResult:
        yield from represents("value", self.type.component, self.value)
        yield self.type


class MatrixNull(Constant, frozen=True):
    """A matrix of zeros by OpConstantNull (KM-016)."""

    opcode: ClassVar[str] = "OpConstantNull"
    form = ""
    facts = ("KM-016",)
    id: str
    type: MatrixType

    def typed(self, context: TypingContext) -> TypingResult:
        yield self.type


class MatrixMulAdd(Product, frozen=True):
    """KM-014, NU-001, NU-002, NU-010: A * B + C. The result has the components `component`; None: those of `c`."""

    opcode: ClassVar[str] = "OpCooperativeMatrixMulAddKHR"
    form = "a b c operands"
    typed_as = "c"
    facts = ("KM-014",)
    exercises = ("VK-021",)
    id: str
    a: str
    b: str
    c: str
    operands: tuple[MulAddOperand, ...] = ()
    component: ComponentType | None = None

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *(("KM-014b",) if self.component is not None else ()))

    @property
    def addends(self) -> tuple[str, ...]:
        return (self.c,)

    def typed(self, context: TypingContext) -> TypingResult:
        """KM-014, VK-022."""
        a, b, c = context.matrix(self.a), context.matrix(self.b), context.matrix(self.c)
        for field, shape, use in (("a", a, Use.A), ("b", b, Use.B), ("c", c, Use.Accumulator)):
            if shape.use is not use:
                yield Problem(field, f"a matrix of Use {shape.use.value}", f"Use {use.value}", "KM-014")
            if shape.scope is not c.scope:
                yield Problem(field, f"a matrix of {shape.scope.value} scope", f"{c.scope.value}, as c", "KM-014")
            if shape.component.is_float != c.component.is_float:
                yield Problem(
                    field, f"components {shape.component.value}", "integers with integers, floats with floats"
                )
        if (a.rows, b.cols, a.cols) != (c.rows, c.cols, b.rows):
            what = f"{a.rows}x{a.cols} times {b.rows}x{b.cols} plus {c.rows}x{c.cols}"
            yield Problem("c", what, "MxK times KxN plus MxN", "KM-014")
        if len(set(self.operands)) != len(self.operands):
            yield Problem("operands", "a bit is given twice", "each bit once")
        if c.component.is_float and self.operands:
            yield Problem("operands", "signs and saturation are of integers", "none for floats", "VK-022")
        result = self.component
        if result is c.component:
            yield Problem("component", f"already {result.value}", "another component type than c's, or none", "KM-014b")
        elif result is not None and result.is_float != c.component.is_float:
            yield Problem("component", result.value, "integers with integers, floats with floats")
        yield c.declared if result is None else structs.replace(c.declared, component=result)


def effective(component: ComponentType, signed: bool) -> ComponentType:
    """How MulAdd reads an integer component: the mask bit decides its sign, not its type (NU-001)."""
    if component.is_float:
        return component
    return ComponentType(f"{'int' if signed else 'uint'}{8 * component.size}")


def mul_add_types(i: MatrixMulAdd, a: MatrixShape, b: MatrixShape, c: MatrixShape) -> tuple[ComponentType, ...]:
    """A's, B's, C's and the result's components as the operand mask reads them."""
    bits = (
        MulAddOperand.MatrixASigned,
        MulAddOperand.MatrixBSigned,
        MulAddOperand.MatrixCSigned,
        MulAddOperand.MatrixResultSigned,
    )
    components = (a.component, b.component, c.component, i.component or c.component)
    return tuple(effective(component, bit in i.operands) for component, bit in zip(components, bits, strict=True))


class MatrixArithmetic(Computation, frozen=True):
    """KM-017: an operation on the elements of one matrix (negations) or of two of the same type.

    `fast_math` is the decoration FPFastMathMode (NU-048), as of other instructions on floats; None: not decorated.
    """

    form = "a b"
    typed_as = "a"
    facts = ("KM-017",)
    id: str
    operation: Arithmetic
    a: str
    b: str | None = None
    fast_math: FastMathBits | None = None

    @property
    def spirv(self) -> str:
        return f"Op{self.operation.value}"

    @property
    def rounds(self) -> bool:
        return True

    def typed(self, context: TypingContext) -> TypingResult:
        """KM-017, NU-034."""
        a = context.matrix(self.a)
        if (self.b is None) != (self.operation.form.operands == 1):
            right = "no `b`" if self.operation.form.operands == 1 else "two matrices, `a` and `b`"
            yield Problem("b", f"{self.operation.value} has another number of operands", right, "KM-017")
        elif self.b is not None and context.matrix(self.b).declared != a.declared:
            yield Problem("b", "a matrix of another type than a", "matrices of one type, declared alike", "KM-017")
        if self.operation is Arithmetic.UDiv and a.component.is_signed:
            yield Problem("a", f"UDiv of {a.component.value}", "unsigned components: SPIR-V asks for them", "KM-017")
        yield from _computes("a", a.component, self.operation.form.floats)
        yield a.declared


class MatrixTimesScalar(Computation, frozen=True):
    """KM-017: every element times a value of its component type."""

    opcode: ClassVar[str] = "OpMatrixTimesScalar"
    form = "matrix scalar"
    typed_as = "matrix"
    facts = ("KM-017",)
    component_values = ("scalar",)
    id: str
    matrix: str
    scalar: ComponentValue
    fast_math: FastMathBits | None = None

    @property
    def rounds(self) -> bool:
        return True

    def typed(self, context: TypingContext) -> TypingResult:
        source = context.matrix(self.matrix)
        yield from _computes("matrix", source.component, source.component.is_float)
        yield from represents("scalar", source.component, self.scalar)
        yield source.declared


def _computes(field: str, component: ComponentType, floating: bool) -> Iterator[Problem]:
    if component.storage_only:
        yield Problem(field, f"no arithmetic on {component.value}", "convert to float32 or float16 first", "NU-034")
    elif component.is_float != floating:
        right = "float components" if floating else "integer components"
        yield Problem(field, f"components are {component.value}", right, "KM-017")


def represents(field: str, component: ComponentType, value: ComponentValue) -> Iterator[Problem]:
    """The problem of a component value that its type does not represent."""
    try:
        encode(component, [number_of(value)])
    except ValueError as e:
        yield Problem(field, str(e), f"a value of {component.value}, or its bits as '0x...'")


class MatrixCopy(Instruction, frozen=True):
    """The same matrix, after a way through something that holds or passes matrices (KM-011).

    `Component` extracts a component of every invocation by its literal index and inserts it again. `CopyMemory` copies
    one variable to another by OpCopyMemory, `CopyLogical` a structure with the matrix to one of another type.
    """

    passes = "matrix"
    facts = ("KM-011",)
    id: str
    matrix: str
    through: CopyPath
    component: int = 0

    @property
    def spirv(self) -> str:
        return {
            CopyPath.CopyObject: "OpCopyObject",
            CopyPath.Function: "OpFunctionCall",
            CopyPath.Component: "OpCompositeInsert",
            CopyPath.CopyLogical: "OpCompositeExtract",
        }.get(self.through, "OpLoad")

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *(("KM-015",) if self.through is CopyPath.Component else ()))

    def typed(self, context: TypingContext) -> TypingResult:
        """KM-015: each invocation has the same number of components, at least so many that all have all elements."""
        matrix = context.matrix(self.matrix)
        of_subgroup = self.through is CopyPath.Component and matrix.scope is Scope.Subgroup
        least = sure_components(matrix.rows * matrix.cols) if of_subgroup else 1
        if not 0 <= self.component < least:
            shape = f"{matrix.rows}x{matrix.cols}"
            what = f"component {self.component}, where invocations may hold {least} of a {shape} matrix"
            right = f"0 to {least - 1}" if self.through is CopyPath.Component else "0, or `through: Component`"
            yield Problem("component", what, right, "KM-015")
        yield matrix.declared


#: The most invocations of a subgroup (Vulkan 1.4, VkPhysicalDeviceVulkan13Properties::maxSubgroupSize).
MOST_IN_SUBGROUP = 128


def sure_components(elements: int) -> int:
    """How many components every invocation holds at least of a matrix that a subgroup has, whatever the device."""
    return -(-elements // MOST_IN_SUBGROUP)


MatrixValueInstruction: TypeAlias = (
    MatrixConstant | MatrixNull | MatrixMulAdd | MatrixArithmetic | MatrixTimesScalar | MatrixCopy
)
