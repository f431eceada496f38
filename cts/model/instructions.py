"""The instructions of a program, each named after its SPIR-V instruction.

A program is a list of these in SSA form: `id` names the result, the other fields refer to earlier
results by name. To add an instruction see docs/adding-an-instruction.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, TypeAlias

from msgspec import Struct

from cts.model.component import ComponentType
from cts.model.operand import (
    ClampMode,
    ComponentValue,
    Operand,
    Order,
    Scalar,
    Scope,
    SpecBool,
    SpecClampMode,
    SpecInt,
    SpecNumber,
    SpecScope,
    SpecUse,
    Use,
)


class MatrixType(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """OpTypeCooperativeMatrixKHR (KM-010)."""

    component: ComponentType
    scope: Scope | SpecScope
    rows: int | SpecInt
    cols: int | SpecInt
    use: Use | SpecUse


class Instruction(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="op", tag=True):
    """Base of all instructions. `opcode` is the SPIR-V instruction the case speaks of."""

    opcode: ClassVar[str] = ""


class TensorLayout(Instruction, frozen=True):
    """A layout type and a fresh layout of it (TA-010, TA-012)."""

    opcode: ClassVar[str] = "OpCreateTensorLayoutNV"
    id: str
    dim: int | SpecInt
    clamp: ClampMode | SpecClampMode = ClampMode.Undefined


class TensorLayoutSetBlockSize(Instruction, frozen=True):
    """TA-013."""

    opcode: ClassVar[str] = "OpTensorLayoutSetBlockSizeNV"
    id: str
    of: str
    block_size: tuple[Operand, ...]


class TensorLayoutSetDimension(Instruction, frozen=True):
    """TA-014."""

    opcode: ClassVar[str] = "OpTensorLayoutSetDimensionNV"
    id: str
    of: str
    dims: tuple[Operand, ...]


class TensorLayoutSetStride(Instruction, frozen=True):
    """TA-015."""

    opcode: ClassVar[str] = "OpTensorLayoutSetStrideNV"
    id: str
    of: str
    strides: tuple[Operand, ...]


class TensorLayoutSlice(Instruction, frozen=True):
    """TA-016."""

    opcode: ClassVar[str] = "OpTensorLayoutSliceNV"
    id: str
    of: str
    offset: tuple[Operand, ...]
    span: tuple[Operand, ...]


class TensorLayoutSetClampValue(Instruction, frozen=True):
    """TA-017. `value` is the 32-bit pattern, not a component value (TA-038)."""

    opcode: ClassVar[str] = "OpTensorLayoutSetClampValueNV"
    id: str
    of: str
    value: Operand


class TensorView(Instruction, frozen=True):
    """A view type and a fresh view of it (TA-011, TA-018)."""

    opcode: ClassVar[str] = "OpCreateTensorViewNV"
    id: str
    dim: int | SpecInt
    has_dimensions: bool | SpecBool
    permutation: tuple[int | SpecInt, ...]


class TensorViewSetDimension(Instruction, frozen=True):
    """TA-019."""

    opcode: ClassVar[str] = "OpTensorViewSetDimensionNV"
    id: str
    of: str
    dims: tuple[Operand, ...]


class TensorViewSetStride(Instruction, frozen=True):
    """TA-020."""

    opcode: ClassVar[str] = "OpTensorViewSetStrideNV"
    id: str
    of: str
    strides: tuple[Operand, ...]


class TensorViewSetClip(Instruction, frozen=True):
    """TA-021."""

    opcode: ClassVar[str] = "OpTensorViewSetClipNV"
    id: str
    of: str
    row_offset: Operand
    row_span: Operand
    col_offset: Operand
    col_span: Operand


class MatrixConstant(Instruction, frozen=True):
    """A matrix with every component equal to `value` (KM-016).

    A literal is OpConstantComposite, `{spec: v}` OpSpecConstantComposite, `{dynamic: v}`
    OpCompositeConstruct of a value read at run time.
    """

    opcode: ClassVar[str] = "OpConstantComposite"
    id: str
    type: MatrixType
    value: ComponentValue


class MatrixLoadTensor(Instruction, frozen=True):
    """CM-010. The result has the type of `object`, which supplies clipped elements (TA-038).

    `offset` counts elements (pointees) of the buffer.
    """

    opcode: ClassVar[str] = "OpCooperativeMatrixLoadTensorNV"
    id: str
    object: str
    buffer: str
    layout: str
    view: str | None = None
    offset: Operand = 0


class MatrixStoreTensor(Instruction, frozen=True):
    """CM-011. `offset` counts elements (pointees) of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeMatrixStoreTensorNV"
    matrix: str
    buffer: str
    layout: str
    view: str | None = None
    offset: Operand = 0


class MatrixLoad(Instruction, frozen=True):
    """KM-012, KM-013. `offset` and `stride` count elements (pointees) of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeMatrixLoadKHR"
    id: str
    type: MatrixType
    buffer: str
    stride: Operand
    order: Order = Order.RowMajor
    offset: Operand = 0


class MatrixStore(Instruction, frozen=True):
    """KM-012, KM-013. `offset` and `stride` count elements (pointees) of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeMatrixStoreKHR"
    matrix: str
    buffer: str
    stride: Operand
    order: Order = Order.RowMajor
    offset: Operand = 0


LayoutInstruction: TypeAlias = (
    TensorLayout
    | TensorLayoutSetBlockSize
    | TensorLayoutSetDimension
    | TensorLayoutSetStride
    | TensorLayoutSlice
    | TensorLayoutSetClampValue
)
ViewInstruction: TypeAlias = TensorView | TensorViewSetDimension | TensorViewSetStride | TensorViewSetClip
MatrixInstruction: TypeAlias = MatrixConstant | MatrixLoadTensor | MatrixStoreTensor | MatrixLoad | MatrixStore
AnyInstruction: TypeAlias = LayoutInstruction | ViewInstruction | MatrixInstruction


def dynamic_operands(instruction: Instruction) -> Iterator[tuple[str, Scalar | SpecNumber]]:
    """The operands read at run time, as (path, operand), in field order: `offset[0]`, `value`, ..."""
    for name in instruction.__struct_fields__:
        value = getattr(instruction, name)
        for path, item in (
            ((f"{name}[{i}]", v) for i, v in enumerate(value)) if isinstance(value, tuple) else ((name, value),)
        ):
            if isinstance(item, (Scalar, SpecNumber)) and item.dynamic is not None:
                yield path, item
