"""Where tensor loads and stores of a sweep go, against coordinates worked out one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cts.case.model import loads_case
from cts.case.model.sweep import Sweep
from cts.plugins import registry

TEXT = """
schema: 1
name: coordinates
buffers:
  src: {{type: float32, shape: [64], data: {{iota: {{}}}}}}
  dst: {{type: float32, shape: [64], data: {{fill: -1}}}}
program:
  - {{op: TensorLayout, id: t, dim: 2, clamp: {clamp}}}
  - {{op: TensorLayoutSetBlockSize, id: t1, of: t, block_size: [2, 3]}}
  - {{op: TensorLayoutSetDimension, id: t2, of: t1, dims: [5, 7]}}
  - op: TensorLayoutSlice
    id: t3
    of: t2
    offset: [{{dynamic: 0}}, {{dynamic: 0}}]
    span: [{{dynamic: 2}}, {{dynamic: 4}}]
  - {{op: MatrixNull, id: z, type: {{component: float32, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}}}}
  - {{op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t3}}
  - {{op: MatrixStore, matrix: m, buffer: dst, stride: 8}}
"""

DIMS, BLOCKS = (5, 7), (2, 3)

SETS = [(*offset, *span) for offset in product((-6, -1, 0, 3, 4), (-7, 0, 6, 7)) for span in ((2, 4), (3, 1), (9, 8))]


def _clamped(clamp: str, coordinate: int, dimension: int) -> int | None:
    """The coordinate in the tensor, or None where nothing is accessed."""
    if clamp == "ClampToEdge":
        return min(max(coordinate, 0), dimension - 1)
    if clamp == "Repeat":
        return coordinate % dimension
    return coordinate if 0 <= coordinate < dimension else None


@pytest.mark.parametrize("clamp", ["Constant", "ClampToEdge", "Repeat"])
def test_lowest_and_highest_coordinates_and_blocks(clamp: str) -> None:
    columns = registry.oracle().coordinates(
        Sweep(loads_case(TEXT.format(clamp=clamp)), np.array(SETS, np.int64).astype(np.uint32))
    )
    for number, (*offset, rows, cols) in enumerate(SETS):
        reached = [
            coordinates
            for element in range(64)
            if None
            not in (
                coordinates := [
                    _clamped(clamp, element // cols % rows + offset[0], DIMS[0]),
                    _clamped(clamp, element % cols + offset[1], DIMS[1]),
                ]
            )
        ]
        for dim in (0, 1):
            of_dim = [coordinates[dim] or 0 for coordinates in reached] or [-1]
            of_blocks = [c // BLOCKS[dim] for c in of_dim]
            expected = (min(of_dim), max(of_dim), min(of_blocks), max(of_blocks))
            names = [f"{end} {kind} {dim}" for kind in ("coordinate", "block") for end in ("lowest", "highest")]
            assert tuple(columns[name][number] for name in names) == expected, (SETS[number], dim)
        assert columns["elements beyond the span"][number] == max(0, 64 - rows * cols)


def test_instructions_are_told_apart() -> None:
    text = TEXT.format(clamp="Constant").replace(
        "  - {op: MatrixStore, matrix: m, buffer: dst, stride: 8}",
        "  - {op: MatrixStoreTensor, matrix: m, buffer: dst, layout: t3}",
    )
    columns = registry.oracle().coordinates(Sweep(loads_case(text), np.array([[0, 0, 2, 4]], np.uint32)))
    assert columns["highest coordinate 1 of program[5]"] == columns["highest coordinate 1 of program[6]"] == 3


def test_a_template_without_tensors_has_none() -> None:
    text = """
schema: 1
name: plain
buffers:
  dst: {type: float32, shape: [64], data: {fill: -1}}
program:
  - {op: MatrixNull, id: z, type: {component: float32, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}}
  - {op: MatrixStore, matrix: z, buffer: dst, stride: 8}
"""
    assert registry.oracle().coordinates(Sweep(loads_case(text), np.zeros((3, 0), np.uint32))) == {}
