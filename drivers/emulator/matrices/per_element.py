"""Functions that are called for every element of a matrix."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from cts.case import model
from cts.drivers.emulator.callbacks import compiled
from cts.drivers.emulator.matrices.context import TILE, Context, elements_of, unless
from cts.drivers.emulator.matrices.registers import Matrix, Registers
from cts.drivers.emulator.matrices.scalar import Elements
from cts.drivers.emulator.mutants import callbacks as c
from cts.drivers.emulator.mutants import matrices as m


def per_element(i: model.MatrixPerElement, context: Context) -> Matrix:
    """CM-030, CM-031."""
    matrix, function = context.matrices[i.matrix], context.case.functions[i.function]
    assert isinstance(function, model.PerElement)
    bits = matrix.in_order()
    coordinates = [np.broadcast_to(x, bits.shape) for x in _coordinates(matrix, context.bug)]
    parameters = [(x.astype(np.uint32), None) for x in coordinates]
    extras = list(_extras(i, function, matrix, context))
    tables = context.access.tables(function, i.pointers, context.instances.count // matrix.instances)
    arguments = (*parameters, elements_of(matrix), *extras)
    computed = context.mapped(compiled(function, context.bug, context.case.helpers), matrix, *arguments, tables=tables)
    if function.outputs:
        tables.give_back()
    skipped = np.zeros(matrix.registers.shape, bool)
    if context.bug == m.PER_ELEMENT_TAIL_SKIPPED:
        skipped[:, :, -1] = matrix.owned.slots > 1
    elif context.bug == m.PER_ELEMENT_WORKGROUP_FIRST:
        skipped[:, context.options.subgroup_size :] = True
    return unless(skipped, matrix, computed)


def _coordinates(matrix: Matrix, bug: int) -> tuple[Registers, Registers]:
    """The row and column of each element, in the order of work."""
    row, col = matrix.owned.work[:, 2], matrix.owned.work[:, 3]
    if bug == m.PER_ELEMENT_SWAPPED or (bug == m.PER_ELEMENT_USE_B_SWAPPED and matrix.use is model.Use.B):
        row, col = col, row
    elif bug == m.PER_ELEMENT_TILE_COORDINATES:
        row, col = row % TILE, col % TILE
    elif bug == m.PER_ELEMENT_COLUMN_BY_ROWS:
        col = col % matrix.rows
    return row.astype(np.uint32), col.astype(np.uint32)


def _extras(
    i: model.MatrixPerElement, function: model.PerElement, matrix: Matrix, context: Context
) -> Iterator[Elements]:
    """The extra operands in the order of the function's parameters, for each element."""
    matrices = [
        elements_of(matrix if context.bug == m.EXTRA_MATRIX_IS_MATRIX else context.matrices[n]) for n in i.matrices
    ]
    scalars = [context.bits(v, t, matrix) for (_, t), v in zip(model.scalars_of(function), i.scalars, strict=True)]
    if context.bug in (c.VECTOR_EXTRA_FIRST, c.STRUCTURE_EXTRA_SHIFTED):
        scalars = _composites_mistaken(function, scalars, context.bug)
    if context.bug == m.EXTRA_MATRICES_SWAPPED:
        matrices.reverse()
    elif context.bug == m.EXTRA_SCALAR_FIRST:
        scalars = scalars[:1] * len(scalars)
    integers = context.operands.evaluate(i.integers)[:: context.instances.count // matrix.instances].astype(np.uint32)
    if context.bug == c.INTEGER_EXTRA_OF_FIRST:
        integers = np.broadcast_to(integers[:1], integers.shape)
    shape = matrix.in_order().shape
    waiting: dict[str, Iterator[Elements]] = {
        "matrix": iter(matrices),
        "scalar": ((np.broadcast_to(s, shape), None) for s in scalars),
        "integer": ((np.broadcast_to(integers[:, n : n + 1], shape), None) for n in range(integers.shape[1])),
    }
    kinds: list[str] = []
    for extra in function.extras:
        kinds += ["matrix"] * extra.matrix + ["integer"] * extra.integer + ["scalar"] * len(extra.scalars)
    if context.bug == m.EXTRAS_GROUPED:
        kinds.sort(key=list(waiting).index)
    return (next(waiting[kind]) for kind in kinds)


def _composites_mistaken(function: model.PerElement, scalars: list[Registers], bug: int) -> list[Registers]:
    """The scalars as bugs take vectors and structures of them."""
    mistaken, waiting = [], iter(scalars)
    for extra in function.extras:
        parts = list(itertools.islice(waiting, len(extra.scalars)))
        if bug == c.VECTOR_EXTRA_FIRST and extra.count is not None:
            parts = parts[:1] * len(parts)
        elif bug == c.STRUCTURE_EXTRA_SHIFTED and extra.members:
            types = [member.type for member in extra.members]
            alike = {t: [n for n, own in enumerate(types) if own is t] for t in types}
            parts = [parts[alike[t][alike[t].index(n) - 1]] for n, t in enumerate(types)]
        mistaken += parts
    return mistaken
