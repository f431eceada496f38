"""Reduction by structure: smaller, well-formed, still failing, and never larger."""

from msgspec import structs

from cts.case.model import Case, Loop, MatrixLoad, MatrixLoadTensor, Return, Scalar, dumps_case, loads_case
from cts.findings.reduction.reducer import reduce
from tests.minimize.pass_rules import candidates, check_rules

CASE = loads_case("""\
schema: 1
name: x
dispatch: {workgroups: [2, 1, 1]}
buffers:
  src: {type: uint8, shape: [64], data: {iota: {}}}
  dst: {type: uint8, shape: [256], data: {fill: 99}}
  other: {type: uint8, shape: [256], data: {fill: 99}}
program:
  - {op: TensorLayout, id: t, dim: 1}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [64]}
  - {op: TensorLayoutSlice, id: t2, of: t1, offset: [3], span: [16]}
  - {op: TensorView, id: v, dim: 1, has_dimensions: false, permutation: [0]}
  - {op: TensorViewSetClip, id: v1, of: v, row_offset: 0, row_span: 4, col_offset: 0, col_span: 4}
  - {op: MatrixConstant, id: z, type: {component: uint8, scope: Subgroup, rows: 4, cols: 4, use: A}, value: 0}
  - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t2, view: v1}
  - {op: MatrixLoadTensor, id: m2, object: m, buffer: src, layout: t1}
  - {op: MatrixStore, matrix: m2, buffer: dst, stride: 4, offset: {literal: 0, wg.x: 16}}
  - {op: MatrixStore, matrix: m, buffer: other, stride: 4, offset: {literal: 0, wg.x: 16}}
""")


def test_every_candidate_is_well_formed_and_smaller() -> None:
    check_rules(CASE, 8)


def test_a_return_that_does_not_matter_goes() -> None:
    first, *rest = CASE.program
    ending = structs.replace(CASE, program=(first, Return(condition=Scalar(literal=0, wg_x=1)), *rest))
    check_rules(ending, 8)
    smallest = reduce(ending, lambda case: any(isinstance(i, MatrixLoadTensor) for i in case.program))
    assert not any(isinstance(i, Return) for i in smallest.program)


def test_reduces_to_what_fails() -> None:
    def loads_with_a_view(case: Case) -> bool:
        return any(isinstance(i, MatrixLoadTensor) and i.view is not None for i in case.program)

    smallest = reduce(CASE, loads_with_a_view)
    assert [type(i).__name__ for i in smallest.program] == [
        "TensorLayout", "TensorView", "MatrixConstant", "MatrixLoadTensor", "MatrixStore",
    ]  # fmt: skip
    assert set(smallest.buffers) == {"src", "dst"}
    assert smallest.dispatch.workgroups == (1, 1, 1)


def test_what_cannot_go_stays() -> None:
    assert reduce(CASE, lambda case: case == CASE) == CASE


M = "{component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}"
PROGRAM = loads_case(f"""\
schema: 1
name: x
dispatch: {{workgroups: [2, 1, 1]}}
functions:
  more: {{kind: Combine, type: float32, body: 'max(x, y)'}}
  bias: {{kind: PerElement, type: float32, body: value + o, extras: [{{name: o, matrix: true}}]}}
buffers:
  x: {{type: float32, shape: [64, 16], data: {{iota: {{}}}}}}
  s: {{type: float32, shape: [2, 256], data: {{fill: 0}}, storage: Workgroup}}
  d: {{type: float32, shape: [2, 256], data: {{fill: 9}}}}
program:
  - {{op: Pointer, id: p, buffer: x, offset: 256}}
  - {{op: Pointer, id: q, buffer: x}}
  - {{op: PointerSelect, id: r, condition: {{dynamic: 1}}, a: p, b: q}}
  - {{op: MatrixNull, id: z, type: {M}}}
  - {{op: Loop, count: {{dynamic: 2}}, carry: [{{id: a, init: z}}, {{id: b, init: z}}]}}
  - {{op: Loop, count: 3, carry: [{{id: c, init: a}}]}}
  - {{op: MatrixLoad, id: m, type: {M}, buffer: r, stride: 16, offset: {{literal: 0, loop: 16, loop.outer: 128}}}}
  - {{op: MatrixArithmetic, id: n, operation: FAdd, a: c, b: m}}
  - {{op: EndLoop, next: [n]}}
  - {{op: If, condition: {{literal: 0, loop: 1}}}}
  - {{op: MatrixReduce, id: t, matrix: c, mode: [Row], combine: more}}
  - {{op: Else}}
  - {{op: MatrixPerElement, id: u, matrix: c, function: bias, matrices: [b]}}
  - {{op: EndIf, merge: [{{id: v, then: t, otherwise: u}}]}}
  - {{op: EndLoop, next: [v, a]}}
  - {{op: MatrixCopy, id: w, matrix: a, through: Array}}
  - {{op: MatrixStore, matrix: w, buffer: s, stride: 16}}
  - {{op: ControlBarrier}}
  - {{op: MatrixLoad, id: k, type: {M}, buffer: s, stride: 16}}
  - {{op: MatrixStore, matrix: k, buffer: d, stride: 16, offset: {{literal: 0, wg.x: 256}}}}
""")


