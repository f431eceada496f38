"""Why a byte of memory is expected to be what it is: every step behind it, for the reader of a failure.

The store that writes it, then the instruction that gave the stored element its value, then those that
gave its operands theirs, and so on back to memory and constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cts.case.model import ClampMode, MatrixPerElement, Store
from cts.case.oracle.expectation import AccessMap, Reach, SeenTensor, Trace
from cts.case.oracle.trace import ElementValue, StepKind, TraceStep
from cts.reference.addressing.accesses import Access, instances_of
from cts.reference.addressing.coordinates import Status
from cts.reference.addressing.elements import matrix_elements
from cts.reference.execution.machine import Recording
from cts.reference.execution.program import Evaluation
from cts.reference.numeric.arrays import I64, U32, Mask
from cts.reference.trace.element import Element, at_element, element_of
from cts.reference.trace.history import History
from cts.reference.trace.matrices import stored_by_body
from cts.reference.trace.training import written_by_accumulation, written_by_conversion

#: The clamp modes that move coordinates into the tensor (TA-035).
_MOVING = (ClampMode.ClampToEdge, ClampMode.Repeat, ClampMode.RepeatMirrored)


def trace(
    evaluation: Evaluation,
    recording: Recording,
    buffer: str,
    offset: int,
    *,
    detail: bool = False,
    depth: int | None = None,
) -> Trace:
    """Every step behind the byte at `offset` of the buffer's contents, for a case without violations."""
    written = written_by_conversion(evaluation, recording, buffer, offset, after=True)
    written = written or written_by_accumulation(evaluation, recording, buffer, offset)
    if written is not None:
        return written
    for number, step in reversed(list(enumerate(evaluation.steps))):
        for access in reversed(step.accesses):
            if not access.store or access.accumulates or access.buffer != buffer:
                continue
            mask = _covering(evaluation, access, offset)
            if mask.any():
                instance, row, col = (int(n) for n in np.argwhere(mask)[-1])
                history = History(evaluation, recording, detail=detail, depth=depth)
                steps = tuple(_of_byte(history, number, access, Element(instance, row, col), offset))
                return Trace(step.index, instance, row, col, steps)
    written = written_by_conversion(evaluation, recording, buffer, offset, after=False)
    return written or Trace(None, None, None, None, tuple(_unwritten(evaluation, buffer, offset)))


def trace_element(
    evaluation: Evaluation,
    recording: Recording,
    result: str,
    element: Element,
    *,
    iterations: tuple[int, ...] | None = None,
    depth: int | None = None,
) -> Trace:
    """Every step, in detail, behind an element of a matrix or vector, after the program or an iteration of loops."""
    history = History(evaluation, recording, detail=True, depth=depth)
    number = history.defined(result, element, iterations)
    if number is None:
        return Trace(None, None, None, None, ())
    steps = tuple(history.steps_behind(result, number + 1, element))
    return Trace(evaluation.steps[number].index, element.instance, element.row, element.col, steps)


def reached(evaluation: Evaluation, instruction: int) -> AccessMap | None:
    """Where a load or store accesses memory, in the last step that takes it."""
    taken = [s for s in evaluation.steps if s.index == instruction and s.access is not None]
    access = taken[-1].access if taken else None
    if access is None:
        return None
    shape = (instances_of(evaluation.case.dispatch, access.shape.scope), access.shape.rows, access.shape.cols)
    byte, status = (np.broadcast_to(a[0], shape) for a in (access.byte, access.status))
    kinds = np.full(max(Status) + 1, Reach.INACTIVE, np.uint8)
    kinds[[Status.OK, Status.SKIP]] = (Reach.MEMORY, Reach.CLIPPED)
    kinds[[Status.CLAMPED, Status.DISCARD]] = Reach.CLAMPED
    kinds[Status.OUTSIDE] = Reach.OUTSIDE
    pitch = None
    if access.stride is not None:
        pitch = np.broadcast_to(access.stride[0], shape[:1]) * evaluation.case.buffers[access.buffer].element_size
    return AccessMap(access.buffer, byte, kinds[status], _tensor(access, shape), pitch)


