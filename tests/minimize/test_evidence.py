"""Reduction keeps the evidence: where wrong values came from can still be seen."""

from __future__ import annotations

import pytest

from cts.case.model import Case, loads_case
from cts.findings.reduction.evidence import Evidence, evidence, is_sized, is_weaker, tells
from cts.findings.reduction.minimize import Minimized, minimize
from cts.judging.judge import judge
from cts.plugins import registry
from cts.running.opening import open_driver
from tests.case_builder import corpus_case

ORACLE = registry.oracle()


def shown(case: Case, mutant: str) -> Evidence:
    divergence = judge(open_driver(f"emulator:mutant={mutant}"), case, ORACLE.expect(case)).divergence
    assert divergence is not None
    return evidence(case, divergence)


def minimal(name: str, mutant: str) -> tuple[Case, Minimized]:
    case = corpus_case(name)
    return case, minimize(case, open_driver(f"emulator:mutant={mutant}"), ORACLE)


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("tensor_addressing.clip.cyclic_permutation", "perm-inverse"),
        ("tensor_addressing.clamp.mirrored_two_rows", "mirror-edge-twice"),
        ("conversions.transpose.bytes", "transpose-within-tiles"),
    ],
)
def test_what_was_read_instead_stays(name: str, mutant: str) -> None:
    case, found = minimal(name, mutant)
    assert found.reduction.after < found.reduction.before
    left = shown(found.case, mutant)
    assert left.sourced and left.apart and left.written and left.counting
    assert shown(case, mutant).sourced


def test_a_sum_was_not_read_elsewhere() -> None:
    case, found = minimal("reductions.scope.workgroup_both", "reduce-both-rows-only")
    assert not shown(case, "reduce-both-rows-only").sourced
    assert not shown(found.case, "reduce-both-rows-only").sourced


def test_less_in_any_field_is_weaker() -> None:
    both = Evidence(sourced=True, apart=True, written=True, counting=2)
    assert not is_weaker(both, both)
    for less in (
        both._replace(sourced=False),
        both._replace(apart=False),
        both._replace(written=False),
        both._replace(counting=1),
    ):
        assert is_weaker(less, both)
        assert not is_weaker(both, less)


@pytest.mark.parametrize(
    ("dims", "sized"),
    [("[16, 16]", True), ("[0, 16]", False), ("[16, {dynamic: 0}]", False), ("[16, {dynamic: 4}]", True)],
)
def test_tensors_have_dimensions_or_have_not(dims: str, sized: bool) -> None:
    case = corpus_case("tensor_addressing.clip.width_beyond_the_columns")
    text = repr(case).replace("dims: [16, 16]", f"dims: {dims}")
    assert is_sized(loads_case(text)) is sized


def test_a_layout_as_it_is_made_has_no_dimensions() -> None:
    case = corpus_case("tensor_addressing.clip.width_beyond_the_columns")
    assert not is_sized(loads_case(repr(case).replace("layout: t1", "layout: t")))
    assert is_sized(corpus_case("matrix_memory.pointers.select_first"))


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("tensor_addressing.clip.cyclic_permutation", "perm-inverse"),
        ("tensor_addressing.clip.width_beyond_the_columns", "clip-width-remaining"),
        ("tensor_addressing.block.own_strides", "slice-resets-stride"),
    ],
)
def test_what_is_said_of_a_failure_and_dimensions_stay(name: str, mutant: str) -> None:
    case, found = minimal(name, mutant)
    for one in (case, found.case):
        expectation = ORACLE.expect(one)
        assert tells(one, judge(open_driver(f"emulator:mutant={mutant}"), one, expectation), expectation)
        assert is_sized(one)
    assert found.reduction.after < found.reduction.before
