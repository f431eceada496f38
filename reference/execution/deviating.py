"""The memory that a case leaves if instructions deviate from the specifications, one switch at each named part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from cts.base.memory import GUARD_BYTES
from cts.case import model
from cts.case.model import Buffer, StorageClass
from cts.case.oracle.deviation import (
    ADDRESS,
    COORDINATES,
    OF_CASE,
    OUTPUTS,
    RESULT,
    STATE,
    TRANSFORMS,
    WORKGROUPS,
    Domain,
)
from cts.case.oracle.deviation import Step as Deed
from cts.reference.addressing.accesses import Access, instances_of
from cts.reference.addressing.coordinates import Status
from cts.reference.addressing.layout import TensorLayoutState
from cts.reference.addressing.view import TensorViewState
from cts.reference.common.operands import lanes_of
from cts.reference.deviation import numbers
from cts.reference.deviation.moves import NotComputable, move_of
from cts.reference.deviation.parts import Parts, Steps
from cts.reference.execution import deviating_states
from cts.reference.execution.deviating_coordinates import clamped, through_view, with_coordinates
from cts.reference.execution.step import Step
from cts.reference.execution.unroll import Taken
from cts.reference.numeric.arrays import Mask

_S = TypeVar("_S", TensorLayoutState, TensorViewState)


def state(parts: Parts, place: int, before: _S | None, after: _S) -> _S:
    """The state behind a layout or view instruction. `before` is its operand's; None if it has no operand."""
    for part, steps in parts.get(place, {}).items():
        if part == RESULT and before is not None:
            if [step.name for step in steps] != ["before"]:
                raise NotComputable("a layout or view as a whole can only be as before")
            after = before
        elif (member := part.removeprefix(STATE)) != part and member in after.members():
            earlier = None if before is None else getattr(before, member)
            for step in steps:
                if Domain.STATES in TRANSFORMS[step.name].domain:
                    changed: Any = deviating_states.transformed(after, member, step)
                else:
                    changed = numbers.transformed(getattr(after, member), [step], earlier)
                changes: dict[str, Any] = {member: changed}
                after = replace(after, **changes)
    return after


def taken(dispatch: model.Dispatch, parts: Parts, right: Taken) -> Taken:
    """A step that only the first workgroups take."""
    steps = parts.get(OF_CASE, {}).get(WORKGROUPS, ())
    if not steps:
        return right
    count = numbers.transformed(np.array([[math.prod(dispatch.workgroups)]], np.uint32), steps)
    first: Mask = np.arange(instances_of(dispatch, model.Scope.Subgroup)) // lanes_of(dispatch) < count
    return replace(right, active=first if right.active is None else first & right.active)


def step(case: model.Case, parts: Parts, right: Step) -> Step:
    """A step that accesses memory where its deviations, and those of what it depends on, make it.

    Raises NotComputable if it goes outside of a buffer.
    """
    of_step = parts.get(right.index, {})

    def deviated(access: Access | None, part: str = ADDRESS) -> Access | None:
        if access is None:
            return None
        for name in COORDINATES:
            for each in COORDINATES[1:] if name == COORDINATES[0] else (name,):
                access = with_coordinates(access, each, of_step[name]) if name in of_step else access
        instances = instances_of(case.dispatch, access.shape.scope)
        moved = _moved(access, of_step.get(part, ()), case.buffers[access.buffer], instances)
        _check(moved, case.buffers[access.buffer])
        return moved

    outputs = tuple(one for one in (deviated(output, OUTPUTS) for output in right.outputs) if one is not None)
    if any(one.name == "once" for one in of_step.get(OUTPUTS, ())):
        outputs = tuple(_once(outputs))
    return replace(right, access=deviated(right.access), bias=deviated(right.bias), outputs=outputs)


def _once(outputs: Sequence[Access]) -> Iterator[Access]:
    """Stores of a function, of which each element has the first one alone."""
    stored: Mask = np.zeros((1, 1, 1, 1), bool)
    for output in outputs:
        yield replace(
            output, status=np.where(stored & (output.status == Status.OK), np.uint8(Status.SKIP), output.status)
        )
        stored = stored | (output.status == Status.OK)


def _moved(access: Access, steps: Steps, buffer: Buffer, instances: int) -> Access:
    """An access to other places."""
    for name, arguments in steps:
        if name in ("clamped", "through_view"):
            access = (clamped if name == "clamped" else through_view)(access, str(arguments[0]))
            continue
        if name == "once":
            continue  # of several accesses
        shape = (*access.byte.shape[:1], instances, access.shape.rows, access.shape.cols)
        byte: Any
        status: Any
        byte, status = (np.broadcast_to(a, shape) for a in (access.byte, access.status))
        match name, arguments:
            case "before", _ if access.store:
                status = np.where(status == Status.OK, np.uint8(Status.SKIP), status)
            case "plus", (n,):
                byte = byte + int(n) * access.size
            case "adjacent", (n,):
                byte = _adjacent(byte, int(n), access.size)
            case "advancing", (n,):
                byte = _advancing(access, byte, int(n) or buffer.element_size)
            case "low_bits", (n,):
                byte = byte // access.size % (1 << int(n)) * access.size + byte % access.size
            case "in_bounds", _:
                status = np.where(status == Status.INACTIVE, status, np.uint8(Status.OK))
            case _ if (move := move_of(Deed(name, arguments))) is not None:
                byte, status = move(byte), move(status)
            case _:
                raise NotComputable(name)
        access = replace(access, byte=np.ascontiguousarray(byte), status=np.ascontiguousarray(status))
    return access


def _advancing(access: Access, byte: Any, size: int) -> Any:
    """Places of elements, or of blocks, each of which takes another number of bytes."""
    if access.layout is None:
        raise NotComputable("no index of a tensor's element")
    start = (access.pointer + access.origin)[..., None, None]
    return start + (byte - start) // access.size * size


def _adjacent(byte: Any, columns: int, size: int) -> Any:
    """Byte offsets of rows of which each few columns lie one after the other from the first of them on."""
    if columns < 1:
        raise NotComputable("no columns")
    column = np.arange(byte.shape[-1])
    return byte[..., column - column % columns] + column % columns * size


def _check(access: Access, buffer: Buffer) -> None:
    """Of guards around a buffer it is known what a wrong program reads and writes."""
    byte, status = access.byte, access.status
    reached = np.broadcast_to(status == Status.OK, np.broadcast_shapes(byte.shape, status.shape))
    guarded = not (access.accumulates or buffer.storage is StorageClass.Workgroup)
    guard = GUARD_BYTES if guarded else 0
    outside = reached & np.broadcast_to((byte < -guard) | (byte > buffer.size + guard - access.size), reached.shape)
    if outside.any() or (access.unit > 1 and (byte % access.unit).any()):
        raise NotComputable("outside of its buffer")
