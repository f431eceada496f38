"""`cts sweep`: runs in their folder, interrupted and resumed, in parts and in processes; what they say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cts.base.deadline import NO_DEADLINE
from cts.judging.events import Event, Result, SetsJudged, UniverseSwept, ignore
from cts.judging.known.baseline import Baseline
from cts.judging.known.quarantine import loads_rules
from cts.judging.verdict import Verdict
from cts.running import runner, sweeping
from cts.running.opening import open_driver
from cts.running.plan import Plan
from cts.running.profiles import profile
from cts.running.shard import parse
from cts.running.store import Manifest, create, load, resume
from cts.running.sweeping import SweepRun
from cts.running.sweeps.selection import SweepEntry
from tests.cli.command_line import Cts
from tests.sweeps.small import written

RIGHT, EDGE = "interpreter", "emulator:mutant=edge-high-to-size"


@pytest.fixture
def universe(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    return Cts(monkeypatch, capsys, tmp_path)


def events_of(plan: Plan) -> tuple[int, list[Event]]:
    events: list[Event] = []
    return runner.run(plan, events.append), events


def plan(universe: Path, *drivers: str, max_sets: int | None = None, shard: str = "1/1", **options: object) -> Plan:
    entry = SweepEntry("small", universe, max_sets)
    return Plan(drivers, profile("default", seed=1, shard=parse(shard)), sweeps=(entry,), **options)  # type: ignore[arg-type]


def swept(events: list[Event]) -> list[UniverseSwept]:
    return [e for e in events if isinstance(e, UniverseSwept)]


def results(events: list[Event]) -> list[Result]:
    return [e for e in events if isinstance(e, Result)]


def test_everything_adds_up(universe: Path) -> None:
    status, events = events_of(plan(universe, RIGHT, "emulator"))
    first, second = swept(events)
    assert status == 0 and first.driver == RIGHT
    for one in (first, second):
        assert one.size == one.chosen == 480 == one.passed + sum(one.excluded.values())
        assert not one.causes
    assert first.excluded == second.excluded and set(first.excluded) == {"TA-060"}
    assert [(r.verdict, r.examples) for r in results(events)] == [(Verdict.PASS, first.passed)] * 2


def test_one_cause_is_one_report_with_its_region_and_smallest_case(universe: Path) -> None:
    status, events = events_of(plan(universe, EDGE))
    (one,) = swept(events)
    (cause,) = one.causes
    assert status == 1
    assert set(cause.region.split(" and ")) == {"clamp = ClampToEdge", "offset + span > dim"}
    assert one.passed + sum(one.excluded.values()) + cause.sets == 480
    assert cause.constness == {"literal": "fail", "spec": "fail"}
    assert "clamp ClampToEdge" in cause.smallest
    (result,) = results(events)
    assert result.finding is not None and result.name == "sweep.small" and result.examples == one.passed + cause.sets
    assert len(result.finding.case.program) <= 6 and result.finding.case.name.startswith("sweep.small.")
    assert f"{cause.sets:,} parameter sets" in result.detail and "with literal operands: fail" in result.detail


def test_a_baseline_knows_a_cause(universe: Path) -> None:
    rules = loads_rules(
        "schema: 1\nhashes: 2\nentries:\n  - {match: {cases: 'sweep.small'}, verdict: fail, reason: edges}\n"
    )
    status, events = events_of(plan(universe, EDGE, baseline=Baseline(rules)))
    (cause,) = swept(events)[0].causes
    assert status == 0 and cause.known == "edges"
    assert results(events)[0].known == "edges"


def test_shards_add_up(universe: Path) -> None:
    parts = [swept(events_of(plan(universe, EDGE, shard=f"{i}/3"))[1])[0] for i in (1, 2, 3)]
    whole = swept(events_of(plan(universe, EDGE))[1])[0]
    assert sum(p.chosen for p in parts) == whole.chosen
    assert sum(p.passed for p in parts) == whole.passed
    assert sum(c.sets for p in parts for c in p.causes) == whole.causes[0].sets


def test_fewer_sets_are_spread(universe: Path) -> None:
    (one,) = swept(events_of(plan(universe, EDGE, max_sets=60))[1])
    assert one.chosen == 60 and one.size == 480 and one.causes
    assert "of 60 of 480 parameter sets" in one.statement


def test_processes_say_the_same(universe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "TASK_SETS", 50)
    (one,), (two,) = (swept(events_of(plan(universe, EDGE, jobs=jobs))[1]) for jobs in (1, 2))
    assert (one.passed, one.excluded, one.causes) == (two.passed, two.excluded, two.causes)


def test_a_sweep_stops_at_its_first_finding(universe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "TASK_SETS", 50)
    status, events = events_of(plan(universe, EDGE, stop_at_first=True))
    (one,) = swept(events)
    assert status == 1 and one.causes and one.not_run["the run stopped at its first finding"] > 0
    judged = one.passed + sum(one.excluded.values()) + sum(c.sets for c in one.causes)
    assert judged + sum(one.not_run.values()) == 480


def test_no_time(universe: Path) -> None:
    _, events = events_of(plan(universe, RIGHT, max_seconds=0))
    (result,) = results(events)
    assert result.verdict is Verdict.NOT_RUN and not swept(events)


class _Stop(BaseException):
    """The end of a process."""


def test_an_interrupted_sweep_judges_every_set_exactly_once(
    universe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed again and again, 17 sets after the last time."""
    monkeypatch.setattr(sweeping, "TASK_SETS", 17)
    first = plan(universe, EDGE)
    folder = create(tmp_path / "runs", Manifest.from_plan(first, "cts run", ["cts", "sweep"]))
    going, deaths = first, 0
    while load(folder.path).footer is None:
        before = len(load(folder.path).sets)

        def emit(event: Event, folder=folder, before=before) -> None:  # type: ignore[no-untyped-def]
            folder(event)
            if isinstance(event, SetsJudged) and before + 2 <= len(load(folder.path).sets) < 28:
                raise _Stop

        try:
            runner.run(going, emit)
        except _Stop:
            deaths += 1
            folder.close()
            folder, going = resume(folder.path)
    folder.close()
    kept = load(folder.path)
    covered = np.concatenate([np.arange(e.start, e.start + e.count) for e in kept.sets])
    assert deaths > 10 and sorted(covered.tolist()) == list(range(480))
    whole = swept(events_of(first)[1])[0]
    (result,) = kept.results
    assert result.examples == whole.passed + whole.causes[0].sets
    assert result.finding is not None


