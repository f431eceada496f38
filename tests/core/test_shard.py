"""Parts of a run, and runs that end early."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest

from cts.base.errors import BadInput
from cts.judging.events import CaseJudged, Event, Result
from cts.judging.known import quarantine
from cts.judging.verdict import CLEAN, Verdict
from cts.running import corpus
from cts.running.plan import Plan
from cts.running.profiles import Profile
from cts.running.runner import run
from cts.running.shard import WHOLE, Shard, parse

FOLDER = "tensor_addressing.clamp"
PROFILE = Profile("default", 40, 3)
THREE = [Shard(i, 3) for i in (1, 2, 3)]


def events_of(plan: Plan) -> tuple[int, list[Event]]:
    seen: list[Event] = []
    return run(plan, seen.append), seen


def judged(events: list[Event]) -> list[str]:
    return [e.hash for e in events if isinstance(e, CaseJudged)]


def test_shards_of_the_corpus_are_disjoint_and_complete() -> None:
    entries = corpus.entries()
    names = [[e.name for e in corpus.of_shard(entries, shard)] for shard in THREE]
    assert sorted(name for part in names for name in part) == [e.name for e in entries]
    assert min(map(len, names)) > len(entries) / 4


def test_shards_of_generated_cases_are_disjoint_and_complete(fakes: ModuleType) -> None:
    plan = Plan(("fake:right",), PROFILE, areas=("fake_area",))
    parts = [judged(events_of(replace(plan, profile=replace(PROFILE, shard=shard)))[1]) for shard in THREE]
    whole = judged(events_of(plan)[1])
    assert sorted(case for part in parts for case in part) == sorted(whole)
    assert not set(parts[0]) & set(parts[1]) | set(parts[1]) & set(parts[2]) | set(parts[0]) & set(parts[2])
    assert all(parts)


@pytest.mark.parametrize("shard", THREE)
def test_each_shard_finds_and_shrinks_a_failure_of_its_own(fakes: ModuleType, shard: Shard) -> None:
    plan = Plan(("fake:wrong",), replace(PROFILE, shard=shard), areas=("fake_area",))
    _, events = events_of(plan)
    first = next(e for e in events if isinstance(e, CaseJudged))
    assert int(first.hash, 16) % 3 == shard.index - 1
    (result,) = [e for e in events if isinstance(e, Result)]
    assert result.verdict is Verdict.FAIL and result.finding is not None and result.finding.shrunk


def test_a_shard_without_a_generated_case_says_so(fakes: ModuleType) -> None:
    plan = Plan(("fake:right",), Profile("default", 1, 3), areas=("fake_area",))
    (only,) = judged(events_of(plan)[1])
    other = Shard((int(only, 16) + 1) % 3 + 1, 3)
    _, events = events_of(replace(plan, profile=replace(plan.profile, shard=other)))
    (result,) = [e for e in events if isinstance(e, Result)]
    assert (result.verdict, result.detail) == (Verdict.NOT_RUN, "all 1 generated cases are of other shards")


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/", "a/b", "1/3/5", "-1/3", ""])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse(text)
    assert repr(text) in refused.value.what and "2/3" in refused.value.remedy


def test_all_is_the_only_shard_of_one() -> None:
    assert parse("1/1") == WHOLE
    assert str(parse("2/3")) == "2/3"


def test_nothing_begins_when_the_time_is_up(fakes: ModuleType) -> None:
    entries = tuple(corpus.select([FOLDER])[0])
    status, events = events_of(Plan(("fake:right",), PROFILE, entries, ("fake_area",), max_seconds=0))
    results = [e for e in events if isinstance(e, Result)]
    assert judged(events) == []
    assert {r.detail for r in results} == {"the time of the run was up (--max-time 0)"}
    assert {r.verdict for r in results} == {Verdict.NOT_RUN}
    assert len(results) == len(entries) + 1
    assert status != CLEAN, "nothing was tested"


def test_the_examples_that_time_is_lacking_for_are_counted(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes by one second for each question, so that it is up in the middle of an area."""
    now = iter(range(1000))
    monkeypatch.setattr("cts.base.deadline.time.monotonic", lambda: float(next(now)))
    _, events = events_of(Plan(("fake:right",), PROFILE, areas=("fake_area",), max_seconds=20))
    (result,) = [e for e in events if isinstance(e, Result)]
    assert result.verdict is Verdict.PASS
    ((why, count),) = result.not_run.items()
    assert why == "the time of the run was up (--max-time 20)"
    assert 0 < result.examples == PROFILE.max_examples - count


def test_so_are_those_that_a_quarantine_leaves_for_last(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1000))
    monkeypatch.setattr("cts.base.deadline.time.monotonic", lambda: float(next(now)))
    last = "schema: 1\nhashes: 2\nentries:\n  - {match: {cases: fixed}, when: last, reason: it hangs}\n"
    plan = Plan(("fake:right",), PROFILE, areas=("fake_area",), quarantine=quarantine.loads(last), max_seconds=40)
    _, events = events_of(plan)
    (result,) = [e for e in events if isinstance(e, Result)]
    late = result.not_run["the time of the run was up (--max-time 40)"]
    assert result.examples > 0 and result.examples + result.repeated + late == PROFILE.max_examples
