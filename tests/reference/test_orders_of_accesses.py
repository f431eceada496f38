"""A barrier orders accesses of several subgroups, and a later one of the subgroup then need order its own alone."""

from __future__ import annotations

from cts.case.model import loads_case
from cts.plugins import registry

CASE = """
schema: 1
name: orders
dispatch: {{subgroups: 2}}
buffers: {{mem: {{type: uint32, shape: [2], data: {{fill: 7}}}}}}
program:
  - op: MatrixConstant
    id: a
    type: {{component: uint32, scope: Subgroup, rows: 1, cols: 1, use: Accumulator}}
    value: 1
  - {{op: MatrixStore, matrix: a, buffer: mem, stride: 1, offset: {{literal: 1, sg: -1}}}}
  - {{op: ControlBarrier, scope: {first}}}
  - {{op: MatrixStore, matrix: a, buffer: mem, stride: 1, offset: {{literal: 0, sg: 1}}}}
  - {{op: ControlBarrier, scope: Subgroup}}
  - {{op: MatrixStore, matrix: a, buffer: mem, stride: 1, offset: {{literal: 0, sg: 1}}}}
"""


def test_a_barrier_of_the_subgroup_orders_what_the_workgroup_has_left_to_it() -> None:
    oracle = registry.oracle()
    assert oracle.violations(loads_case(CASE.format(first="Workgroup"))) == []
    assert {v.rule for v in oracle.violations(loads_case(CASE.format(first="Subgroup")))} == {"TA-044"}
