"""Buffers that callbacks read by an index (CM-032): what they hold, and indices that are inside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cts.choices import Choices
from cts.generators.build.contents import Wanted
from cts.generators.build.kernels import Kernel, Source
from cts.generators.build.specials import draw_numbers
from cts.generators.parts.expressions import Term
from cts.model import ComponentType, Table


@dataclass(frozen=True)
class Index:
    """A number that indices are made of: its text, type (of 32 bits), and the greatest it may be."""

    text: str
    type: ComponentType
    high: int


@dataclass(frozen=True)
class Drawn:
    """Tables with their regions and the bytes that these need, and what a body may read from them."""

    tables: list[tuple[Table, Source, int]]
    terms: list[Term]

    def used(self, body: str) -> tuple[Table, ...]:
        """The tables that a body reads. The regions of the others stay empty, and so are no buffers."""
        used = [(table, region, size) for table, region, size in self.tables if f"{table.name}[" in body]
        for _, region, size in used:
            region.size = size
        return tuple(table for table, _, _ in used)


#: Numbers that indices are divided by, counted in or taken modulo; powers of two where the type is signed.
_UNITS = (4, 2, 8, 3, 5, 7, 16)

#: The most elements of a table.
_MOST = 1 << 12


def draw_tables(
    choices: Choices, kernel: Kernel, components: Sequence[ComponentType], indices: Sequence[Index]
) -> Drawn:
    """In about three of ten functions one table or two."""
    drawn = Drawn([], [])
    if not choices.chance(3):
        return drawn
    for n in range(choices.pick((1, 1, 1, 2))):
        which, pad = choices.record(len(components) - 1, 2)
        component = components[which]
        index = choices.group(lambda c: _draw_index(c, indices))
        contents = draw_numbers(choices, component, Wanted(exact=True), ieee=kernel.ieee)
        region = kernel.source(choices, component, contents, scalar=True)
        table = Table(name=f"t{n}", type=component, buffer=region.name)
        drawn.tables.append((table, region, (index.high + 1 + pad) * component.size))
        # More than once, so that bodies mostly read what is there.
        drawn.terms.extend([Term(f"{table.name}[{index.text}]", component, contents.known)] * 3)
    return drawn


def _draw_index(choices: Choices, indices: Sequence[Index]) -> Index:
    """One number; a part of it; or of two, so many of the one for each of the other."""
    kind, first, second, unit, width = choices.record(5, *(len(indices) - 1,) * 2, *(len(_UNITS) - 1,) * 2)
    a = indices[first]
    fitting = [i for i in indices if i.type is a.type and i != a]
    if kind <= 1 and a.high < _MOST:
        return a
    if kind == 2 and a.high < _MOST:
        return _divided(a, _UNITS[unit])
    if kind >= 4 and fitting:
        b = fitting[second % len(fitting)]
        columns = _divided(b, _UNITS[unit]) if kind == 4 else b
        rows = _divided(a, _UNITS[width]) if kind == 4 else a
        if (rows.high + 1) * (columns.high + 1) <= _MOST:
            count = columns.high + 1
            return Index(f"{rows.text} * {count} + {columns.text}", a.type, rows.high * count + columns.high)
    return _remainder(a, _UNITS[unit])


def _divided(a: Index, unit: int) -> Index:
    if a.type is ComponentType.uint32:
        return Index(f"{a.text} // {unit}", a.type, a.high // unit)
    shift = unit.bit_length() - 1
    return Index(f"({a.text} >> {shift})", a.type, a.high >> shift)


def _remainder(a: Index, unit: int) -> Index:
    if a.type is ComponentType.uint32:
        return Index(f"{a.text} % {unit}", a.type, unit - 1)
    count = 1 << (unit.bit_length() - 1)
    return Index(f"{a.text} & {count - 1}", a.type, count - 1)
