"""What callbacks read from buffers (CM-032): the elements of tables at the indices that a body computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cts.model import AnyFunction, Table, tables_of
from cts.reference.common.memory import Memory
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.expression import ReadEntry, check_index, index_of
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value, anything, where

_T = TypeVar("_T", bound=np.generic)


@dataclass(frozen=True)
class EntryRead:
    """A read of a table at the indices of elements, which only those elements do for which it is executed."""

    table: Table
    index: Value
    executed: Mask


def tables(
    function: AnyFunction,
    memories: Mapping[str, Memory],
    moved: Callable[[Value], Value],
    read: list[EntryRead],
) -> ReadEntry:
    """Reads the tables of a function; `moved` is what becomes of a value that the function loads.

    What is read is added to `read`. TA-069: an index must be inside for every element that the read is executed for.
    """
    known = {table.name: table for table in tables_of(function)}

    def entry(name: str, index: Value, watch: Watch) -> Value:
        table = known[name]
        memory, component = memories[table.buffer], table.type
        # Memory may differ between sets, and then the axis of sets must be there.
        index = index.map(_with_all_axes)
        executed = np.array([True]) if watch.executed is None else watch.executed
        read.append(EntryRead(table, index, _with_all_axes(executed)))
        count = memory.size // component.size
        check_index(index, count, f"table {name!r}, buffer {table.buffer!r}", watch, "TA-069")
        places = np.clip(index_of(index), 0, count - 1)
        value = moved(memory.load(places * component.size, component))
        return where(index.flags != 0, anything(component, value.shape, index.reasons), value)

    return entry


def _with_all_axes(a: npt.NDArray[_T]) -> npt.NDArray[_T]:
    """As (sets, instances, rows, cols), some of which may be 1."""
    return a.reshape((1,) * (4 - a.ndim) + a.shape)
