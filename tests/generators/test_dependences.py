"""Programs of all kinds read what they wrote: pairs of accesses that no part but chains has."""

from __future__ import annotations

import pytest

from cts.base.choices import DrawPolicy
from cts.case import model
from cts.device.capabilities import everything
from cts.features.coverage.draws import rows_of
from cts.generators.policy.dependence import DependenceDraws
from cts.generators.policy.programs import KernelDraws
from tests.generators.samples import sample


def pairs(case: model.Case) -> set[str]:
    """The kinds of neighbouring accesses to one place, without two plain ones, which other parts have."""
    return {name for group, name, _ in rows_of(case) if group == "dependence" and name.count("plain") < 2}


def test_pairs_are_told_apart() -> None:
    assert pairs(model.loads_case(CASE)) == {"tensor read after plain write"}


@pytest.mark.parametrize(("area", "least"), [("kernels", 200), ("per_element", 190)])
def test_chains_are_in_kernels_as_in_other_areas(area: str, least: int) -> None:
    assert sum(len(pairs(case)) for case in sample(300, everything(), area)) >= least


def test_no_seed_has_few_chains() -> None:
    seeds = [DrawPolicy(seed) for seed in range(50)]
    assert min(policy.odds(DependenceDraws.CHAINED) for policy in seeds) >= (3, 10)
    assert min(policy.odds(KernelDraws.CHAINED) for policy in seeds) >= (5, 10)


CASE = """
schema: 1
name: read_after_write
buffers:
  a: {type: float32, shape: [16, 16], data: {iota: {start: 1}}}
  b: {type: float32, shape: [16, 16], data: {fill: 3}}
  c: {type: float32, shape: [16, 16], data: {fill: 5}}
program:
  - op: MatrixLoad
    id: m
    type: {component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}
    buffer: a
    stride: 16
  - {op: MatrixStore, matrix: m, buffer: b, stride: 16}
  - {op: ControlBarrier, scope: Subgroup}
  - {op: TensorLayout, id: t, dim: 2}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [16, 16]}
  - {op: MatrixLoadTensor, id: n, object: m, buffer: b, layout: t1}
  - {op: MatrixStore, matrix: n, buffer: c, stride: 16}
"""
