"""Contents of buffers that differ between parameter sets: every value of a type, every value of every byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from cts.case.model import Case, initial_bits
from cts.case.model.sweep import Bytes

Numbers = npt.NDArray[np.int64]

_Count = Annotated[int, Meta(ge=1)]


class EveryValue(Struct, frozen=True, forbid_unknown_fields=True, tag_field="every", tag="value"):
    """The components of these buffers take every combination of bit patterns, one after the other.

    Component i of set s holds combination s * n + i, where the buffers have n components each: the first buffer's
    component its low bits, the next ones' those above them. What is left of the last set begins anew.

    `first` gives only so many components values, and leaves the others as the template has them: n is `first`, then.
    With `distinct` a set has only so many combinations, again and again: component i holds s * distinct + i % distinct.
    """

    buffers: Annotated[tuple[str, ...], Meta(min_length=1, max_length=3)]
    first: _Count | None = None
    distinct: _Count | None = None

    def problem(self, case: Case) -> tuple[str, str] | None:
        """What is wrong with it for a template, and what would be right."""
        counts = {name: _components(case, name) for name in self.buffers}
        if self.first is not None and self.first > min(counts.values()):
            return f"`first` is {self.first}", f"at most {min(counts.values())}, as many components as there are"
        if self.first is None and len(set(counts.values())) > 1:
            return f"buffers of {sorted(set(counts.values()))} components", "as many components in each, or `first`"
        if self.distinct is not None and self.distinct > self.count(case):
            return f"`distinct` is {self.distinct}", f"at most {self.count(case)}, as many components as take values"
        if self._bits(case) > 63:
            return f"combinations of {self._bits(case)} bits", "fewer buffers, or smaller types"
        return None

    def count(self, case: Case) -> int:
        """How many components of each buffer take values."""
        return self.first or _components(case, self.buffers[0])

    def contents(self, case: Case) -> int:
        """How many contents there are."""
        return -(-(1 << self._bits(case)) // (self.distinct or self.count(case)))

    def bytes(self, case: Case, numbers: Numbers) -> Iterator[tuple[str, Bytes]]:
        """The buffers with the contents of these numbers, (n, bytes of the buffer)."""
        count = self.count(case)
        distinct = self.distinct or count
        within = np.arange(count, dtype=np.uint64) % np.uint64(distinct)
        combinations = numbers.astype(np.uint64)[:, None] * np.uint64(distinct) + within
        shift = 0
        for name in self.buffers:
            component = case.buffers[name].type
            bits = (combinations >> np.uint64(shift)).astype(component.bits_dtype)
            shift += 8 * component.size
            if count < _components(case, name):
                values, bits = bits, np.tile(initial_bits(case.buffers[name]), (len(numbers), 1))
                bits[:, :count] = values
            yield name, bits.view(np.uint8).reshape(len(numbers), -1)

    def _bits(self, case: Case) -> int:
        return sum(8 * case.buffers[name].type.size for name in self.buffers)


class EveryByte(Struct, frozen=True, forbid_unknown_fields=True, tag_field="every", tag="byte"):
    """Every byte of the buffer takes every value, while the others are as the template has them."""

    buffer: str

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffer alone."""
        return (self.buffer,)

    def problem(self, case: Case) -> tuple[str, str] | None:
        """None."""
        return None

    def contents(self, case: Case) -> int:
        """How many contents there are."""
        return 256 * case.buffers[self.buffer].size

    def bytes(self, case: Case, numbers: Numbers) -> Iterator[tuple[str, Bytes]]:
        """The buffer with the contents of these numbers, (n, bytes of the buffer)."""
        rows = np.tile(initial_bits(case.buffers[self.buffer]).view(np.uint8), (len(numbers), 1))
        rows[np.arange(len(rows)), numbers // 256] = numbers % 256
        yield self.buffer, rows


Contents: TypeAlias = EveryValue | EveryByte


def problem_of(case: Case, every: Iterable[Contents]) -> tuple[str, str] | None:
    """What is wrong with the contents that a universe gives buffers of a template, and what would be right."""
    named: set[str] = set()
    for contents in every:
        for name in contents.buffers:
            if name not in case.buffers:
                return f"the template has no buffer {name!r}", f"of {', '.join(case.buffers)}"
            if name in named:
                return f"buffer {name!r} twice", "each buffer once"
            named.add(name)
        problem = contents.problem(case)
        if problem is not None:
            return problem
    return None


def _components(case: Case, name: str) -> int:
    buffer = case.buffers[name]
    return buffer.elements * buffer.components
