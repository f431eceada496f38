"""Conversions of cooperative matrices: of their components, their use, and transposition."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec import structs

from cts.case.model.component import ComponentType
from cts.case.model.feature import Feature
from cts.case.model.float_modes import FastMathBits
from cts.case.model.instruction import Instruction, TypingResult
from cts.case.model.operand import Use
from cts.case.model.operations import CONVERSIONS, Signs
from cts.case.model.types import MatrixShape, MatrixType, Problem

if TYPE_CHECKING:
    from cts.case.model.names import TypingContext

__all__ = [
    "Conversion", "MatrixBitcast", "MatrixConvert", "MatrixConvertUse", "MatrixTranspose",
]  # fmt: skip


class Conversion(enum.Enum):
    """Conversions of every element (KM-018)."""

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


def _features(use: Use | None, *, transpose: bool) -> frozenset[Feature]:
    """What a conversion into a use needs: an Accumulator becomes A or B (CM-050), or what maintenance1 adds."""
    if transpose or use is Use.Accumulator:
        return frozenset({Feature.CONVERSIONS_EXT})
    return frozenset({Feature.CONVERSIONS}) if use is not None else frozenset()


def _exercised(use: Use | None, *, transpose: bool) -> tuple[str, ...]:
    return ("MX-003",) if transpose else ("MX-002",) if use is Use.Accumulator else ()


def _used(source: MatrixShape, use: Use | None, *, transpose: bool, rule: str) -> Iterator[Problem]:
    """What is wrong with a change of the use."""
    from_accumulator = source.use is Use.Accumulator and use in (Use.A, Use.B)
    to_accumulator = use is Use.Accumulator and source.use is not Use.Accumulator
    if transpose and not from_accumulator:
        target = "no other" if use is None else use.value
        yield Problem(
            "transpose", f"{source.use.value} to {target} use", "an Accumulator that becomes A or B", "MX-003"
        )
    elif use is not None and not from_accumulator and not to_accumulator:
        what = f"{source.use.value} to {use.value}"
        yield Problem("use", what, "Accumulator to A or B, or one of these to Accumulator", rule)


def _declared(source: MatrixShape, component: ComponentType, use: Use | None, *, transpose: bool) -> MatrixType:
    d = structs.replace(source.declared, component=component, use=use or source.declared.use)
    return structs.replace(d, rows=d.cols, cols=d.rows) if transpose else d


class MatrixConvert(Instruction, frozen=True):
    """KM-018, CM-050, MX-002: every element converted to `component`, perhaps into another `use`.

    `transpose` is the decoration CooperativeMatrixTransposeEXT (MX-003), `saturate`
    SaturatedToLargestFloat8NormalConversionEXT (NU-033).
    """

    form = "matrix"
    facts = ("KM-018",)
    id: str
    matrix: str
    operation: Conversion
    component: ComponentType
    use: Use | None = None
    saturate: bool = False
    fast_math: FastMathBits | None = None
    transpose: bool = False

    @property
    def features(self) -> frozenset[Feature]:
        return self.needs | _features(self.use, transpose=self.transpose)

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *_exercised(self.use, transpose=self.transpose))

    @property
    def spirv(self) -> str:
        return f"Op{self.operation.value}"

    @property
    def capabilities(self) -> tuple[str, ...]:
        return () if self.use is None else ("CooperativeMatrixConversions",)

    def typed(self, context: TypingContext) -> TypingResult:
        """KM-018, CM-050, NU-033."""
        source = context.matrix(self.matrix)
        from_float, to_float = (sign is None for sign in self.operation.signs)
        if source.component.is_float != from_float:
            yield Problem("matrix", f"{self.operation.value} of {source.component.value}", _kind(from_float), "KM-018")
        if self.component.is_float != to_float:
            yield Problem("component", f"{self.operation.value} to {self.component.value}", _kind(to_float), "KM-018")
        alike = source.component.size == self.component.size
        if self.operation in (Conversion.SConvert, Conversion.UConvert) and alike:
            yield Problem("component", f"{self.operation.value} to the same width", "another width, or MatrixBitcast")
        if self.operation in (Conversion.UConvert, Conversion.ConvertFToU) and self.component.is_signed:
            what = f"{self.operation.value} to {self.component.value}"
            yield Problem("component", what, "an unsigned integer type: SPIR-V asks for it", "KM-018")
        if source.component is self.component:
            yield Problem("component", f"already {self.component.value}", "another component type, or MatrixConvertUse")
        if self.saturate and not self.component.is_float8:
            yield Problem("saturate", f"saturation to {self.component.value}", "only conversions to float8", "NU-033")
        yield from _used(source, self.use, transpose=self.transpose, rule="CM-050")
        yield _declared(source, self.component, self.use, transpose=self.transpose)


def _kind(is_float: bool) -> str:
    return "a float type" if is_float else "an integer type"


class MatrixBitcast(Instruction, frozen=True):
    """KM-018: an integer matrix as one of another integer type of the same width."""

    opcode: ClassVar[str] = "OpBitcast"
    form = "matrix"
    glsl = "type(matrix)"
    passes = "matrix"
    facts = ("KM-018",)
    id: str
    matrix: str
    component: ComponentType

    def typed(self, context: TypingContext) -> TypingResult:
        source = context.matrix(self.matrix)
        same = source.component.size == self.component.size and source.component is not self.component
        if source.component.is_float or self.component.is_float or not same:
            what = f"{source.component.value} as {self.component.value}"
            yield Problem("component", what, "another integer type of the same width", "KM-018")
        yield structs.replace(source.declared, component=self.component)


class MatrixConvertUse(Instruction, frozen=True):
    """CM-051, MX-002, MX-003: the same elements in a matrix of another `use`."""

    opcode: ClassVar[str] = "OpCooperativeMatrixConvertNV"
    form = "matrix"
    capability = "CooperativeMatrixConversions"
    passes = "matrix"
    facts = ("CM-051",)
    exercises = ("VK-029",)
    id: str
    matrix: str
    use: Use
    transpose: bool = False

    @property
    def features(self) -> frozenset[Feature]:
        return self.needs | _features(self.use, transpose=self.transpose)

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *_exercised(self.use, transpose=self.transpose))

    def typed(self, context: TypingContext) -> TypingResult:
        source = context.matrix(self.matrix)
        yield from _used(source, self.use, transpose=self.transpose, rule="CM-051")
        yield _declared(source, source.component, self.use, transpose=self.transpose)


class MatrixTranspose(Instruction, frozen=True):
    """CM-052: an Accumulator as its transpose of Use B."""

    opcode: ClassVar[str] = "OpCooperativeMatrixTransposeNV"
    form = "matrix"
    glsl = "coopMatTransposeNV(id, matrix)"
    capability = "CooperativeMatrixConversionsNV"
    passes = "matrix"
    facts = ("CM-052",)
    exercises = ("VK-029",)
    needs = frozenset({Feature.TRANSPOSES})
    id: str
    matrix: str

    def typed(self, context: TypingContext) -> TypingResult:
        source = context.matrix(self.matrix)
        if source.use is not Use.Accumulator:
            yield Problem("matrix", f"a matrix of Use {source.use.value}", "an Accumulator", "CM-052")
        d = source.declared
        yield structs.replace(d, rows=d.cols, cols=d.rows, use=Use.B)


MatrixConversionInstruction: TypeAlias = MatrixConvert | MatrixBitcast | MatrixConvertUse | MatrixTranspose
