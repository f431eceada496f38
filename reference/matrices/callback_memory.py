"""What callbacks read from buffers (CM-032, CM-036) and store to them (CM-035), at indices that they compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cts.case import model
from cts.reference.addressing.accesses import Access, part_origin
from cts.reference.addressing.coordinates import Status
from cts.reference.common.memory import Memory
from cts.reference.numeric.arrays import I64, Mask
from cts.reference.numeric.expression import ReadEntry, check_index, index_of, places_of
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value, anything, where

_T = TypeVar("_T", bound=np.generic)


@dataclass(frozen=True)
class Window:
    """A table of a function in a buffer, of which an instance sees `size` bytes from byte `origin` on, (1, instances).

    Element 0 is the one at index `first` there, (sets, instances): a pointer leads to it.
    """

    table: model.Table
    origin: I64
    size: int
    first: I64


@dataclass(frozen=True)
class EntryRead:
    """Values that are read from a table at the indices of elements, where this is executed; `byte` in the buffer."""

    table: model.Table
    index: Value
    byte: I64
    value: Value
    executed: Mask


def windows(
    case: model.Case, function: model.AnyFunction, shape: model.MatrixShape, pointers: Sequence[tuple[str, I64]] = ()
) -> list[Window]:
    """The tables of a function; `pointers` are the buffers of those that are operands, and offsets in elements."""
    tables = [(table, np.zeros((1, 1), np.int64)) for table in model.tables_of(function)]
    for extra, (buffer, offset) in zip(model.pointers_of(function), pointers, strict=True):
        assert extra.type is not None
        tables.append((model.Table(extra.name, extra.type, buffer), offset))
    return [Window(table, *part_origin(case, table.buffer, shape.scope), first) for table, first in tables]


def tables(
    known: Sequence[Window], memories: Mapping[str, Memory], moved: Callable[[Value], Value], read: list[EntryRead]
) -> ReadEntry:
    """Reads the tables of a function; `moved` is what becomes of a value that the function loads.

    What is read is added to `read`. TA-069: an index must be inside for every element that the read is executed for.
    """
    by_name = {window.table.name: window for window in known}

    def entry(name: str, index: Value, watch: Watch) -> Value:
        window = by_name[name]
        table = window.table
        memory, component = memories[table.buffer], table.type
        # Memory may differ between sets, and then the axis of sets must be there.
        index = index.map(_with_all_axes)
        executed = np.array([True]) if watch.executed is None else watch.executed
        count, first = window.size // component.size, window.first[..., None, None]
        check_index(index, count, f"table {name!r}, buffer {table.buffer!r}", watch, "TA-069", first)
        places = np.clip(first + index_of(index), 0, count - 1)
        byte = window.origin[..., None, None] + places * component.size
        value = moved(memory.load(byte, component))
        value = where(index.flags != 0, anything(component, value.shape, index.reasons), value)
        read.append(EntryRead(table, index, byte, value, _with_all_axes(executed)))
        return value

    return entry


def whole(i: int, window: Window, shape: model.MatrixShape) -> Access:
    """All that a function of instruction `i` may read of a table: for rules on accesses to one location."""
    table, part = window.table, (window.origin, window.size)
    byte = window.origin[..., None, None] + np.arange(0, window.size, table.type.size, dtype=np.int64)
    return _access(i, table.buffer, replace(shape, component=table.type), byte, None, part, store=False)


def outputs(
    case: model.Case, i: int, function: model.PerElement, shape: model.MatrixShape, names: Mapping[str, Value]
) -> list[Access]:
    """The stores of a function that instruction `i` calls, in order; `names` are its scalars and integers (CM-035)."""
    coords = model.ComponentType(function.coords)
    row = np.arange(shape.rows, dtype=np.uint32)[None, None, :, None]
    col = np.arange(shape.cols, dtype=np.uint32)[None, None, None, :]
    names = {"row": Value(coords, row), "col": Value(coords, col), **names}
    elements = {"value", *(e.name for e in function.extras if e.matrix)}
    declared = {output.name: output for output in model.outputs_of(function)}
    accesses = []
    for place in places_of(model.body_of(function, case.helpers), names, elements):
        output = declared[place.output]
        origin, extent = part_origin(case, output.buffer, shape.scope)
        byte = _with_all_axes(index_of(place.index)) * output.type.size + origin[..., None, None]
        byte = np.broadcast_to(byte, np.broadcast_shapes(byte.shape, (1, 1, shape.rows, shape.cols)))
        executed = None if place.executed is None else _with_all_axes(place.executed)
        of_output = replace(shape, component=output.type)
        accesses.append(_access(i, output.buffer, of_output, byte, executed, (origin, extent), store=True))
    return accesses


def _access(
    i: int,
    buffer: str,
    shape: model.MatrixShape,
    byte: I64,
    executed: Mask | None,
    part: tuple[I64, int],
    *,
    store: bool,
) -> Access:
    status = np.zeros(byte.shape, np.uint8)
    if executed is not None:
        status = np.broadcast_to(np.where(executed, np.uint8(Status.OK), np.uint8(Status.SKIP)), byte.shape)
    origin, extent = part
    pointer = np.zeros((1, 1), np.int64)
    return Access(
        i, store, buffer, shape, pointer, byte, status, shape.component.size, origin, extent, field="function"
    )


def _with_all_axes(a: npt.NDArray[_T]) -> npt.NDArray[_T]:
    """As (sets, instances, rows, cols), some of which may be 1."""
    return a.reshape((1,) * (4 - a.ndim) + a.shape)