def test_a_universe_that_has_changed_is_not_resumed(universe: Path, tmp_path: Path) -> None:
    folder = create(tmp_path / "runs", Manifest.from_plan(plan(universe, RIGHT), "cts run", ["cts", "sweep"]))
    folder.close()
    universe.write_text(universe.read_text().replace("to: 16", "to: 15"))
    with pytest.raises(Exception, match="is not what it was"):
        resume(folder.path)


def test_the_command_says_what_was_enumerated(cts: Cts, universe: Path) -> None:
    ran = cts("sweep", str(universe), "-d", RIGHT, "--seed", "1")
    assert ran.status == 0
    last = "small on interpreter: of all 480 parameter sets 357 agree; 123 are excluded (TA-060 123); none differs"
    assert ran.out.splitlines()[-2:] == [last, "next: cts report cts-run/001"]
    assert "480 parameter sets of small on interpreter" in ran.out


def test_a_failing_sweep_names_the_case_file_that_shows_it(cts: Cts, universe: Path) -> None:
    ran = cts("sweep", str(universe), "-d", EDGE, "--seed", "1", "--junit", "out.xml", "--json", "out.jsonl")
    assert ran.status == 1
    command = ran.out.split("reproduce: cts ")[1].splitlines()[0].split()
    assert cts(*command).status == 1
    kinds = [json.loads(line)["event"] for line in Path("out.jsonl").read_text().splitlines()]
    assert {"sets-judged", "universe-swept", "result"} <= set(kinds)
    assert "clamp = ClampToEdge" in Path("out.xml").read_text()
    assert cts("report", "cts-run/001", "--html", "out.html").status == 0
    assert "of all 480 parameter sets" in Path("out.html").read_text().replace("<wbr>", "")


def test_the_list(cts: Cts, universe: Path) -> None:
    ran = cts("sweep", "--list", str(universe))
    assert ran.status == 0 and ran.out.startswith("small  480 parameter sets\n    Loads of 4x4")
    (row,) = json.loads(cts("sweep", str(universe), "--list", "--json", "-").out)
    assert row == {
        "name": "small",
        "size": 480,
        "description": "Loads of 4x4 matrices through layouts of a few elements.",
    }
    assert len(json.loads(cts("sweep", "--list", "--json", "-").out)) >= 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sweep", "nowhere", "-d", RIGHT], "no universe and no file 'nowhere'"),
        (["sweep", "small.yaml"], "no driver to test"),
        (["sweep", "small.yaml", "-d", "interpretr"], "did you mean 'interpreter'"),
        (
            ["sweep", "small.yaml", "-d", RIGHT, "--shard", "2/3", "--max-sets", "9"],
            "each shard would draw a seed of its own",
        ),
        (["sweep", "small.yaml", "-d", RIGHT, "--max-sets", "0"], "--max-sets"),
        (["sweep", "--resume", "cts-run", "-d", RIGHT], "keeps its settings"),
    ],
)
def test_wrong_commands_leave_nothing_behind(cts: Cts, universe: Path, arguments: list[str], said: str) -> None:
    ran = cts(*arguments)
    assert ran.status == 2 and said in ran.err
    assert [p.name for p in cts.folder.iterdir()] == ["small.yaml"]


@pytest.mark.parametrize("max_sets", [None, 100, 7])
@pytest.mark.parametrize("task_sets", [1, 17, 160, 200, 480])
def test_tasks_follow_one_another_and_end_with_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_sets: int | None, task_sets: int
) -> None:
    """The universe has three parts of 160 sets."""
    monkeypatch.setattr(sweeping, "TASK_SETS", task_sets)
    entry = SweepEntry("small", written(tmp_path), max_sets)
    run = SweepRun(entry, [open_driver(RIGHT)], profile("default", seed=1), ignore, NO_DEADLINE)
    tasks = [(task.start, task.stop) for task in run.tasks()]
    count = max_sets or 480
    assert [place for pair in tasks for place in pair] == [0, *np.repeat([stop for _, stop in tasks], 2)[:-1]]
    assert tasks[-1][1] == count
    assert all(0 < stop - start <= task_sets for start, stop in tasks)
    parts = {-(-count * part // 3) for part in (1, 2)}
    if task_sets < count // 3:
        assert parts <= {stop for _, stop in tasks}


def test_a_universe_that_is_wrong_is_the_only_error(cts: Cts, universe: Path) -> None:
    ran = cts("sweep", "nope.yaml", "-d", "emulator")
    assert ran.status == 2 and "no universe and no file 'nope.yaml'" in ran.err
    assert ran.err.count("error[") == 1
