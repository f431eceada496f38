"""Sets on drivers: each is judged exactly once, whatever becomes of the dispatch that it is in."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from cts.case.model.sweep import Sweep
from cts.device.driver import Status
from cts.judging.judge import OpenDriver, ResumeState
from cts.judging.known.quarantine import loads as quarantine
from cts.plugins import registry
from cts.running.sweeps.judging import FEW_SETS, judge_sets
from cts.running.sweeps.states import State
from tests.sweeps.small import DIM, OFFSET, UNIVERSE, Sweeping, every, opened

ORACLE = registry.oracle()
EDGE = UNIVERSE.parts[1]
DIMS = EDGE.values(every())["dim"]


def dims(sweep: Sweep) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return sweep.sets[:, 0] if sweep.sets.shape[1] else np.zeros(1, np.uint32)


def judged(driver: Sweeping, part: int = 1) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return judge_sets(UNIVERSE.parts[part], every(), opened(driver), ORACLE).states


def test_a_right_driver_passes_and_what_is_undefined_never_runs() -> None:
    driver = Sweeping()
    result = judge_sets(UNIVERSE.parts[0], every(), opened(driver), ORACLE)
    excluded = np.array([bool(ORACLE.violations(UNIVERSE.parts[0].sweep(every()).case(i))) for i in range(160)])
    assert ((result.states == State.EXCLUDED) == excluded).all() and 0 < excluded.sum() < 160
    assert ((result.states == State.PASS) == ~excluded).all()
    assert sum(result.excluded.values()) == excluded.sum() and set(result.excluded) == {"TA-060"}
    assert sum(driver.given) == (~excluded).sum()


def test_wrong_sets_are_told_from_right_ones() -> None:
    states = judged(Sweeping(spoils=lambda sweep: dims(sweep) % 3 == 0))
    assert ((states == State.FAIL) == (DIMS % 3 == 0)).all()
    assert ((states == State.PASS) == (DIMS % 3 != 0)).all()


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (Status.CRASH, State.CRASH),
        (Status.TIMEOUT, State.TIMEOUT),
        (Status.DEVICE_LOST, State.DEVICE_LOST),
        (Status.ERROR, State.ERROR),
    ],
)
def test_a_set_that_breaks_a_dispatch_is_isolated(status: Status, state: State) -> None:
    driver = Sweeping(breaks=lambda sweep: status if (dims(sweep) == 7).any() else None)
    states = judged(driver)
    assert ((states == state) == (DIMS == 7)).all()
    assert ((states == State.PASS) == (DIMS != 7)).all()
    assert len(driver.given) < 120, "by halving"


def test_what_breaks_once_and_not_again_is_judged_all_the_same() -> None:
    """A worker that is killed at random: every set has one verdict, and that is right."""
    for seed in range(20):
        dice, broken = random.Random(seed), set[bytes]()

        def breaks(sweep: Sweep, dice: random.Random = dice, broken: set[bytes] = broken) -> Status | None:
            key = sweep.sets.tobytes()
            if len(sweep) == 1 or key in broken or dice.random() < 0.5:
                return None
            broken.add(key)
            return Status.CRASH

        driver = Sweeping(breaks=breaks)
        assert (judged(driver) == State.PASS).all()


def test_sets_that_break_together_and_not_apart_are_told() -> None:
    driver = Sweeping(breaks=lambda sweep: Status.CRASH if np.isin([7, 8], dims(sweep)).all() else None)
    result = judge_sets(UNIVERSE.parts[1], every(), opened(driver), ORACLE)
    (place,) = np.flatnonzero(result.states != State.PASS)
    assert result.states[place] == State.CRASH
    assert "sets in one dispatch, of which each half ends well: broken" in result.details[State.CRASH]


def test_sets_that_are_slow_together_pass() -> None:
    driver = Sweeping(breaks=lambda sweep: Status.TIMEOUT if len(sweep) > 10 else None)
    assert (judged(driver) == State.PASS).all()


def test_memory_that_is_nobody_s_is_looked_for() -> None:
    """A set that writes into the shared source is found though no window differs."""

    class Stray(Sweeping):
        def run_sweeps(self, jobs):  # type: ignore[no-untyped-def]
            for outcome, bad in self._with(jobs):  # type: ignore[no-untyped-call]
                if bad:
                    outcome.memory["src"] = outcome.memory["src"].copy()
                    outcome.memory["src"][1030] ^= 1
                yield outcome

        def _with(self, jobs):  # type: ignore[no-untyped-def]
            for job in jobs:
                (outcome,) = super().run_sweeps([job])
                yield outcome, (dims(job.sweep) == 5).any()

    assert ((judged(Stray()) == State.FAIL) == (DIMS == 5)).all()


def test_a_gap_is_its_set_s() -> None:
    class Beyond(Sweeping):
        def run_sweeps(self, jobs):  # type: ignore[no-untyped-def]
            for job in jobs:
                (outcome,) = super().run_sweeps([job])
                job.sweep.windows["dst"].gaps(outcome.memory["dst"])[dims(job.sweep) == 9, 3] ^= 1
                yield outcome

    assert ((judged(Beyond()) == State.FAIL) == (DIMS == 9)).all()


@pytest.mark.parametrize("takes", [False, True])
def test_a_driver_that_raises_has_errors(takes: bool) -> None:
    class Raising(Sweeping):
        def run_sweeps(self, jobs):  # type: ignore[no-untyped-def]
            if takes:
                next(iter(jobs), None)
            raise RuntimeError("a bug of the driver")
            yield

    result = judge_sets(EDGE, every(), opened(Raising()), ORACLE)
    assert (result.states == State.ERROR).all() and "a bug of the driver" in result.details[State.ERROR]


def test_other_drivers_get_one_set_at_a_time() -> None:
    driver = Sweeping(
        spoils=lambda sweep: dims(sweep) == 3,
        breaks=lambda sweep: Status.CRASH if (dims(sweep) == 4).all() and len(sweep) == 1 else None,
    )

    class Alone:
        name = "alone"
        capabilities, run, close = driver.capabilities, driver.run, driver.close

    states = judge_sets(EDGE, every(), OpenDriver("alone", Alone(), driver.capabilities()), ORACLE).states
    assert ((states == State.FAIL) == (DIMS == 3)).all()
    assert ((states == State.CRASH) == (DIMS == 4)).all()


def test_unsupported_sets_run_nowhere() -> None:
    driver = Sweeping(breaks=lambda sweep: Status.UNSUPPORTED)
    result = judge_sets(EDGE, every(), opened(driver), ORACLE)
    assert (result.states == State.UNSUPPORTED).all() and result.details[State.UNSUPPORTED] == "broken"


def test_a_quarantine_leaves_sets_out() -> None:
    rules = quarantine(
        "schema: 1\nhashes: 2\nentries:\n  - {match: {cases: 'sweep.small'}, when: never, reason: it hangs}\n"
    )
    driver = Sweeping()
    result = judge_sets(EDGE, every(), OpenDriver("q", driver, driver.capabilities(), rules), ORACLE)
    assert (result.states == State.NOT_RUN).all() and not driver.given
    assert result.details[State.NOT_RUN] == "quarantine: it hangs"


def test_sets_that_the_run_has_died_with_are_fewer_and_at_last_not_run() -> None:
    events: list[object] = []
    driver = Sweeping()
    judge_sets(EDGE, every(), OpenDriver("d", driver, driver.capabilities(), emit=events.append), ORACLE)
    (identity,) = events[0].hashes  # type: ignore[attr-defined]
    given = []
    for deaths in (1, 2):
        driver = Sweeping()
        resumed = ResumeState(died={identity: deaths})
        result = judge_sets(EDGE, every(), OpenDriver("d", driver, driver.capabilities(), resumed=resumed), ORACLE)
        given.append(driver.given)
        counts = Counter(result.states.tolist())
    assert given[0] == [FEW_SETS, 160 - FEW_SETS] and given[1] == [160 - FEW_SETS]
    assert counts == {State.CRASH: FEW_SETS, State.PASS: 160 - FEW_SETS}
    assert (OFFSET, DIM) == (2, 1)
