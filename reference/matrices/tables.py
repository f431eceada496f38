"""What callbacks read from buffers (CM-032): the elements of tables at the indices that a body computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from cts.model import AnyFunction, Table, tables_of
from cts.reference.common.memory import Memory
from cts.reference.numeric.expression import ReadEntry, check_index, index_of
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value, anything, where


def tables(
    function: AnyFunction,
    memories: Mapping[str, Memory],
    watch: Watch,
    moved: Callable[[Value], Value],
    read: list[tuple[Table, Value]],
) -> ReadEntry:
    """Reads the tables of a function; `moved` is what becomes of a value that the function loads.

    What is read is added to `read`: tables and the indices of elements. TA-069: an index must be inside for every
    element that calls the function.
    """
    known = {table.name: table for table in tables_of(function)}

    def entry(name: str, index: Value) -> Value:
        table = known[name]
        memory, component = memories[table.buffer], table.type
        # Memory may differ between sets, and then the axis of sets must be there.
        index = index.map(lambda a: a.reshape((1,) * (4 - a.ndim) + a.shape))
        read.append((table, index))
        count = memory.size // component.size
        check_index(index, count, f"table {name!r}, buffer {table.buffer!r}", watch, "TA-069")
        places = np.clip(index_of(index), 0, count - 1)
        value = moved(memory.load(places * component.size, component))
        return where(index.flags != 0, anything(component, value.shape, index.reasons), value)

    return entry
