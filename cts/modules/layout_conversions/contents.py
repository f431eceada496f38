"""Statements about the elements that conversions leave: the oracle says what they are."""

from __future__ import annotations

from collections.abc import Iterator

from cts.device.trials import (
    COLUMN_MAJOR,
    INFERENCING_OPTIMAL,
    OPTIMAL,
    ROW_MAJOR,
    TRAINING_OPTIMAL,
    Block,
    By,
    Convert,
    Copy,
    Pair,
    Trial,
)
from cts.modules.layout_conversions.abilities import COMPONENTS, Abilities, finer, readable, writable
from cts.modules.layout_conversions.build import (
    FEW_SHAPES,
    SHAPES,
    WAYS,
    chain,
    columns,
    filled,
    form,
    rows,
    tiny,
    unused,
)
from cts.modules.layout_conversions.statement import elements

_NO_PAIRS = "two float types"

#: How many elements behind an aligned address matrices of the host begin.
_SHIFTS = (1, 7, 32)

#: All bits set: NaN in every float type.
_ONES = 0xFF


@elements("LC-012")
def _rows_and_columns(abilities: Abilities) -> Iterator[Trial]:
    """Rows and columns to rows and columns of another stride, of one type."""
    for component in abilities.components:
        if not writable(component, ROW_MAJOR):
            continue
        for shape in SHAPES:
            for by in WAYS:
                for first in (rows(component, shape), columns(component, shape)):
                    for second in (rows(component, shape, 5), columns(component, shape, 5)):
                        yield chain("LC-012", filled(first, 12), (second,), (by,))


@elements("LC-013", _NO_PAIRS)
def _types(abilities: Abilities) -> Iterator[Trial]:
    """To a lower precision, and back: numbers that it has, those half way between two, others, and denormal ones."""
    for wide, narrow in abilities.pairs():
        for shape in FEW_SHAPES:
            for by in WAYS:
                source = filled(rows(wide, shape), 13, narrow)
                layout = ROW_MAJOR if writable(narrow, ROW_MAJOR) else INFERENCING_OPTIMAL
                forms = form(narrow, layout, shape), columns(wide, shape)
                yield chain("LC-013", source, forms, (by, by))
                yield chain("LC-013", filled(rows(narrow, shape), 13), (columns(wide, shape),), (by,))
                yield chain("LC-013", tiny(rows(narrow, shape), 13, narrow), (columns(wide, shape),), (by,))
                if finer(wide, narrow):
                    yield chain("LC-013", tiny(rows(wide, shape), 13, narrow), forms, (by, by))


@elements("LC-014")
def _there_and_back(abilities: Abilities) -> Iterator[Trial]:
    """Through an optimal layout, and rows or columns again."""
    for component in abilities.components:
        for layout in OPTIMAL:
            for shape in SHAPES:
                for by in WAYS:
                    forms = form(component, layout, shape), rows(readable(component), shape)
                    yield chain("LC-014", filled(rows(component, shape), 14), forms, (by, by))


@elements("LC-015")
def _between_optimal_layouts(abilities: Abilities) -> Iterator[Trial]:
    """From one optimal layout to the other, in the same or in a lower precision."""
    orders = (OPTIMAL, OPTIMAL[::-1])
    for component in abilities.components:
        for order in orders:
            for by in WAYS:
                yield _through(component, component, order, by)
    for wide, narrow in abilities.pairs():
        for order in (*orders, (TRAINING_OPTIMAL, TRAINING_OPTIMAL), (INFERENCING_OPTIMAL, INFERENCING_OPTIMAL)):
            for by in WAYS:
                yield _through(wide, narrow, order, by)


def _through(first: int, second: int, layouts: tuple[int, ...], by: By) -> Trial:
    shape = FEW_SHAPES[0]
    forms = form(first, layouts[0], shape), form(second, layouts[1], shape), rows(readable(second), shape)
    narrow = second if second != first else None
    return chain("LC-015", filled(rows(first, shape), 15, narrow), forms, (by, by, by))


