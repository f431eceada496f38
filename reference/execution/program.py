"""A case, evaluated: the steps of its program, and what each does with layouts, views, pointers and memory.

Layouts and views are evaluated step by step; every load and store becomes an `Access`. Nothing here
depends on the contents of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput
from cts.case import model
from cts.case.model import written
from cts.case.model.types import ResultType, ScalarType
from cts.reference.addressing import layout as layouts
from cts.reference.addressing import view as views
from cts.reference.addressing.accesses import (
    MAX_ELEMENTS,
    Access,
    Grid,
    InstructionOperands,
    Shape,
    instances_of,
    strided_access,
    tensor_access,
)
from cts.reference.addressing.coordinates import Status
from cts.reference.addressing.layout import TensorLayoutState
from cts.reference.addressing.view import TensorViewState
from cts.reference.common.operands import ParameterSetOperands, lanes_of
from cts.reference.deviation.parts import NO_PARTS, Parts
from cts.reference.execution import deviating
from cts.reference.execution.step import Step
from cts.reference.execution.unroll import Taken, unroll
from cts.reference.matrices.callback_memory import outputs, whole, windows
from cts.reference.numeric.arrays import I64, U32, Mask
from cts.reference.numeric.value import Value
from cts.reference.vectors.accesses import bias_access, matrix_access, vector_access

_T = TypeVar("_T", bound=np.generic)


@dataclass(frozen=True)
class TensorOperands:
    """What a tensor load (or `store`) by index `instruction` has of a layout and a view when it is taken."""

    instruction: int
    store: bool
    shape: Shape
    layout: TensorLayoutState
    view: TensorViewState | None


@dataclass
class Evaluation:
    """Everything about a case, under a batch of parameter sets, that does not depend on memory's contents.

    `layouts` and `views` hold the last state behind every id, with an instance axis of subgroups;
    `pointers` the offset in elements behind every pointer id, (sets, subgroups). `parts` are what deviates.
    """

    case: model.Case
    types: dict[str, ResultType]
    operands: ParameterSetOperands
    layouts: dict[str, TensorLayoutState] = field(default_factory=dict)
    views: dict[str, TensorViewState] = field(default_factory=dict)
    pointers: dict[str, I64] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    parts: Parts = field(default_factory=lambda: NO_PARTS)

    @cached_property
    def written(self) -> frozenset[str]:
        """The buffers that the program writes."""
        return frozenset(written(self.case))

    @property
    def accesses(self) -> Iterator[tuple[Step, Access]]:
        """Every load and store, in order."""
        return ((step, access) for step in self.steps for access in step.accesses)

    @cached_property
    def outside(self) -> tuple[Access, ...]:
        """The loads and stores that go outside a storage buffer in a case with robustness, in order."""
        if self.case.robustness is None:
            return ()
        return tuple(access for _, access in self.accesses if (access.status == Status.OUTSIDE).any())

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of every matrix, vector and scalar."""
        shapes = {name: _shape(result) for name, result in self.types.items()}
        return {name: shape for name, shape in shapes.items() if shape is not None}

    def shape_of(self, name: str) -> Shape:
        """The shape of a matrix, vector or scalar."""
        return self.shapes[name]

    def chosen(self, which: npt.NDArray[np.intp]) -> Evaluation:
        """What an execution under some sets, by their numbers, needs."""
        steps = [step.chosen(which) for step in self.steps]
        return Evaluation(self.case, self.types, self.operands.chosen(which), steps=steps)

    def at_scope(self, values: npt.NDArray[_T], scope: model.Scope) -> npt.NDArray[_T]:
        """Values with an axis of subgroups (axis 1), for the instances of `scope` (TA-071: uniform in each)."""
        if scope is model.Scope.Subgroup or values.shape[1] == 1:
            return values
        return values[:, :: lanes_of(self.case.dispatch)]

    def passed(self, step: Taken, instruction: model.MatrixPerElement, function: model.PerElement) -> dict[str, Value]:
        """Scalars and integers that an instruction passes to a function, (sets, instances, 1, 1), by name."""
        i, scope = step.index, self.shape_of(instruction.matrix).scope
        passed = {}
        for n, ((name, component), value) in enumerate(
            zip(model.scalars_of(function), instruction.scalars, strict=True)
        ):
            passed[name] = self.operands.component(i, f"scalars[{n}]", component, value)
        for n, (name, operand) in enumerate(zip(model.integers_of(function), instruction.integers, strict=True)):
            words = self.at_scope(self.operands.scalar(i, f"integers[{n}]", operand, step.iterations), scope)
            passed[name] = Value(model.ComponentType.uint32, words[..., None, None])
        return passed

    def active_at(self, step: Taken, scope: model.Scope) -> Mask | None:
        """Which instances of `scope` take a step, (sets, instances); None: all."""
        if step.active is None:
            return None
        active = self.at_scope(step.active, scope)
        return np.broadcast_to(active, (len(active), instances_of(self.case.dispatch, scope)))


