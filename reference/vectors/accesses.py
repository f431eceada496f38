"""What cooperative vector instructions load, store and accumulate (CV-013, CV-018, CV-021); offsets count bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.base.errors import BadInput
from cts.case import model
from cts.reference.addressing.accesses import MAX_ELEMENTS, Access, Grid, part_origin
from cts.reference.addressing.coordinates import Status
from cts.reference.numeric.arrays import I64, U32


def vector_access(case: model.Case, i: int, buffer: str, grid: Grid, offset: U32) -> Access:
    """CV-013, CV-021: one component after the other, whatever the buffer is an array of."""
    components = np.arange(grid.cols, dtype=np.int64) * grid.component.size
    accumulates = isinstance(case.program[i], model.Accumulation)
    store = accumulates or isinstance(case.program[i], model.Store)
    return _access(case, (i, "offset"), buffer, grid, offset, components, store, accumulates)


def matrix_access(case: model.Case, i: int, offset: U32, stride: U32) -> Access:
    """CV-018: the M x K matrix of a multiplication; `offset` and `stride` are (sets, invocations), in bytes."""
    instruction = case.program[i]
    assert isinstance(instruction, model.VectorMatrixMul)
    m, k = matrix_extents(instruction)
    component = model.interpretation_of(instruction.matrix_interpretation).component
    each = max(offset.shape[0], stride.shape[0]) * max(offset.shape[1], stride.shape[1])
    if each * m * k > MAX_ELEMENTS:
        raise BadInput(
            "case-too-large-to-judge",
            f"{each} matrices of {m}x{k} elements",
            f"program[{i}].matrix_offset",
            f"at most {MAX_ELEMENTS} elements, or one matrix for all invocations",
        )
    row, col = np.arange(m, dtype=np.int64)[:, None], np.arange(k, dtype=np.int64)
    major, minor = (row, col) if model.layout_of(instruction.layout) is model.MatrixLayout.RowMajor else (col, row)
    pitch = stride.astype(np.int64)
    within = major * pitch[..., None, None] + minor * component.size
    access = _access(case, (i, "matrix_offset"), instruction.matrix, Grid(component, k, m), offset, within)
    return replace(access, stride=pitch)


def bias_access(case: model.Case, i: int, offset: U32) -> Access:
    """CV-018: M elements, one after the other."""
    instruction = case.program[i]
    assert isinstance(instruction, model.VectorMatrixMul)
    assert instruction.bias is not None and instruction.bias_interpretation is not None
    m, _ = matrix_extents(instruction)
    grid = Grid(model.interpretation_of(instruction.bias_interpretation).component, m)
    components = np.arange(m, dtype=np.int64) * grid.component.size
    return _access(case, (i, "bias_offset"), instruction.bias, grid, offset, components)


def matrix_extents(instruction: model.VectorMatrixMul) -> tuple[int, int]:
    """M and K."""
    m, k = model.constant_of(instruction.m), model.constant_of(instruction.k)
    assert isinstance(m, int) and isinstance(k, int)
    return m, k


def _access(
    case: model.Case,
    operand: tuple[int, str],
    buffer: str,
    grid: Grid,
    offset: U32,
    within: I64,
    store: bool = False,
    accumulates: bool = False,
) -> Access:
    """Elements `within` so many bytes of an offset; `operand` is the instruction and the field that says the offset."""
    pointer = offset.astype(np.int64)
    origin, extent = part_origin(case, buffer, model.Scope.Subgroup)
    byte = (pointer + origin)[..., None, None] + within
    return Access(
        operand[0],
        store,
        buffer,
        grid,
        pointer,
        byte,
        np.broadcast_to(np.uint8(Status.OK), byte.shape),
        grid.component.size,
        origin,
        extent,
        field=operand[1],
        accumulates=accumulates,
    )
