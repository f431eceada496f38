"""Structures of features and properties that the `vulkan` package (1.3.275) lacks, chained.

One C structure serves them all, and a table says which is which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, zip_longest
from typing import Any

import cffi
import vulkan as vk

from .tables import Table

own = cffi.FFI()
_WORDS = 64
own.cdef(f"typedef struct {{ uint32_t sType; void *pNext; uint32_t values[{_WORDS}]; }} Members;")


#: What a structure or an array holds before a query fills it: no number that a device reports.
PATTERN = 0xA5A5A5A5


class Chain:
    """Structures linked through pNext, to be filled by a query or handed to vkCreateDevice.

    With `filled` all members are the pattern at first, and so is the memory behind each structure.
    """

    def __init__(self, tables: Iterable[Table], *, filled: bool = False) -> None:
        self.tables = tuple(tables)
        values = [PATTERN if filled else 0] * _WORDS
        self._structures = [own.new("Members *", {"sType": t.s_type, "values": values}) for t in self.tables]
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

    def kept(self) -> Iterator[bool]:
        """Of each structure: whether sType, pNext and the memory behind it are what they were, if it was filled."""
        for table, structure, following in zip_longest(self.tables, self._structures, self._structures[1:]):
            # A structure has as many bytes as its pointer's alignment divides: an odd word is followed by padding.
            behind = structure.values[len(table.members) + len(table.members) % 2 : _WORDS]
            linked = structure.pNext == (own.NULL if following is None else following)
            yield structure.sType == table.s_type and linked and set(behind) == {PATTERN}
