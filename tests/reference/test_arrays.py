"""Arrays of invocations: rules on their parts, and the steps behind elements that go through them."""

from __future__ import annotations

import pytest

from cts.case.model import Case
from cts.case.oracle.trace import ElementPlace, StepKind
from cts.reference import ORACLE
from tests.case_builder import yaml_case
from tests.reference.test_matrix_validity import rules

C = "{component: float16, scope: Subgroup, rows: 4, cols: 32, use: Accumulator}"
B = "{component: float16, scope: Subgroup, rows: 16, cols: 4, use: B}"


def part(start: str, elements: str = "float16") -> Case:
    """Parts of 16 halves of rows of 32, from `start` on, become columns of a B."""
    elements = f"constructed: {elements}"
    return yaml_case(
        f"""op: MatrixLoad, id: c, type: {C}, buffer: src, stride: 32
        op: MatrixThroughArrays, id: b, matrix: c, type: {B}, extracted: float16, {elements}, start: {start}
        op: MatrixStore, matrix: b, buffer: dst, stride: 8""",
        """src: {type: float16, shape: [4, 32], data: {iota: {start: 1}}}
        dst: {type: float16, shape: [16, 8], data: {fill: -5}}""",
        "{subgroup_size: 32}",
    )


BREAKING: dict[str, tuple[Case, str, str]] = {
    "a part that ends behind the array": (part("32"), "QC-010", "program[1].start"),
    "a part that begins before the array": (part("{dynamic: -16}"), "QC-010", "program[1].start"),
    "a part from no multiple of its length": (part("{spec: 8}"), "QC-011", "program[1].start"),
    "words behind the array": (part("16", "uint32"), "QC-010", "program[1].start"),
}


@pytest.mark.parametrize("name", BREAKING)
def test_breaking_case_is_refused_by_its_rule(name: str) -> None:
    case, rule, path = BREAKING[name]
    assert rules(case) == [(rule, path)]
    assert all(v.what and v.remedy for v in ORACLE.violations(case))


@pytest.mark.parametrize("start", ["0", "16", "{dynamic: 16}"])
def test_whole_parts_are_valid(start: str) -> None:
    assert rules(part(start)) == []


def test_a_step_names_the_element_of_the_other_matrix() -> None:
    """Element (3, 2) of the B is component 16 + 3 of row 2."""
    trace = ORACLE.trace(part("16"), "dst", 2 * (3 * 8 + 2))
    (step,) = (s for s in trace.steps if s.kind is StepKind.SOURCE_ELEMENT)
    assert step.fact == "QC-002" and step.place == ElementPlace("c", 2, 19, 0)
