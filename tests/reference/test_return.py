"""Return: who goes on, what is left undone, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.reference import ORACLE
from tests.reference.cases import case_of

SMALL = "{component: float16, scope: Subgroup, rows: 4, cols: 8, use: Accumulator}"
OUT = "\n  out: {type: float16, shape: [12, 32], data: {fill: -1}}\n"
#: Subgroup 1 ends in the iteration 1 of the inner loop within iteration 1 of the outer one; 2 at once.
NESTED = """
op: MatrixConstant, id: z, type: MATRIX, value: 0
op: MatrixConstant, id: one, type: MATRIX, value: 1
op: Loop, count: 2, carry: [{id: a, init: z}]
op: Loop, count: 2, carry: [{id: b, init: a}]
op: Switch, selector: {literal: 0, sg: 4, loop: 1, loop.outer: 2}
op: Branch, literals: [7, 8]
op: Return, condition: {dynamic: 1}
op: EndSwitch
op: MatrixArithmetic, id: sum, operation: FAdd, a: b, b: one
op: MatrixStore, matrix: sum, buffer: out, stride: 8, offset: {literal: 0, sg: 128, loop: 32, loop.outer: 64}
op: EndLoop, next: [sum]
op: EndLoop, next: [b]
"""
TOGETHER = """
op: MatrixConstant, id: one, type: MATRIX, value: 1
op: Loop, count: {dynamic: 2}
op: ControlBarrier
op: If, condition: AROUND
op: Return, condition: CONDITION
op: EndIf
op: EndLoop
"""


def test_each_subgroup_ends_for_itself_in_any_block() -> None:
    case = case_of(NESTED, "{subgroups: 3}", OUT, SMALL)
    assert ORACLE.violations(case) == []
    out = ORACLE.expect(case).buffers["out"].exact.view(np.float16).astype(np.float64).reshape(12, 32)
    stored = [1, 2, 3, 4, 1, 2, 3, -1, -1, -1, -1, -1]
    assert (out == np.array(stored)[:, None]).all()


@pytest.mark.parametrize(
    ("around", "condition", "path"),
    [
        ("1", "{literal: 0, sg: 1}", "program[4].condition"),
        ("{literal: 0, sg: 1}", "1", "program[3].condition"),
        ("1", "{literal: 0, loop: 1}", None),
        ("{literal: 1, wg.x: 1}", "1", None),
    ],
)
def test_a_barrier_is_reached_by_all_or_none(around: str, condition: str, path: str | None) -> None:
    program = TOGETHER.replace("AROUND", around).replace("CONDITION", condition)
    found = ORACLE.violations(case_of(program, "{subgroups: 2}", OUT, SMALL))
    assert [(v.rule, v.path) for v in found] == ([] if path is None else [("TA-071", path)])


def test_a_barrier_behind_a_return_that_differs_is_a_violation() -> None:
    program = "op: Return, condition: {literal: 0, sg: 1}\nop: ControlBarrier"
    (found,) = ORACLE.violations(case_of(program, "{subgroups: 2}", OUT, SMALL))
    assert (found.rule, found.path) == ("TA-071", "program[0].condition")


def test_what_is_in_workgroup_memory_is_copied_by_all() -> None:
    shared = OUT.replace("12,", "1,").replace("data", "storage: Workgroup, data")
    with pytest.raises(BadInput, match="'out' is in Workgroup memory, which all of a workgroup copy"):
        case_of("op: Return, condition: 1", "{subgroups: 2}", shared, SMALL)
