"""Instructions on matrices and vectors: the elements of operands, or of memory, that each result comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from cts.case.model import references
from cts.case.oracle.trace import TraceStep
from cts.findings.pictures import memory as memories
from cts.findings.pictures.grid import NO_HUE, Grid, Ints, Mark, Mask, Scene, hues, names, short
from cts.findings.pictures.memory import NONE, Memory
from cts.findings.pictures.work import PictureInputs, distinct, matrix_grid, memory_data
from cts.judging.sentences import value_text

#: Trace steps that are looked at to find where elements come from.
MOST_STEPS = 4096


def combined(work: PictureInputs) -> Scene:
    """An instruction on matrices: the elements of the operands that one element of the result comes from."""
    name = work.result
    assert name is not None
    expected = work.bits(name)
    wrong = work.observed.wrong(expected.shape) if work.driver else np.zeros(expected.shape, bool)
    row, col = (int(n) for n in np.argwhere(wrong)[0]) if wrong.any() else (0, 0)
    steps = work.steps(row, col)
    operands = operands_of(work)
    parts = {n: _taking_part(work, n, steps, expected.shape, (row, col)) for n in operands}
    result_hue, operand_hues = _origins(work, operands, expected.shape)
    title = f"program[{work.index}] {work.op}: "
    title += f"operands of {name}[{row}, {col}]" if operands else f"every element of {name}"
    grids = [operand_grid(work, n, operand_hues[n], parts[n]) for n in operands]
    alike = len(operands) == 1 and work.bits(operands[0]).shape == expected.shape
    source = operands[0] if alike and not _named(work, operands[0], steps) else None
    return work.scene(title, title, *grids, *results_of(work, expected, result_hue, wrong, source))


def multiplied(work: PictureInputs, memory: Memory) -> Scene:
    """A product with a matrix in memory: which cell of memory each row of the matrix has."""
    reached, name = work.reached, work.result
    assert reached is not None and name is not None and memory.bits is not None
    byte, status = reached.byte[work.instance], reached.status[work.instance]
    location, owner = memories.owners(memory, byte, status)
    depth = byte.shape[1]
    expected = work.bits(name)
    wrong = work.observed.wrong(expected.shape) if work.driver else np.zeros(expected.shape, bool)
    focus = int(np.argmax(wrong[0])) if wrong.any() else 0
    mark = np.zeros(memory.count, np.int64)
    cells = location[focus][location[focus] != NONE]
    mark[cells] = Mark.FOCUS

    def source_title(row: int, col: int) -> str:
        at = row * memory.cols + col
        if at >= memory.count:
            return ""
        title = f"{memory.name(at)}, byte {memory.byte(at)}: {value_text(memory.component, int(memory.bits[at]))}"
        if owner[at] == NONE:
            return title
        return f"{title}\nrow {owner[at] // depth} and column {owner[at] % depth} of the matrix"

    source = Grid(
        "source",
        f"memory {reached.buffer}: which row of the matrix each element belongs to",
        memory.grid(short(memory.component, memory.bits), ""),
        memory.grid(np.where(owner == NONE, NO_HUE, hues(owner // depth, owner != NONE)), NO_HUE),
        np.zeros((memory.rows, memory.cols), np.int64),
        memory.grid(mark, Mark.NONE),
        memory.row_names,
        names(memory.cols),
        source_title,
        memory_data(memory, owner, depth),
        memory.band,
    )
    title = f"program[{work.index}] {work.op}: component {focus} of {name} is row {focus} of the matrix times the input"
    columns = np.arange(expected.shape[1])[None] + np.zeros(expected.shape, np.int64)
    operands = [operand_grid(work, n, np.full(work.bits(n).shape, NO_HUE), None) for n in operands_of(work)]
    return work.scene(title, title, source, *operands, *results_of(work, expected, hues(columns, columns >= 0), wrong))


def operands_of(work: PictureInputs) -> list[str]:
    """The matrices and vectors that the instruction takes."""
    named = dict.fromkeys(references(work.instruction))
    return [n for n in named if n in work.expectation.matrices and n != work.result]


def operand_grid(work: PictureInputs, name: str, hue: Ints, focus: Mask | None) -> Grid:
    """An operand, with the elements that take part framed."""
    bits = work.bits(name)
    mark = None if focus is None else np.where(focus, Mark.FOCUS, Mark.NONE).astype(np.int64)
    component = work.component(name)

    def title_of(row: int, col: int) -> str:
        return f"{name}({row}, {col}): {value_text(component, int(bits[row, col]))}"

    return matrix_grid(work, "operand", f"operand {name}", bits, hue, mark=mark, title_of=title_of, component=component)


def results_of(work: PictureInputs, expected: Any, hue: Ints, wrong: Mask, source: str | None = None) -> list[Grid]:
    """The expected result and, if a driver is looked at, its actual result.

    `source` is the only operand of an elementwise instruction, such as a conversion: titles have its values, too.
    """
    name = work.result
    assert name is not None
    component = work.component(name)
    actual = work.observed.values(expected) if work.driver else expected
    first = tuple(np.argwhere(wrong)[0]) if wrong.any() else (0, 0)
    mark = np.zeros(expected.shape, np.int64)
    if operands_of(work) and (not work.driver or wrong.any()):
        mark[first] = Mark.FOCUS

    def origin(row: int, col: int) -> str:
        if source is None:
            return ""
        return f", of {source}({row}, {col}): {value_text(work.component(source), int(work.bits(source)[row, col]))}"

    def expected_title(row: int, col: int) -> str:
        title = f"{name}({row}, {col}): {work.allowed(row, col)}{origin(row, col)}"
        return title + (work.steps_title(row, col) if (row, col) == first else "")

    def actual_title(row: int, col: int) -> str:
        if not wrong[row, col]:
            return expected_title(row, col)
        title = f"{name}({row}, {col}): expected {work.allowed(row, col)}"
        title += f", actual {value_text(component, int(actual[row, col]))}{origin(row, col)}"
        return title + work.steps_title(row, col)

    grids = [matrix_grid(work, "expected", f"{name}, expected", expected, hue, mark=mark, title_of=expected_title)]
    if work.driver:
        marks = np.where(wrong, Mark.WRONG, Mark.NONE).astype(np.int64)
        text = distinct(component, expected, actual, wrong)
        heading = f"{name}, actual"
        grids.append(matrix_grid(work, "actual", heading, actual, hue, mark=marks, text=text, title_of=actual_title))
    return grids


def _taking_part(
    work: PictureInputs, operand: str, steps: tuple[TraceStep, ...], shape: tuple[int, ...], at: tuple[int, int]
) -> Mask:
    """The elements of an operand that the steps of an element name; of equal shape and without names, the same one."""
    mask = np.zeros(work.bits(operand).shape, bool)
    for place in _named(work, operand, steps):
        mask[place] = True
    elementwise = not any(_named(work, n, steps) for n in operands_of(work))
    if elementwise and mask.shape == shape:
        mask[at] = True
    return mask


def _named(work: PictureInputs, operand: str, steps: tuple[TraceStep, ...]) -> list[tuple[int, int]]:
    inside = []
    rows, cols = work.bits(operand).shape
    for step in steps:
        if step.instruction not in (work.index, None):
            continue
        places = []
        if step.place is not None and step.place.of == operand:
            places.append((step.place.row or 0, step.place.col))
        for factor in ("a", "b"):
            at = step.numbers.get(f"{factor}_at")
            if step.names.get(factor) == operand and isinstance(at, tuple) and len(at) == 2:
                places.append((int(at[0]), int(at[1])))
        inside += [(r, c) for r, c in places if r < rows and c < cols]
    return inside


def _origins(work: PictureInputs, operands: list[str], shape: tuple[int, ...]) -> tuple[Ints, dict[str, Ints]]:
    """Colours of the result's elements, and of the operands' elements which those are made of, by the trace.

    Elements that are made of the same ones have one colour. Of products, the result and what its rows are made of.
    """
    coloured = {n: np.full(work.bits(n).shape, NO_HUE, np.int64) for n in operands}
    result = np.full(shape, NO_HUE, np.int64)
    rows, cols = np.indices(shape)
    every = list(zip(rows.ravel().tolist(), cols.ravel().tolist(), strict=True))
    groups: dict[tuple[str, tuple[tuple[int, int], ...]], int] = {}
    factors: set[str] = set()
    spent = 0
    for row, col in dict.fromkeys([(i, i) for i in range(min(shape))] + every):
        steps = work.steps(row, col)
        spent += len(steps)
        factors |= {str(s.names["b"]) for s in steps if "b_at" in s.numbers}
        parts = [(n, tuple(_named(work, n, steps))) for n in operands]
        moved = [(n, places) for n, places in parts if places]
        if not moved or factors or spent > MOST_STEPS:
            break
        operand, places = moved[0]
        # Groups of a row or a column are first met on the diagonal; those of squares differ from their neighbours.
        hue = groups.setdefault((operand, places), places[0][0] if len(places) == 1 else 3 * row - 2 * col + shape[1])
        result[row, col] = hue
        for place in places:
            coloured[operand][place] = hue
    if not groups:
        # Element by element, or row by row of the first factor: rows go with rows.
        result = rows.astype(np.int64)
        coloured = {
            n: np.indices(c.shape)[0].astype(np.int64) if c.shape[0] == shape[0] and n not in factors else c
            for n, c in coloured.items()
        }
    return hues(result, result >= 0), {n: hues(c, c >= 0) for n, c in coloured.items()}
