"""Buffers that callbacks read by an index (CM-032): what they hold, and indices that are inside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cts.base.choices import Choices
from cts.case.model import ComponentType, Data, Extra, MatrixStore, Microscaling, Order, Pointer, StorageClass, Table
from cts.device.capabilities import Feature
from cts.generators.build.contents import Contents, Wanted
from cts.generators.build.kernels import Kernel, Matrix, Source
from cts.generators.build.memory import FILL, Lines, Part, draw_read, tile_elements
from cts.generators.build.operands import Varying
from cts.generators.build.specials import draw_numbers
from cts.generators.parts.chain_places import SharedSource
from cts.generators.parts.expressions import Term
from cts.generators.parts.microscaled import converted_to, draw_declared
from cts.generators.policy.cases import CallbackDraws


@dataclass(frozen=True)
class Index:
    """A number that indices are made of: its text, type (of 32 bits), and the greatest it may be."""

    text: str
    type: ComponentType
    high: int


@dataclass(frozen=True)
class Drawn:
    """Tables, what makes room for each and gives the pointer that leads to it, if one does; what a body may read."""

    tables: list[tuple[Table, Callable[[], str | None]]]
    terms: list[Term]

    def used(self, body: str) -> tuple[tuple[Table, ...], list[tuple[Extra, str]]]:
        """The tables that a body reads, and those behind pointers, which are passed.

        The regions of others stay empty, and so are no buffers.
        """
        named, passed = [], []
        for table, use in self.tables:
            if f"{table.name}[" not in body:
                continue
            pointer = use()
            if pointer is None:
                named.append(table)
            else:
                passed.append((Extra(name=table.name, type=table.type, pointer=True), pointer))
        return tuple(named), passed


#: Numbers that indices are divided by, counted in or taken modulo; powers of two where the type is signed.
_UNITS = (4, 2, 8, 3, 5, 7, 16)

#: The most elements of a table.
_MOST = 1 << 12


def draw_tables(
    choices: Choices,
    kernel: Kernel,
    returns: ComponentType,
    components: Sequence[ComponentType],
    indices: Sequence[Index],
    matrix: Matrix | None = None,
) -> Drawn:
    """In about three of ten functions with results `returns` one table or two, some of them of a microscaling type.

    Of an operation on a `matrix` some are behind pointers (CM-036), and some hold the matrix, which is stored there.
    """
    drawn = Drawn([], [])
    if not choices.chance(CallbackDraws.TABLES):
        return drawn
    for n in range(choices.pick(CallbackDraws.TABLE_COUNTS)):
        which, pad, kind = choices.record(len(components) - 1, 2, 9)
        component = components[which]
        index = choices.group(lambda c: _draw_index(c, indices))
        name = f"t{n}"
        if matrix is not None and kind >= 8 and (written := _stored(kernel, matrix)) is not None:
            index = below(index, written[1])
            table = Table(name=name, type=matrix.component, buffer=written[0])
            drawn.tables.append((table, lambda: None))
            drawn.terms.extend([Term(f"{name}[{index.text}]", matrix.component, matrix.known)] * 3)
            continue
        if (declared := draw_declared(choices, kernel, components)) is not None:
            size, working = index.high + 1 + pad, converted_to(returns)
            region = _declared(choices, kernel, Microscaling(declared[0]), declared[1], size)
            table = Table(name=name, type=region.type, buffer=region.name, declared=declared[0])
            drawn.tables.append((table, partial(_sized, choices, kernel, region, size)))
            drawn.terms.extend([Term(f"{working.value}({name}[{index.text}])", working, declared[1].known)] * 3)
            continue
        contents = draw_numbers(choices, component, Wanted(exact=True), ieee=kernel.ieee)
        region = kernel.source(choices, component, contents, scalar=True)
        table = Table(name=name, type=component, buffer=region.name)
        pointed = matrix is not None and kind in (6, 7) and Feature.BUFFER_DEVICE_ADDRESS in kernel.features
        if pointed:
            region.storage = StorageClass.PhysicalStorageBuffer
        use = partial(_pointed if pointed else _sized, choices, kernel, region)
        drawn.tables.append((table, partial(use, (index.high + 1 + pad) * component.size)))
        # More than once, so that bodies mostly read what is there.
        drawn.terms.extend([Term(f"{table.name}[{index.text}]", component, contents.known)] * 3)
    return drawn


def _declared(choices: Choices, kernel: Kernel, type_: Microscaling, contents: Contents, size: int) -> Source:
    """A buffer of bytes for a table alone; a third are in workgroup memory, if there is room."""
    if not choices.chance(CallbackDraws.SHARED_TABLES) or not kernel.set_aside(-(-size // 16) * 16):
        return kernel.source(choices, type_.carrier, contents, scalar=True)
    name, shared = kernel.region_name("table", 0), StorageClass.Workgroup
    region = SharedSource(name, type_.carrier, 1, shared, contents.data, known=contents.known)
    region.workgroups = math.prod(kernel.dispatch.workgroups)
    kernel.add(region)
    return region


def _sized(choices: Choices, kernel: Kernel, region: Source, size: int) -> None:
    region.size = max(region.size, size)


def _pointed(choices: Choices, kernel: Kernel, region: Source, size: int) -> str:
    """A pointer to somewhere in a region, perhaps another place in every instance."""
    offset = draw_read(choices, region, kernel.grid, region.type.size, size)
    name = kernel.name("q")
    kernel.program.emit(Pointer(id=name, buffer=region.name, offset=kernel.constness.scalars([offset])[0]))
    return name


def _stored(kernel: Kernel, matrix: Matrix) -> tuple[str, int] | None:
    """The name of a buffer of workgroup memory where every instance stores the matrix, and a barrier; None: no room.

    Beside it how many elements adjoin: rows may have to begin at places between which nothing is stored.
    """
    if kernel.program.in_block:
        return None
    name = kernel.region_name("shared", 0)
    region = Part(name, matrix.component, 1, StorageClass.Workgroup, Data(fill=FILL[matrix.component]))
    region.workgroups = math.prod(kernel.dispatch.workgroups)
    lines = Lines.for_matrix(region, Order.RowMajor, matrix.component, matrix.rows, matrix.cols)
    stride = lines.unit * lines.dense
    tile = tile_elements(region, lines.alignment, lines.extent(stride))
    grid = replace(kernel.grid, x=1, y=1, z=1)
    own = Varying(0, grid.tiles(tile))
    size = own.range(grid)[1] * region.element_size + lines.extent(stride)
    if not kernel.set_aside(size):
        return None
    region.unit, region.size = math.lcm(region.unit, lines.alignment), size
    kernel.add(region)
    written_stride, written_offset = kernel.constness.scalars([stride, own])
    kernel.program.emit(MatrixStore(matrix=matrix.id, buffer=name, stride=written_stride, offset=written_offset))
    kernel.program.barrier()
    return name, matrix.cols * (matrix.rows if stride == matrix.cols else 1)


def below(index: Index, count: int) -> Index:
    """The index, or its remainder where it may be `count` or more."""
    return index if index.high < count else _remainder(index, count)


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
        whole = f"({a.text})" if " + " in a.text else a.text
        return Index(f"{whole} % {unit}", a.type, unit - 1)
    count = 1 << (unit.bit_length() - 1)
    return Index(f"{a.text} & {count - 1}", a.type, count - 1)
