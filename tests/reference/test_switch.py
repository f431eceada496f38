"""Switch: who takes which branch, what it gives, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import ComponentType as T
from cts.case.model import decode
from cts.reference import ORACLE
from tests.reference.cases import case_of

SMALL = "{component: float16, scope: Subgroup, rows: 4, cols: 8, use: Accumulator}"
OUT = "\n  out: {type: float16, shape: [16, 32], data: {fill: -1}}\n"
SWITCH = """
op: MatrixConstant, id: one, type: MATRIX, value: 1
op: MatrixConstant, id: two, type: MATRIX, value: 2
op: Switch, selector: {literal: -2, sg: 1}
op: Branch, literals: [4294967294, 1]
op: MatrixArithmetic, id: four, operation: FAdd, a: two, b: two
op: Branch, literals: [65535, 0]
op: MatrixArithmetic, id: zero, operation: FSub, a: two, b: two
op: Default
op: MatrixArithmetic, id: three, operation: FAdd, a: two, b: one
op: EndSwitch, merge: [{id: r, branches: [four, zero], default: three}]
op: MatrixStore, matrix: r, buffer: out, stride: 8, offset: {literal: 0, sg: 32}
"""
LINES = SWITCH.strip().splitlines()


def results(program: str) -> list[float]:
    """What `r` is in each of four subgroups, whose selectors are -2, -1, 0 and 1."""
    case = case_of(program, "{subgroups: 4}", OUT, SMALL)
    assert ORACLE.violations(case) == []
    values = decode(T.float16, ORACLE.expect(case).matrices["r"]).astype(np.float64)
    assert (values == values[:, :1, :1]).all()
    return [float(v) for v in values[:, 0, 0]]


def test_each_subgroup_takes_the_branch_of_its_literal() -> None:
    assert results(SWITCH) == [4, 3, 0, 4]


def test_without_a_default_what_was_before_stays() -> None:
    program = "\n".join(line for line in LINES if "Default" not in line and "three," not in line)
    assert results(program.replace("default: three", "default: one")) == [4, 1, 0, 4]


def test_without_a_literal_every_subgroup_takes_the_default() -> None:
    program = "\n".join([*LINES[:3], *LINES[7:]]).replace("[four, zero]", "[]")
    assert results(program) == [3, 3, 3, 3]


def test_a_switch_by_iteration_of_the_loop_around_it() -> None:
    program = "\n".join(
        [
            *LINES[:2],
            "op: Loop, count: {literal: 1, sg: 1}, carry: [{id: r, init: one}]",
            "op: Switch, selector: {literal: 0, loop: 1}",
            "op: Branch, literals: [0, 2]",
            "op: MatrixArithmetic, id: sum, operation: FAdd, a: r, b: two",
            "op: EndSwitch, merge: [{id: next, branches: [sum], default: r}]",
            "op: EndLoop, next: [next]",
            LINES[-1],
        ]
    )
    assert results(program) == [3, 3, 5, 5]


def test_a_selector_that_differs_within_the_scope_is_a_violation() -> None:
    case = case_of(SWITCH, "{subgroups: 4}", OUT, SMALL.replace("Subgroup", "Workgroup"))
    (violation,) = {(v.rule, v.path) for v in ORACLE.violations(case) if v.path.startswith("program[2]")}
    assert violation == ("TA-071", "program[2].selector")


def put(at: int, *lines: str, instead: int = 0) -> str:
    return "\n".join([*LINES[:at], *lines, *LINES[at + instead :]])


MALFORMED = {
    "nothing before the first branch": (
        put(3, "op: MatrixCopy, id: c, matrix: one, through: Array"),
        "MatrixCopy right behind a Switch",
    ),
    "a barrier before the first branch": (put(3, "op: ControlBarrier"), "ControlBarrier right behind a Switch"),
    "a branch without a switch": (put(2, "op: Branch, literals: [0]"), "Branch without a Switch"),
    "a default without a switch": (put(2, "op: Default"), "Default without a Switch"),
    "an end without a switch": (put(2, "op: EndSwitch"), "EndSwitch without a Switch to end"),
    "a branch in an If of a branch": (
        put(4, "op: If, condition: 1", "op: Branch, literals: [9]", "op: EndIf"),
        "Branch without a Switch",
    ),
    "a branch behind the default": (put(8, "op: Branch, literals: [9]"), "Branch behind a Default"),
    "two defaults": (put(8, "op: Default"), "Default behind a Default"),
    "no end": (put(9, "op: EndIf", instead=1), "EndIf without an If to end"),
    "never closed": ("\n".join(LINES[:9]), "Default is not closed"),
    "no literal": (put(5, "op: Branch, literals: []", instead=1), "no literal"),
    "a literal of two branches": (
        put(5, "op: Branch, literals: [7, 1]", instead=1),
        "1 is a literal of this Switch already",
    ),
    "a literal twice": (put(5, "op: Branch, literals: [7, 7]", instead=1), "7 is a literal of this Switch already"),
    "a literal in two ways": (
        put(5, "op: Branch, literals: [-2]", instead=1),
        "-2 is a literal of this Switch already, as 4294967294",
    ),
    "a literal of 33 bits": (put(5, "op: Branch, literals: [4294967296]", instead=1), "4294967295"),
    "a merge of too few": (put(9, LINES[9].replace("four, zero", "four"), instead=1), "1 matrices for 2 branches"),
    "a merge of the wrong branch": (
        put(9, LINES[9].replace("four, zero", "zero, four"), instead=1),
        "'zero' is not visible here",
    ),
    "a default from a branch": (put(9, LINES[9].replace("three", "four"), instead=1), "'four' is not visible here"),
    "a matrix of a branch behind it": (
        put(10, LINES[10].replace("matrix: r", "matrix: four"), instead=1),
        "'four' is not visible here",
    ),
    "a barrier in a branch": (put(4, "op: ControlBarrier"), "a barrier under a condition"),
    "a break in a branch": (
        "\n".join(
            [*LINES[:2], "op: Loop, count: 2", *LINES[2:4], "op: Break, condition: 1", *LINES[4:10], "op: EndLoop"]
        ),
        "Break in the Branch of a loop",
    ),
}


@pytest.mark.parametrize(("program", "what"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed(program: str, what: str) -> None:
    with pytest.raises(BadInput) as raised:
        case_of(program, "{subgroups: 4}", OUT, SMALL)
    assert re.search(what, f"{raised.value.what} {raised.value.remedy}"), str(raised.value)


def test_merged_matrices_are_of_one_type() -> None:
    other = SMALL.replace("rows: 4", "rows: 8")
    program = put(4, f"op: MatrixNull, id: tall, type: {other}").replace("[four, zero]", "[tall, zero]")
    with pytest.raises(BadInput, match="'tall' is of another type than 'three'"):
        case_of(program, "{subgroups: 4}", OUT, SMALL)
