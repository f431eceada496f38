"""The universes that come with the suite."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model.sweep import sets_at_a_time
from cts.plugins import registry
from cts.plugins.universes import packaged
from cts.running.opening import open_driver
from cts.running.sweeps.judging import Judged, judge_sets, together
from cts.running.sweeps.selection import Chosen, opened
from cts.running.sweeps.states import State
from cts.running.sweeps.universe import Universe, loads

DOCS = Path(__file__).resolve().parents[2] / "docs"

#: Sets of each universe that the drivers here run, evenly spread.
SETS = 200

#: Parts of each universe that are run, evenly spread: each is a module to lower and to compile.
PARTS = 24

#: The universes of numbers that wrap around at 32 bits, most of which are undefined.
WRAPAROUND = ("tensor_wraparound", "tensor_view_wraparound")

_ORACLE = registry.oracle()


def judged(universe: Universe, spec: str) -> Judged:
    """What becomes of evenly spread sets of evenly spread parts."""
    driver = open_driver(spec)
    every = Chosen(universe.size, SETS, seed=0).numbers(0, SETS)
    parts = list(universe.by_part(every))
    return together([judge_sets(p, n, driver, _ORACLE) for p, n in parts[:: -(-len(parts) // PARTS)]])


@pytest.mark.parametrize("name", packaged())
def test_universe(name: str) -> None:
    universe = opened(packaged()[name])
    assert universe.name == name
    assert all(sets_at_a_time(part.template, part.data_buffers) >= 256 for part in universe.parts)
    results = {spec: judged(universe, spec) for spec in ("interpreter", "emulator")}
    for result in results.values():
        assert not result.details
        assert {*np.unique(result.states).tolist()} <= {State.PASS, State.EXCLUDED}
    share = np.mean(results["emulator"].states == State.PASS)
    assert share >= (0.03 if name in WRAPAROUND else 0.3)


def test_the_tables_of_sizes() -> None:
    """Of all universes sets, of those of addressing also how many are valid, and excluded by which rule."""
    text = (DOCS / "sweeps.md").read_text(encoding="utf-8")
    sizes = {name: number(sets) for name, sets in re.findall(r"^\| ([a-z0-9_]+) \| ([\d,]+) \|", text, re.MULTILINE)}
    known = packaged().keys()
    assert {name: size for name, size in sizes.items() if name in known} == {
        n: opened(packaged()[n]).size for n in known
    }
    whole = re.findall(r"^\| ([a-z0-9_]+) \| ([\d,]+) \| ([\d,]+) \| ([^|]*) \| [\d.]+ s \|$", text, re.MULTILINE)
    assert len(whole) > 30
    for name, sets, valid, rules in whole:
        counts = [number(n) for n in re.findall(r" ([\d,]*\d)(?:,|$)", rules)]
        assert number(sets) == number(valid) + sum(counts), name


def number(text: str) -> int:
    return int(text.replace(",", ""))


TEMPLATE = """\
schema: 1
name: made
description: Made for a test.
template:
  schema: 1
  buffers:
    src: {type: float16, shape: [64], data: {iota: {start: 1}}}
    dst: {type: float16, shape: [16, 16], data: {fill: -5}}
  program:
    - {op: TensorLayout, id: t, dim: 1, clamp: Repeat}
    - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [40]}
    - {op: TensorLayoutSlice, id: t2, of: t1, offset: [{dynamic: 0}], span: [16]}
    - {op: MatrixNull, id: z, type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}}
    - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t2}
    - {op: MatrixStore, matrix: m, buffer: dst, stride: 16}
"""


def made(axes: str) -> Universe:
    return loads(f"{TEMPLATE}axes:\n{axes}", Path("made.yaml"))


def test_an_axis_that_brings_more_operands_moves_the_columns_of_the_others() -> None:
    universe = made(
        "  dims: {at: ['program[1]'], values: [\n"
        "    {op: TensorLayoutSetDimension, id: t1, of: t, dims: [40]},\n"
        "    {op: TensorLayoutSetDimension, id: t1, of: t, dims: [{dynamic: 33}]}]}\n"
        "  offset: {at: ['program[2].offset[0]'], values: [3, 5]}\n"
    )
    assert [part.sweep(np.array([0, 1])).sets.tolist() for part in universe.parts] == [[[3], [5]], [[33, 3], [33, 5]]]


def test_an_axis_may_not_take_away_the_operand_of_another() -> None:
    with pytest.raises(BadInput) as e:
        made(
            "  slice: {at: ['program[2]'], values: [\n"
            "    {op: TensorLayoutSlice, id: t2, of: t1, offset: [2], span: [16]}]}\n"
            "  offset: {at: ['program[2].offset[0]'], values: [3, 5]}\n"
        )
    assert "program[2].offset[0] is not read at run time" in str(e.value)
    assert "made.yaml:19: axes.offset.at" in e.value.where


def test_huge_dimensions_are_excluded_out_of_bounds_without_a_warning() -> None:
    universe = made(
        "  dim: {at: ['program[1].dims[0]'], values: [40, 0x80000000, -1]}\n"
        "  offset: {at: ['program[2].offset[0]'], values: [0, 0x80000000, -1]}\n"
    )
    driver = open_driver("emulator")
    found = {
        part.fixed["dim"]: judge_sets(part, np.arange(3), driver, _ORACLE).states.tolist() for part in universe.parts
    }
    inside = [State.PASS, State.EXCLUDED, State.EXCLUDED]
    assert found == {40: [State.PASS] * 3, 0x80000000: inside, -1: inside}
