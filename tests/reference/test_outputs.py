"""What functions store to buffers (CM-035), read from what the program writes (CM-032), and are passed (CM-036)."""

from __future__ import annotations

import numpy as np
import pytest

from cts.case.model import Case, loads_case
from cts.plugins import registry

ORACLE = registry.oracle()

CASE = """
schema: 1
name: x
dispatch: {dispatch}
functions:
  f:
    kind: PerElement
    type: uint8
    extras: [{{name: at, integer: true}}]
    {tables}
    outputs: [{{name: o, type: uint8, buffer: out}}]
    body: "{body}"
buffers:
  src: {{type: uint8, shape: [16], data: {{counter: {{start: 1}}}}}}
  out: {{type: uint8, shape: [32], data: {{fill: 99}}}}
  part: {{type: uint8, shape: [{parts}, 16], data: {{fill: 7}}, storage: Workgroup}}
program:
  - {{op: MatrixLoad, id: m, type: {{{type}}}, buffer: src, stride: 4}}
  {before}
  - {{op: MatrixPerElement, id: r, matrix: m, function: f, integers: [{at}]}}
  {after}
"""


def case(
    body: str,
    at: str = "0",
    *,
    groups: int = 1,
    before: str = "",
    after: str = "",
    tables: str = "",
    subgroups: int = 1,
) -> Case:
    dispatch = f"{{workgroups: [{groups}, 1, 1], subgroups: {subgroups}}}"
    return loads_case(
        CASE.format(
            type="component: uint8, scope: Subgroup, rows: 2, cols: 4, use: A",
            body=body, at=at, parts=groups, before=before, after=after, tables=tables, dispatch=dispatch,
        )
    )  # fmt: skip


TABLE = "tables: [{name: t, type: uint8, buffer: part}]"
STORE = "- {op: MatrixStore, matrix: m, buffer: part, stride: 4}"
BARRIER = "- {op: ControlBarrier}"


@pytest.mark.parametrize(
    ("found", "rule", "path"),
    [
        (case(r"o[row] = value\nvalue"), "TA-044", "program[1].function"),
        (case(r"o[row * 4 + col] = value\no[row * 4 + col] = value\nvalue"), "TA-044", "program[1].buffer"),
        (case(r"for i in range(2):\n    o[row * 4 + col + i] = value\nvalue"), "TA-044", "program[1].buffer"),
        (case(r"o[row * 16 + 13 + col] = value\nvalue"), "TA-069", "program[1].function"),
        (case(r"o[at + row * 4 + col] = value\nvalue", "-1"), "TA-069", "program[1].function"),
        (case(r"o[at + row * 4 + col] = value\nvalue", groups=2), "TA-044", "program[1].function"),
        (
            case(r"o[at + row * 4 + col] = value + t[col]\nvalue", tables=TABLE, before=STORE),
            "TA-044",
            "program[2].buffer",
        ),
        (case(r"o[row * 4 + col] = t[col * 6]\nvalue", tables=TABLE), "TA-069", "program[1].function"),
    ],
)
def test_what_breaks_a_rule(found: Case, rule: str, path: str) -> None:
    violations = ORACLE.violations(found)
    assert [(v.rule, v.path) for v in violations][:1] == [(rule, path)]


def test_an_integer_differs_by_workgroup() -> None:
    valid = case(r"o[at + row * 4 + col] = value * 2\nvalue", "{literal: 3, wg.x: 16}", groups=2)
    assert not ORACLE.violations(valid)
    memory = ORACLE.expect(valid).buffers["out"].exact
    wanted = np.full(32, 99, np.uint8)
    wanted[3:11] = wanted[19:27] = 2 * np.arange(1, 9)
    assert (memory == wanted).all()


def test_only_elements_that_take_the_way_store() -> None:
    valid = case(r"if col > 1:\n    o[row * 4 + col] = value\nvalue")
    assert ORACLE.expect(valid).buffers["out"].exact[:8].tolist() == [99, 99, 3, 4, 99, 99, 7, 8]


def test_a_table_is_what_the_program_has_written_by_then() -> None:
    valid = case(
        r"o[at + row * 4 + col] = t[7 - (row * 4 + col)]\nvalue", "{literal: 0, wg.x: 8}",
        groups=2, tables=TABLE, before=STORE + "\n  " + BARRIER,
    )  # fmt: skip
    assert not ORACLE.violations(valid)
    assert ORACLE.expect(valid).buffers["out"].exact[:16].tolist() == [8, 7, 6, 5, 4, 3, 2, 1] * 2


def test_the_trace_says_who_stored_a_byte() -> None:
    found = case(r"o[row * 4 + col] = value + 1\nvalue")
    trace = ORACLE.trace(found, "out", 5)
    assert (trace.instruction, trace.row, trace.col) == (1, 1, 1)
    stored = next(step for step in trace.steps if step.fact == "CM-035")
    assert stored.names == {"output": "o", "buffer": "out"}
    assert stored.numbers == {"index": 5, "byte": 5}