def left(case: Case) -> list[str]:
    return [type(i).__name__ for i in case.program]


def has(case: Case, *names: str) -> bool:
    return set(names) <= set(left(case))


def test_every_candidate_of_a_program_with_blocks_is_well_formed_and_smaller() -> None:
    check_rules(PROGRAM, 40)


def test_blocks_around_what_fails_go() -> None:
    smallest = reduce(PROGRAM, lambda case: has(case, "MatrixReduce", "MatrixStore"))
    assert sorted(left(smallest)) == ["MatrixNull", "MatrixReduce", "MatrixStore"]
    assert set(smallest.functions) == {"more"}
    assert smallest.dispatch.workgroups == (1, 1, 1)


def test_the_other_arm_is_kept_where_it_fails() -> None:
    smallest = reduce(PROGRAM, lambda case: has(case, "MatrixPerElement", "MatrixStore"))
    assert sorted(left(smallest)) == ["MatrixNull", "MatrixPerElement", "MatrixStore"]
    assert set(smallest.functions) == {"bias"}


def test_a_loop_that_is_needed_stays_with_what_it_carries() -> None:
    def carries(case: Case) -> bool:
        return any(isinstance(i, Loop) and i.carry for i in case.program) and has(case, "MatrixArithmetic")

    smallest = reduce(PROGRAM, carries)
    assert left(smallest).count("Loop") == left(smallest).count("EndLoop") == 1
    assert len(smallest.program) <= 5


def test_a_loop_becomes_its_first_iteration() -> None:
    once = next(
        c for c in candidates(PROGRAM) if left(c).count("Loop") == 1 and has(c, "MatrixArithmetic", "MatrixReduce") and
        isinstance(c.program[5], MatrixLoad)
    )  # fmt: skip
    load = once.program[5]
    assert isinstance(load, MatrixLoad)
    # The inner loop is gone: its index was 0, and the outer loop is now the innermost.
    assert load.offset == Scalar(literal=0, loop=128)


def test_pointers_and_workgroup_memory_go() -> None:
    smallest = reduce(PROGRAM, lambda case: has(case, "MatrixLoad", "ControlBarrier", "MatrixStore"))
    assert sorted(left(smallest)) == ["ControlBarrier", "MatrixLoad", "MatrixStore"]
    kept = reduce(PROGRAM, lambda case: "s" in case.buffers)
    assert kept.buffers["s"].shape == (1, 1)


def test_operands_become_plain_and_matrices_small() -> None:
    smallest = reduce(PROGRAM, lambda case: has(case, "PointerSelect", "MatrixStore", "MatrixLoad"))
    text = dumps_case(smallest)
    assert "dynamic" not in text
    assert "wg.x" not in text
    assert "rows: 1, cols: 1," in text


TENSORS = loads_case(f"""\
schema: 1
name: x
functions:
  f: {{kind: Decode, returns: float32, dim: 2, block: [{{name: v, type: float32}}], body: block.v}}
  g: {{kind: DecodeVector, returns: float32, dim: 2, lanes: 2, block: [{{name: v, type: float32}}], body: block.v}}
buffers:
  x: {{type: float32, shape: [16, 16], data: {{iota: {{}}}}, storage: PhysicalStorageBuffer}}
  d: {{type: float32, shape: [16, 16], data: {{fill: 9}}}}
program:
  - {{op: TensorLayout, id: t, dim: 2}}
  - {{op: TensorLayoutSetBlockSize, id: t1, of: t, block_size: [1, 2]}}
  - {{op: TensorLayoutSetDimension, id: t2, of: t1, dims: [{{spec: 16}}, 16]}}
  - {{op: MatrixConstant, id: z, type: {M}, value: {{dynamic: 2}}}}
  - {{op: MatrixLoadTensor, id: m, object: z, buffer: x, layout: t2, decode: f, decode_vector: g}}
  - {{op: MatrixStore, matrix: m, buffer: d, stride: 16, order: ColumnMajor}}
""")


def test_a_tensor_load_becomes_a_plain_one_where_it_fails_too() -> None:
    smallest = reduce(TENSORS, lambda case: has(case, "MatrixStore") and "x" in case.buffers)
    assert left(smallest) == ["MatrixLoad", "MatrixStore"]
    assert "storage" not in dumps_case(smallest)
    assert "ColumnMajor" not in dumps_case(smallest)


def test_decode_functions_go_one_by_one() -> None:
    def decodes(case: Case) -> bool:
        return any(isinstance(i, MatrixLoadTensor) and i.decode for i in case.program)

    smallest = reduce(TENSORS, decodes)
    assert set(smallest.functions) == {"f"}
    assert left(smallest) == ["TensorLayout", "MatrixConstant", "MatrixLoadTensor", "MatrixStore"]
