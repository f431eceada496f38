"""Universes: what a file means, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import dynamic_words
from cts.plugins.universes import packaged
from cts.running.sweeps.selection import Chosen, select
from cts.running.sweeps.universe import load, loads
from tests.sweeps.small import TEXT, UNIVERSE, every


def test_the_last_axis_is_fastest_and_each_template_a_part() -> None:
    assert (UNIVERSE.size, len(UNIVERSE.parts), UNIVERSE.part_size) == (480, 3, 160)
    assert [part.fixed for part in UNIVERSE.parts] == [{"clamp": c} for c in ("Undefined", "ClampToEdge", "Repeat")]
    sets = UNIVERSE.parts[1].sweep(np.array([0, 1, 2, 159])).sets
    assert sets.tolist() == [[1, 2**32 - 2, 4], [1, 2**32 - 2, 16], [1, 2**32 - 1, 4], [16, 2, 16]]
    assert {name: column.tolist() for name, column in UNIVERSE.parts[0].values(np.array([1])).items()} == {
        "dim": [1],
        "offset": [-2],
        "span": [16],
    }


def test_sets_are_cases() -> None:
    sweep = UNIVERSE.parts[2].sweep(every())
    for i in (0, 77, 159):
        assert (dynamic_words(sweep.case(i)) == sweep.sets[i]).all()
        assert sweep.case(i).program[0].clamp.value == "Repeat"  # type: ignore[union-attr]


def test_numbers_go_to_their_parts() -> None:
    found = [(part.fixed["clamp"], within.tolist()) for part, within in UNIVERSE.by_part(np.array([3, 159, 160, 479]))]
    assert found == [("Undefined", [3, 159]), ("ClampToEdge", [0]), ("Repeat", [159])]


PAIRS = """\
schema: 1
name: pairs
description: Copies of bytes, with all pairs of bytes in two buffers.
template:
  schema: 1
  buffers:
    a: {type: uint8, shape: [64], data: {fill: 0}}
    b: {type: uint8, shape: [64], data: {fill: 0}}
    dst: {type: uint8, shape: [64], data: {fill: 0}}
  program:
    - {op: MatrixLoad, id: x, type: {component: uint8, scope: Subgroup, rows: 8, cols: 8, use: A}, buffer: a, stride: 8}
    - {op: MatrixLoad, id: y, type: {component: uint8, scope: Subgroup, rows: 8, cols: 8, use: A}, buffer: b, stride: 8}
    - {op: MatrixStore, matrix: x, buffer: dst, stride: 8}
data: {every: value, buffers: [a, b]}
"""


def test_every_value_enumerates_all_combinations() -> None:
    universe = loads(PAIRS, Path("pairs.yaml"))
    assert universe.size == 65536 // 64
    sweep = universe.parts[0].sweep(np.arange(universe.size))
    pairs = sweep.data["a"].astype(int) + 256 * sweep.data["b"].astype(int)
    assert pairs.reshape(-1).tolist() == list(range(65536))
    assert sweep.case(3).buffers["a"].data.values is not None


def test_every_byte_changes_one_at_a_time() -> None:
    text = PAIRS.replace("{every: value, buffers: [a, b]}", "{every: byte, buffer: a}")
    universe = loads(text, Path("bytes.yaml"))
    assert universe.size == 256 * 64
    rows = universe.parts[0].sweep(np.array([0, 255, 256, 511])).data["a"]
    assert rows[:, :2].tolist() == [[0, 0], [255, 0], [0, 0], [0, 255]]


@pytest.mark.parametrize(
    ("old", "new", "what", "where"),
    [
        ("name: small", "name: Small", "match", "small.yaml:2: name"),
        ("clamp: Undefined}", "clamp: Undef}", "Invalid enum", "template.program[0].clamp"),
        ("dims[0]'", "dims[3]'", "no program[1].dims[3]", "axes.dim"),
        ("program[2].span[0]", "program[2].sapn[0]", "no program[2].sapn[0]", "axes.span"),
        ("{from: 1, to: 16}", "{from: 1, to: 0}", "no value", "axes.dim"),
        ("[4, 16]}", "[4, 99999999999]}", "not values", "axes.span"),
        ("[4, 16]}", "[four]}", "not values", "axes.span"),
        ("[Undefined, ClampToEdge, Repeat]", "[Undefined, Mirror]", "Invalid enum", "template.program[0].clamp"),
        ("id: m, object: z", "id: m, object: y", "'y'", "template.program[4]"),
        ("schema: 1\nname", "schema: 2\nname", "Invalid enum value 2", "schema"),
        ("axes:", "axis:", "unknown field", "small.yaml"),
        ("template:", "template:\n  robustness: robustBufferAccess2", "a template with robustness", "template"),
        ("{start: 1}}}", "{start: 1}}, begins_at: 256}", "begin late", "template"),
        ("    - {op: MatrixStore, matrix: m, buffer: dst, stride: 4}\n", "", "stores nothing", "template"),
        (
            "at: ['program[0].clamp']",
            "at: ['program[0].clamp', 'program[1].dims[0]']",
            "read at run time",
            "axes.clamp",
        ),
    ],
)
def test_wrong_universes(old: str, new: str, what: str, where: str) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(BadInput) as refused:
        loads(TEXT.replace(old, new), Path("small.yaml"))
    assert what in refused.value.what and where in refused.value.where


def test_what_is_no_universe(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a universe"):
        loads("- 1", Path("x.yaml"))
    with pytest.raises(BadInput, match="No such file"):
        load(tmp_path / "missing.yaml")


def test_universes_are_selected_by_name_and_path(tmp_path: Path) -> None:
    assert [e.name for e in select([])[0]] == sorted(packaged())
    path = tmp_path / "own.yaml"
    path.write_text(TEXT)
    entries, errors = select(["tensor_loads_2d", str(path), str(path)], 7)
    assert [(e.name, e.max_sets) for e in entries] == [("tensor_loads_2d", 7), ("small", 7)] and not errors
    _, (error,) = select(["tensor_load_2d"])
    assert "did you mean 'tensor_loads_2d'" in error.remedy
    other = tmp_path / "other.yaml"
    other.write_text(TEXT)
    assert "two universes are called 'small'" in select([str(path), str(other)])[1][0].what


@pytest.mark.parametrize("max_sets", [None, 1, 7, 100, 1000, 4000])
def test_shards_are_disjoint_and_complete(max_sets: int | None) -> None:
    whole = Chosen(1000, max_sets, 5)
    numbers = whole.numbers(0, whole.count)
    assert len(numbers) == whole.count == min(1000, max_sets or 1000)
    assert (np.diff(numbers) > 0).all() and numbers.min() >= 0 and numbers.max() < 1000
    shards = [Chosen(1000, max_sets, 5, (i, 3)) for i in range(3)]
    parts = [s.numbers(0, s.count) for s in shards]
    assert sorted(np.concatenate(parts).tolist()) == numbers.tolist()
    assert (numbers == np.concatenate([whole.numbers(i, i + 13) for i in range(0, whole.count, 13)])).all()


def test_chosen_sets_are_spread_and_follow_the_seed() -> None:
    first, again, other = (Chosen(10**9, 1000, seed).numbers(0, 1000) for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any()
    assert (first // 10**6 == np.arange(1000)).all()
