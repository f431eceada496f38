"""Reduction by structure: smaller, well-formed, still failing, and never larger."""

from cts.model import Case, MatrixLoadTensor, dumps_case, loads_case, types_of
from cts.reduce import reduce, reductions

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


def test_every_reduction_is_well_formed_and_has_less() -> None:
    found = list(reductions(CASE))
    assert len(found) >= 8
    for smaller in found:
        types_of(smaller)
        assert len(dumps_case(smaller)) < len(dumps_case(CASE))


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
