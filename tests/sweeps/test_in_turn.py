"""Universes in turn: drivers are asked before sets are drawn, all universes begin, and the time is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.case.oracle.expectation import Oracle
from cts.device.driver import Outcome, Status, SweepJob
from cts.device.job import ModuleJob
from cts.judging.events import Event, Result, SetsJudged
from cts.judging.judge import OpenDriver
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.plugins.universes import packaged
from cts.running import sweeping
from cts.running.opening import open_driver
from cts.running.policy import FIRST_FINDING
from cts.running.profiles import profile
from cts.running.sweeping import SweepRun
from cts.running.sweeps.judging import Judged, judge_sets
from cts.running.sweeps.selection import SweepEntry, opened
from cts.running.sweeps.states import State
from cts.running.sweeps.universe import load
from cts.running.tasks import Answer, FindCauses, Sets, TaskRunner
from cts.running.universes import Sweeps
from tests.sweeps.small import TEXT, UNIVERSE, every, written

SETTINGS = profile("default", seed=1)


class Unable:
    """A driver that cannot run a template, which it says when it is asked, or only when it is to run."""

    def __init__(self, driver: Any, *, asked: bool) -> None:
        self.driver = driver
        self.given = 0
        if asked:
            self.lacks_module = self._lacks

    def __getattr__(self, name: str) -> Any:
        return getattr(self.driver, name)

    def _lacks(self, job: ModuleJob) -> str:
        return "clamp modes"

    def run_sweeps(self, jobs: Iterable[SweepJob]) -> Iterator[Outcome]:
        for _ in jobs:
            self.given += 1
            yield Outcome(Status.UNSUPPORTED, detail="clamp modes")


class Counting:
    """An oracle that counts the sets that it is asked about, and tells a clock of them."""

    def __init__(self) -> None:
        self.oracle = registry.oracle()
        self.sets = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.oracle, name)

    def sweep(self, sweep: Any) -> Any:
        self.sets += len(sweep)
        return self.oracle.sweep(sweep)


def unable(*, asked: bool) -> OpenDriver:
    driver = open_driver("interpreter")
    return replace(driver, driver=Unable(driver.driver, asked=asked))


def performed(entry: SweepEntry, driver: OpenDriver, oracle: Oracle) -> tuple[list[Event], list[Result]]:
    events: list[Event] = []
    run = SweepRun(entry, [driver], SETTINGS, events.append, NO_DEADLINE)
    runner = TaskRunner([driver], oracle, SETTINGS, FIRST_FINDING, events.append, 0)
    for task in run.tasks():
        run.take(task, runner.answer(task))
    return events, list(run.finish(""))


def test_support_is_asked_of_the_template_before_any_set_is_drawn(tmp_path: Path) -> None:
    oracle: Any = Counting()
    events, (result,) = performed(SweepEntry("small", written(tmp_path)), unable(asked=True), oracle)
    assert (result.verdict, result.unsupported, result.lacks) == (Verdict.UNSUPPORTED, 480, {"clamp modes": 480})
    assert oracle.sets == 0
    told = [event for event in events if isinstance(event, SetsJudged)]
    assert [(event.start, event.count, event.states) for event in told] == [
        (0, 160, "*"),
        (160, 160, "*"),
        (320, 160, "*"),
    ]
    again = SweepRun(SweepEntry("small", tmp_path / "small.yaml"), [unable(asked=True)], SETTINGS, print, NO_DEADLINE)
    again.resume(told[:2])
    assert not list(again.tasks())
    assert [r.unsupported for r in again.finish("")] == [480]


def test_no_more_sets_are_drawn_of_a_template_that_a_driver_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cts.running.sweeps.judging.FIRST_SETS", 40)
    oracle: Any = Counting()
    driver = unable(asked=False)
    _, (result,) = performed(SweepEntry("small", written(tmp_path)), driver, oracle)
    assert result.verdict is Verdict.UNSUPPORTED
    # What the oracle excluded before the driver was asked stays excluded.
    assert 3 * 40 <= oracle.sets < 480 and 400 < result.unsupported < 480
    assert driver.driver.given == 3  # type: ignore[attr-defined]


class Timer(Deadline):
    """A time that is up after it has been asked so many times."""

    def __init__(self, times: int) -> None:
        super().__init__(1.0)
        self.times = times

    def __call__(self) -> str:
        self.times -= 1
        return self.why if self.times < 0 else ""


def test_the_time_of_a_run_ends_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was judged counts, and a run that is resumed begins behind it."""
    monkeypatch.setattr("cts.running.sweeps.judging.FIRST_SETS", 16)
    monkeypatch.setattr("cts.running.sweeps.judging.BLOCK_SECONDS", 0.0)
    driver, part = open_driver("interpreter"), UNIVERSE.parts[1]
    judged = judge_sets(part, every(), driver, registry.oracle(), Timer(3))
    assert (judged.states[:48] != State.PENDING).all() and (judged.states[48:] == State.PENDING).all()
    events: list[Event] = []
    run = SweepRun(SweepEntry("small", written(tmp_path)), [driver], SETTINGS, events.append, NO_DEADLINE)
    task = Sets(run.entry, run.chosen, 0, 160, run.specs)
    run.take(task, Answer(sets={driver.spec: judged}))
    (told,) = [event for event in events if isinstance(event, SetsJudged)]
    assert (told.start, told.count) == (0, 48)
    left = SweepRun(run.entry, [driver], SETTINGS, events.append, NO_DEADLINE)
    left.resume([told])
    first = next(iter(left.tasks()))
    assert (first.start, first.stop) == (48, 480)
    (result,) = left.finish("no time")
    assert result.not_run == {"no time": 432}


