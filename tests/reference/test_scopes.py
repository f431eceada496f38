"""Matrices of both scopes in one program: against the scalar executor, what a trace says, and what is no valid case."""

from __future__ import annotations

import itertools
import math

import pytest

from cts.case.model import Case, MatrixShape, Scope, loads_case, types_of
from cts.device.capabilities import everything
from cts.plugins import registry
from cts.reference import ORACLE
from cts.running.drawing import drawn
from cts.running.profiles import Profile
from tests.reference.test_execute import MOST_WORK, allowed_scalar, work

PARTS = """
schema: 1
name: parts
dispatch: {workgroups: [2, 1, 1], subgroups: 4}
buffers:
  src: {type: uint16, shape: [32, 8], data: {iota: {start: 1}}}
  tile: {type: uint16, shape: [2, 16, 8], data: {fill: 0}, storage: Workgroup}
  dst: {type: uint16, shape: [32, 8], data: {fill: 0}}
program:
  - op: MatrixLoad
    id: m
    type: {component: uint16, scope: Subgroup, rows: 4, cols: 8, use: A}
    buffer: src
    stride: 8
    offset: {literal: 0, wg.x: 128, sg: 32}
  - {op: MatrixStore, matrix: m, buffer: tile, stride: 8, offset: {literal: 96, sg: -32}}
  - {op: ControlBarrier}
  - op: MatrixLoad
    id: w
    type: {component: uint16, scope: Workgroup, rows: 16, cols: 8, use: A}
    buffer: tile
    stride: 8
  - {op: MatrixStore, matrix: w, buffer: dst, stride: 8, offset: {literal: 0, wg.x: 128}}
"""


def both(case: Case) -> bool:
    return {t.scope for t in types_of(case).values() if isinstance(t, MatrixShape)} == set(Scope)


@pytest.mark.parametrize("area", ["matrix_memory", "matrix_programs"])
def test_generated_cases_allow_scalar_execution(area: str) -> None:
    source = registry.area(area)(everything())
    cases = (c for c in drawn(source, Profile("scopes", 2000, 5)) if both(c) and c.dispatch.subgroups > 1)
    small = list(itertools.islice((c for c in cases if work(c) <= MOST_WORK), 20))
    assert len(small) == 20
    for case in small:
        allowed_scalar(case)


def test_the_subgroups_matrices_are_parts_of_their_workgroups() -> None:
    expectation, _ = allowed_scalar(loads_case(PARTS))
    own, wide = expectation.matrices["m"], expectation.matrices["w"]
    assert (own.shape, wide.shape) == ((8, 4, 8), (2, 16, 8))
    assert (wide.reshape(2, 4, 4, 8)[:, ::-1] == own.reshape(2, 4, 4, 8)).all()
    assert math.prod(wide.shape) == wide.max() == 256


def test_a_trace_names_the_instances_of_either_scope() -> None:
    case = loads_case(PARTS)
    of_workgroup = ORACLE.trace(case, "dst", (128 + 13 * 8) * 2)
    assert (of_workgroup.instruction, of_workgroup.instance, of_workgroup.row) == (4, 1, 13)
    # Stored last, by the subgroup whose index is 0.
    of_subgroup = ORACLE.trace(case, "tile", (128 + 13 * 8) * 2)
    assert (of_subgroup.instruction, of_subgroup.instance, of_subgroup.row) == (1, 4, 1)


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ("  - {op: ControlBarrier}\n", "", "TA-044"),
        ("  - {op: ControlBarrier}\n", "  - {op: ControlBarrier, scope: Subgroup}\n", "TA-044"),
        ("offset: {literal: 0, wg.x: 128}}", "offset: {literal: 0, wg.x: 128, sg: 8}}", "TA-071"),
        ("subgroups: 4", "subgroups: 3", "VK-025"),
    ],
)
def test_what_breaks_a_rule(old: str, new: str, fact: str) -> None:
    assert PARTS.count(old) == 1
    found = {v.rule for v in ORACLE.violations(loads_case(PARTS.replace(old, new)))}
    assert fact in found
