"""Reduction of numbers, ranks, bodies, types and data: each towards what a reader sees through."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cts.case import model
from cts.findings.reduction.candidates import smaller_numbers
from cts.findings.reduction.reducer import reduce
from tests.minimize.pass_rules import check_rules

A = "{component: int8, scope: Subgroup, rows: 16, cols: 16, use: A}"
CASE = model.loads_case(f"""\
schema: 1
name: x
dispatch: {{workgroups: [3, 2, 1], subgroups: 2}}
functions:
  f:
    kind: PerElement
    type: int8
    body: |-
      twice = value + value
      twice * s if row < col else max(o, int8(3))
    extras: [{{name: s, type: int8}}, {{name: o, matrix: true}}, {{name: unused, type: int8}}]
buffers:
  src: {{type: int8, shape: [4, 8, 9], data: {{random: {{seed: 7, low: -9, high: 9}}}}}}
  dst: {{type: int8, shape: [16, 16], data: {{fill: 77}}}}
program:
  - {{op: TensorLayout, id: t, dim: 3, clamp: Repeat}}
  - {{op: TensorLayoutSetDimension, id: t1, of: t, dims: [4, 8, 9]}}
  - {{op: TensorLayoutSlice, id: t2, of: t1, offset: [1, 2, -3], span: [4, 8, 8]}}
  - {{op: TensorLayoutSlice, id: t3, of: t2, offset: [1, 1, 1], span: [4, 8, 8]}}
  - {{op: TensorView, id: v, dim: 3, has_dimensions: false, permutation: [2, 0, 1]}}
  - {{op: MatrixConstant, id: z, type: {A}, value: -7, replicated: true}}
  - {{op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t3, view: v}}
  - {{op: MatrixPerElement, id: p, matrix: m, function: f, matrices: [z], scalars: [2, 5]}}
  - {{op: Pointer, id: q, buffer: dst, offset: 8}}
  - {{op: MatrixStore, matrix: p, buffer: q, stride: 16, offset: -8}}
""")


def has(case: model.Case, *kinds: type) -> bool:
    return all(any(isinstance(i, kind) for i in case.program) for kind in kinds)


def test_every_candidate_is_well_formed_and_smaller() -> None:
    check_rules(CASE, 100)


@pytest.mark.parametrize("number", [1, 2, 3, 17, 4096, -5, 0xFFFFFFFF])
def test_smaller_numbers_descend_in_few_steps(number: int) -> None:
    found = list(smaller_numbers(number))
    assert len(found) <= 40
    assert all(abs(n) < abs(number) for n in found)
    if 0 < number < 1 << 31:
        # Greedy descent can stop just above any number.
        for wanted in (1, number // 3, number - 1):
            at = number
            while lower := [n for n in smaller_numbers(at) if n >= wanted]:
                at = lower[0]
            assert at == wanted


def test_ranks_go_one_by_one() -> None:
    smallest = reduce(
        CASE, lambda case: has(case, model.TensorLayout, model.TensorLayoutSetDimension) and "src" in case.buffers
    )
    layout = next(i for i in smallest.program if isinstance(i, model.TensorLayout))
    assert layout.dim == 1
    assert "clamp" not in model.dumps_case(smallest)


def test_slices_are_merged() -> None:
    def offset(case: model.Case) -> bool:
        """The slices of dimension 1 come to 3."""
        total = 0
        for i in case.program:
            if isinstance(i, model.TensorLayoutSlice) and len(i.offset) == 3 and isinstance(i.offset[1], int):
                total += i.offset[1]
        return total == 3 and "src" in case.buffers

    smallest = reduce(CASE, offset)
    (one,) = [i for i in smallest.program if isinstance(i, model.TensorLayoutSlice)]
    assert one.offset == (0, 3, 0)


def test_a_body_becomes_what_is_needed_of_it() -> None:
    def compares(case: model.Case) -> bool:
        return any("row < col" in f.body for f in case.functions.values()) and has(case, model.MatrixPerElement)

    (function,) = reduce(CASE, compares).functions.values()
    assert "extras" not in model.dumps_case(reduce(CASE, compares))
    assert function.body == "value if row < col else value"


def test_the_dispatch_becomes_one_subgroup() -> None:
    smallest = reduce(CASE, lambda case: "dst" in case.buffers)
    assert "dispatch" not in model.dumps_case(smallest)


def test_read_data_count_and_written_data_are_plain() -> None:
    smallest = reduce(CASE, lambda case: {"src", "dst"} <= set(case.buffers))
    assert model.dumps_case(smallest).count("{iota: {}}") == 1
    assert "{fill: 0}" in model.dumps_case(smallest)
    assert "int8" not in model.dumps_case(smallest)


V = "{component: float16, scope: Subgroup, rows: 4, cols: 4, use: A}"
VALUES = model.loads_case(f"""\
schema: 1
name: x
buffers:
  src: {{type: float16, shape: [4, 4], data: {{random: {{seed: 3, low: -9, high: 9}}}}}}
  dst: {{type: float16, shape: [4, 4], data: {{fill: 77}}}}
