"""Structures of features and properties that the `vulkan` package (1.3.275) lacks, chained.

One C structure serves them all, and a table says which is which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import cffi
import vulkan as vk

from .tables import Table

own = cffi.FFI()
own.cdef("typedef struct { uint32_t sType; void *pNext; uint32_t values[64]; } Members;")


class Chain:
    """Structures linked through pNext, to be filled by a query or handed to vkCreateDevice."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self.tables = tuple(tables)
        self._structures = [own.new("Members *", {"sType": t.s_type}) for t in self.tables]
        for structure, following in pairwise(self._structures):
            structure.pNext = following

    @property
    def head(self) -> Any:
        """What to put into the pNext before the chain."""
        return vk.ffi.cast("void *", int(own.cast("uintptr_t", self._structures[0]))) if self._structures else None

    def enable(self, names: Iterable[str]) -> None:
        """Set features to true. Raises KeyError for one that no structure of the chain has."""
        places = {
            m: (s, i) for t, s in zip(self.tables, self._structures, strict=True) for i, m in enumerate(t.members)
        }
        for name in names:
            structure, index = places[name]
            structure.values[index] = 1

    def values(self) -> Iterator[tuple[Table, dict[str, int]]]:
        """What a query has filled in."""
        for table, structure in zip(self.tables, self._structures, strict=True):
            yield table, {name: int(structure.values[i]) for i, name in enumerate(table.members)}