def evaluate(case: model.Case, parameter_sets: U32 | None = None, parts: Parts = NO_PARTS) -> Evaluation:
    """Evaluate a well-formed case; `parameter_sets` is (sets, run-time operands), None: the case's own.

    Instructions deviate in `parts`. Raises BadInput for a case too large to be judged, and NotComputable if what
    deviates reaches outside of a buffer.
    """
    # A wrong program need not be well formed.
    types = model.resolve(case)[0] if parts else model.types_of(case)
    check_size(case, types, 1 if parameter_sets is None else len(parameter_sets))
    evaluation = Evaluation(case, types, ParameterSetOperands(case, parameter_sets, parts), parts=parts)
    elements = 0
    for taken in unroll(case, evaluation.operands):
        if parts:
            taken = deviating.taken(case.dispatch, parts, taken)
        step = _step(evaluation, taken)
        if parts:
            step = deviating.step(case, parts, step)
        evaluation.steps.append(step)
        for access in step.accesses:
            elements += access.byte.size
            if elements > MAX_ELEMENTS and taken.iterations:
                raise BadInput(
                    "case-too-large-to-judge",
                    f"loads and stores of more than {MAX_ELEMENTS} elements",
                    f"program[{taken.index}]",
                    "fewer iterations or smaller matrices",
                )
    return evaluation


def tensor_instructions(case: model.Case, parameter_sets: U32 | None) -> Iterator[TensorOperands]:
    """Every tensor load and store of a well-formed case each time it is taken, without where its elements are."""
    types = model.types_of(case)
    evaluation = Evaluation(case, types, ParameterSetOperands(case, parameter_sets))
    for taken in unroll(case, evaluation.operands):
        instruction = case.program[taken.index]
        if isinstance(instruction, model.TensorInstruction):
            store = isinstance(instruction, model.Store)
            shape = evaluation.shape_of(instruction.stored if isinstance(instruction, model.Store) else instruction.id)
            layout, view = _states(evaluation, taken, instruction, shape.scope)
            yield TensorOperands(taken.index, store, shape, layout, view)
        elif isinstance(instruction, (model.LayoutInstruction, model.ViewInstruction)):
            _step(evaluation, taken)


def _step(evaluation: Evaluation, taken: Taken) -> Step:
    instruction = evaluation.case.program[taken.index]
    match instruction:
        case _ if isinstance(instruction, model.MemoryInstruction):
            access = _access(evaluation, taken, instruction)
            decode = evaluation.case.functions.get(getattr(instruction, "decode", None) or "")
            if decode is None or not isinstance(access.shape, model.MatrixShape):
                return Step(taken, access)
            return Step(taken, access, tables=_tables(evaluation, taken, decode, access.shape))
        case model.VectorLoad() | model.VectorStore() | model.VectorReduceSumAccumulate() | model.VectorAtomicAdd():
            return Step(taken, _vector_access(evaluation, taken, instruction))
        case model.MatrixPerElement():
            return _calling(evaluation, taken, instruction, evaluation.case.functions[instruction.function])
        case model.VectorMatrixMul():
            matrix, bias = _operand_accesses(evaluation, taken, instruction)
            return Step(taken, matrix, bias=bias)
        case _ if isinstance(instruction, model.ViewInstruction):
            view_before = evaluation.views[instruction.of] if isinstance(instruction, model.Setter) else None
            view = deviating.state(evaluation.parts, taken.index, view_before, _view(evaluation, taken, instruction))
            evaluation.views[instruction.id] = view
            return Step(taken, view_before=view_before, view_after=view)
        case model.Pointer():
            offset = evaluation.operands.scalar(taken.index, "offset", instruction.offset, taken.iterations)
            evaluation.pointers[instruction.id] = offset.astype(np.int64)
        case model.PointerSelect():
            condition = evaluation.operands.scalar(taken.index, "condition", instruction.condition, taken.iterations)
            a, b = evaluation.pointers[instruction.a], evaluation.pointers[instruction.b]
            evaluation.pointers[instruction.id] = np.where(condition != 0, a, b)
        case _ if isinstance(instruction, model.LayoutInstruction):
            before = evaluation.layouts[instruction.of] if isinstance(instruction, model.Setter) else None
            after = deviating.state(evaluation.parts, taken.index, before, _layout(evaluation, taken, instruction))
            evaluation.layouts[instruction.id] = after
            return Step(taken, None, before, after)
        case _:
            pass
    return Step(taken)


