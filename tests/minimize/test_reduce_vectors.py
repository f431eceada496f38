"""Reduction of cases of cooperative vectors: well-formed, smaller, and down to what fails."""

from __future__ import annotations

from cts.case import model
from cts.findings.reduction.reducer import reduce
from tests.minimize.pass_rules import check_rules

CASE = model.loads_case("""\
schema: 1
name: x
dispatch: {workgroups: [2, 1, 1], invocations: 33}
opaque:
  w: {component: float16, rows: 5, cols: 9, layout: InferencingOptimal, offset: 64}
  g: {component: float32, rows: 5, cols: 9, layout: TrainingOptimal, zero: true}
conversions:
  - source: {of: m, component: float16, layout: RowMajor, stride: 20}
    destination: {of: w}
    rows: 5
    cols: 9
    host: true
  - source: {of: g}
    destination: {of: back, component: float32, layout: RowMajor, stride: 40}
    rows: 5
    cols: 9
    after: true
buffers:
  m: {type: float16, shape: [64], data: {iota: {modulo: 7}}}
  x: {type: float16, shape: [1056], data: {iota: {modulo: 5}}}
  bias: {type: float16, shape: [16], data: {iota: {}}}
  back: {type: float32, shape: [64], data: {fill: -5}}
  y: {type: float16, shape: [2048], data: {fill: -5}}
  sum: {type: float16, shape: [16], data: {fill: 0}}
program:
  - {op: VectorLoad, id: i, type: {component: float16, length: 9}, buffer: x, offset: {literal: 0, inv: 32}}
  - op: VectorMatrixMul
    id: r
    type: {component: float16, length: 5}
    input: i
    input_interpretation: {spec: float16}
    matrix: w
    matrix_offset: 64
    matrix_interpretation: float16
    m: 5
    k: {spec: 9}
    layout: {spec: InferencingOptimal}
    bias: bias
    bias_offset: 16
    bias_interpretation: float16
  - {op: VectorConstant, id: c, type: {component: float16, length: 5}, values: [1, 2, 3, 4, 5]}
  - {op: VectorArithmetic, id: s, operation: FMax, a: r, b: c}
  - {op: VectorOuterProductAccumulate, a: s, b: i, matrix: g, interpretation: float32}
  - {op: VectorExtract, id: e, vector: i, index: {literal: 0, inv: 1, mod: 9}}
  - {op: VectorConstruct, id: v, type: {component: float16, length: 7}, parts: [s, e, e]}
  - {op: VectorStore, vector: v, buffer: y, offset: {literal: 0, inv: 16, wg.x: 528}}
  - {op: VectorTimesScalar, id: t, vector: s, scalar: e}
  - {op: VectorReduceSumAccumulate, vector: t, buffer: sum}
""")


def test_every_candidate_is_well_formed_and_smaller() -> None:
    check_rules(CASE, 30)


def test_a_product_is_what_is_left() -> None:
    def multiplies_and_stores(case: model.Case) -> bool:
        return {model.VectorMatrixMul, model.VectorStore} <= {type(i) for i in case.program}

    smallest = reduce(CASE, multiplies_and_stores)
    assert [type(i).__name__ for i in smallest.program] == ["VectorConstant", "VectorMatrixMul", "VectorStore"]
    assert (smallest.dispatch.invocations, smallest.dispatch.workgroups) == (1, (1, 1, 1))
    assert {o.rows for o in smallest.opaque.values()} == {o.cols for o in smallest.opaque.values()} == {1}
    product = next(i for i in smallest.program if isinstance(i, model.VectorMatrixMul))
    assert (product.bias, product.bias_offset, product.k, product.m) == (None, 0, 1, 1)
    assert smallest.conversions == ()
    assert set(smallest.opaque) == {"w"}


def test_conversions_go_one_by_one() -> None:
    smallest = reduce(CASE, lambda case: any(c.after for c in case.conversions))
    assert len(smallest.conversions) == 1
    assert set(smallest.opaque) == {"g"}
    assert "back" in smallest.buffers and "m" not in smallest.buffers


def test_parts_are_dropped() -> None:
    smallest = reduce(CASE, lambda case: any(isinstance(i, model.VectorConstruct) for i in case.program))
    made = next(i for i in smallest.program if isinstance(i, model.VectorConstruct))
    assert len(made.parts) == 1


def test_a_sum_is_what_is_left() -> None:
    smallest = reduce(CASE, lambda case: any(isinstance(i, model.VectorReduceSumAccumulate) for i in case.program))
    assert [type(i).__name__ for i in smallest.program] == ["VectorConstant", "VectorReduceSumAccumulate"]


ATOMIC = model.loads_case("""
schema: 1
name: x
dispatch: {workgroups: [2, 1, 1], invocations: 5}
buffers:
  counter: {type: uint32, shape: [8], data: {fill: 7}}
  sum: {type: float16, shape: [16], data: {fill: 1}}
program:
  - {op: VectorConstant, id: n, type: {component: uint32, length: 3}, value: 5}
  - {op: VectorConstant, id: x, type: {component: float16, length: 3}, values: [1, 2, 3]}
  - {op: VectorAtomicAdd, vector: n, buffer: counter, offset: {dynamic: 4, inv: 4, mod: 16}}
  - {op: VectorReduceSumAccumulate, vector: x, buffer: sum}
  - {op: VectorAtomicAdd, vector: x, buffer: sum, offset: 2, scope: Device}
""")


def test_every_candidate_of_atomic_additions_is_well_formed_and_smaller() -> None:
    check_rules(ATOMIC, 5)


def test_an_atomic_addition_is_what_is_left() -> None:
    smallest = reduce(ATOMIC, lambda case: any(isinstance(i, model.VectorAtomicAdd) for i in case.program))
    assert [type(i).__name__ for i in smallest.program] == ["VectorConstant", "VectorAtomicAdd"]
    (addition,) = (i for i in smallest.program if isinstance(i, model.VectorAtomicAdd))
    assert (addition.offset, addition.scope) == (0, model.AtomicScope.QueueFamily)
