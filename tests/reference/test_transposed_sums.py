"""Transposed matrices keep what is known of the sums that made them, where an addend is the same in all elements."""

from __future__ import annotations

import numpy as np

from cts.case.model import loads_case
from cts.plugins import registry

CASE = """
schema: 1
name: transposed_sum
functions: {f: {kind: Component, type: float32, body: value + 1}}
buffers:
  src: {type: float32, shape: [4], data: {values: [1, 2, 3, 4]}}
  dst: {type: float32, shape: [4], data: {fill: -5}}
program:
  - op: MatrixLoad
    id: m
    type: {component: float32, scope: Subgroup, rows: 2, cols: 2, use: Accumulator}
    buffer: src
    stride: 2
  - {op: MatrixComponents, id: s, matrix: m, function: f}
  - {op: MatrixTranspose, id: t, matrix: s}
  - {op: MatrixArithmetic, id: d, operation: FAdd, a: t, b: t}
  - {op: MatrixStore, matrix: d, buffer: dst, stride: 2}
"""


def test_a_transposed_sum_with_a_constant_is_judged() -> None:
    oracle, case = registry.oracle(), loads_case(CASE)
    assert oracle.violations(case) == []
    stored = oracle.expect(case).buffers["dst"].exact.view(np.float32)
    assert stored.tolist() == [4, 8, 6, 10]
