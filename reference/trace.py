"""Why a byte of memory is expected to be what it is: every step behind it, for the reader of a failure.

Programs are straight-line and matrices flow unchanged from load or constant to store, so a byte's
history is one chain: the store that writes it, then the instruction that gave the stored element
its value, then perhaps that load's Object, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.expectation import Trace, TraceStep
from cts.model import (
    Case,
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixShape,
    MatrixStore,
    MatrixStoreTensor,
    Order,
    Scope,
)
from cts.reference.addressing import Status
from cts.reference.arrays import U32, Mask
from cts.reference.execute import Execution, run
from cts.reference.program import Access, Evaluation, evaluate, instances_of
from cts.reference.steps import tensor_steps


def trace(case: Case, buffer: str, offset: int) -> Trace:
    """Every step behind the byte at `offset` of the buffer's contents, for a case without violations."""
    evaluation = evaluate(case)
    for i, access in reversed(evaluation.accesses.items()):
        if access.store and access.buffer == buffer:
            mask = _covering(evaluation, access, offset)
            if mask.any():
                instance, row, col = (int(n) for n in np.argwhere(mask)[-1])
                history = _History(evaluation, run(evaluation))
                return Trace(i, instance, row, col, tuple(history.of_byte(access, instance, row, col, offset)))
    return Trace(None, None, None, None, tuple(_unwritten(evaluation, buffer, offset)))


def _covering(evaluation: Evaluation, access: Access, offset: int) -> Mask:
    """Which elements (instances, rows, cols) the access has at the byte."""
    delta = offset - access.byte[0]
    mask = (delta >= 0) & (delta < access.shape.component.size) & (access.status[0] == Status.OK)
    instances = instances_of(evaluation.case.dispatch, access.shape.scope)
    return np.broadcast_to(mask, (instances, *mask.shape[1:]))


def _unwritten(evaluation: Evaluation, buffer: str, offset: int) -> Iterator[TraceStep]:
    size = evaluation.case.buffers[buffer].size
    if not 0 <= offset < size:
        yield TraceStep("TA-069", f"byte {offset} is outside the {size} bytes of {buffer!r}", "a guard byte: unchanged")
        return
    yield TraceStep("TA-044", f"no instruction writes byte {offset} of {buffer!r}", "as before the run")
    for i, access in evaluation.accesses.items():
        if access.store and access.buffer == buffer:
            stored = access.byte[access.status == Status.OK]
            end = access.shape.component.size
            extent = f"bytes {stored.min()} to {stored.max() + end - 1}" if stored.size else "nothing: all is discarded"
            yield TraceStep(_rule(evaluation, i), f"{_named(evaluation, i)} stores", extent)


