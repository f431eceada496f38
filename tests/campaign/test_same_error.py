"""A run that cannot judge a single case stops early, with one error."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cts.judging.events import CaseJudged, Event, ExamplesJudged, RunFinished, Trouble
from cts.judging.same_error import FIRST, SameError
from cts.judging.verdict import Verdict
from cts.running.plan import Plan
from cts.running.policy import Policy
from cts.running.profiles import profile
from cts.running.runner import run


def judged(verdict: Verdict, detail: str, driver: str = "d") -> CaseJudged:
    return CaseJudged(driver, "area", "hash", verdict, detail)


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_campaign_on_a_driver_that_never_works_stops_with_one_error(
    jobs: int, fakes_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{fakes_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    told: list[Event] = []
    settings = replace(profile("default", seed=3), max_examples=0, reduce_seconds=0, sets=0)
    policy = Policy(keep=3, budget=4000, chunk=10)
    run(Plan(("fake:raises",), settings, areas=("reductions",), policy=policy, jobs=jobs), told.append)
    (trouble,) = (e for e in told if isinstance(e, Trouble))
    assert trouble.code == "no-case-judged" and trouble.where == "fake:raises"
    assert trouble.what.startswith(
        f"the first {FIRST} cases all end in the same error: RuntimeError: the driver has a bug"
    )
    ended = told[-1]
    assert isinstance(ended, RunFinished) and ended.exit_status == 3
    count = sum(sum(e.verdicts.values()) for e in told if isinstance(e, ExamplesJudged))
    assert FIRST <= count < 5 * FIRST


def test_it_takes_so_many_cases_of_the_same_error() -> None:
    watch = SameError()
    told = [watch(judged(Verdict.ERROR, "missing", f"d{n % 2}")) for n in range(2 * FIRST)]
    assert [n for n, trouble in enumerate(told) if trouble] == [FIRST - 1]


@pytest.mark.parametrize(
    "other", [judged(Verdict.PASS, ""), judged(Verdict.FAIL, ""), judged(Verdict.ERROR, "another one")]
)
@pytest.mark.parametrize("place", [0, FIRST // 2, FIRST - 1])
def test_one_case_that_ends_otherwise_is_enough_to_go_on(other: CaseJudged, place: int) -> None:
    watch, events = SameError(), [judged(Verdict.ERROR, "missing")] * (3 * FIRST)
    events.insert(place, other)
    assert not any(watch(event) for event in events)


def test_cases_that_did_not_run_do_not_count() -> None:
    watch = SameError()
    assert not any(watch(judged(verdict, "")) for verdict in (Verdict.UNSUPPORTED, Verdict.NOT_RUN) * FIRST)
    assert watch(judged(Verdict.ERROR, "missing")) is None
    assert any(watch(judged(Verdict.ERROR, "missing")) for _ in range(FIRST - 1))