def _calling(
    evaluation: Evaluation, taken: Taken, instruction: model.MatrixPerElement, function: model.AnyFunction
) -> Step:
    """CM-032, CM-035, CM-036: what a function that is called for every element accesses."""
    assert isinstance(function, model.PerElement)
    case, shape = evaluation.case, evaluation.shape_of(instruction.matrix)
    assert isinstance(shape, model.MatrixShape)
    pointers = tuple(_pointed(evaluation, name, shape.scope) for name in instruction.pointers)
    passed = evaluation.passed(taken, instruction, function)
    stored = outputs(case, taken.index, function, shape, passed) if function.outputs else []
    tables = _tables(evaluation, taken, function, shape, pointers)
    return Step(
        taken, tables=tables, outputs=tuple(_by_takers(evaluation, taken, a) for a in stored), pointers=pointers
    )


def _tables(
    evaluation: Evaluation,
    taken: Taken,
    function: model.AnyFunction,
    shape: model.MatrixShape,
    pointers: Sequence[tuple[str, I64]] = (),
) -> tuple[Access, ...]:
    """CM-032: what a function may read of buffers that the program writes."""
    written_windows = (
        w for w in windows(evaluation.case, function, shape, pointers) if w.table.buffer in evaluation.written
    )
    return tuple(_by_takers(evaluation, taken, whole(taken.index, window, shape)) for window in written_windows)


def _pointed(evaluation: Evaluation, name: str, scope: model.Scope) -> tuple[str, I64]:
    pointer = evaluation.types[name]
    assert isinstance(pointer, model.PointerType)
    return pointer.buffer, evaluation.at_scope(evaluation.pointers[name], scope)


def _layout(evaluation: Evaluation, taken: Taken, instruction: model.LayoutInstruction) -> TensorLayoutState:
    """TA-012..TA-017."""
    states, operands, i, iterations = evaluation.layouts, evaluation.operands, taken.index, taken.iterations
    match instruction:
        case model.TensorLayout():
            layout_type = evaluation.types[instruction.id]
            assert isinstance(layout_type, model.LayoutType)
            return layouts.create_tensor_layout(layout_type)
        case model.TensorLayoutSetBlockSize(of=source):
            return layouts.set_block_size(
                states[source], operands.vector(i, "block_size", instruction.block_size, iterations)
            )
        case model.TensorLayoutSetDimension(of=source):
            return layouts.set_dimension(states[source], operands.vector(i, "dims", instruction.dims, iterations))
        case model.TensorLayoutSetStride(of=source):
            return layouts.set_stride(states[source], operands.vector(i, "strides", instruction.strides, iterations))
        case model.TensorLayoutSlice(of=source):
            offset = operands.vector(i, "offset", instruction.offset, iterations)
            return layouts.slice_(states[source], offset, operands.vector(i, "span", instruction.span, iterations))
        case model.TensorLayoutSetClampValue(of=source):
            value = operands.scalar(i, "value", instruction.value, iterations)
            return layouts.set_clamp_value(states[source], value[..., None])


def _view(evaluation: Evaluation, taken: Taken, instruction: model.ViewInstruction) -> TensorViewState:
    """TA-018..TA-021."""
    states, operands, i, iterations = evaluation.views, evaluation.operands, taken.index, taken.iterations
    match instruction:
        case model.TensorView():
            view_type = evaluation.types[instruction.id]
            assert isinstance(view_type, model.ViewType)
            return views.create_tensor_view(view_type)
        case model.TensorViewSetDimension(of=source):
            return views.set_dimension(states[source], operands.vector(i, "dims", instruction.dims, iterations))
        case model.TensorViewSetStride(of=source):
            return views.set_stride(states[source], operands.vector(i, "strides", instruction.strides, iterations))
        case model.TensorViewSetClip(of=source):
            row_offset, row_span, col_offset, col_span = (
                operands.scalar(i, name, getattr(instruction, name), iterations)[..., None]
                for name in ("row_offset", "row_span", "col_offset", "col_span")
            )
            return views.set_clip(states[source], row_offset, row_span, col_offset, col_span)