@elements("LC-016")
def _anywhere(abilities: Abilities) -> Iterator[Trial]:
    """At addresses of the host that elements may have, at several of the device; an optimal matrix is moved, too."""
    shape = FEW_SHAPES[0]
    for component in abilities.components:
        for layout in OPTIMAL:
            there, back = form(component, layout, shape), rows(readable(component), shape)
            for elements_before in _SHIFTS:
                shift = elements_before * COMPONENTS[component].size
                moved, to = Block(there, shift=shift), elements_before * COMPONENTS[back.component].size
                blocks = (filled(rows(component, shape), 16, shift=shift), Block(there), moved, Block(back, shift=to))
                steps = Convert((Pair(0, 1),), "function"), Copy(1, 2), Convert((Pair(2, 3),), "function")
                yield Trial("LC-016", blocks, steps)
            first, apart, again = filled(rows(component, shape), 16), unused(), Block(there)
            steps = Convert((Pair(1, 2),), "command"), Copy(2, 4), Convert((Pair(4, 5),), "command")
            yield Trial("LC-016", (apart, first, Block(there), apart, again, Block(back)), steps)


@elements("LC-017")
def _between_lines(abilities: Abilities) -> Iterator[Trial]:
    """Sources with NaN between their lines."""
    for component in abilities.components:
        for shape in FEW_SHAPES:
            for by in WAYS:
                for layout in (ROW_MAJOR, COLUMN_MAJOR):
                    source = filled(form(component, layout, shape, 3), 17, between=_ONES)
                    forms = form(component, INFERENCING_OPTIMAL, shape), rows(readable(component), shape)
                    yield chain("LC-017", source, forms, (by, by))


@elements("LC-018")
def _by_turns(abilities: Abilities) -> Iterator[Trial]:
    """There by the function and back by the command, and the other way round."""
    for component in abilities.components:
        for layout in OPTIMAL:
            for shape in FEW_SHAPES:
                for ways in (WAYS, WAYS[::-1]):
                    forms = form(component, layout, shape), rows(readable(component), shape)
                    yield chain("LC-018", filled(rows(component, shape), 18), forms, ways)


@elements("LC-019")
def _many(abilities: Abilities) -> Iterator[Trial]:
    """One command for different types, layouts, sizes and strides; and one for all of them back."""
    sources, there, back = [], [], []
    for n, component in enumerate(abilities.components):
        for layout in range(4):
            shape = SHAPES[(n + layout) % len(SHAPES)]
            source = rows if (n + layout) % 2 else columns
            sources.append(filled(source(component, shape, 1 + n), 19 + n + layout))
            target = layout if writable(component, layout) else TRAINING_OPTIMAL
            there.append(Block(form(component, target, shape, 2 + layout)))
            back.append(Block(rows(readable(component), shape)))
    count = len(sources)
    for used in (count, 2):
        first = tuple(Pair(n, used + n) for n in range(used))
        second = tuple(Pair(used + n, 2 * used + n) for n in range(used))
        blocks = (*sources[:used], *there[:used], *back[:used])
        yield Trial("LC-019", blocks, (Convert(first, "command"), Convert(second, "command")))


def _recorded(fact: str, abilities: Abilities, *, secondary: bool = False, times: int = 1) -> Iterator[Trial]:
    """There and back by commands that are recorded or submitted in a way."""
    for component in abilities.components:
        for layout in OPTIMAL:
            shape = FEW_SHAPES[0]
            blocks = (
                filled(rows(component, shape), 20),
                Block(form(component, layout, shape)),
                Block(rows(readable(component), shape)),
            )
            steps = tuple(Convert((pair,), "command", secondary, times) for pair in (Pair(0, 1), Pair(1, 2)))
            yield Trial(fact, blocks, steps)


@elements("LC-020")
def _secondary(abilities: Abilities) -> Iterator[Trial]:
    """In a secondary command buffer."""
    return _recorded("LC-020", abilities, secondary=True)


@elements("LC-021")
def _twice(abilities: Abilities) -> Iterator[Trial]:
    """A command buffer that is submitted twice, from the same memory."""
    return _recorded("LC-021", abilities, times=2)
