"""Differences in the memory that a driver returns: from `expected`, from other drivers, and from before the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cts.base.memory import GUARD_BYTES, guard_pattern
from cts.modules.dispatch.elements import Array, ElementType
from cts.modules.dispatch.loaded import Contents, Dispatch, Wanted
from cts.modules.dispatch.members import Field
from cts.modules.dispatch.tolerances import Tolerance, unequal

Memory = dict[str, npt.NDArray[np.uint8]]

#: How many elements of a difference are reported: as many as in the report of a case.
SHOWN = 8


class Element(Struct, frozen=True):
    """One element that differs: its place, its expected and its actual value. `byte` counts from the buffer's start.

    `member` names a number of a structure, as `items[2].weight`.
    """

    index: tuple[int, ...]
    byte: int
    expected: str
    actual: str
    member: str = ""


class Difference(Struct, frozen=True):
    """`count` of `total` elements of a buffer are not those of `against`; `first` are the first of them.

    `untouched` of them still hold what was there before the run.
    """

    buffer: str
    against: str
    count: int
    total: int
    first: tuple[Element, ...]
    untouched: int = 0


def values(dispatch: Dispatch, memory: Memory, name: str) -> Array:
    """A buffer's elements in its shape."""
    initial = dispatch.initial[name]
    size = initial.array.nbytes
    inside = memory[name][GUARD_BYTES : GUARD_BYTES + size]
    return np.ascontiguousarray(inside).view(initial.type.dtype).reshape(initial.array.shape)


def judge(dispatch: Dispatch, memory: Memory) -> Iterator[Difference]:
    """What is wrong in itself: guards, buffers that must not change, and what `expected` asks for."""
    for name, initial in dispatch.initial.items():
        yield from _guards(name, memory[name], initial.array.nbytes)
        if name not in dispatch.outputs and name not in dispatch.ignore:
            actual = values(dispatch, memory, name)
            wrong = actual.view(initial.type.bits) != initial.array.view(initial.type.bits)
            yield from _difference(name, "its contents before the run", wrong, initial, initial.array, actual)
    for name, wanted in dispatch.expected.items():
        actual, initial = values(dispatch, memory, name), dispatch.initial[name]
        if wanted.contents is None:
            expected_numbers = [f.value for f in wanted.fields]
            yield from _members(name, "expected", wanted, expected_numbers, _numbers(wanted.fields, actual))
            continue
        expected = wanted.contents.array.reshape(actual.shape)
        wrong = unequal(expected, actual, wanted.tolerance, initial.type)
        yield from _difference(name, "expected", wrong, initial, expected, actual)


def between(dispatch: Dispatch, reference: str, first: Memory, second: Memory) -> Iterator[Difference]:
    """Where outputs differ from those of the driver `reference`, by more than `expected` tolerates."""
    for name in dispatch.outputs:
        wanted, initial = dispatch.expected.get(name), dispatch.initial[name]
        expected, actual = values(dispatch, first, name), values(dispatch, second, name)
        if wanted is not None and wanted.contents is None:
            theirs, ours = _numbers(wanted.fields, expected), _numbers(wanted.fields, actual)
            yield from _members(name, reference, wanted, theirs, ours)
            # The others bit for bit.
            actual = _without(wanted.fields, expected, actual)
        tolerance = wanted.tolerance if wanted is not None and wanted.contents is not None else Tolerance()
        yield from _difference(
            name, reference, unequal(expected, actual, tolerance, initial.type), initial, expected, actual
        )


def _numbers(fields: Sequence[Field], array: Array) -> list[Array]:
    """The numbers of fields in a buffer, an array of one element each."""
    data = array.reshape(-1).view(np.uint8)
    return [data[f.at : f.at + f.element.size].view(f.element.dtype) for f in fields]


def _without(fields: Sequence[Field], expected: Array, actual: Array) -> Array:
    """`actual`, in which fields are as in `expected`."""
    changed = actual.copy()
    data, like = changed.reshape(-1).view(np.uint8), expected.reshape(-1).view(np.uint8)
    for f in fields:
        data[f.at : f.at + f.element.size] = like[f.at : f.at + f.element.size]
    return changed


def _members(
    name: str, against: str, wanted: Wanted, expected: Sequence[Array], actual: Sequence[Array]
) -> Iterator[Difference]:
    """The difference in a buffer's numbers by member."""
    wrong = [
        Element((), f.at, shown(a, f.element), shown(b, f.element), f.name)
        for f, a, b in zip(wanted.fields, expected, actual, strict=True)
        if unequal(a, b, wanted.tolerance, f.element).any()
    ]
    if wrong:
        yield Difference(name, against, len(wrong), len(wanted.fields), tuple(wrong[:SHOWN]))


def _guards(name: str, memory: npt.NDArray[np.uint8], size: int) -> Iterator[Difference]:
    pattern = guard_pattern()
    for part, start in ((memory[:GUARD_BYTES], -GUARD_BYTES), (memory[GUARD_BYTES + size :], size)):
        wrong = np.flatnonzero(part != pattern)
        if not wrong.size:
            continue
        first = tuple(
            Element((), start + int(k), f"{pattern[k]:#04x}", f"{part[k]:#04x}") for k in wrong[:SHOWN].tolist()
        )
        where = "the guard bytes before it" if start < 0 else "the guard bytes behind it"
        yield Difference(name, where, len(wrong), GUARD_BYTES, first)


def _difference(
    name: str, against: str, wrong: npt.NDArray[np.bool_], buffer: Contents, expected: Array, actual: Array
) -> Iterator[Difference]:
    places = np.flatnonzero(wrong)
    if not places.size:
        return
    kind = next((t for t in ElementType if t.dtype == expected.dtype), buffer.type)
    first = tuple(
        Element(
            tuple(int(k) for k in np.unravel_index(place, actual.shape)),
            place * buffer.type.size,
            shown(expected.reshape(-1)[place : place + 1], kind),
            shown(actual.reshape(-1)[place : place + 1], buffer.type),
        )
        for place in places[:SHOWN].tolist()
    )
    same = actual.reshape(-1).view(buffer.type.bits) == buffer.array.reshape(-1).view(buffer.type.bits)
    yield Difference(name, against, len(places), wrong.size, first, int(np.count_nonzero(same[places])))


def shown(value: Array, element: ElementType) -> str:
    """An element as text: `0x3c00 (1.0)`; integers as they are."""
    if not element.is_float:
        return str(value[0])
    bits = int(value.view(element.bits)[0])
    return f"{bits:#0{element.size * 2 + 2}x} ({float(value[0])})"
