"""Loads and stores: bytes of elements (CM-010, CM-011, KM-012, KM-013, TA-036, TA-037, AL-002 to AL-005)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from cts.case import model
from cts.reference.addressing.coordinates import Status
from cts.reference.addressing.elements import matrix_elements, tensor_coordinates
from cts.reference.addressing.layout import TensorLayoutState
from cts.reference.addressing.view import TensorViewState
from cts.reference.common.operands import lanes_of
from cts.reference.numeric.arrays import I64, U8, U32, Mask, some_sets

_T = TypeVar("_T", bound=np.generic)

#: The most elements, over all instances and parameter sets, of one result, and of all loads and stores.
MAX_ELEMENTS = 1 << 26


@dataclass(frozen=True)
class Grid:
    """Elements that each invocation has of its own, or reads for itself: a vector is one row, a scalar one element.

    In programs of cooperative vectors the instances of the smallest scope are invocations.
    """

    component: model.ComponentType
    cols: int
    rows: int = 1
    scope: model.Scope = model.Scope.Subgroup


Shape: TypeAlias = model.MatrixShape | Grid


@dataclass(frozen=True)
class Blocks:
    """Where the elements of a load with a decode function lie, one array per dimension (TA-037)."""

    block_coord: tuple[U32, ...]
    coord_in_block: tuple[U32, ...]


@dataclass(frozen=True)
class Access:
    """One load or store in one step, all its instances.

    `byte` are byte offsets into the buffer's contents, int64, and `status` what becomes of each
    element (both (sets, instances, rows, cols), or with extents of 1 where nothing varies). Every
    location is of `size` bytes: a component, or a block that is decoded. `pointer` is the byte offset
    of the Pointer operand, (sets, instances), in the part of the buffer that the instance sees, which
    begins at `origin`, (1, instances), and has `extent` bytes. Tensor instructions have a `layout` and
    perhaps a `view`; KHR ones a `stride`, signed, in elements of the buffer; matrices that vectors are
    multiplied with a stride in bytes. `field` names the operand that says where it begins. A store that
    `accumulates` adds atomically.
    """

    instruction: int
    store: bool
    buffer: str
    shape: Shape
    pointer: I64
    byte: I64
    status: U8
    size: int
    origin: I64
    extent: int
    layout: TensorLayoutState | None = None
    view: TensorViewState | None = None
    stride: I64 | None = None
    blocks: Blocks | None = None
    field: str = "offset"
    accumulates: bool = False

    @property
    def unit(self) -> int:
        """Bytes that every location is a whole number of, and begins at a multiple of."""
        return self.shape.component.size if self.blocks is None else 1

    @property
    def accessed(self) -> Mask | None:
        """Which elements access memory at all; None: every one."""
        return self.status == Status.OK if self.status.any() else None

    @property
    def places_decided_by(self) -> str:
        """The operand that decides where the elements after the first are."""
        if self.layout is not None:
            return "layout"
        return "stride" if self.stride is not None and not isinstance(self.shape, Grid) else self.field

    def taken_by(self, active: Mask) -> Access:
        """The same where some instances, (sets, instances), do not take the step."""
        status = np.where(active[..., None, None], self.status, np.uint8(Status.INACTIVE))
        return replace(self, status=status)

    def chosen(self, which: npt.NDArray[np.intp]) -> Access:
        """The same under some sets, by their numbers."""

        def in_chosen_sets(values: npt.NDArray[_T]) -> npt.NDArray[_T]:
            return some_sets(values, which)

        blocks = self.blocks
        if blocks is not None:
            blocks = Blocks(
                tuple(map(in_chosen_sets, blocks.block_coord)), tuple(map(in_chosen_sets, blocks.coord_in_block))
            )
        return replace(
            self,
            pointer=in_chosen_sets(self.pointer),
            byte=in_chosen_sets(self.byte),
            status=in_chosen_sets(self.status),
            stride=None if self.stride is None else in_chosen_sets(self.stride),
            layout=self.layout and self.layout.map(in_chosen_sets),
            view=self.view and self.view.map(in_chosen_sets),
            blocks=blocks,
        )

    def only(self, active: Mask) -> Access:
        """Operands and state of the active instances of the only parameter set, for rules on them."""
        chosen = np.flatnonzero(np.broadcast_to(active, (1, active.shape[1]))[0])

        def in_active_instances(values: npt.NDArray[_T]) -> npt.NDArray[_T]:
            return values if values.shape[1] == 1 else values[:, chosen]

        return replace(
            self,
            pointer=in_active_instances(self.pointer),
            stride=None if self.stride is None else in_active_instances(self.stride),
            layout=None if self.layout is None else self.layout.map(in_active_instances),
            view=None if self.view is None else self.view.map(in_active_instances),
        )


@dataclass(frozen=True)
class InstructionOperands:
    """The values of a memory instruction's operands, at the instances of the matrix's scope.

    `offset` is the pointer's offset in elements of the buffer, (sets, instances). The instruction has either `layout`
    and `view`, or `stride`.
    """

    instruction: int
    buffer: str
    shape: Shape
    offset: I64
    layout: TensorLayoutState | None = None
    view: TensorViewState | None = None
    stride: U32 | None = None


def tensor_access(case: model.Case, instruction: model.TensorInstruction, place: InstructionOperands) -> Access:
    """CM-010, CM-011; byte address by TA-036, or by TA-037 with a decode function."""
    assert place.layout is not None
    store = isinstance(instruction, model.Store)
    shape = place.shape
    size, blocks = shape.component.size, None
    if isinstance(instruction, model.MatrixLoadTensor) and instruction.decode is not None:
        size = block_size(case, instruction.decode)
        elements, block, inside = tensor_coordinates(place.layout, place.view, shape.rows, shape.cols, store)
        blocks = Blocks(tuple(block), tuple(inside))
    else:
        elements = matrix_elements(place.layout, place.view, shape.rows, shape.cols, store)
    pointer = place.offset * np.int64(case.buffers[place.buffer].element_size)
    origin, extent = part_origin(case, place.buffer, shape.scope)
    byte = elements.index.astype(np.int64)
    byte *= size
    byte = byte + (pointer + origin)[..., None, None]
    return Access(
        place.instruction,
        store,
        place.buffer,
        shape,
        pointer,
        byte,
        elements.status,
        size,
        origin,
        extent,
        place.layout,
        place.view,
        blocks=blocks,
    )


def strided_access(case: model.Case, instruction: model.StridedInstruction, place: InstructionOperands) -> Access:
    """KM-012, KM-013: `offset` and `stride` count pointees, the position along a row counts components.

    In blocked layouts `stride` counts blocks (AL-005).
    """
    assert place.stride is not None
    shape = place.shape
    stride = place.stride.view(np.int32).astype(np.int64)
    pointer = place.offset * np.int64(case.buffers[place.buffer].element_size)
    origin, extent = part_origin(case, place.buffer, shape.scope)
    row, col = np.arange(shape.rows, dtype=np.int64)[:, None], np.arange(shape.cols, dtype=np.int64)
    if instruction.order.blocked:
        byte = blocked_bytes(instruction.order, shape, stride[..., None, None], row, col)
    else:
        major, minor = (row, col) if instruction.order is model.Order.RowMajor else (col, row)
        pitch = stride * case.buffers[place.buffer].element_size
        byte = major * pitch[..., None, None] + minor * shape.component.size
    byte = (pointer + origin)[..., None, None] + byte
    store, size = isinstance(instruction, model.Store), shape.component.size
    status = np.broadcast_to(np.uint8(Status.OK), byte.shape)
    if checked(case, place.buffer):
        outside = byte > case.buffers[place.buffer].size - size
        if outside.any():
            status = np.where(outside, np.uint8(Status.OUTSIDE), status)
    return Access(
        place.instruction, store, place.buffer, shape, pointer, byte, status, size, origin, extent, stride=stride
    )


def block_number(order: model.Order, shape: Shape, row: I64, col: I64) -> I64:
    """The number of the block that an element is in: blocks of 4 rows and 16 bytes (AL-002 to AL-004)."""
    of_row = 16 // shape.component.size
    if order is model.Order.RowBlockedInterleavedARM:
        return row // 4 * (shape.cols // of_row) + col // of_row
    return col // of_row * (shape.rows // 4) + row // 4


def blocked_bytes(order: model.Order, shape: Shape, stride: I64, row: I64, col: I64) -> I64:
    """Bytes from the pointer to elements, in groups of `stride` blocks that take turns every 4 bytes (AL-005)."""
    size = shape.component.size
    inside = row % 4 * 16 + col % (16 // size) * size
    block = block_number(order, shape, row, col)
    first = block // stride * (64 * stride) + block % stride * 4
    byte: I64 = first + inside // 4 * (4 * stride) + inside % 4
    return byte


def checked(case: model.Case, buffer: str) -> bool:
    """Whether plain loads and stores of matrices may go outside a buffer (VK-060, VK-061)."""
    return case.robustness is not None and case.buffers[buffer].storage is model.StorageClass.StorageBuffer


def block_size(case: model.Case, function: str) -> int:
    """The size in bytes of a decode function's block."""
    decode = case.functions[function]
    assert isinstance(decode, (model.Decode, model.DecodeVector))
    return model.block_offsets(decode.block)[1]


