"""The parts of explanations: facts of every instruction, changed cases, pictures of large matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from cts.base.memory import GUARD_BYTES
from cts.case.model import AnyInstruction, ComponentType, MatrixConstant, MatrixType, Scope, Use
from cts.case.oracle.expectation import Freedom, Spread
from cts.device.driver import Job, Outcome
from cts.findings.explain import explain
from cts.findings.explain.changes import changes
from cts.findings.explain.picture import COLS, ROWS, picture
from cts.findings.explain.ranking import SAMPLE, sample
from cts.findings.explain.results import compared
from cts.findings.explain.text import lines as lines_of
from cts.judging.judge import OpenDriver
from cts.judging.verdict import Verdict
from tests.case_builder import corpus_case
from tests.explain.drivers import ORACLE, Device, device


def test_every_instruction_has_facts() -> None:
    kinds = get_args(AnyInstruction)
    assert len(kinds) > 40
    without = []
    for kind in kinds:
        fields = dict.fromkeys(kind.__struct_fields__)
        if not kind(**fields).explained_by:
            without.append(kind.__name__)
    assert without == []


@pytest.mark.parametrize(
    ("name", "index", "what"),
    [
        ("tensor_addressing.clip.cyclic_permutation", 5, "program[2] was inverted: permutation [1, 2, 0]"),
        ("tensor_addressing.block.own_strides", 6, "the result of program[3] TensorLayoutSetStride is as before"),
        ("matrix_arithmetic.mul_add.s8", 3, "the operands of program[3] MatrixMulAdd are without MatrixASigned"),
        ("conversions.integer.s8_by_uconvert", 1, "the operation of program[1] MatrixConvert is SConvert"),
        ("vector_multiply.float.bias", 1, "the bias of program[1] VectorMatrixMul is 0"),
        ("per_element.extras.two_matrices", 3, "program[3] had its extra matrices in reverse"),
    ],
)
def test_changes_of_a_case(name: str, index: int, what: str) -> None:
    case = corpus_case(name)
    found = {c.what: c for c in changes(case, index)}
    assert found[what].facts
    assert all(c.case != case or c.deviations for c in found.values())


def test_a_large_matrix_is_reduced_to_its_worst_parts() -> None:
    wanted = np.zeros((2, 4 * ROWS, 3 * COLS), np.uint16)
    actual = wanted.copy()
    actual[1, 4 * 7 + 2, 3 * 9 + 1] = 5
    result = compared(0, "m", ComponentType.float16, wanted, actual)
    lines, scale = picture(result, None, None, 1)
    assert scale == (4, 3)
    assert (len(lines), len(lines[0])) == (ROWS, COLS)
    assert [(r, line.index("X")) for r, line in enumerate(lines) if "X" in line] == [(7, 9)]
    assert "X" not in "".join(picture(result, None, None, 0)[0])


def test_a_nan_that_is_as_expected_is_right_beside_elements_with_freedom() -> None:
    """Of another NaN the bits are free only if the oracle says so."""
    wanted = np.array([[[0x7E01, 0x7E01, 0x3C00]]], np.uint16)
    actual = np.array([[[0x7E01, 0x7E00, 0x4000]]], np.uint16)
    high = np.array([[[0x7E01, 0x7E01, 0x4000]]], np.uint16)
    for flags, wrong in (([0, 0, 0], [False, True, False]), ([0, Freedom.NAN, 0], [False, False, False])):
        spread = Spread(wanted, high, np.array([[flags]], np.uint8))
        assert compared(0, "m", ComponentType.float16, wanted, actual, spread).wrong[0, 0].tolist() == wrong


def test_samples_are_spread_over_a_mask() -> None:
    mask = np.ones((1, 100, 100), bool)
    places = sample(mask)
    assert len(places) == SAMPLE
    assert places[0] == (0, 0, 0) and places[-1] == (0, 99, 99)
    assert sample(~mask) == []


def test_a_constant_has_a_fact() -> None:
    declared = MatrixType(ComponentType.float16, Scope.Subgroup, 1, 1, Use.A)
    assert MatrixConstant("c", declared, 1).explained_by == ("KM-016",)


class Unequal(Device):
    """The sums of a row come from another order in each column but the first: the next number, if that is allowed."""

    def run(self, job: Job) -> Outcome:
        outcome = super().run(job)
        memory = {name: contents.copy() for name, contents in outcome.memory.items()}
        for contents in memory.values():
            rows = contents[GUARD_BYTES:-GUARD_BYTES].view(np.uint16).reshape(-1, 8)
            sums = rows[(rows == rows[:, :1]).all(1)]
            rows[(rows == rows[:, :1]).all(1)] = np.where(np.arange(8) > 0, sums + 1, sums)
        return replace(outcome, memory=memory)


def test_equal_sums_that_differ_are_nothing_else() -> None:
    """Each element by itself is within its bounds, as it is with any other mistake that is small enough."""
    driver = Unequal("", lambda case: False)
    case = corpus_case("reductions.add.identical_row_sum_f16")
    explained = explain(case, OpenDriver("unequal", driver, driver.capabilities()), ORACLE, deviations=500)
    words = "the result of program[1] MatrixReduce is not equal where it should be"
    assert explained.verdict is Verdict.FAIL and [a.what for a in explained.as_if] == [words]
    assert [one.text for one in explained.leaves] == ["wrong(MatrixReduce, result=apart)"]
    assert explained.facts[0] == "CM-021"


class Leading(Device):
    """A device that knows which line of its code is wrong, as long as a right memory is told from a wrong one."""

    def leads(self, job: Job, is_right: Callable[[Outcome], bool]) -> tuple[str, ...]:
        outcomes = self.wrong.run(job), self.right.run(job)
        return ("line 7 is wrong",) if list(map(is_right, outcomes)) == [False, True] else ()


def test_what_a_driver_says_of_its_code_is_part_of_an_explanation() -> None:
    case = corpus_case("tensor_addressing.clamp.mirrored_two_rows")
    driver = Leading("mirror-edge-twice", lambda case: True)
    found = explain(case, OpenDriver("leading", driver, driver.capabilities()), ORACLE)
    assert found.verdict is Verdict.FAIL
    assert found.code == ("line 7 is wrong",)
    assert ("in the compiled code: line 7 is wrong", "") in list(lines_of(found))
    assert explain(case, device("mirror-edge-twice"), ORACLE).code == ()