def test_blocks_grow_while_they_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cts.running.sweeps.judging.FIRST_SETS", 16)
    sizes: list[int] = []

    class Noting(Counting):
        def sweep(self, sweep: Any) -> Any:
            sizes.append(len(sweep))
            return super().sweep(sweep)

    oracle: Any = Noting()
    monkeypatch.setattr("cts.running.sweeps.judging.BLOCK_SECONDS", 1e9)
    judge_sets(UNIVERSE.parts[0], every(), open_driver("interpreter"), oracle)
    assert sizes == [16, 32, 64, 48]


def test_the_universe_that_had_the_least_time_is_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begins before any has a second task; then one whose tasks take three times as long has a third of them."""
    monkeypatch.setattr(sweeping, "FIRST_SETS", 8)
    monkeypatch.setattr(sweeping, "TASK_SETS", 8)
    names = ("fast", "slow", "other")
    for name in names:
        (tmp_path / f"{name}.yaml").write_text(TEXT.replace("name: small", f"name: {name}"), encoding="utf-8")
    driver, ended, now = open_driver("interpreter"), list[Result](), 0.0
    sweeps = Sweeps(
        names,
        lambda name: SweepRun(SweepEntry(name, tmp_path / f"{name}.yaml"), [driver], SETTINGS, print, NO_DEADLINE),
        ended.extend,
        lambda: "",
        lambda: now,
    )
    order = []
    for task in sweeps.tasks():
        assert task is not None and not isinstance(task, FindCauses)
        order.append(task.entry.name)
        now += 3.0 if task.entry.name == "slow" else 1.0
        states = np.full(task.stop - task.start, State.PASS, np.uint8)
        sweeps.take(task, Answer(sets={driver.spec: Judged(states)}))
    assert order[:3] == list(names) and len(order) == 180
    assert 15 <= order[:100].count("slow") <= 17 and order[150:].count("slow") == 30
    assert [(r.name, r.examples) for r in ended] == [("sweep.fast", 480), ("sweep.other", 480), ("sweep.slow", 480)]


def test_a_universe_that_takes_no_time_to_open_is_the_same() -> None:
    """Templates of shipped universes are made when they are asked for, whatever has been refused."""
    for name in ("matrix_conversions_8", "tensor_setters"):
        path = packaged()[name]
        lazy, whole = opened(path), load(path)
        assert lazy.size == whole.size and [part.fixed for part in lazy.parts] == [part.fixed for part in whole.parts]
        assert lazy.parts[-1].template == whole.parts[-1].template
