"""Reduction of functions that store to buffers: what is found stays, what is not needed goes."""

from __future__ import annotations

from cts.case.model import Case, MatrixPerElement, loads_case
from cts.findings.reduction.reducer import reduce

CASE = """
schema: 1
name: x
buffers:
  src: {type: int32, shape: [64], data: {iota: {}}}
  far: {type: int32, shape: [64], data: {iota: {}}, storage: PhysicalStorageBuffer}
  one: {type: int32, shape: [192], data: {fill: -5}}
  two: {type: int32, shape: [64], data: {fill: -5}}
  dst: {type: int32, shape: [64], data: {fill: -5}}
functions:
  f:
    kind: PerElement
    type: int32
    extras: [{name: v, type: int32, count: 2}, {name: p, type: int32, pointer: true}, {name: at, integer: true}]
    outputs: [{name: o, type: int32, buffer: one}, {name: t, type: int32, buffer: two}]
    body: |-
      for k in range(3):
          if row < 4:
              o[at + k * 64 + row * 8 + col] = value + v[0] + int32(k)
      t[col * 8 + row] = value * 3 + v[1]
      value + p[row]
program:
  - {op: MatrixLoad, id: m, type: {component: int32, scope: Subgroup, rows: 8, cols: 8, use: A}, buffer: src, stride: 8}
  - {op: Pointer, id: q, buffer: far, offset: 3}
  - {op: MatrixPerElement, id: r, matrix: m, function: f, scalars: [2, 3], pointers: [q], integers: [0]}
  - {op: MatrixStore, matrix: r, buffer: dst, stride: 8}
"""


def _stores_to_two(case: Case) -> bool:
    """Whether a function that is called stores to the buffer `two`."""
    called = {i.function for i in case.program if isinstance(i, MatrixPerElement)}
    functions = (f for name, f in case.functions.items() if name in called)
    return any(o.buffer == "two" for f in functions for o in getattr(f, "outputs", ()))


def test_what_stores_is_kept_and_the_rest_goes() -> None:
    smallest = reduce(loads_case(CASE), _stores_to_two)
    assert [type(i).__name__ for i in smallest.program][-1] == "MatrixPerElement"
    (function,) = smallest.functions.values()
    assert [o.buffer for o in function.outputs] == ["two"]  # type: ignore[union-attr]
    assert not function.extras  # type: ignore[union-attr]
    assert set(smallest.buffers) == {"two"}
