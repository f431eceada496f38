"""The instructions of a program, each named after its SPIR-V instruction.

A program is a list of these in SSA form: `id` names the result, the other fields refer to earlier
results by name. To add an instruction see docs/adding-an-instruction.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from cts.case.model.atomics import VectorAtomicAdd
from cts.case.model.control import ControlInstruction, Exit
from cts.case.model.feature import Feature
from cts.case.model.instruction import BlockEnd, BlockStart, Instruction, Setter
from cts.case.model.matrices import MatrixValueInstruction
from cts.case.model.matrix_arrays import ArrayInstruction
from cts.case.model.matrix_callbacks import MatrixCallbackInstruction
from cts.case.model.matrix_conversions import MatrixConversionInstruction
from cts.case.model.matrix_memory import MemoryInstruction, PointerInstruction
from cts.case.model.operand import ClampMode, Operand, Scalar, SpecBool, SpecClampMode, SpecInt, SpecNumber, constant_of
from cts.case.model.types import LayoutType, Problem, ViewType
from cts.case.model.vector_arithmetic import VectorArithmeticInstruction
from cts.case.model.vector_products import VectorProductInstruction
from cts.case.model.vectors import VectorCompositeInstruction

if TYPE_CHECKING:
    from cts.case.model.names import TypeEnvironment

__all__ = [
    "AnyInstruction", "LayoutInstruction", "MatrixInstruction", "TensorLayout", "TensorLayoutSetBlockSize",
    "TensorLayoutSetClampValue", "TensorLayoutSetDimension", "TensorLayoutSetStride", "TensorLayoutSlice",
    "TensorView", "TensorViewSetClip", "TensorViewSetDimension", "TensorViewSetStride", "VectorInstruction",
    "ViewInstruction",
]  # fmt: skip


class TensorLayout(Instruction, frozen=True):
    """A layout type and a fresh layout of it (TA-010, TA-012)."""

    opcode: ClassVar[str] = "OpCreateTensorLayoutNV"
    facts = ("TA-010", "TA-012")
    effects = ("TA-035",)
    needs = frozenset({Feature.TENSOR_ADDRESSING})
    id: str
    dim: int | SpecInt
    clamp: ClampMode | SpecClampMode = ClampMode.Undefined

    @property
    def exercised(self) -> tuple[str, ...]:
        clamp = constant_of(self.clamp)
        by_clamp = ("TA-002", "TA-060" if clamp is ClampMode.Undefined else "TA-086")
        repeats = clamp in (ClampMode.Repeat, ClampMode.RepeatMirrored)
        return (*super().exercised, *by_clamp, *(("TA-087",) if repeats else ()))

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        """TA-010."""
        dim, clamp = constant_of(self.dim), constant_of(self.clamp)
        assert isinstance(dim, int) and isinstance(clamp, ClampMode)
        if not 1 <= dim <= 5:
            yield Problem("dim", f"dim is {dim}", "1 to 5 dimensions", "TA-010")
            return
        yield from environment.define(self.id, LayoutType(dim, clamp))


class LayoutSetter(Setter, frozen=True):
    """A setter of layouts."""

    sets = LayoutType


class TensorLayoutSetBlockSize(LayoutSetter, frozen=True):
    """TA-013."""

    opcode: ClassVar[str] = "OpTensorLayoutSetBlockSizeNV"
    form = "of block_size"
    glsl = "setTensorLayoutBlockSizeNV(of, block_size)"
    #: The feature covers block sizes without a decode function, too (VK-012, AM-24).
    capability = "CooperativeMatrixBlockLoadsNV"
    facts = ("TA-013",)
    exercises = ("TA-022", "VK-012")
    needs = frozenset({Feature.BLOCK_LOADS})
    block_size: tuple[Operand, ...]


class TensorLayoutSetDimension(LayoutSetter, frozen=True):
    """TA-014."""

    opcode: ClassVar[str] = "OpTensorLayoutSetDimensionNV"
    form = "of dims"
    glsl = "setTensorLayoutDimensionNV(of, dims)"
    facts = ("TA-014",)
    resets = ("strides", "offset", "span")
    dims: tuple[Operand, ...]


class TensorLayoutSetStride(LayoutSetter, frozen=True):
    """TA-015."""

    opcode: ClassVar[str] = "OpTensorLayoutSetStrideNV"
    form = "of strides"
    glsl = "setTensorLayoutStrideNV(of, strides)"
    facts = ("TA-015",)
    exercises = ("TA-022", "TA-064")
    strides: tuple[Operand, ...]


class TensorLayoutSlice(LayoutSetter, frozen=True):
    """TA-016."""

    opcode: ClassVar[str] = "OpTensorLayoutSliceNV"
    form = "of offset/span"
    glsl = "sliceTensorLayoutNV(of, offset/span)"
    facts = ("TA-016",)
    offset: tuple[Operand, ...]
    span: tuple[Operand, ...]


class TensorLayoutSetClampValue(LayoutSetter, frozen=True):
    """TA-017. `value` is the 32-bit pattern, not a component value (TA-038)."""

    opcode: ClassVar[str] = "OpTensorLayoutSetClampValueNV"
    form = "of value"
    glsl = "setTensorLayoutClampValueNV(of, value)"
    facts = ("TA-017",)
    effects = ("TA-038",)
    value: Operand


class TensorView(Instruction, frozen=True):
    """A view type and a fresh view of it (TA-011, TA-018)."""

    opcode: ClassVar[str] = "OpCreateTensorViewNV"
    facts = ("TA-011", "TA-018")
    effects = ("TA-033",)
    needs = frozenset({Feature.TENSOR_ADDRESSING})
    id: str
    dim: int | SpecInt
    has_dimensions: bool | SpecBool
    permutation: tuple[int | SpecInt, ...]

    @property
    def exercised(self) -> tuple[str, ...]:
        permutation = tuple(int(str(constant_of(p))) for p in self.permutation)
        ordered = permutation == tuple(range(len(permutation))) and not constant_of(self.has_dimensions)
        by_permutation = {(1, 0): ("TA-083",), (0, 2, 1, 3, 4): ("TA-089",)}.get(permutation, ())
        return (*super().exercised, *by_permutation, *(("TA-080",) if ordered else ()))

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        """TA-011."""
        dim, has = constant_of(self.dim), constant_of(self.has_dimensions)
        permutation = tuple(constant_of(p) for p in self.permutation)
        assert isinstance(dim, int) and isinstance(has, bool)
        if not 1 <= dim <= 5:
            yield Problem("dim", f"dim is {dim}", "1 to 5 dimensions", "TA-011")
        elif sorted(map(repr, permutation)) != sorted(map(repr, range(dim))):
            what = f"{list(permutation)} is not a permutation"
            yield Problem("permutation", what, f"each of 0 to {dim - 1} once", "TA-011")
        else:
            yield from environment.define(self.id, ViewType(dim, has, tuple(int(str(p)) for p in permutation)))


class ViewSetter(Setter, frozen=True):
    """A setter of views."""

    sets = ViewType


class TensorViewSetDimension(ViewSetter, frozen=True):
    """TA-019."""

    opcode: ClassVar[str] = "OpTensorViewSetDimensionNV"
    form = "of dims"
    glsl = "setTensorViewDimensionsNV(of, dims)"
    facts = ("TA-019",)
    resets = ("strides",)
    effects = ("TA-033",)
    dims: tuple[Operand, ...]


class TensorViewSetStride(ViewSetter, frozen=True):
    """TA-020."""

    opcode: ClassVar[str] = "OpTensorViewSetStrideNV"
    form = "of strides"
    glsl = "setTensorViewStrideNV(of, strides)"
    facts = ("TA-020",)
    effects = ("TA-033",)
    strides: tuple[Operand, ...]


class TensorViewSetClip(ViewSetter, frozen=True):
    """TA-021."""

    opcode: ClassVar[str] = "OpTensorViewSetClipNV"
    form = "of row_offset row_span col_offset col_span"
    glsl = "setTensorViewClipNV(of, row_offset, row_span, col_offset, col_span)"
    facts = ("TA-021",)
    effects = ("TA-032",)
    exercises = ("TA-022", "TA-032", "TA-066")
    row_offset: Operand
    row_span: Operand
    col_offset: Operand
    col_span: Operand

    @property
    def explained_by(self) -> tuple[str, ...]:
        """The facts of how clipping works are more specific than that of setting the clip."""
        return (*self.effects, *self.facts)


LayoutInstruction: TypeAlias = (
    TensorLayout
    | TensorLayoutSetBlockSize
    | TensorLayoutSetDimension
    | TensorLayoutSetStride
    | TensorLayoutSlice
    | TensorLayoutSetClampValue
)
ViewInstruction: TypeAlias = TensorView | TensorViewSetDimension | TensorViewSetStride | TensorViewSetClip
MatrixInstruction: TypeAlias = (
    MatrixValueInstruction
    | MatrixConversionInstruction
    | MatrixCallbackInstruction
    | MemoryInstruction
    | ArrayInstruction
)
VectorInstruction: TypeAlias = (
    VectorCompositeInstruction | VectorArithmeticInstruction | VectorProductInstruction | VectorAtomicAdd
)
AnyInstruction: TypeAlias = (
    LayoutInstruction
    | ViewInstruction
    | MatrixInstruction
    | VectorInstruction
    | PointerInstruction
    | ControlInstruction
)


def operands_of(instruction: Instruction) -> Iterator[tuple[str, Scalar | SpecNumber]]:
    """The operands that are no plain numbers, as (path, operand), in field order: `offset[0]`, `value`, ..."""
    for name in instruction.__struct_fields__:
        value = getattr(instruction, name)
        for path, item in (
            ((f"{name}[{i}]", v) for i, v in enumerate(value)) if isinstance(value, tuple) else ((name, value),)
        ):
            if isinstance(item, (Scalar, SpecNumber)):
                yield path, item


def dynamic_operands(instruction: Instruction) -> Iterator[tuple[str, Scalar | SpecNumber]]:
    """The operands read at run time, as (path, operand), in field order."""
    return ((path, operand) for path, operand in operands_of(instruction) if operand.dynamic is not None)


def defined_ids(program: Sequence[Instruction]) -> list[tuple[str, ...]]:
    """The ids that each instruction of a well-formed program gives a value, also loops and what ends or leaves them."""
    ids: list[tuple[str, ...]] = []
    opened: list[tuple[str, ...]] = []
    for instruction in program:
        visible = instruction.defines
        if isinstance(instruction, BlockStart):
            opened.append(visible)
        elif isinstance(instruction, BlockEnd):
            visible = (*opened.pop(), *visible)
        elif isinstance(instruction, Exit):
            visible = opened[-1]
        ids.append(visible)
    return ids
