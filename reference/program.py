"""What a program's instructions do with memory: which element of which matrix meets which byte.

Layouts and views are evaluated instruction by instruction; every load and store becomes an `Access`.
Nothing here depends on the contents of memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from cts.errors import BadInput
from cts.model import (
    Case,
    Dispatch,
    LayoutInstruction,
    LayoutType,
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixShape,
    MatrixStore,
    MatrixStoreTensor,
    Order,
    Scope,
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    TensorView,
    TensorViewSetClip,
    TensorViewSetDimension,
    TensorViewSetStride,
    ViewInstruction,
    ViewType,
    types_of,
)
from cts.model.types import ResultType
from cts.reference import layout as layouts
from cts.reference import view as views
from cts.reference.addressing import Status
from cts.reference.arrays import I64, U8, U32, Mask
from cts.reference.elements import matrix_elements
from cts.reference.layout import TensorLayoutState
from cts.reference.operands import Operands
from cts.reference.view import TensorViewState

_MemoryInstruction: TypeAlias = MatrixLoadTensor | MatrixStoreTensor | MatrixLoad | MatrixStore

#: The most matrix elements, over all instances and parameter sets, of one matrix; and the most instances.
MAX_ELEMENTS = 1 << 26


@dataclass(frozen=True)
class Access:
    """One load or store, all its instances.

    `byte` are byte offsets into the buffer's contents, int64, and `status` what becomes of each
    element (both (sets, instances, rows, cols), or with extents of 1 where nothing varies).
    `pointer` is the byte offset of the Pointer operand, (sets, instances). Tensor instructions have
    a `layout` and perhaps a `view`; KHR ones a `stride`, signed, in elements of the buffer.
    """

    instruction: int
    store: bool
    buffer: str
    shape: MatrixShape
    pointer: I64
    byte: I64
    status: U8
    layout: TensorLayoutState | None = None
    view: TensorViewState | None = None
    stride: I64 | None = None

    @property
    def accessed(self) -> Mask | None:
        """Which elements meet memory at all; None: every one."""
        return self.status == Status.OK if self.status.any() else None


@dataclass
class Evaluation:
    """Everything about a case, under a batch of parameter sets, that does not depend on memory's contents.

    `layouts` and `views` hold the state behind every id, with an instance axis of subgroups;
    `accesses` are by instruction index.
    """

    case: Case
    types: dict[str, ResultType]
    operands: Operands
    layouts: dict[str, TensorLayoutState] = field(default_factory=dict)
    views: dict[str, TensorViewState] = field(default_factory=dict)
    accesses: dict[int, Access] = field(default_factory=dict)

    def shape_of(self, matrix: str) -> MatrixShape:
        """The type of a matrix id."""
        shape = self.types[matrix]
        assert isinstance(shape, MatrixShape)
        return shape

    def at_scope(self, values: U32, scope: Scope) -> U32:
        """Values with an axis of subgroups (axis 1), for the instances of `scope` (TA-071: uniform in each)."""
        if scope is Scope.Subgroup or values.shape[1] == 1:
            return values
        return values[:, :: self.case.dispatch.subgroups]


def evaluate(case: Case, parameter_sets: U32 | None = None) -> Evaluation:
    """Evaluate a well-formed case; `parameter_sets` is (sets, dynamics), None: the case's own.

    Raises BadInput for a case too large to be judged.
    """
    types = types_of(case)
    _check_size(case, types, 1 if parameter_sets is None else len(parameter_sets))
    evaluation = Evaluation(case, types, Operands(case, parameter_sets))
    for i, instruction in enumerate(case.program):
        match instruction:
            case MatrixLoadTensor() | MatrixStoreTensor():
                evaluation.accesses[i] = _tensor_access(evaluation, i, instruction)
            case MatrixLoad() | MatrixStore():
                evaluation.accesses[i] = _khr_access(evaluation, i, instruction)
            case MatrixConstant():
                pass
            case TensorView() | TensorViewSetDimension() | TensorViewSetStride() | TensorViewSetClip():
                evaluation.views[instruction.id] = _view(evaluation, i, instruction)
            case _:
                evaluation.layouts[instruction.id] = _layout(evaluation, i, instruction)
    return evaluation


def instances_of(dispatch: Dispatch, scope: Scope) -> int:
    """How many instances of a scope a dispatch has."""
    return math.prod(dispatch.workgroups) * (1 if scope is Scope.Workgroup else dispatch.subgroups)


def _layout(evaluation: Evaluation, i: int, instruction: LayoutInstruction) -> TensorLayoutState:
    """TA-012..TA-017."""
    known, operands = evaluation.layouts, evaluation.operands
    match instruction:
        case TensorLayout():
            layout_type = evaluation.types[instruction.id]
            assert isinstance(layout_type, LayoutType)
            return layouts.create_tensor_layout(layout_type)
        case TensorLayoutSetBlockSize(of=of):
            return layouts.set_block_size(known[of], operands.vector(i, "block_size", instruction.block_size))
        case TensorLayoutSetDimension(of=of):
            return layouts.set_dimension(known[of], operands.vector(i, "dims", instruction.dims))
        case TensorLayoutSetStride(of=of):
            return layouts.set_stride(known[of], operands.vector(i, "strides", instruction.strides))
        case TensorLayoutSlice(of=of):
            offset = operands.vector(i, "offset", instruction.offset)
            return layouts.slice_(known[of], offset, operands.vector(i, "span", instruction.span))
        case TensorLayoutSetClampValue(of=of):
            value = operands.scalar(i, "value", instruction.value)
            return layouts.set_clamp_value(known[of], value[..., None])


def _view(evaluation: Evaluation, i: int, instruction: ViewInstruction) -> TensorViewState:
    """TA-018..TA-021."""
    known, operands = evaluation.views, evaluation.operands
    match instruction:
        case TensorView():
            view_type = evaluation.types[instruction.id]
            assert isinstance(view_type, ViewType)
            return views.create_tensor_view(view_type)
        case TensorViewSetDimension(of=of):
            return views.set_dimension(known[of], operands.vector(i, "dims", instruction.dims))
        case TensorViewSetStride(of=of):
            return views.set_stride(known[of], operands.vector(i, "strides", instruction.strides))
        case TensorViewSetClip(of=of):
            row_offset, row_span, col_offset, col_span = (
                operands.scalar(i, name, getattr(instruction, name))[..., None]
                for name in ("row_offset", "row_span", "col_offset", "col_span")
            )
            return views.set_clip(known[of], row_offset, row_span, col_offset, col_span)


def _tensor_access(evaluation: Evaluation, i: int, instruction: MatrixLoadTensor | MatrixStoreTensor) -> Access:
    """CM-010, CM-011; byte address by TA-036."""
    store = isinstance(instruction, MatrixStoreTensor)
    shape = evaluation.shape_of(instruction.matrix if isinstance(instruction, MatrixStoreTensor) else instruction.id)
    layout = evaluation.layouts[instruction.layout].map(lambda a: evaluation.at_scope(a, shape.scope))
    view = None
    if instruction.view is not None:
        view = evaluation.views[instruction.view].map(lambda a: evaluation.at_scope(a, shape.scope))
    pointer = _pointer(evaluation, i, instruction, shape.scope)
    elements = matrix_elements(layout, view, shape.rows, shape.cols, store)
    byte = pointer[..., None, None] + elements.index * np.int64(shape.component.size)
    return Access(i, store, instruction.buffer, shape, pointer, byte, elements.status, layout, view)


def _khr_access(evaluation: Evaluation, i: int, instruction: MatrixLoad | MatrixStore) -> Access:
    """KM-012, KM-013: `offset` and `stride` count pointees, the position along a row counts components."""
    store = isinstance(instruction, MatrixStore)
    shape = evaluation.shape_of(instruction.matrix if isinstance(instruction, MatrixStore) else instruction.id)
    operand = evaluation.at_scope(evaluation.operands.scalar(i, "stride", instruction.stride), shape.scope)
    stride = operand.view(np.int32).astype(np.int64)
    pointer = _pointer(evaluation, i, instruction, shape.scope)
    row, col = np.arange(shape.rows, dtype=np.int64)[:, None], np.arange(shape.cols, dtype=np.int64)
    major, minor = (row, col) if instruction.order is Order.RowMajor else (col, row)
    pitch = stride * evaluation.case.buffers[instruction.buffer].element_size
    byte = pointer[..., None, None] + major * pitch[..., None, None] + minor * shape.component.size
    status = np.broadcast_to(np.uint8(Status.OK), byte.shape)
    return Access(i, store, instruction.buffer, shape, pointer, byte, status, stride=stride)


def _pointer(evaluation: Evaluation, i: int, instruction: _MemoryInstruction, scope: Scope) -> I64:
    """The Pointer operand's byte offset into the buffer's contents, (sets, instances)."""
    offset = evaluation.at_scope(evaluation.operands.scalar(i, "offset", instruction.offset), scope)
    return offset * np.int64(evaluation.case.buffers[instruction.buffer].element_size)


def _check_size(case: Case, types: dict[str, ResultType], sets: int) -> None:
    subgroups = instances_of(case.dispatch, Scope.Subgroup)
    largest = max((t.rows * t.cols for t in types.values() if isinstance(t, MatrixShape)), default=1)
    if sets * subgroups * largest > MAX_ELEMENTS:
        raise BadInput(
            "case-too-large-to-judge",
            f"{subgroups} subgroups with matrices of up to {largest} elements" + (f", {sets} times" * (sets > 1)),
            "dispatch",
            f"at most {MAX_ELEMENTS} elements of one matrix over all subgroups",
        )