program:
  - {{op: MatrixLoad, id: m, type: {V}, buffer: src, stride: 4}}
  - {{op: MatrixStore, matrix: m, buffer: dst, stride: 4}}
""")


def test_where_counting_does_not_do_few_numbers_are_left() -> None:
    def two_negatives(case: model.Case) -> bool:
        return "src" in case.buffers and int((decode_all(case) < 0).sum()) >= 2

    data = reduce(VALUES, two_negatives).buffers["src"].data
    assert data.fill == -1 or sorted(n for n in data.values or () if n) == [-1, -1]


def decode_all(case: model.Case) -> npt.NDArray[np.float64]:
    """The numbers of `src`."""
    buffer = case.buffers["src"]
    return model.decode(buffer.type, model.initial_bits(buffer)).astype(np.float64)


def test_rows_and_columns_go_on_their_own() -> None:
    """A failure of matrices with more than 5 rows needs no columns."""

    def tall(case: model.Case) -> bool:
        shapes = [t for t in model.types_of(case).values() if isinstance(t, model.MatrixShape)]
        return has(case, model.MatrixPerElement) and all(t.rows > 5 for t in shapes)

    smallest = reduce(CASE, tall)
    assert {(t.rows, t.cols) for t in model.types_of(smallest).values() if isinstance(t, model.MatrixShape)} == {(6, 1)}


SPECIAL = model.loads_case("""\
schema: 1
name: x
float_controls: FastMathNone
buffers:
  src: {type: float16, shape: [64], data: {cycle: [1, '0x7e01', 3, '0x8000', -2, '0xfc00', 0.5]}}
  dst: {type: float16, shape: [64], data: {fill: 77}}
program:
  - {op: MatrixLoad, id: a, type: {component: float16, scope: Subgroup, rows: 8, cols: 8, use: A},
     buffer: src, stride: 8}
  - {op: MatrixStore, matrix: a, buffer: dst, stride: 8}
""")


@pytest.mark.parametrize("pattern", [0x7E01, 0x8000, 0xFC00])
def test_a_special_number_is_left_alone(pattern: int) -> None:
    smallest = reduce(
        SPECIAL, lambda case: "src" in case.buffers and pattern in model.initial_bits(case.buffers["src"])
    )
    assert smallest.buffers["src"].data.fill == f"0x{pattern:04x}"


def test_two_special_numbers_are_left_among_few() -> None:
    smallest = reduce(
        SPECIAL, lambda case: "src" in case.buffers and {0x7E01, 0xFC00} <= {*model.initial_bits(case.buffers["src"])}
    )
    data = smallest.buffers["src"].data
    assert {*(data.cycle or data.values or ())} == {"0x7e01", "0xfc00"}
