"""The memory that a case leaves if instructions deviate from the specifications, one switch at each named part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from cts.base.memory import GUARD_BYTES
from cts.case.model import Buffer, StorageClass
from cts.case.oracle.deviation import ADDRESS, RESULT, STATE, TRANSFORMS, Domain
from cts.reference.addressing.accesses import Access
from cts.reference.addressing.coordinates import Status
from cts.reference.addressing.layout import TensorLayoutState
from cts.reference.addressing.view import TensorViewState
from cts.reference.deviation import numbers
from cts.reference.deviation.moves import NotComputable, move_of
from cts.reference.deviation.parts import Parts
from cts.reference.execution import deviating_states

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


def is_as_load(parts: Parts, place: int) -> bool:
    """Whether a tensor store has the places of a load."""
    return any(step.name == "as_load" for step in parts.get(place, {}).get(ADDRESS, ()))


def _adjacent(byte: Any, columns: int, size: int) -> Any:
    """Byte offsets of rows of which each few columns lie one after the other from the first of them on."""
    if columns < 1:
        raise NotComputable("no columns")
    column = np.arange(byte.shape[-1])
    return byte[..., column - column % columns] + column % columns * size


def access(parts: Parts, place: int, right: Access, buffer: Buffer, instances: int) -> Access:
    """The access of a load or store to a buffer. Raises NotComputable if it goes outside."""
    steps = parts.get(place, {}).get(ADDRESS, ())
    shape = (*right.byte.shape[:1], instances, right.shape.rows, right.shape.cols)
    byte: Any
    status: Any
    byte, status = (
        (np.broadcast_to(a, shape) for a in (right.byte, right.status)) if steps else (right.byte, right.status)
    )
    for step in steps:
        if step.name == "plus":
            byte = byte + int(step.arguments[0]) * right.size
        elif step.name == "as_load":
            pass  # the evaluation has made it so
        elif step.name == "adjacent":
            byte = _adjacent(byte, int(step.arguments[0]), right.size)
        elif step.name == "low_bits":
            byte = byte // right.size % (1 << int(step.arguments[0])) * right.size + byte % right.size
        elif step.name == "in_bounds":
            status = np.where(status == Status.INACTIVE, status, np.uint8(Status.OK))
        elif (move := move_of(step)) is not None:
            byte, status = move(byte), move(status)
        else:
            raise NotComputable(step.name)
    reached = np.broadcast_to(status == Status.OK, np.broadcast_shapes(byte.shape, status.shape))
    # Of guards around a buffer it is known what a wrong program reads and writes.
    guarded = not (right.accumulates or buffer.storage is StorageClass.Workgroup)
    guard = GUARD_BYTES if guarded else 0
    outside = reached & np.broadcast_to((byte < -guard) | (byte > buffer.size + guard - right.size), reached.shape)
    if outside.any() or (right.unit > 1 and (byte % right.unit).any()):
        raise NotComputable("outside of its buffer")
    return replace(right, byte=np.ascontiguousarray(byte), status=np.ascontiguousarray(status)) if steps else right