def instances_of(dispatch: model.Dispatch, scope: model.Scope) -> int:
    """How many instances of a scope a dispatch has; of the smallest, invocations in programs of vectors."""
    return math.prod(dispatch.workgroups) * (1 if scope is model.Scope.Workgroup else lanes_of(dispatch))


def part_of(buffer: model.Buffer, dispatch: model.Dispatch) -> int:
    """The bytes of the buffer that one workgroup sees: all, or its part of Workgroup memory."""
    return (
        buffer.size // math.prod(dispatch.workgroups) if buffer.storage is model.StorageClass.Workgroup else buffer.size
    )


def part_origin(case: model.Case, buffer: str, scope: model.Scope) -> tuple[I64, int]:
    """Where the part of a buffer that each instance of a scope sees begins, (1, instances), and its size.

    That of a buffer whose contents begin late begins as much before them.
    """
    declared = case.buffers[buffer]
    if declared.begins_at:
        return np.full((1, 1), -declared.begins_at, np.int64), declared.reach
    extent = part_of(case.buffers[buffer], case.dispatch)
    if extent == case.buffers[buffer].size:
        return np.zeros((1, 1), np.int64), extent
    workgroup = np.arange(math.prod(case.dispatch.workgroups), dtype=np.int64)
    each = instances_of(case.dispatch, scope) // len(workgroup)
    return np.repeat(workgroup, each)[None] * extent, extent
