"""Differences in the memory that a driver returns: from `expected`, from other drivers, and from before the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cts.dispatch.elements import Array, ElementType
from cts.dispatch.loading import Contents, Dispatch
from cts.memory import GUARD_BYTES, guard_pattern

Memory = dict[str, npt.NDArray[np.uint8]]

#: How many elements of a difference are reported.
SHOWN = 8


@dataclass(frozen=True)
class Element:
    """One element that differs: where, what it should be, and what it is. `byte` counts from the buffer's start."""

    index: tuple[int, ...]
    byte: int
    expected: str
    actual: str


@dataclass(frozen=True)
class Difference:
    """`count` of `total` elements of a buffer are not those of `against`; `first` are the first of them."""

    buffer: str
    against: str
    count: int
    total: int
    first: tuple[Element, ...]


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
        expected = wanted.contents.array.reshape(actual.shape)
        wrong = unequal(expected, actual, wanted.atol, wanted.rtol)
        yield from _difference(name, "expected", wrong, initial, expected, actual)


def between(dispatch: Dispatch, reference: str, first: Memory, second: Memory) -> Iterator[Difference]:
    """Where outputs differ from those of the driver `reference`, by more than `expected` tolerates."""
    for name in dispatch.outputs:
        wanted = dispatch.expected.get(name)
        atol, rtol = (wanted.atol, wanted.rtol) if wanted else (0.0, 0.0)
        expected, actual = values(dispatch, first, name), values(dispatch, second, name)
        wrong = unequal(expected, actual, atol, rtol)
        yield from _difference(name, reference, wrong, dispatch.initial[name], expected, actual)


def unequal(expected: Array, actual: Array, atol: float, rtol: float) -> npt.NDArray[np.bool_]:
    """Which elements are not numerically equal within atol + rtol * |expected|. A NaN equals every NaN."""
    if expected.dtype.kind in "iu" and actual.dtype.kind in "iu" and not atol and not rtol:
        return np.asarray(expected != actual)
    with np.errstate(all="ignore"):
        a, b = expected.astype(np.longdouble), actual.astype(np.longdouble)
        close = (a == b) | (np.abs(a - b) <= atol + rtol * np.abs(a)) & np.isfinite(a)
    return np.asarray(~(close | np.isnan(a) & np.isnan(b)))


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
    kind = _type_of(expected, buffer.type)
    first = tuple(
        Element(
            tuple(int(k) for k in np.unravel_index(place, actual.shape)),
            place * buffer.type.size,
            shown(expected.reshape(-1)[place : place + 1], kind),
            shown(actual.reshape(-1)[place : place + 1], buffer.type),
        )
        for place in places[:SHOWN].tolist()
    )
    yield Difference(name, against, len(places), wrong.size, first)


def _type_of(array: Array, default: ElementType) -> ElementType:
    return next((t for t in ElementType if t.dtype == array.dtype), default)


def shown(value: Array, element: ElementType) -> str:
    """An element as text: `0x3c00 (1.0)`; integers as they are."""
    if not element.is_float:
        return str(value[0])
    bits = int(value.view(element.bits)[0])
    return f"{bits:#0{element.size * 2 + 2}x} ({float(value[0])})"
