"""Traces of computed elements: where values come from, step by step."""

from __future__ import annotations

from cts.case.model import Case
from cts.case.oracle.trace import TraceStep
from cts.judging.sentences import step_parts
from cts.reference import ORACLE
from tests.reference.cases import case_of


def matrix(use: str, component: str = "float16", rows: int = 2, cols: int = 8) -> str:
    return f"{{component: {component}, scope: Subgroup, rows: {rows}, cols: {cols}, use: {use}}}"


def steps(case: Case, buffer: str, offset: int) -> list[TraceStep]:
    assert ORACLE.violations(case) == []
    return list(ORACLE.trace(case, buffer, offset).steps)


def found(trace: list[TraceStep], fact: str) -> list[tuple[str, str]]:
    return [step_parts(s) for s in trace if s.fact == fact]


BUFFERS = """
  x: {type: float16, shape: [2, 8], data: {iota: {start: 1}}}
  y: {type: float16, shape: [8, 8], data: {iota: {start: 1}}}
  out: {type: float16, shape: [16, 8], data: {fill: -1}}
"""


def test_products_show_their_terms_and_the_loop_their_iterations() -> None:
    case = case_of(
        f"""
op: MatrixNull, id: z, type: {matrix("Accumulator")}
op: MatrixLoad, id: a, type: {matrix("A")}, buffer: x, stride: 8
op: MatrixConstant, id: b, type: {matrix("B", rows=8)}, value: 2
op: Loop, count: 2, carry: [{{id: acc, init: z}}]
op: MatrixMulAdd, id: d, a: a, b: b, c: acc
op: EndLoop, next: [d]
op: MatrixStore, matrix: acc, buffer: out, stride: 8
""",
        buffers=BUFFERS,
    )
    trace = steps(case, "out", 2 * (8 + 3))
    first, second = found(trace, "NU-010")
    assert first == (
        "sum over k of 'a'[1, k] * 'b'[k, 3]: 9 * 2 + 10 * 2 + 11 * 2 + 12 * 2 + ... (8 products) + 200",
        "0x5e40",
    )
    assert second[0].endswith("+ 0") and second[1] == "0x5a40"
    carried = found(trace, "NU-014")
    assert [what for what, _ in carried] == [
        "carried from 'd' as it is",
        "carried from 'd' as it is",
        "carried from 'z' as it is",
    ]
    assert "iteration 1" in next(what for what, _ in map(step_parts, trace) if "MatrixMulAdd" in what)
    assert step_parts(trace[-1])[1] == "0x40"


def test_conversions_say_what_is_allowed() -> None:
    case = case_of(
        f"""
op: MatrixConstant, id: a, type: {matrix("Accumulator", "float32")}, value: 1.000030517578125
op: MatrixConvert, id: d, matrix: a, operation: FConvert, component: float16
op: MatrixStore, matrix: d, buffer: out, stride: 8
""",
        buffers=BUFFERS,
    )
    ((begin, _), (what, value)) = found(steps(case, "out", 0), "NU-012")
    assert "MatrixConvert" in begin
    assert what == "OpFConvert of 'a' = 1.00003052"
    assert value.startswith("0x3c00, of [1, 1.00097656] (either neighbour")


def test_reductions_transposes_and_calls() -> None:
    case = case_of(
        f"""
op: MatrixLoad, id: a, type: {matrix("Accumulator")}, buffer: x, stride: 8
op: MatrixReduce, id: r, matrix: a, mode: [Row], combine: big
op: MatrixPerElement, id: p, matrix: a, function: f, matrices: [r], scalars: [2]
op: MatrixTranspose, id: t, matrix: p
op: MatrixStore, matrix: t, buffer: out, stride: 8
""",
        buffers=BUFFERS,
        functions="""
  big: {kind: Combine, type: float16, body: "max(x, y)"}
  f: {kind: PerElement, type: float16, body: "value * s + o",
      extras: [{name: s, type: float16}, {name: o, matrix: true}]}
""",
    )
    trace = steps(case, "out", 2 * (8 * 5 + 1))
    assert found(trace, "CM-052")[1] == ("element (1, 5) of 'p'", "0x5180")  # 14 * 2 + 16 is 44
    assert found(trace, "CM-030")[1][0] == "'f' of row 1, col 5, 'a' = 14, 'r' = 16: `value * s + o`"
    assert found(trace, "CM-022")[1] == ("'big' over 8 elements of 'a', from (1, 0): 9, 10, 11, 12, ...", "0x4c00")


def test_decoded_elements_show_their_block() -> None:
    case = case_of(
        """
op: MatrixNull, id: z, type: MATRIX
op: TensorLayout, id: t0, dim: 2
op: TensorLayoutSetBlockSize, id: t1, of: t0, block_size: [1, 16]
op: TensorLayoutSetDimension, id: t2, of: t1, dims: [16, 32]
op: TensorLayoutSlice, id: t, of: t2, offset: [0, 8], span: [16, 16]
op: MatrixLoadTensor, id: m, object: z, buffer: w, layout: t, decode: f
op: MatrixStore, matrix: m, buffer: dst, stride: 16
""",
        buffers="  w: {type: uint8, shape: [32, 18], data: {iota: {modulo: 100}}}",
        functions="""
  f: {kind: Decode, returns: float16, dim: 2, block: [{name: d, type: float16}, {name: q, type: uint8, count: 16}],
      body: "float16(block.q[coordInBlock[1]])"}
""",
    )
    trace = steps(case, "dst", 2 * (16 * 3 + 11))
    assert found(trace, "TA-037") == [("byte address: pointer 0 + index 7 * 18", "126")]
    (what, value) = found(trace, "DV-011")[0]
    assert what.startswith("'f' of the block at byte 126 of 'w', blockCoord (3, 1), coordInBlock (0, 3): `float16(")
    assert value == "0x4fc0"  # byte 126 + 2 + 3 is 31


def test_conditions_and_workgroup_parts() -> None:
    case = case_of(
        f"""
op: MatrixLoad, id: a, type: {matrix("Accumulator")}, buffer: part, stride: 8
op: If, condition: {{literal: 0, wg.x: 1}}
op: MatrixArithmetic, id: n, operation: FNegate, a: a
op: EndIf, merge: [{{id: r, then: n, otherwise: a}}]
op: MatrixStore, matrix: r, buffer: out, stride: 8, offset: {{literal: 0, wg.x: 16}}
""",
        "{workgroups: [2, 1, 1]}",
        BUFFERS + "  part: {type: float16, shape: [2, 2, 8], data: {iota: {start: 1}}, storage: Workgroup}\n",
    )
    then, otherwise = (steps(case, "out", offset) for offset in (2 * 21, 2 * 5))
    assert found(then, "NU-014")[0][0] == "carried from 'n' as it is"
    assert found(otherwise, "NU-014")[0][0] == "carried from 'a' as it is"
    assert found(then, "CM-013") == [("the workgroup's part begins at byte 32: pointer 0", "32")]
    assert found(then, "NU-011")[1] == ("OpFNegate of 'a' = 22", "0xcd80")


def test_what_may_be_anything_says_why() -> None:
    case = case_of(
        f"""
op: MatrixConstant, id: a, type: {matrix("Accumulator")}, value: 60000
op: MatrixArithmetic, id: d, operation: FAdd, a: a, b: a
op: MatrixStore, matrix: d, buffer: out, stride: 8
""",
        buffers=BUFFERS,
    )
    assert "anything (" in found(steps(case, "out", 0), "NU-011")[1][1]
