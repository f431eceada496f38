"""Rules on the locations that loads and stores meet (TA-042, TA-044, TA-060, TA-063, TA-067, TA-069)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.expectation import Violation
from cts.model import ClampMode
from cts.reference.addressing import Status
from cts.reference.arrays import I64, Mask
from cts.reference.program import Access, Evaluation, instances_of

#: Where an index times the component's size must stay below (TA-042), in bytes.
_LIMIT = 1 << 32


def of_access(evaluation: Evaluation, access: Access) -> Iterator[Violation]:
    """Rules on the locations of one load or store."""
    yield from _undefined(access)
    yield from _bounds(evaluation, access)


def _undefined(access: Access) -> Iterator[Violation]:
    """TA-060, and the part of TA-063 that only matters out of bounds."""
    undefined = access.status == Status.UNDEFINED
    if not undefined.any():
        return
    assert access.layout is not None
    where = f"element {_element(undefined)} is out of bounds"
    if access.layout.type.clamp is ClampMode.Undefined:
        yield Violation(
            "TA-060",
            f"program[{access.instruction}].layout",
            f"{where} with clamp mode Undefined",
            "coordinates within layoutDimension, or another clamp mode",
        )
    else:
        yield Violation(
            "TA-063",
            f"program[{access.instruction}].layout",
            f"{where} in a mirrored dimension of 1",
            "at least 2 in mirrored dimensions that are left",
        )


def _bounds(evaluation: Evaluation, access: Access) -> Iterator[Violation]:
    """TA-069 and TA-042; also a pointer outside the buffer (CM-010: it points into the array)."""
    size = evaluation.case.buffers[access.buffer].size
    path = f"program[{access.instruction}]"
    remedy = f"locations within the {size} bytes of {access.buffer!r}"
    if (access.pointer >= size).any():
        yield Violation("TA-069", f"{path}.offset", f"the pointer is {int(access.pointer.max())} bytes in", remedy)
        return
    accessed = access.status == Status.OK
    end = access.byte + access.shape.component.size
    outside = accessed & ((access.byte < 0) | (end > size))
    if not outside.any():
        return
    byte = int(access.byte[outside][0])
    far = access.layout is not None and bool((access.byte - access.pointer[..., None, None] >= _LIMIT)[outside].any())
    yield Violation(
        "TA-042" if far else "TA-069",
        f"{path}.{'layout' if access.layout is not None else 'stride'}",
        f"element {_element(outside)} is at byte {byte} of {access.buffer!r}",
        remedy,
    )


class _Touched:
    """Which instruction touched each byte of a buffer last; -1: none."""

    def __init__(self, size: int) -> None:
        self.bytes = np.full(-(-size // 4) * 4, -1, np.int16)

    def components(self, size: int) -> np.ndarray[tuple[int, int], np.dtype[np.int16]]:
        """The same bytes by components of `size` bytes, (n, size)."""
        return self.bytes.reshape(-1, size)


def races(evaluation: Evaluation) -> Iterator[Violation]:
    """TA-067 and TA-044: no location is written twice, or both written and read, in a dispatch.

    Every access must be within its buffer.
    """
    stored = {a.buffer for a in evaluation.accesses.values() if a.store}
    size = {name: evaluation.case.buffers[name].size for name in stored}
    written = {name: _Touched(size[name]) for name in stored}
    read = {name: _Touched(size[name]) for name in stored}
    for i, access in evaluation.accesses.items():
        if access.buffer not in stored:
            continue
        components = access.byte // access.shape.component.size
        accessed = access.status == Status.OK
        if access.store:
            instances = instances_of(evaluation.case.dispatch, access.shape.scope)
            components = np.broadcast_to(components, (1, instances, *components.shape[2:]))
            accessed = np.broadcast_to(accessed, components.shape)
            yield from _twice(access, components, accessed)
        touched = components[accessed]
        width = access.shape.component.size
        others = [written[access.buffer], *([read[access.buffer]] if access.store else [])]
        for other, verb in zip(others, ("writes", "reads"), strict=False):
            earlier = other.components(width)[touched]
            if (earlier >= 0).any():
                row = int(np.argmax((earlier >= 0).any(axis=-1)))
                yield Violation(
                    "TA-044",
                    f"program[{i}].buffer",
                    f"{'writes' if access.store else 'reads'} byte {int(touched[row]) * width} of {access.buffer!r}, "
                    f"which program[{int(earlier[row].max())}] {verb}",
                    "other locations, or another buffer: nothing synchronises the two",
                )
        (written if access.store else read)[access.buffer].components(width)[touched] = i


def _twice(access: Access, components: I64, accessed: Mask) -> Iterator[Violation]:
    """Two elements of one store at one location: in one matrix TA-067, in two instances TA-044."""
    places = components[accessed]
    in_order = np.sort(places)
    if (in_order[1:] != in_order[:-1]).all():
        return
    # Rare: take the time to tell collisions within one matrix from those between instances.
    instance, row, col = (axis[accessed] for axis in np.indices(components.shape, np.int32)[1:])
    by_place = np.lexsort((instance, places))
    same_place = places[by_place][1:] == places[by_place][:-1]
    same_instance = instance[by_place][1:] == instance[by_place][:-1]
    for collision, rule in (
        (same_place & same_instance, "TA-067" if access.layout is not None else "TA-044"),
        (same_place & ~same_instance, "TA-044"),
    ):
        if collision.any():
            first = int(np.argmax(collision))
            a, b = (f"({row[k]}, {col[k]}) of instance {instance[k]}" for k in by_place[first : first + 2])
            yield Violation(
                rule,
                f"program[{access.instruction}].{'layout' if access.layout is not None else 'stride'}",
                f"elements {a} and {b} are both stored to byte "
                f"{int(places[by_place[first]]) * access.shape.component.size} of {access.buffer!r}",
                "a location of its own for every element of every instance",
            )


def _element(mask: Mask) -> str:
    """The first element of a mask (sets, instances, rows, cols), in words."""
    _, instance, row, col = np.argwhere(mask)[0]
    return f"({row}, {col}) of instance {instance}"
