"""Arrays that the invocations hold, as bytes, and matrices that are made of them (QC-002 to QC-010).

`Arrays` are (instances, invocations of a subgroup, bytes). Invocations without a line hold ones before a matrix is
made, and a pattern after one is taken apart.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cts.case import model
from cts.drivers.emulator.matrices.context import Context
from cts.drivers.emulator.matrices.registers import Matrix, Registers
from cts.drivers.emulator.mutants import arrays as m

Arrays: TypeAlias = npt.NDArray[np.uint8]
_UNDEFINED = 0xA5


def constructed(i: model.MatrixOfArrays, loaded: Matrix, context: Context) -> Matrix:
    """The matrix that arrays make, of the elements that the invocations have loaded."""
    arrays = _held(loaded, loaded.use is model.Use.B, 0xFF, context)
    arrays = _cast(arrays, context.case.buffers[i.buffer].type, i.element, context.bug)
    return _matrix(arrays, i.element, loaded, context.bug)


def extracted(i: model.MatrixToArrays, matrix: Matrix, context: Context) -> Matrix:
    """A matrix with the elements that the invocations store: the arrays that they get of `matrix`."""
    arrays = _cast(_arrays(matrix, i.element, context), i.element, context.case.buffers[i.buffer].type, context.bug)
    lines = arrays.view(f"u{matrix.component.size}").astype(np.uint32)
    return matrix.holding_dense(_as_lines(lines, matrix, matrix.use is model.Use.B))


def through(i: model.MatrixThroughArrays, context: Context) -> Matrix:
    """QC-002, QC-004, QC-009, QC-010."""
    source, target = context.matrices[i.matrix], context.declared(i.type)
    arrays = _cast(_arrays(source, i.extracted, context), i.extracted, i.constructed, context.bug)
    size = (target.rows if target.use is model.Use.B else target.cols) * target.component.size
    start = context.operands.evaluate((i.start,))[:, 0]
    unit = i.constructed.size
    if context.bug == m.SUB_ARRAY_FROM_START:
        start = start * 0
    elif context.bug == m.SUB_ARRAY_IN_WORDS:
        unit = 4
    # Where an instance is not active its start may be anything.
    places = ((start * unit)[:, None, None] + np.arange(size)) % arrays.shape[2]
    part = np.take_along_axis(arrays, np.broadcast_to(places, (*arrays.shape[:2], size)), axis=2)
    return _matrix(np.ascontiguousarray(part), i.constructed, target, context.bug)


def _held(matrix: Matrix, columns: bool, beyond: int, context: Context) -> Arrays:
    """The lines of a matrix as arrays of the first invocations; the others hold bytes `beyond`."""
    dense = matrix.elements()
    lines = np.ascontiguousarray(dense.transpose(0, 2, 1) if columns else dense).view(np.uint8)
    arrays = np.full((len(lines), context.options.subgroup_size, lines.shape[2]), beyond, np.uint8)
    arrays[:, : lines.shape[1]] = lines[:, : arrays.shape[1]]
    return arrays


def _arrays(matrix: Matrix, element: model.ComponentType, context: Context) -> Arrays:
    """QC-004."""
    bug, columns = context.bug, matrix.use is model.Use.B
    if bug == m.EXTRACTED_B_BY_ROWS and columns:
        shape = matrix.cols, matrix.rows
        rows, cols = np.indices(shape)
        swapped = matrix.dense()[:, rows % matrix.rows, cols % matrix.cols]
        matrix = matrix.holding_dense(swapped.transpose(0, 2, 1))
    elif bug == m.EXTRACTED_ACCUMULATOR_BY_COLUMNS and matrix.use is model.Use.Accumulator:
        rows, cols = np.indices((matrix.rows, matrix.cols))
        matrix = matrix.holding_dense(matrix.dense()[:, cols % matrix.rows, rows % matrix.cols])
    arrays = _held(matrix, columns, _UNDEFINED, context)
    if bug == m.EXTRACTED_BY_HALF_SUBGROUP:
        half = arrays.shape[1] // 2
        arrays[:, half:] = arrays[:, : arrays.shape[1] - half]
    return _turned(arrays, matrix, element) if bug == m.EXTRACTED_WORDS_HIGH_FIRST else arrays


def _matrix(arrays: Arrays, element: model.ComponentType, target: Matrix, bug: int) -> Matrix:
    """QC-002, QC-003, QC-005."""
    columns = target.use is model.Use.B
    count = target.cols if columns else target.rows
    if bug == m.ARRAYS_BEYOND_TAKEN:
        arrays = arrays.copy()
        later = arrays[:, count : 2 * count].copy()
        arrays[:, : later.shape[1]] = later
    elif bug == m.ARRAYS_OF_PAIRS:
        arrays = arrays[:, np.arange(arrays.shape[1]) & ~1]
    elif bug == m.ARRAY_WORDS_HIGH_FIRST:
        arrays = _turned(arrays, target, element)
    lines = np.ascontiguousarray(arrays).view(f"u{target.component.size}").astype(np.uint32)
    halves = target.component.size == 2 and target.use is model.Use.Accumulator
    if bug == m.ARRAY_ACCUMULATOR_UNPACKED and halves and element is not target.component:
        lines = np.repeat(lines[:, :, ::2], 2, axis=2)[:, :, : lines.shape[2]]
    elif bug == m.ARRAYS_OF_LAST_LOST:
        lines[:, count - 1] = 0
    return target.holding_dense(_as_lines(lines, target, columns and bug != m.ARRAYS_OF_B_AS_ROWS))


def _as_lines(lines: Registers, matrix: Matrix, columns: bool) -> Registers:
    """Elements (instances, rows, cols) of arrays that are columns or rows."""
    rows, cols = np.indices((matrix.rows, matrix.cols))
    if columns:
        rows, cols = cols, rows
    elements: Registers = lines[:, rows % lines.shape[1], cols % lines.shape[2]]
    return elements


def _turned(arrays: Arrays, matrix: Matrix, element: model.ComponentType) -> Arrays:
    """The components of each word in the opposite order, if elements are words of several."""
    size = matrix.component.size
    if element.size == size:
        return arrays
    parts = arrays.reshape(*arrays.shape[:2], -1, element.size // size, size)
    return np.ascontiguousarray(parts[:, :, :, ::-1]).reshape(arrays.shape)


def _cast(arrays: Arrays, of: model.ComponentType, to: model.ComponentType, bug: int) -> Arrays:
    """QC-009: bytes stay where they are."""
    if of is to:
        return arrays
    if bug == m.ARRAY_CAST_SWAPS_HALVES:
        halves = arrays.view(np.uint16).reshape(*arrays.shape[:2], -1, 2)
        return np.ascontiguousarray(halves[..., ::-1]).view(np.uint8).reshape(arrays.shape)
    if bug == m.ARRAY_CAST_FIRST_HALF:
        arrays = arrays.copy()
        arrays[:, :, arrays.shape[2] // 2 :] = 0
    return arrays