def _access(evaluation: Evaluation, taken: Taken, instruction: model.MemoryInstruction) -> Access:
    case, i = evaluation.case, taken.index
    name = instruction.stored if isinstance(instruction, model.Store) else instruction.id
    shape = evaluation.shape_of(name)
    scope = shape.scope
    buffer, offset = _pointer(evaluation, taken, instruction)
    offset = evaluation.at_scope(offset, scope)
    if isinstance(instruction, model.StridedInstruction):
        stride = evaluation.operands.scalar(i, "stride", instruction.stride, taken.iterations)
        place = InstructionOperands(i, buffer, shape, offset, stride=evaluation.at_scope(stride, scope))
        access = strided_access(case, instruction, place)
    else:
        layout, view = _states(evaluation, taken, instruction, scope)
        place = InstructionOperands(i, buffer, shape, offset, layout, view)
        access = tensor_access(case, instruction, place)
    return _by_takers(evaluation, taken, access)


def _states(
    evaluation: Evaluation, taken: Taken, instruction: model.TensorInstruction, scope: model.Scope
) -> tuple[TensorLayoutState, TensorViewState | None]:
    """The layout and the view of a load or store, as they are now, for the instances of its matrix."""
    parts, place = evaluation.parts, taken.index
    layout = deviating.state(parts, place, None, evaluation.layouts[instruction.layout])
    view = None if instruction.view is None else deviating.state(parts, place, None, evaluation.views[instruction.view])
    at_scope = partial(evaluation.at_scope, scope=scope)
    return layout.map(at_scope), None if view is None else view.map(at_scope)


def _vector_access(
    evaluation: Evaluation,
    taken: Taken,
    instruction: model.VectorLoad | model.VectorStore | model.VectorReduceSumAccumulate | model.VectorAtomicAdd,
) -> Access:
    offset = evaluation.operands.scalar(taken.index, "offset", instruction.offset, taken.iterations)
    name = instruction.id if isinstance(instruction, model.VectorLoad) else instruction.vector
    grid = evaluation.shape_of(name)
    assert isinstance(grid, Grid)
    return _by_takers(evaluation, taken, vector_access(evaluation.case, taken.index, instruction.buffer, grid, offset))


def _operand_accesses(
    evaluation: Evaluation, taken: Taken, instruction: model.VectorMatrixMul
) -> tuple[Access | None, Access | None]:
    """What a multiplication reads of buffers: its matrix, unless it is opaque, and its bias, if there is one."""
    case, matrix, bias = evaluation.case, None, None
    offset, stride, start = (
        evaluation.operands.scalar(taken.index, name, getattr(instruction, name), taken.iterations)
        for name in ("matrix_offset", "stride", "bias_offset")
    )
    if instruction.matrix not in case.opaque:
        matrix = _by_takers(evaluation, taken, matrix_access(case, taken.index, offset, stride))
    if instruction.bias is not None:
        bias = _by_takers(evaluation, taken, bias_access(case, taken.index, start))
    return matrix, bias


def _by_takers(evaluation: Evaluation, taken: Taken, access: Access) -> Access:
    active = evaluation.active_at(taken, access.shape.scope)
    return access if active is None else access.taken_by(active)


def _shape(result: ResultType) -> Shape | None:
    match result:
        case model.MatrixShape():
            return result
        case model.VectorShape():
            return Grid(result.component, result.length)
        case ScalarType():
            return Grid(result.component, 1)
        case _:
            return None


def _pointer(evaluation: Evaluation, taken: Taken, instruction: model.MemoryInstruction) -> tuple[str, I64]:
    """The buffer, and the Pointer operand's offset in elements, (sets, subgroups)."""
    offset = evaluation.operands.scalar(taken.index, "offset", instruction.offset, taken.iterations).astype(np.int64)
    pointer = evaluation.types.get(instruction.buffer)
    if isinstance(pointer, model.PointerType):
        return pointer.buffer, offset + evaluation.pointers[instruction.buffer]
    return instruction.buffer, offset


def check_size(case: model.Case, types: dict[str, ResultType], sets: int) -> None:
    """Raises BadInput for a case too large to be judged under so many sets."""
    subgroups = instances_of(case.dispatch, model.Scope.Subgroup)
    largest = max((s.rows * s.cols for s in map(_shape, types.values()) if s is not None), default=1)
    if sets * subgroups * largest > MAX_ELEMENTS:
        many, kind = ("subgroups", "matrices") if case.dispatch.invocations is None else ("invocations", "vectors")
        raise BadInput(
            "case-too-large-to-judge",
            f"{subgroups} {many} with {kind} of up to {largest} elements" + (f", {sets} times" * (sets > 1)),
            "dispatch",
            f"at most {MAX_ELEMENTS} elements of one result over all {many}",
        )