class _History:
    """The chain of instructions behind one matrix element."""

    def __init__(self, evaluation: Evaluation, execution: Execution) -> None:
        self.evaluation = evaluation
        self.execution = execution
        self.defined_by = {
            instruction.id: i
            for i, instruction in enumerate(evaluation.case.program)
            if isinstance(instruction, (MatrixConstant, MatrixLoad, MatrixLoadTensor))
        }

    def of_byte(self, access: Access, instance: int, row: int, col: int, offset: int) -> Iterator[TraceStep]:
        """From the store of the element back to where its value came from."""
        instruction = self.evaluation.case.program[access.instruction]
        assert isinstance(instruction, (MatrixStore, MatrixStoreTensor))
        yield self._begin(access.instruction, instruction.matrix, instance, row, col)
        yield from self._address(access, instance, row, col)
        yield from self._value(instruction.matrix, instance, row, col)
        bits = self._bits(instruction.matrix, instance, row, col)
        first = int(access.byte[0][_at(access.byte[0], instance, row, col)])
        byte = bits >> (8 * (offset - first)) & 0xFF
        yield TraceStep(
            "TA-036" if access.layout is not None else "KM-013",
            f"{access.buffer!r} byte {offset}: byte {offset - first} of {_hex(bits, access.shape)}, little-endian",
            f"0x{byte:02x}",
        )

    def _value(self, matrix: str, instance: int, row: int, col: int) -> Iterator[TraceStep]:
        """Where the element of a matrix came from."""
        i = self.defined_by[matrix]
        instruction = self.evaluation.case.program[i]
        yield self._begin(i, matrix, instance, row, col)
        bits = _hex(self._bits(matrix, instance, row, col), self.evaluation.shape_of(matrix))
        if isinstance(instruction, MatrixConstant):
            yield TraceStep("KM-016", "every element is the constant", bits)
            return
        access = self.evaluation.accesses[i]
        yield from self._address(access, instance, row, col)
        status = access.status[0][_at(access.status[0], instance, row, col)]
        if status == Status.OK:
            byte = int(access.byte[0][_at(access.byte[0], instance, row, col)])
            yield TraceStep(_rule(self.evaluation, i), f"loaded from byte {byte} of {access.buffer!r}", bits)
        elif status == Status.CLAMPED:
            yield TraceStep("TA-038", "out of bounds: the low bits of clampValue", bits)
        else:
            assert isinstance(instruction, MatrixLoadTensor)
            yield TraceStep("TA-038", f"clipped: the element of the Object, {instruction.object!r}", bits)
            yield from self._value(instruction.object, instance, row, col)

    def _begin(self, i: int, matrix: str, instance: int, row: int, col: int) -> TraceStep:
        shape = self.evaluation.shape_of(matrix)
        return TraceStep(
            _rule(self.evaluation, i),
            f"{_named(self.evaluation, i)}, {_instance(self.evaluation.case, shape.scope, instance)}",
            f"element ({row}, {col}) of {matrix!r}",
        )

    def _address(self, access: Access, instance: int, row: int, col: int) -> Iterator[TraceStep]:
        pointer = int(access.pointer[0][min(instance, access.pointer.shape[1] - 1)])
        size = access.shape.component.size
        if access.stride is not None:
            yield self._khr_step(access, instance, row, col, pointer)
            return
        assert access.layout is not None
        layout = access.layout.map(lambda a: _one(a, instance))
        view = access.view and access.view.map(lambda a: _one(a, instance))
        index = yield from tensor_steps(layout, view, row, col, access.shape.cols, access.store)
        if index is not None:
            what = f"byte address: pointer {pointer} + index {index} * {size}"
            yield TraceStep("TA-036", what, str(pointer + index * size))

    def _khr_step(self, access: Access, instance: int, row: int, col: int, pointer: int) -> TraceStep:
        instruction = self.evaluation.case.program[access.instruction]
        assert isinstance(instruction, (MatrixLoad, MatrixStore)) and access.stride is not None
        stride = int(access.stride[0][min(instance, access.stride.shape[1] - 1)])
        pointee = self.evaluation.case.buffers[access.buffer].element_size
        major, minor = (row, col) if instruction.order is Order.RowMajor else (col, row)
        size = access.shape.component.size
        return TraceStep(
            "KM-013",
            f"byte address, {instruction.order.value}: pointer {pointer} + {major} * stride {stride} * {pointee}"
            f" + {minor} * {size}",
            str(pointer + major * stride * pointee + minor * size),
        )

    def _bits(self, matrix: str, instance: int, row: int, col: int) -> int:
        return int(self.execution.matrices[matrix][0, instance, row, col])


def _one(member: U32, instance: int) -> U32:
    """A member of a layout or view for one instance, (1, dim)."""
    row: U32 = member[0, min(instance, member.shape[1] - 1)]
    return row[None]


def _at(array: npt.NDArray[Any], instance: int, row: int, col: int) -> tuple[int, int, int]:
    """The position in an array whose instance axis may have extent 1."""
    return min(instance, array.shape[0] - 1), row, col


_RULES = {
    MatrixConstant: "KM-016",
    MatrixLoadTensor: "CM-010",
    MatrixStoreTensor: "CM-011",
    MatrixLoad: "KM-013",
    MatrixStore: "KM-013",
}


def _rule(evaluation: Evaluation, i: int) -> str:
    return _RULES[type(evaluation.case.program[i])]


def _named(evaluation: Evaluation, i: int) -> str:
    return f"program[{i}] {type(evaluation.case.program[i]).__name__}"


def _hex(bits: int, shape: MatrixShape) -> str:
    return f"0x{bits:0{2 * shape.component.size}x}"


def _instance(case: Case, scope: Scope, instance: int) -> str:
    subgroups = 1 if scope is Scope.Workgroup else case.dispatch.subgroups
    workgroup, subgroup = divmod(instance, subgroups)
    x, y, _ = case.dispatch.workgroups
    position = (workgroup % x, workgroup // x % y, workgroup // (x * y))
    return f"workgroup {position}" + (f", subgroup {subgroup}" if scope is Scope.Subgroup else "")
