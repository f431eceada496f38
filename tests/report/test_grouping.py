"""Failures of one cause: which belong together, and what their cases have in common."""

from __future__ import annotations

import pytest

import cts
from cts.features.phrases import phrases
from cts.showing.report.grouping import Alike, alike

LOAD, STORE, CLIP, WIDE, EDGE, REPEAT = "Load", "Store", "Clip", "Wide", "clamp ClampToEdge", "clamp Repeat"


def cases(*groups: tuple[int, tuple[str, ...]]) -> list[frozenset[str]]:
    """So many cases that have these traits, group by group."""
    return [frozenset(has) for count, has in groups for _ in range(count)]


def test_what_all_failures_have_and_no_passing_case_is_one_cause() -> None:
    failing = cases((6, (LOAD, STORE, CLIP)), (3, (LOAD, STORE, CLIP, WIDE)))
    passing = cases((200, (LOAD, STORE)), (50, (STORE, WIDE)))
    assert alike(failing, passing) == [Alike(tuple(range(9)), (CLIP,), 0)]


def test_two_bugs_are_two_causes_whatever_instructions_they_share() -> None:
    failing = cases((8, (LOAD, STORE, CLIP)), (6, (LOAD, STORE, REPEAT)))
    passing = cases((400, (LOAD, STORE)), (100, (STORE,)))
    assert alike(failing, passing) == [
        Alike(tuple(range(8)), (CLIP,), 0),
        Alike(tuple(range(8, 14)), (REPEAT,), 0),
    ]


def test_a_bug_that_few_cases_show_is_not_divided_by_what_they_happen_to_have() -> None:
    """Of 100 cases with loads 9 fail, two of them wide, as are 20 that pass."""
    failing = cases((7, (LOAD, STORE)), (2, (LOAD, STORE, WIDE)))
    passing = cases((71, (LOAD, STORE)), (20, (LOAD, STORE, WIDE)), (300, (STORE,)))
    assert alike(failing, passing) == [Alike(tuple(range(9)), (LOAD,), 91)]


def test_several_traits_that_no_passing_case_has_together() -> None:
    failing = cases((10, (LOAD, STORE, CLIP, WIDE)))
    passing = cases((100, (LOAD, STORE, CLIP)), (100, (LOAD, STORE, WIDE)), (300, (LOAD, STORE)))
    assert alike(failing, passing) == [Alike(tuple(range(10)), (CLIP, WIDE), 0)]


def test_without_anything_in_common_there_is_nothing_to_say() -> None:
    assert alike(cases((2, (LOAD,)), (2, (STORE,))), cases((4, (LOAD, STORE)))) == [Alike((0, 1, 2, 3), (), 4)]


def test_one_failure() -> None:
    assert alike(cases((1, (LOAD, CLIP))), cases((500, (LOAD,)))) == [Alike((0,), (CLIP,), 0)]


@pytest.mark.parametrize(
    ("name", "has", "has_not"),
    [
        (
            "tensor_addressing.clip.width_beyond_the_columns",
            {"TensorViewSetClip", "TensorView dim 2", "with view", "MatrixConstant result.use Accumulator"},
            {"several MatrixStore", "MatrixStoreTensor", "several workgroups", "several TensorLayout"},
        ),
        (
            "tensor_addressing.constness.layout_type",
            {"TensorLayout clamp RepeatMirrored", "clamp RepeatMirrored", "TensorLayout specialized clamp"},
            {"TensorLayout clamp Undefined"},
        ),
        (
            "tensor_addressing.block.uneven",
            {"TensorLayoutSetBlockSize", "TensorLayoutSetDimension dims literal"},
            {"TensorLayoutSetDimension dims dynamic"},
        ),
        ("per_element.body.byte_average", {"operation div", "a PerElement function"}, {"operation mod"}),
        ("reductions.functions.negated_max", {"MatrixReduce", "a Combine function"}, {"a Decode function"}),
    ],
)
def test_what_a_case_has(name: str, has: set[str], has_not: set[str]) -> None:
    found = phrases(cts.load(name))
    assert has <= found, sorted(has - found)
    assert not has_not & found
