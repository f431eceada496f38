"""Control flow that differs between workgroups, and memory that each workgroup has of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from cts.case.model import GUARD_BYTES, Case, initial_memory
from cts.device.driver import Job, Status
from cts.drivers.emulator import create
from cts.drivers.emulator.control import closings
from tests.case_builder import yaml_case

M = "{component: uint8, scope: Subgroup, rows: 1, cols: 4, use: Accumulator}"


def case_of(program: str, dispatch: str, buffers: str = "") -> Case:
    own = """
        src: {type: uint8, shape: [64], data: {counter: {}}}
        dst: {type: uint8, shape: [16], data: {fill: 238}}
    """
    return yaml_case(program, own + buffers, dispatch, M4=M)


def stored(case: Case, buffer: str = "dst", **options: str) -> list[int]:
    def module() -> Any:
        raise AssertionError("the emulator runs cases, not modules")

    outcome = create(options).run(Job(case, initial_memory(case), module))
    assert outcome.status is Status.DONE, outcome.detail
    found: list[int] = outcome.memory[buffer][GUARD_BYTES:-GUARD_BYTES].tolist()
    return found


SUMS = """
  - {op: MatrixNull, id: z, type: M4}
  - {op: Loop, count: {dynamic: 0, wg.x: 2}, carry: [{id: sum, init: z}]}
  - {op: MatrixLoad, id: m, type: M4, buffer: src, stride: 4, offset: {literal: 0, loop: 4}}
  - {op: MatrixArithmetic, id: more, operation: IAdd, a: sum, b: m}
  - {op: EndLoop, next: [more]}
  - {op: MatrixStore, matrix: sum, buffer: dst, stride: 4, offset: {literal: 0, wg.x: 4}}
"""


def test_every_workgroup_runs_its_own_number_of_iterations() -> None:
    case = case_of(SUMS, "{workgroups: [3, 1, 1]}")
    two, four = (np.arange(16).reshape(4, 4)[:iterations].sum(0).tolist() for iterations in (2, 4))
    assert stored(case) == [0] * 4 + two + four + [238] * 4


def test_conditions_nest_in_loops() -> None:
    """Each subgroup adds 1 in even iterations (condition 0 of loop index and subgroup), 10 in the others."""
    case = case_of(
        """
  - {op: MatrixConstant, id: one, type: M4, value: 1}
  - {op: MatrixConstant, id: ten, type: M4, value: 10}
  - {op: MatrixNull, id: z, type: M4}
  - {op: Loop, count: 3, carry: [{id: sum, init: z}]}
  - {op: If, condition: {literal: 0, loop: 1, sg: 1}}
  - {op: MatrixArithmetic, id: a, operation: IAdd, a: sum, b: ten}
  - {op: Else}
  - {op: MatrixArithmetic, id: b, operation: IAdd, a: sum, b: one}
  - {op: EndIf, merge: [{id: more, then: a, otherwise: b}]}
  - {op: EndLoop, next: [more]}
  - {op: MatrixStore, matrix: sum, buffer: dst, stride: 4, offset: {literal: 0, sg: 4}}
""",
        "{subgroups: 2}",
    )
    assert stored(case) == [21] * 4 + [30] * 4 + [238] * 8


def test_nothing_is_accessed_where_nothing_is_active() -> None:
    case = case_of(
        """
  - {op: If, condition: {dynamic: 1, wg.x: -1}}
  - {op: MatrixLoad, id: m, type: M4, buffer: src, stride: 4, offset: {literal: 0, wg.x: 100000}}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 4, offset: {literal: 0, wg.x: 100000}}
  - {op: EndIf}
""",
        "{workgroups: [2, 1, 1]}",
    )
    assert stored(case) == [0, 1, 2, 3] + [238] * 12


def test_each_workgroup_has_its_own_part_of_workgroup_memory() -> None:
    case = case_of(
        """
  - {op: MatrixLoad, id: m, type: M4, buffer: shared, stride: 4, offset: 4}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 4, offset: {literal: 0, wg.x: 4}}
""",
        "{workgroups: [2, 1, 1]}",
        "  shared: {type: uint8, shape: [2, 8], data: {counter: {}}, storage: Workgroup}\n",
    )
    assert stored(case) == [4, 5, 6, 7, 12, 13, 14, 15] + [238] * 8


def test_pointers_add_up_per_workgroup() -> None:
    case = case_of(
        """
  - {op: Pointer, id: a, buffer: src, offset: {literal: 0, wg.x: 8}}
  - {op: Pointer, id: b, buffer: src, offset: 32}
  - {op: PointerSelect, id: p, condition: {dynamic: 1, wg.x: -1}, a: a, b: b}
  - {op: MatrixLoad, id: m, type: M4, buffer: p, stride: 4, offset: {literal: 4, wg.x: 4}}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 4, offset: {literal: 0, wg.x: 4}}
""",
        "{workgroups: [2, 1, 1]}",
    )
    assert stored(case) == [4, 5, 6, 7, 40, 41, 42, 43] + [238] * 8


def test_closings_of_nested_blocks() -> None:
    case = case_of(
        """
  - {op: Loop, count: 1}
  - {op: If, condition: 1}
  - {op: Else}
  - {op: Loop, count: 1}
  - {op: EndLoop}
  - {op: EndIf}
  - {op: EndLoop}
""",
        "{}",
    )
    assert closings(case.program) == {0: 6, 1: 2, 2: 5, 3: 4}


def test_a_loop_that_all_have_left_ends() -> None:
    case = case_of(
        """
  - {op: MatrixLoad, id: m, type: M4, buffer: src, stride: 4}
  - {op: Loop, count: {dynamic: 4294967295}, carry: [{id: l, init: m}]}
  - {op: MatrixArithmetic, id: sum, operation: IAdd, a: l, b: m}
  - {op: Break, condition: {literal: -1, loop: 1}, next: [sum]}
  - {op: EndLoop, next: [l]}
  - {op: MatrixStore, matrix: l, buffer: dst, stride: 4}
""",
        "{}",
    )
    assert stored(case)[:4] == [0, 2, 4, 6]
