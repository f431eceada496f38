"""Cases that compile for long stop nobody: they are set aside, finished at the end, and their times are results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from cts.base.deadline import NO_DEADLINE, TIME_IS_UP, Deadline
from cts.case.model import Case
from cts.faces.cli.compare import _print_changes
from cts.judging.events import Event, ExamplesJudged, Result
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.areas import AreaRun, Ran
from cts.running.compiling import CHEAP, ENOUGH, size_of, slower, times_of
from cts.running.counts import structure
from cts.running.deadline import SET_ASIDE, patience
from cts.running.exploring import Exploration
from cts.running.opening import open_driver
from cts.running.policy import FIRST_FINDING, WATCH, Policy
from cts.running.profiles import profile
from cts.running.slowest import SLOW
from cts.running.tally import tally_of
from cts.running.tasks import TaskRunner
from cts.showing.report.ending import going_on
from tests.campaign.simulated import Clock, Compiling, Simulated

AREAS = ("reductions", "matrix_arithmetic")


def is_slow(case: Case) -> bool:
    """One case in ten, by its structure."""
    return structure(case)[0] < 26


def seconds_of(case: Case) -> float:
    """Most cases take a tenth of a second, slow ones 40."""
    return 40.0 if is_slow(case) else 0.1


class Campaign:
    """Areas explored on a driver that compiles for long, by so many processes with a simulated clock."""

    def __init__(
        self,
        policy: Policy,
        examples: int,
        size: int = 4,
        seconds: Callable[[Case], float] = seconds_of,
        spec: str = "emulator",
        areas: tuple[str, ...] = AREAS,
        seed: int = 3,
        reduce_seconds: float = 0.0,
    ) -> None:
        opened = open_driver(spec)
        self.driver = Compiling(opened.driver, seconds)
        opened = replace(opened, driver=self.driver)
        settings = replace(profile("default", seed=seed), max_examples=examples, reduce_seconds=reduce_seconds)
        self.events: list[Event] = []
        self.ran: dict[str, Ran] = {}
        self.clock = Clock()
        oracle = registry.oracle()
        runner = TaskRunner([opened], oracle, settings, policy, self.events.append, 0)
        self.executor = Simulated(runner, self.driver, size, self.clock)
        self.runs = [
            AreaRun(area, [opened], oracle, settings, policy, self.events.append, clock=self.clock) for area in areas
        ]
        self.exploration = Exploration(
            self.runs, settings, policy, policy.chunk or 25, size, self._ended, clock=self.clock
        )

    def _ended(self, run: AreaRun) -> None:
        self.ran[run.area] = run.ran()

    def run(self) -> Campaign:
        for task, answer in self.executor.perform(self.exploration.tasks(), self.exploration.is_stale):
            self.exploration.take(task, answer)
        return self

    @property
    def judged(self) -> list[ExamplesJudged]:
        return [event for event in self.events if isinstance(event, ExamplesJudged)]


def test_slow_cases_are_finished_after_all_others() -> None:
    campaign = Campaign(FIRST_FINDING, 60).run()
    slow = [run for run in campaign.driver.runs if run[1] > SLOW]
    hasty = [run for run in slow if run[2] is not None]
    assert len(hasty) > 2 and all(patience == SLOW for _, _, patience in hasty)
    # Each comes once more, with all the time that it needs, and after all others were begun.
    assert sorted(identity for identity, _, patience in slow if patience is None) == sorted(h for h, _, _ in hasty)
    first_last = next(n for n, one in enumerate(campaign.judged) if one.last)
    assert all(one.last for one in campaign.judged[first_last:])
    assert {result.verdict for ran in campaign.ran.values() for result in ran.results} == {Verdict.PASS}
    assert sum(result.examples for ran in campaign.ran.values() for result in ran.results) == len(
        {identity for identity, _, _ in campaign.driver.runs}
    )


def test_a_campaign_does_not_wait_for_slow_cases() -> None:
    """All others are judged as if each slow one took what it takes to set it aside."""
    campaign = Campaign(Policy(keep=3, chunk=5), 60).run()
    others = max(
        sum(seconds for _, seconds, patience in campaign.driver.runs if patience is not None and seconds < SLOW) / 4, 1
    )
    set_aside = sum(len(one.set_aside) for one in campaign.judged)
    assert campaign.executor.busy["Examples"] < 4 * others + set_aside * (SLOW + 3) + 1
    assert campaign.executor.busy["Examples last"] >= 40 * set_aside > 0


def test_cases_like_slow_ones_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """By novelty, cases of a size of which most take long are set aside without being tried, all but a few."""
    monkeypatch.setattr("cts.running.planning.ROUND", 4)
    monkeypatch.setattr("cts.running.planning.PLANNING_LAG", 2)

    def large_is_slow(case: Case) -> float:
        return 40.0 if size_of(case).elements == 1024 else 0.1

    policy = Policy(keep=3, budget=300, by_novelty=True, chunk=5)
    campaign = Campaign(policy, 0, areas=("reductions",), seconds=large_is_slow).run()
    tried: dict[str, list[float | None]] = {}
    for identity, seconds, given in campaign.driver.runs:
        if seconds > SLOW:
            tried.setdefault(identity, []).append(given)
    once = [patiences for patiences in tried.values() if patiences == [None]]
    assert len(tried) > len(once) > len(tried) / 2, (len(once), len(tried))
    assert sum(one.count for one in campaign.judged if not one.last) == 300


def large_is_dear(case: Case) -> float:
    return 1.0 if size_of(case).elements >= 4096 else 0.1


def dear_and_cheap(policy: Policy, seconds: float) -> tuple[Campaign, int, int]:
    """A campaign of one area that ends with its time or its cases, and how many dear and cheap cases it judged."""
    campaign = Campaign(policy, 0, areas=("reductions",), seconds=large_is_dear)
    settings = replace(profile("default", seed=3), max_examples=0, reduce_seconds=0)
    limit = Until(campaign.clock, seconds)
    campaign.exploration = Exploration(
        campaign.runs, settings, policy, 5, 4, campaign._ended, limit, clock=campaign.clock  # type: ignore[arg-type]
    )  # fmt: skip
    campaign.run()
    dear = sum(seconds == 1.0 for _, seconds, _ in campaign.driver.runs)
    return campaign, dear, len(campaign.driver.runs) - dear


def test_of_dear_sizes_few_cases_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """They get no more time than cheap ones as often; with a number of cases to judge, all of them run."""
    monkeypatch.setattr("cts.running.planning.ROUND", 4)
    monkeypatch.setattr("cts.running.planning.PLANNING_LAG", 2)
    policy = Policy(keep=3, by_novelty=True, chunk=5)
    every, dear, cheap = dear_and_cheap(replace(policy, budget=120), float("inf"))
    assert 0.1 < dear / (dear + cheap) < 0.4
    assert not any(one.elsewhere for one in every.judged)
    some, few, many = dear_and_cheap(policy, 25.0)
    drawn = sum(one.drawn for one in some.judged)
    passed_over = sum(one.elsewhere for one in some.judged)
    assert passed_over > 0.1 * drawn and few > 5
    # Before anything is known of sizes, they run like others.
    assert few / (few + many) < 0.5 * dear / (dear + cheap)
    results = [result for ran in some.ran.values() for result in ran.results]
    assert not any(why.endswith(SET_ASIDE) for result in results for why in result.not_run)


def test_sizes_are_rare_by_what_their_cases_cost() -> None:
    cheap, dear, slow = "4 instructions, 16 elements", "8 instructions, 64 elements", "8 instructions, 256 elements"
    times = {cheap: (0.1,) * ENOUGH, dear: (0.1, 0.2, 0.6)}
    judged = ExamplesJudged("d", "a", 1, 30, times=times, slow={slow: 3}, timed=True)
    assert times_of([judged]).rare() == {dear: 3, slow: WATCH}
    assert times_of([msgspec.structs.replace(judged, times={cheap: (0.1,) * 3})]).rare() == {}
    # Below the cost of drawing another one, no size is dear.
    quick = {cheap: (CHEAP / 100,) * ENOUGH, dear: (CHEAP, CHEAP, CHEAP)}
    assert times_of([msgspec.structs.replace(judged, times=quick, slow={})]).rare() == {}


def test_a_finding_in_a_slow_case_is_found() -> None:
    def all_slow(case: Case) -> float:
        return 40.0

    campaign = Campaign(
        Policy(keep=3, chunk=5),
        20,
        spec="emulator:mutant=clip-width-remaining",
        seconds=all_slow,
        areas=("tensor_addressing",),
    ).run()
    assert any(one.failing for one in campaign.judged if one.last)
    assert not any(one.verdicts for one in campaign.judged if not one.last)


def test_what_is_not_finished_is_counted() -> None:
    campaign = Campaign(Policy(keep=3, chunk=5), 60)
    tasks = campaign.exploration.tasks()
    for task, answer in campaign.executor.perform(tasks, campaign.exploration.is_stale):
        campaign.exploration.take(task, answer)
        if getattr(task, "last", False):
            break
    for run in campaign.runs:
        if run.area not in campaign.ran:
            campaign._ended(run)
    left = sum(sum(result.not_run.values()) for ran in campaign.ran.values() for result in ran.results)
    assert left == sum(len(one.set_aside) for one in campaign.judged) - sum(one.last for one in campaign.judged) > 0


def test_times_are_results() -> None:
    campaign = Campaign(FIRST_FINDING, 30).run()
    assert all(one.timed for one in campaign.judged if one.structures)
    times = times_of(campaign.judged)
    every = [seconds for some in times.seconds.values() for seconds in some]
    assert set(every) == {0.1, 40.0} and every.count(40.0) == sum(times.set_aside.values()) > 0
    slowest = times.slowest()
    assert slowest == sorted(slowest, key=lambda row: -row.median) and all(row.cases >= 3 for row in slowest)


def test_a_driver_that_takes_longer_than_another_one_shows_in_their_times(capsys: pytest.CaptureFixture[str]) -> None:
    def later(case: Case) -> float:
        return 0.1 if size_of(case).instructions <= 8 else 0.35

    first, second = (Campaign(FIRST_FINDING, 40, seconds=some).run().judged for some in (lambda case: 0.1, later))
    changes = slower(times_of(first), times_of(second))
    assert changes and {(change.before, change.after) for change in changes} == {(0.1, 0.35)}
    assert not any(what.partition(" instructions")[0].endswith(" 8") for what, _, _ in changes)
    assert slower(times_of(second), times_of(first)) == [] == slower(times_of(first), times_of(first))
    _print_changes([], [], changes[:1])
    printed = capsys.readouterr().out
    assert printed.startswith(f"slower: {changes[0].what}: a median case took 0.1 s, now 0.35 s\n0 new")


class Until:
    """A limit by a simulated clock."""

    why = f"{TIME_IS_UP} (--max-time)"

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds

    @property
    def left(self) -> float:
        return self._seconds - self._clock.now

    def __call__(self) -> str:
        return self.why if self.left <= 0 else ""


def test_a_run_that_ends_with_its_time_finishes_slow_cases_beside_others() -> None:
    """At the end of its time there would be none for them. They have a small part of it."""
    areas = ("reductions",)
    campaign = Campaign(FIRST_FINDING, 0, size=8, seconds=lambda case: 40.0 if is_slow(case) else 4.9, areas=areas)
    limit = Until(campaign.clock, 100.0)
    policy = Policy(keep=3, chunk=5, by_novelty=True)
    settings = replace(profile("default", seed=3), max_examples=0, reduce_seconds=0)
    campaign.exploration = Exploration(
        campaign.runs, settings, policy, 5, 8, campaign._ended, limit, clock=campaign.clock  # type: ignore[arg-type]
    )  # fmt: skip
    campaign.run()
    judged = sum(campaign.executor.busy.values())
    assert 40 <= campaign.executor.busy["Examples last"] <= 0.03 * judged + 40
    left = sum(sum(result.not_run.values()) for ran in campaign.ran.values() for result in ran.results)
    results = [result for ran in campaign.ran.values() for result in ran.results]
    assert left and all(why.startswith(TIME_IS_UP) for result in results for why in result.not_run)
    assert any(why.endswith(SET_ASIDE) for result in results for why in result.not_run)


def test_a_slow_case_is_set_aside_again_when_the_time_is_up() -> None:
    assert patience(NO_DEADLINE, last=True) is None and patience(NO_DEADLINE, last=False) == SLOW
    left = patience(Deadline(60.0), last=True)
    assert left is not None and 50 < left <= 60
    assert patience(Deadline(0.0), last=True) == SLOW


def test_the_end_of_a_run_says_what_goes_on_with_slow_cases() -> None:
    why = f"{TIME_IS_UP} (--max-time 40)"
    fields = {"driver": "d", "area": "a", "name": "generated.a", "generated": True, "verdict": Verdict.PASS}
    result = Result(**fields, examples=5, unsupported=0, seconds=1.0, not_run={why: 9, why + SET_ASIDE: 2})  # type: ignore[arg-type]
    said = going_on(tally_of([result]), Path("cts-run/007"))
    assert said == (
        "no time was left for 11 cases, 2 of them set aside as slow; to go on: cts run --resume cts-run/007"
    )
    assert going_on(tally_of([result]), None) == "" == going_on(tally_of([]), Path("cts-run/007"))
