"""What failing sets have in common."""

from __future__ import annotations

import numpy as np
import pytest

from cts.running.sweeps.regions import UNEXPLAINED, regions

GRID = np.stack(np.meshgrid(np.arange(3), np.arange(1, 9), np.arange(-4, 5), np.arange(1, 5), indexing="ij"), -1)
MODE, DIM, OFFSET, SPAN = (GRID[..., i].reshape(-1).astype(np.int64) for i in range(4))
COLUMNS = {"mode": MODE, "dim0": DIM, "offset0": OFFSET, "span0": SPAN}
LABELS = {"mode": ("None", "Edge", "Repeat")}


@pytest.mark.parametrize(
    ("fails", "text"),
    [
        (MODE == 1, "mode = Edge"),
        (OFFSET < 0, "offset0 <= -1"),
        (DIM % SPAN != 0, "dim0 % span0 != 0"),
        ((MODE == 2) & (OFFSET + SPAN > DIM), "mode = Repeat and offset0 + span0 > dim0"),
        (np.ones(len(MODE), bool), "everywhere"),
        (DIM == OFFSET, "dim0 = offset0"),
    ],
)
def test_one_region(fails: np.ndarray[tuple[int], np.dtype[np.bool_]], text: str) -> None:
    (region,) = regions(COLUMNS, LABELS, fails)
    assert sorted(region.text.split(" and ")) == sorted(text.split(" and "))
    assert (region.sets == np.flatnonzero(fails)).all()


def test_two_regions_share_no_set() -> None:
    fails = (MODE == 0) & (DIM == 3) | (OFFSET == 4)
    found = regions(COLUMNS, LABELS, fails)
    assert {frozenset(r.text.split(" and ")) for r in found} == {
        frozenset({"offset0 = 4"}),
        frozenset({"mode = None", "dim0 = 3"}),
    }
    sets = np.concatenate([r.sets for r in found])
    assert len(sets) == len(set(sets.tolist())) == fails.sum()


def test_every_set_of_a_region_fails_and_what_has_no_rule_is_said_to() -> None:
    fails = np.random.default_rng(1).random(len(MODE)) < 0.1
    fails &= MODE == 2
    found = regions(COLUMNS, LABELS, fails)
    assert sorted(np.concatenate([r.sets for r in found]).tolist()) == np.flatnonzero(fails).tolist()
    (rest,) = [r for r in found if r.text.startswith(UNEXPLAINED)]
    assert rest.text.startswith(f"{UNEXPLAINED}; all have mode = Repeat")


def test_numbers_that_follow_from_axes_are_asked_for_where_axes_do_not_say_it() -> None:
    highest = np.minimum((OFFSET + SPAN) % 3 * OFFSET, DIM)
    asked: list[int] = []

    def further(
        sets: np.ndarray[tuple[int], np.dtype[np.int64]],
    ) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        asked.append(len(sets))
        return {"highest coordinate 0": highest[sets]}

    (region,) = regions(COLUMNS, LABELS, (highest >= 2) & (MODE == 1), further)
    assert sorted(region.text.split(" and ")) == ["highest coordinate 0 >= 2", "mode = Edge"]
    assert asked
    asked.clear()
    (region,) = regions(COLUMNS, LABELS, OFFSET < 0, further)
    assert region.text == "offset0 <= -1" and not asked


def test_nothing_fails() -> None:
    assert regions(COLUMNS, LABELS, np.zeros(len(MODE), bool)) == []


def test_samples_are_checked_on_all_sets() -> None:
    """One passing set among very many, between failing ones, is not overlooked."""
    n = 200_000
    column = np.arange(n, dtype=np.int64)
    fails = (column >= 1000) & (column != 123_457)
    found = regions({"x": column}, {}, fails)
    assert all(fails[r.sets].all() for r in found)
    for region in found:
        assert 123_457 not in region.sets
    assert sum(len(r.sets) for r in found) == fails.sum()
