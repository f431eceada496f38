"""The instructions of a program, each named after its SPIR-V instruction.

A program is a list of these in SSA form: `id` names the result, the other fields refer to earlier
results by name. To add an instruction see docs/adding-an-instruction.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeAlias

from msgspec import structs

from cts.model import vectors as vec
from cts.model.control import ControlBarrier, Else, EndIf, EndLoop, If, Loop
from cts.model.instruction import Instruction
from cts.model.matrices import (
    MatrixArithmetic,
    MatrixBitcast,
    MatrixComponents,
    MatrixConstant,
    MatrixConvert,
    MatrixConvertUse,
    MatrixCopy,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixMulAdd,
    MatrixNull,
    MatrixPerElement,
    MatrixReduce,
    MatrixStore,
    MatrixStoreTensor,
    MatrixTimesScalar,
    MatrixTranspose,
    Pointer,
    PointerSelect,
)
from cts.model.operand import (
    ClampMode,
    Operand,
    Scalar,
    SpecBool,
    SpecClampMode,
    SpecInt,
    SpecNumber,
)


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


LayoutInstruction: TypeAlias = (
    TensorLayout
    | TensorLayoutSetBlockSize
    | TensorLayoutSetDimension
    | TensorLayoutSetStride
    | TensorLayoutSlice
    | TensorLayoutSetClampValue
)
ViewInstruction: TypeAlias = TensorView | TensorViewSetDimension | TensorViewSetStride | TensorViewSetClip
MemoryInstruction: TypeAlias = MatrixLoadTensor | MatrixStoreTensor | MatrixLoad | MatrixStore
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
ControlInstruction: TypeAlias = Loop | EndLoop | If | Else | EndIf | ControlBarrier
VectorInstruction: TypeAlias = (
    vec.VectorConstant
    | vec.VectorNull
    | vec.VectorLoad
    | vec.VectorStore
    | vec.VectorConstruct
    | vec.VectorExtract
    | vec.VectorInsert
    | vec.VectorArithmetic
    | vec.VectorTimesScalar
    | vec.VectorConvert
    | vec.VectorBitcast
    | vec.VectorMatrixMul
    | vec.VectorOuterProductAccumulate
    | vec.VectorReduceSumAccumulate
)
AnyInstruction: TypeAlias = (
    LayoutInstruction
    | ViewInstruction
    | MatrixInstruction
    | VectorInstruction
    | Pointer
    | PointerSelect
    | ControlInstruction
)


def dynamic_operands(instruction: Instruction) -> Iterator[tuple[str, Scalar | SpecNumber]]:
    """The operands read at run time, as (path, operand), in field order: `offset[0]`, `value`, ..."""
    for name in instruction.__struct_fields__:
        value = getattr(instruction, name)
        for path, item in (
            ((f"{name}[{i}]", v) for i, v in enumerate(value)) if isinstance(value, tuple) else ((name, value),)
        ):
            if isinstance(item, (Scalar, SpecNumber)) and item.dynamic is not None:
                yield path, item


def references(instruction: Instruction) -> Iterator[str]:
    """The ids of earlier results that an instruction refers to, without `buffer`, which may be a pointer's."""
    for field in instruction.refers:
        value = getattr(instruction, field, None)
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from value
    if isinstance(instruction, Loop):
        yield from (c.init for c in instruction.carry)
    if isinstance(instruction, EndIf):
        yield from (name for m in instruction.merge for name in (m.then, m.otherwise))


def renamed(instruction: AnyInstruction, old: str, new: str) -> AnyInstruction:
    """The instruction with references to `old` made to `new`."""
    changes: dict[str, Any] = {}
    for field in (*instruction.refers, "buffer"):
        value = getattr(instruction, field, None)
        if value == old:
            changes[field] = new
        elif isinstance(value, tuple) and old in value:
            changes[field] = tuple(new if v == old else v for v in value)
    if isinstance(instruction, Loop):
        changes["carry"] = tuple(structs.replace(c, init=new) if c.init == old else c for c in instruction.carry)
    if isinstance(instruction, EndIf):
        changes["merge"] = tuple(
            structs.replace(
                m, then=new if m.then == old else m.then, otherwise=new if m.otherwise == old else m.otherwise
            )
            for m in instruction.merge
        )
    return structs.replace(instruction, **changes)