def _tensor(access: Access, shape: tuple[int, int, int]) -> SeenTensor | None:
    layout, view, blocks = access.layout, access.view, access.blocks
    if layout is None:
        return None

    def state(of: U32) -> I64:
        return np.broadcast_to(of[0].astype(np.int64), (shape[0], layout.dim))

    def coordinates(of: tuple[U32, ...]) -> I64:
        return np.stack([np.broadcast_to(c[0].astype(np.int64), shape) for c in of])

    moved = np.zeros(shape, bool)
    if not access.store and layout.type.clamp in _MOVING:
        # With the mode that moves nothing, what is out of bounds has a status of its own.
        fixed = replace(layout, type=replace(layout.type, clamp=ClampMode.Constant))
        status = matrix_elements(fixed, view, shape[1], shape[2], store=False).status[0]
        moved = np.broadcast_to(status == Status.CLAMPED, shape)
    return SeenTensor(
        np.broadcast_to((access.pointer + access.origin)[0], shape[:1]),
        access.size,
        state(layout.layout_dimension),
        state(layout.stride),
        state(layout.block_size),
        moved,
        None if blocks is None else coordinates(blocks.block_coord),
        None if blocks is None else coordinates(blocks.coord_in_block),
    )


def _covering(evaluation: Evaluation, access: Access, offset: int) -> Mask:
    """Which elements (instances, rows, cols) the access has at the byte."""
    delta = offset - access.byte[0]
    mask = (delta >= 0) & (delta < access.shape.component.size) & (access.status[0] == Status.OK)
    instances = instances_of(evaluation.case.dispatch, access.shape.scope)
    return np.broadcast_to(mask, (instances, *mask.shape[1:]))


def _unwritten(evaluation: Evaluation, buffer: str, offset: int) -> Iterator[TraceStep]:
    size, names = evaluation.case.buffers[buffer].size, {"buffer": buffer}
    if not 0 <= offset < size:
        yield TraceStep(StepKind.GUARD_BYTE, "TA-069", names=names, numbers={"byte": offset, "size": size})
        return
    yield TraceStep(StepKind.NEVER_WRITTEN, "TA-044", names=names, numbers={"byte": offset})
    for step, access in evaluation.accesses:
        if access.store and access.buffer == buffer:
            stored = access.byte[np.broadcast_to(access.status == Status.OK, access.byte.shape)]
            instruction = evaluation.case.program[step.index]
            rule = instruction.facts[0]
            op = {"op": type(instruction).__name__}
            if stored.size:
                last = int(stored.max()) + access.shape.component.size - 1
                numbers = {"first": int(stored.min()), "last": last}
                yield TraceStep(StepKind.STORES_BYTES, rule, step.index, names=op, numbers=numbers)
            else:
                yield TraceStep(StepKind.STORES_NOTHING, rule, step.index, names=op)


def _of_byte(history: History, number: int, access: Access, element: Element, offset: int) -> Iterator[TraceStep]:
    """From the store of the element back to where its value came from."""
    instruction = history.evaluation.case.program[access.instruction]
    if isinstance(instruction, Store):
        name = instruction.stored
        yield history.begin(number, name, element)
        yield from history.marked(access.instruction, history.address(access, element, number))
        yield from history.steps_behind(name, number, element)
        value = history.value(name, number, element)
        assert value is not None, "the matrix of the store is among the last that were recorded"
    else:
        assert isinstance(instruction, MatrixPerElement)
        output = next(n for n, own in enumerate(history.evaluation.steps[number].outputs) if own is access)
        yield history.begin(number, instruction.id, element)
        yield from history.marked(access.instruction, stored_by_body(history, number, output, element))
        value = element_of(history.recording.stored[number][output], element)
    bits, part = int(value.bits.item()), offset - int(at_element(access.byte, element))
    yield TraceStep(
        StepKind.STORED_BYTE,
        instruction.explained_by[0],
        names={"buffer": access.buffer},
        numbers={"byte": offset, "part": part, "bits": bits >> (8 * part) & 0xFF},
        result=ElementValue(access.shape.component, bits),
    )
