"""Operations on every component of cooperative vectors: arithmetic and conversions."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec import structs

from cts.case.model.component import ComponentType
from cts.case.model.float_modes import FastMathBits
from cts.case.model.functions import PerElement
from cts.case.model.instruction import Computation, TypingResult
from cts.case.model.matrices import represents
from cts.case.model.operand import ComponentValue, SpecInt
from cts.case.model.operations import CONVERSIONS, OPERATIONS, Operation, Signs
from cts.case.model.types import Problem
from cts.case.model.vectors import VectorInstructionBase

if TYPE_CHECKING:
    from cts.case.model.names import TypingContext

__all__ = [
    "VectorArithmetic", "VectorBitcast", "VectorComponents", "VectorConversion", "VectorConvert", "VectorOperation",
    "VectorTimesScalar",
]  # fmt: skip


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

    @property
    def form(self) -> Operation:
        """How it is written, and of what."""
        return OPERATIONS[self.value]


class VectorConversion(enum.Enum):
    """Conversions of every component (CV-012)."""

    FConvert = "FConvert"
    SConvert = "SConvert"
    UConvert = "UConvert"
    ConvertFToS = "ConvertFToS"
    ConvertFToU = "ConvertFToU"
    ConvertSToF = "ConvertSToF"
    ConvertUToF = "ConvertUToF"

    @property
    def signs(self) -> Signs:
        """Of which signs integers are read and written."""
        return CONVERSIONS[self.value]


class VectorArithmetic(VectorInstructionBase, Computation, frozen=True):
    """CV-012: an operation on the components of one, two or three vectors of one type."""

    refers: ClassVar[tuple[str, ...]] = ("a", "b", "c")
    form = "a b c"
    typed_as = "a"
    facts = ("CV-012",)
    id: str
    operation: VectorOperation
    a: str
    b: str | None = None
    c: str | None = None
    fast_math: FastMathBits | None = None

    @property
    def spirv(self) -> str:
        return f"OpExtInst {self.operation.value}" if self.operation.form.extended else f"Op{self.operation.value}"

    @property
    def rounds(self) -> bool:
        return not self.operation.form.extended

    def typed(self, context: TypingContext) -> TypingResult:
        """CV-012."""
        a, count = context.vector(self.a), self.operation.form.operands
        operands = [n for n in (self.a, self.b, self.c) if n is not None]
        if len(operands) != count or (self.b is None and self.c is not None):
            yield Problem("a", f"{self.operation.value} of {len(operands)} vectors", f"{count} vectors", "CV-012")
        for field, name in (("b", self.b), ("c", self.c)):
            if name is not None and context.vector(name).declared != a.declared:
                yield Problem(field, "a vector of another type than a", "vectors of one type, declared alike", "CV-012")
        if self.operation is VectorOperation.UDiv and a.component.is_signed:
            yield Problem("a", f"UDiv of {a.component.value}", "unsigned components: SPIR-V asks for them", "CV-012")
        yield from _computes("a", a.component, self.operation.form.floats)
        yield a.declared


def _computes(field: str, component: ComponentType, floating: bool) -> Iterator[Problem]:
    if component.storage_only:
        yield Problem(field, f"no arithmetic on {component.value}", "float16, float32 or integers", "NU-034")
    elif component.is_float != floating:
        right = "float components" if floating else "integer components"
        yield Problem(field, f"components are {component.value}", right, "CV-012")


class VectorTimesScalar(VectorInstructionBase, Computation, frozen=True):
    """CV-012: every component times a scalar, an earlier one or a value."""

    opcode: ClassVar[str] = "OpVectorTimesScalar"
    form = "vector scalar value"
    typed_as = "vector"
    refers: ClassVar[tuple[str, ...]] = ("vector", "scalar")
    facts = ("CV-012",)
    component_values = ("value",)
    id: str
    vector: str
    scalar: str | None = None
    value: ComponentValue | None = None
    fast_math: FastMathBits | None = None

    @property
    def rounds(self) -> bool:
        return True

    def typed(self, context: TypingContext) -> TypingResult:
        component = context.vector(self.vector).component
        yield from _computes("vector", component, True)
        if (self.scalar is None) == (self.value is None):
            yield Problem("scalar", "no scalar, or two", "one of `scalar` and `value`")
        elif self.scalar is not None:
            yield from context.is_scalar("scalar", self.scalar, component)
        elif self.value is not None:
            yield from represents("value", component, self.value)
        yield context.vector(self.vector).declared


class VectorConvert(VectorInstructionBase, frozen=True):
    """CV-012: every component converted."""

    refers: ClassVar[tuple[str, ...]] = ("vector",)
    form = "vector"
    facts = ("CV-012",)
    id: str
    vector: str
    operation: VectorConversion
    component: ComponentType
    fast_math: FastMathBits | None = None

    @property
    def spirv(self) -> str:
        return f"Op{self.operation.value}"

    def typed(self, context: TypingContext) -> TypingResult:
        """CV-012."""
        source = context.vector(self.vector)
        name = self.operation.value
        signs = self.operation.signs
        for field, component, is_float in (
            ("vector", source.component, signs.source is None),
            ("component", self.component, signs.result is None),
        ):
            if component.is_float != is_float:
                right = "a float type" if is_float else "an integer type"
                yield Problem(field, f"{name} with {component.value}", right, "CV-012")
        if self.operation in (VectorConversion.UConvert, VectorConversion.ConvertFToU) and self.component.is_signed:
            right = "an unsigned integer type: SPIR-V asks for it"
            yield Problem("component", f"{name} to {self.component.value}", right, "CV-012")
        same_width = source.component.size == self.component.size
        if self.operation in (VectorConversion.SConvert, VectorConversion.UConvert) and same_width:
            yield Problem("component", f"{name} to the same width", "another width, or VectorBitcast")
        if source.component is self.component:
            yield Problem("component", f"already {self.component.value}", "another component type")
        yield structs.replace(source.declared, component=self.component)


class VectorBitcast(VectorInstructionBase, frozen=True):
    """CV-012: the same bits as components of another type of the same width."""

    opcode: ClassVar[str] = "OpBitcast"
    form = "vector"
    refers: ClassVar[tuple[str, ...]] = ("vector",)
    passes = "vector"
    facts = ("CV-012",)
    id: str
    vector: str
    component: ComponentType

    def typed(self, context: TypingContext) -> TypingResult:
        source = context.vector(self.vector)
        if source.component.size != self.component.size or source.component is self.component:
            what = f"{source.component.value} as {self.component.value}"
            yield Problem("component", what, "another type of the same width", "CV-012")
        yield structs.replace(source.declared, component=self.component)


class VectorComponents(VectorInstructionBase, Computation, frozen=True):
    """CV-011: a function of every component, which is taken out, passed through an OpFunctionCall, and put back.

    The function is a per-element one of row 0 and of the component's number as column; `vectors` are its extra
    operands, each the same component of another vector.
    """

    opcode: ClassVar[str] = "OpFunctionCall"
    refers: ClassVar[tuple[str, ...]] = ("vector", "vectors")
    stands_for = ("vector", "vectors")
    facts = ("CV-011",)
    id: str
    vector: str
    function: str
    vectors: tuple[str, ...] = ()

    def typed(self, context: TypingContext) -> TypingResult:
        """CV-011, CM-030."""
        source, function = context.vector(self.vector), context.functions.get(self.function)
        yield from context.function("function", self.function, PerElement, source.component)
        if isinstance(function, PerElement):
            if function.tables or function.outputs or not all(extra.matrix for extra in function.extras):
                what = "a function with tables, outputs or extras that are no matrices"
                yield Problem("function", what, "extras with `matrix: true` alone")
            if len(function.extras) != len(self.vectors):
                yield Problem("vectors", f"{len(self.vectors)} vectors", f"{len(function.extras)}, as the function has")
        for n, name in enumerate(self.vectors):
            if context.vector(name).declared != source.declared:
                yield Problem(f"vectors[{n}]", "a vector of another type than vector", "vectors of one type")
        if isinstance(source.declared.length, SpecInt):
            yield Problem("vector", "a length by specialization", "a literal length: each component has a call")
        yield source.declared


VectorArithmeticInstruction: TypeAlias = (
    VectorArithmetic | VectorTimesScalar | VectorConvert | VectorBitcast | VectorComponents
)
