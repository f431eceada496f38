"""Break and Continue: what is carried on by whom, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import ComponentType as T
from cts.case.model import decode
from cts.reference import ORACLE
from tests.reference.cases import case_of

SMALL = "{component: float16, scope: Subgroup, rows: 4, cols: 8, use: Accumulator}"
OUT = "\n  out: {type: float16, shape: [8, 32], data: {fill: -1}}\n"
LOOP = """
op: MatrixConstant, id: z, type: MATRIX, value: 0
op: MatrixConstant, id: one, type: MATRIX, value: 1
op: Loop, count: 5, carry: [{id: acc, init: z}]
op: EXIT, condition: {literal: -2, sg: 1, loop: 1}, next: [acc]
op: MatrixArithmetic, id: sum, operation: FAdd, a: acc, b: one
op: EndLoop, next: [sum]
op: MatrixStore, matrix: acc, buffer: out, stride: 8, offset: {literal: 0, sg: 32}
"""


@pytest.mark.parametrize(("kind", "sums"), [("Break", (0, 0)), ("Continue", (1, 1))])
def test_each_subgroup_leaves_by_its_own_condition(kind: str, sums: tuple[int, int]) -> None:
    case = case_of(LOOP.replace("EXIT", kind), "{subgroups: 2}", OUT, SMALL)
    assert ORACLE.violations(case) == []
    acc = decode(T.float16, ORACLE.expect(case).matrices["acc"]).astype(np.float64)
    for instance, expected in enumerate(sums):
        assert (acc[instance] == expected).all()


def test_a_break_that_differs_within_the_scope_is_a_violation() -> None:
    case = case_of(LOOP.replace("EXIT", "Break"), "{subgroups: 2}", OUT, SMALL.replace("Subgroup", "Workgroup"))
    assert "TA-071" in {v.rule for v in ORACLE.violations(case)}


def test_what_is_malformed() -> None:
    lines = LOOP.replace("EXIT", "Break").strip().splitlines()
    exit_ = lines[3]
    inside = "\n".join([*lines[:3], "op: If, condition: 1", exit_, "op: EndIf", *lines[4:]])
    for program, what in (
        ("\n".join([*lines[:2], exit_.replace(", loop: 1", "").replace("acc", "z")]), "without a Loop around it"),
        (inside, "Break in the If of a loop"),
        ("\n".join([*lines[:3], exit_.replace("[acc]", "[]"), *lines[4:]]), "0 matrices"),
    ):
        with pytest.raises(BadInput, match=what):
            case_of(program, "{subgroups: 2}", OUT, SMALL)
