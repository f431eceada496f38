"""Small cases that leave little to compare: the explanation still names the instruction and the fact."""

from __future__ import annotations

import pytest

from cts.case.model import loads_case
from cts.findings.explain import Explanation, explain
from cts.running.opening import open_driver
from tests.explain.drivers import ORACLE

ONE = "type: {component: uint32, scope: Subgroup, rows: 1, cols: 1, use: Accumulator}"

OUT_OF_BOUNDS = f"""
schema: 1
name: x
buffers:
  dst: {{type: uint32, shape: [1], data: {{fill: 5}}}}
program:
  - {{op: MatrixConstant, id: c, {ONE}, value: 0}}
  - {{op: TensorLayout, id: t, dim: 1, clamp: Repeat}}
  - {{op: TensorLayoutSlice, id: t2, of: t, offset: [0], span: [1]}}
  - {{op: MatrixStoreTensor, matrix: c, buffer: dst, layout: t2}}
"""

CONDITION = f"""
schema: 1
name: x
buffers:
  dst: {{type: uint32, shape: [1], data: {{fill: 5}}}}
program:
  - {{op: MatrixConstant, id: c, {ONE}, value: 0}}
  - {{op: If, condition: CONDITION}}
  - {{op: MatrixStore, matrix: c, buffer: dst, stride: 0}}
  - {{op: EndIf}}
"""

CONVERTED = """
schema: 1
name: x
dispatch: {invocations: 1}
opaque:
  w: {component: float8_e5m2, rows: 1, cols: 1, layout: InferencingOptimal}
conversions:
  - {source: {of: mat, component: float16, layout: RowMajor, stride: 4}, destination: {of: w}, rows: 1, cols: 1}
buffers:
  mat: {type: float16, shape: [2], data: {fill: 36}}
  dst: {type: float16, shape: [1], data: {fill: 0}}
program:
  - {op: VectorConstant, id: x, type: {component: float16, length: 1}, value: 1}
  - {op: VectorMatrixMul, id: r, type: {component: float16, length: 1}, input: x, input_interpretation: float8_e5m2,
     matrix: w, matrix_interpretation: float8_e5m2, m: 1, k: 1, layout: InferencingOptimal}
  - {op: VectorStore, vector: r, buffer: dst}
"""


def explained(text: str, mutant: str) -> Explanation:
    return explain(loads_case(text), open_driver(f"emulator:mutant={mutant}"), ORACLE)


def test_a_store_out_of_bounds() -> None:
    found = explained(OUT_OF_BOUNDS, "store-repeat-wraps")
    assert (found.instruction, found.op, found.facts[0]) == (3, "MatrixStoreTensor", "TA-035")
    assert found.suspects[0].why == "1 elements are out of bounds, and must not be stored"


@pytest.mark.parametrize("condition", ["0", "1"])
def test_a_store_that_is_come_to_otherwise(condition: str) -> None:
    found = explained(CONDITION.replace("CONDITION", condition), "if-inverted")
    assert (found.instruction, found.op, found.facts[0]) == (1, "If", "KM-019")
    said = {"0": "program[2] (MatrixStore) would, but for program[1]", "1": "program[2] stores nothing, within the If"}
    assert any(said[condition] in note for note in found.notes)


def test_a_matrix_that_was_converted_wrong() -> None:
    found = explained(CONVERTED, "conversion-ties-away")
    assert (found.instruction, found.op, found.facts[0]) == (None, "conversions[0]", "VK-054")
    assert "'w' is wrong already where it is converted back" in found.notes


def test_a_product_of_a_matrix_that_was_converted_right() -> None:
    found = explained(CONVERTED, "vector-k-tail-dropped")
    assert (found.instruction, found.op) == (1, "VectorMatrixMul")
    assert "CV-018" in found.facts
