"""Loops, conditions, barriers, workgroup memory, pointers; and freedom that goes through memory."""

from __future__ import annotations

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import GUARD_BYTES, Case, decode, initial_memory
from cts.case.model import ComponentType as T
from cts.case.oracle.expectation import Expectation, Freedom
from cts.judging.compare import compare
from cts.reference import ORACLE
from tests.reference.cases import case_of
from tests.reference.scalar_program import execute_scalar

SMALL = "{component: float16, scope: Subgroup, rows: 4, cols: 8, use: Accumulator}"


def expect(case: Case) -> Expectation:
    """The expectation, which allows what three scalar executions leave."""
    assert ORACLE.violations(case) == []
    expectation = ORACLE.expect(case)
    for seed in range(3):
        memory = initial_memory(case)
        for name, contents in execute_scalar(case, seed).memory.items():
            memory[name][GUARD_BYTES:-GUARD_BYTES] = np.frombuffer(contents, np.uint8)
        assert compare(case, expectation, memory) is None
    return expectation


def numbers(
    expectation: Expectation, matrix: str, component: T = T.float16
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return decode(component, expectation.matrices[matrix]).astype(np.float64)


LOOP = """
op: MatrixConstant, id: z, type: MATRIX, value: 0
op: Loop, count: {dynamic: 2, wg.x: 1, sg: 2}, carry: [{id: acc, init: z}, {id: last, init: z}]
op: MatrixLoad, id: m, type: MATRIX, buffer: ones, stride: 8, offset: {literal: 0, loop: 32}
op: MatrixArithmetic, id: sum, operation: FAdd, a: acc, b: m
op: EndLoop, next: [sum, acc]
op: MatrixStore, matrix: acc, buffer: out, stride: 8, offset: {literal: 0, wg.x: 64, sg: 32}
op: MatrixStore, matrix: last, buffer: out2, stride: 8, offset: {literal: 0, wg.x: 64, sg: 32}
"""
BUFFERS = """
  ones: {type: float16, shape: [8, 32], data: {iota: {start: 1, modulo: 9}}}
  out: {type: float16, shape: [8, 32], data: {fill: -1}}
  out2: {type: float16, shape: [8, 32], data: {fill: -1}}
"""


def test_counts_vary_by_workgroup_and_subgroup() -> None:
    case = case_of(LOOP, "{workgroups: [2, 1, 1], subgroups: 2}", BUFFERS, SMALL)
    found = expect(case)
    acc = numbers(found, "acc")
    data = np.arange(256) % 9 + 1
    for instance, iterations in enumerate((2, 4, 3, 5)):
        tiles = data.reshape(8, 4, 8)[:iterations]
        np.testing.assert_array_equal(acc[instance], tiles.sum(0))
        np.testing.assert_array_equal(numbers(found, "last")[instance], tiles[:-1].sum(0))


def test_a_loop_of_no_iterations_gives_what_it_began_with() -> None:
    case = case_of(LOOP.replace("{dynamic: 2, wg.x: 1, sg: 2}", "{dynamic: 0}"), "{}", BUFFERS, SMALL)
    found = expect(case)
    assert (numbers(found, "acc") == 0).all()
    # Nobody ever came to the load.
    assert (found.spreads["m"].flags == Freedom.ANY).all()
    assert found.matrices["m"].shape == (1, 4, 8)


def test_nested_loops_see_both_indices() -> None:
    case = case_of(
        """
op: MatrixConstant, id: z, type: MATRIX, value: 0
op: Loop, count: 2, carry: [{id: outer, init: z}]
op: Loop, count: 3, carry: [{id: inner, init: outer}]
op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 8, offset: {literal: 0, loop: 32, loop.outer: 128}
op: MatrixArithmetic, id: sum, operation: FAdd, a: inner, b: m
op: EndLoop, next: [sum]
op: EndLoop, next: [inner]
op: MatrixStore, matrix: outer, buffer: dst, stride: 8
""".replace("src", "ones"),
        "{}",
        BUFFERS,
        SMALL,
    )
    data = (np.arange(256) % 9 + 1).reshape(8, 4, 8)
    np.testing.assert_array_equal(numbers(expect(case), "outer")[0], data[[0, 1, 2, 4, 5, 6]].sum(0))


CONDITION = """
op: MatrixConstant, id: a, type: MATRIX, value: 1
op: If, condition: {literal: 0, sg: 1}
op: MatrixConstant, id: b, type: MATRIX, value: 2
op: MatrixArithmetic, id: t, operation: FAdd, a: a, b: b
op: Else
op: MatrixConstant, id: e, type: MATRIX, value: 7
op: EndIf, merge: [{id: r, then: t, otherwise: e}]
op: MatrixStore, matrix: r, buffer: out, stride: 8, offset: {literal: 0, sg: 32}
"""


def test_conditions_vary_by_subgroup() -> None:
    found = expect(case_of(CONDITION, "{subgroups: 3}", BUFFERS, SMALL))
    assert [numbers(found, "r")[i, 0, 0] for i in range(3)] == [7, 3, 3]
    # Of a branch, only the instances that take it are known.
    assert (found.spreads["t"].flags != 0).all(axis=(1, 2)).tolist() == [True, False, False]
    assert (found.spreads["e"].flags != 0).all(axis=(1, 2)).tolist() == [False, True, True]


def test_stores_under_a_condition_happen_where_it_holds() -> None:
    case = case_of(
        """
op: MatrixConstant, id: a, type: MATRIX, value: 3
op: If, condition: {literal: 1, sg: -1}
op: MatrixStore, matrix: a, buffer: out, stride: 8, offset: {literal: 0, sg: 0x7fffffff}
op: EndIf
""",
        "{subgroups: 2}",
        BUFFERS,
        SMALL,
    )
    # The other subgroup's offset is far outside, and its store at the same place would be a race.
    out = expect(case).buffers["out"].exact.view(np.float16)
    assert (out[:32] == 3).all() and (out[32:] == -1).all()


SHARED = "  part: {type: float16, shape: [2, 4, 8], data: {iota: {}}, storage: Workgroup}\n"
THROUGH_SHARED = """
op: MatrixLoad, id: m, type: MATRIX, buffer: part, stride: 8
op: MatrixArithmetic, id: d, operation: FAdd, a: m, b: m
op: ControlBarrier
op: MatrixStore, matrix: d, buffer: part, stride: 8
op: ControlBarrier
op: MatrixLoad, id: r, type: MATRIX, buffer: part, stride: 8
op: MatrixStore, matrix: r, buffer: out, stride: 8, offset: {literal: 0, wg.x: 32}
"""


def test_workgroup_memory_is_a_part_for_each_workgroup() -> None:
    found = expect(case_of(THROUGH_SHARED, "{workgroups: [2, 1, 1]}", SHARED + BUFFERS, SMALL))
    doubled = 2 * np.arange(64).reshape(2, 4, 8)
    np.testing.assert_array_equal(numbers(found, "r"), doubled)
    np.testing.assert_array_equal(found.buffers["part"].exact.view(np.float16)[1:], doubled.reshape(-1)[1:])


def test_pointers_select_and_add() -> None:
    case = case_of(
        """
op: Pointer, id: p, buffer: ones, offset: {dynamic: 32}
op: Pointer, id: q, buffer: ones, offset: 64
op: PointerSelect, id: s, condition: {literal: 0, sg: 1}, a: p, b: q
op: MatrixLoad, id: m, type: MATRIX, buffer: s, stride: 8, offset: {literal: 0, sg: 32}
op: MatrixStore, matrix: m, buffer: out, stride: 8, offset: {literal: 0, sg: 32}
""",
        "{subgroups: 2}",
        BUFFERS,
        SMALL,
    )
    data = (np.arange(256) % 9 + 1).reshape(8, 4, 8)
    np.testing.assert_array_equal(numbers(expect(case), "m"), data[[2, 2]])


INEXACT = """
op: MatrixConstant, id: a, type: MATRIX, value: 2048
op: MatrixConstant, id: b, type: MATRIX, value: 1
op: MatrixArithmetic, id: c, operation: FAdd, a: a, b: b
op: MatrixStore, matrix: c, buffer: out, stride: 8
op: ControlBarrier
op: MatrixLoad, id: d, type: MATRIX, buffer: out, stride: 8
op: MatrixArithmetic, id: e, operation: FSub, a: d, b: b
op: MatrixStore, matrix: e, buffer: out2, stride: 8
"""


def test_freedom_goes_through_memory() -> None:
    found = expect(case_of(INEXACT, "{}", BUFFERS, SMALL))
    (stored,), (again,) = found.buffers["out"].intervals, found.buffers["out2"].intervals
    assert (decode(T.float16, stored.lo[:1]).item(), decode(T.float16, stored.hi[:1]).item()) == (2048, 2050)
    assert (decode(T.float16, again.lo[:1]).item(), decode(T.float16, again.hi[:1]).item()) == (2047, 2050)
    assert len(stored.offsets) == 32 and any("NU-012" in reason for reason in stored.reasons)
    assert (found.spreads["d"].lo == stored.lo[0]).all()


def test_bits_of_inexact_values_read_as_another_type_are_unknown() -> None:
    case = case_of(
        INEXACT.split("op: MatrixLoad")[0]
        + """
op: MatrixLoad, id: d, type: {component: uint16, scope: Subgroup, rows: 4, cols: 8, use: A}, buffer: out, stride: 8
op: MatrixStore, matrix: d, buffer: out2, stride: 8
""",
        "{}",
        BUFFERS,
        SMALL,
    )
    (interval,) = expect(case).buffers["out2"].intervals
    assert interval.component is T.uint16 and (interval.flags == Freedom.ANY).all()


def test_memory_written_again_is_exact_again() -> None:
    case = case_of(
        INEXACT.split("op: MatrixLoad")[0]
        + """
op: MatrixConstant, id: d, type: {component: uint8, scope: Subgroup, rows: 4, cols: 16, use: Accumulator}, value: 5
op: MatrixStore, matrix: d, buffer: out, stride: 8
""",
        "{}",
        BUFFERS,
        SMALL,
    )
    allowed = expect(case).buffers["out"]
    assert allowed.intervals == () and (allowed.exact[:64] == 5).all()


def test_inexact_reductions_are_equal_wherever_they_are_equal_by_definition() -> None:
    case = case_of(
        """
op: MatrixLoad, id: m, type: MATRIX, buffer: noise, stride: 8
op: MatrixReduce, id: r, matrix: m, mode: [Row], combine: sum
op: MatrixCopy, id: k, matrix: r, through: Variable
op: MatrixStore, matrix: k, buffer: out, stride: 8
""",
        "{}",
        BUFFERS + "  noise: {type: float16, shape: [4, 8], data: {counter: {start: 0x3555, step: 97, modulo: 31}}}\n",
        SMALL,
        functions='{sum: {kind: Combine, type: float16, body: "x + y"}}',
    )
    found = expect(case)
    (identical,) = found.buffers["out"].identical
    groups = identical.group.reshape(4, 8)
    assert (groups == groups[:, :1]).all() and len(set(groups[:, 0].tolist())) == 4
    memory = initial_memory(case)
    low = found.spreads["k"].lo.copy()
    memory["out"][GUARD_BYTES : GUARD_BYTES + 64] = low.view(np.uint8).reshape(-1)
    assert compare(case, found, memory) is None
    low[0, 0, 3] += 1
    memory["out"][GUARD_BYTES : GUARD_BYTES + 64] = low.view(np.uint8).reshape(-1)
    difference = compare(case, found, memory)
    assert difference is not None and "CM-023" in difference.groups[0].rule


@pytest.mark.parametrize(
    "program",
    [
        "op: Loop, count: {dynamic: -1}\nop: EndLoop",
        "op: Loop, count: 65\nop: Loop, count: 64\nop: EndLoop\nop: EndLoop",
    ],
)
def test_programs_of_too_many_iterations_are_refused(program: str) -> None:
    with pytest.raises(BadInput, match="more than 4096 iterations"):
        ORACLE.violations(case_of(program))
