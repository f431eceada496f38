"""Workgroups of a case: their shape, and how its modules give their size."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, WorkgroupSizeMode, dumps_case, loads_case
from cts.device.capabilities import Feature, everything, required_features
from cts.features.phrases import phrases
from cts.findings.reduction.candidates import with_members

VECTORS = """\
schema: 1
name: x
dispatch: {DISPATCH}
buffers:
  d: {type: uint8, shape: [1600], data: {fill: 0}}
program:
  - {op: VectorConstant, id: v, type: {component: uint8, length: 1}, value: 1}
  - {op: VectorStore, vector: v, buffer: d, offset: {literal: 0, inv.y: 16}}
"""
MATRICES = """\
schema: 1
name: x
dispatch: {DISPATCH}
buffers:
  d: {type: uint8, shape: [64], data: {fill: 0}}
program:
  - {op: MatrixConstant, id: m, type: {component: uint8, scope: Subgroup, rows: 1, cols: 1, use: A}, value: 1}
  - {op: MatrixStore, matrix: m, buffer: d, stride: 1, offset: {literal: 0, sg: 1}}
"""


def case(text: str, dispatch: str) -> Case:
    return loads_case(text.replace("DISPATCH", dispatch))


@pytest.mark.parametrize(
    ("text", "dispatch", "size"),
    [
        (MATRICES, "subgroups: 12, shape: {y: 3, z: 2}", (64, 3, 2)),
        (MATRICES, "subgroups: 12, shape: {z: 4}", (96, 1, 4)),
        (MATRICES, "subgroups: 3", (96, 1, 1)),
        (VECTORS, "invocations: 35, shape: {y: 5}", (7, 5, 1)),
        (VECTORS, "invocations: 24, shape: {y: 3, z: 8}", (1, 3, 8)),
    ],
)
def test_local_size(text: str, dispatch: str, size: tuple[int, int, int]) -> None:
    shaped = case(text, dispatch)
    assert shaped.dispatch.local_size(32) == size
    assert loads_case(dumps_case(shaped)) == shaped


def test_defaults_do_not_count() -> None:
    plain = case(MATRICES, "subgroups: 2")
    written = case(MATRICES, "subgroups: 2, shape: {y: 1}, size_by: LocalSize")
    assert written.content_hash == plain.content_hash
    hashes = {case(MATRICES, f"subgroups: 2, size_by: {by.value}").content_hash for by in WorkgroupSizeMode}
    assert len(hashes | {case(MATRICES, "subgroups: 2, shape: {z: 2}").content_hash}) == 1 + len(WorkgroupSizeMode)


@pytest.mark.parametrize(
    ("text", "dispatch", "place", "remedy", "rule"),
    [
        (MATRICES, "subgroups: 4, shape: {y: 3}", "dispatch.shape", "a product of y and z that divides 4", "VK-026"),
        (MATRICES, "shape: {z: 2}", "dispatch.shape", "a product of y and z that divides 1", "VK-026"),
        (VECTORS, "invocations: 10, shape: {y: 2, z: 2}", "dispatch.shape", "that divides 10", ""),
        (MATRICES.replace("sg: 1", "inv.x: 1"), "subgroups: 2", "program[1].offset", "sg, the index", ""),
    ],
)
def test_what_does_not_fit_is_a_problem(text: str, dispatch: str, place: str, remedy: str, rule: str) -> None:
    with pytest.raises(BadInput) as e:
        case(text, dispatch)
    assert place in str(e.value) and remedy in str(e.value) and rule in str(e.value)


@pytest.mark.parametrize(
    ("dispatch", "place"),
    [
        ("invocations: 8, shape: {y: 0}", "dispatch.shape.y"),
        ("invocations: 8, shape: {z: 2000}", "dispatch.shape.z"),
        ("invocations: 8, shape: {x: 2}", "dispatch.shape"),
        ("invocations: 8, shape: [2, 2]", "dispatch.shape"),
        ("invocations: 8, size_by: Spec", "dispatch.size_by"),
    ],
)
def test_bad_extents_and_names_are_refused(dispatch: str, place: str) -> None:
    with pytest.raises(BadInput) as e:
        case(VECTORS, dispatch)
    assert place in str(e.value)


@pytest.mark.parametrize("by", WorkgroupSizeMode)
def test_local_size_id_needs_its_feature(by: WorkgroupSizeMode) -> None:
    sized = case(MATRICES, f"size_by: {by.value}")
    assert (Feature.MAINTENANCE_4 in required_features(sized)) == ("LocalSizeId" in by.value)
    assert everything().missing(sized) == []


def test_traits() -> None:
    found = phrases(case(VECTORS, "invocations: 8, shape: {z: 2}, size_by: SpecWorkgroupSize"))
    assert {"several z", "size_by SpecWorkgroupSize"} <= found
    assert "several y" not in found


def test_fewer_members_keep_what_divides_them() -> None:
    dispatch = case(VECTORS, "invocations: 24, shape: {y: 6, z: 4}").dispatch
    shapes = {n: with_members(dispatch, invocations=n).shape for n in (12, 8, 5)}
    assert {n: (s.y, s.z) for n, s in shapes.items()} == {12: (6, 2), 8: (2, 4), 5: (1, 1)}
