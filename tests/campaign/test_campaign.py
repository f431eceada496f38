"""Runs that go on after findings: the same in one process, in several, after any end, and on workers of a scheduler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

import cts as package
from cts.case.model import load_case, written
from cts.device.driver import Outcome, SweepJob
from cts.judging.events import Event, ExamplesJudged, Result, RunFinished, Trouble
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import processes
from cts.running.counts import structure
from cts.running.covered import Covered, chance
from cts.running.drawing import Draws
from cts.running.opening import open_driver
from cts.running.plan import Plan
from cts.running.planning import Chunk, Planner, interleaved
from cts.running.policy import Policy
from cts.running.processes import Processes
from cts.running.profiles import profile
from cts.running.runner import run
from cts.running.store import Manifest, Run, create, load, resume
from cts.running.store.files import saved_case
from cts.running.store.merge import merge, merged_manifest
from cts.running.tasks import Examples, Task, TaskRunner
from cts.showing.report.failure import failure
from tests.cli.command_line import Cts, ran_in

MUTANT = "emulator:mutant=clip-width-remaining"
AREAS = ("reductions", "tensor_addressing")


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds are small, so that plans follow from answers."""
    monkeypatch.setattr("cts.running.planning.ROUND", 4)
    monkeypatch.setattr("cts.running.planning.PLANNING_LAG", 2)


def plan(driver: str = MUTANT, jobs: int = 1, cases: int = 120, seed: int = 3, **more: Any) -> Plan:
    """A small campaign on a mutant that is found in it."""
    settings = replace(profile("default", seed=seed), max_examples=0, reduce_seconds=more.pop("reduce_seconds", 0))
    policy = Policy(keep=3, budget=cases, by_novelty=True, chunk=10)
    return Plan((driver,), replace(settings, sets=more.pop("sets", 0)), areas=AREAS, policy=policy, jobs=jobs, **more)


def ran(folder: Path, wanted: Plan, on_event: Callable[[Event], None] = lambda event: None) -> Run:
    """What a campaign in a folder of runs has come to."""
    kept = create(folder, Manifest.from_plan(wanted, "cts run", ["cts", "campaign"]))

    def emit(event: Event) -> None:
        kept(event)
        on_event(event)

    try:
        run(wanted, emit)
    finally:
        kept.close()
    return load(kept.path)


def outcomes(found: Run) -> dict[Chunk, ExamplesJudged]:
    """What became of each chunk, without where and in how many seconds it was judged."""
    return {
        Chunk(one.area, one.start, one.count): msgspec.structs.replace(
            one, where="", seconds={}, at=0.0, kept=(), slowest=(), times={}
        )
        for one in found.examples
    }


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """The campaign in one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cts.running.planning.ROUND", 4)
        patch.setattr("cts.running.planning.PLANNING_LAG", 2)
        yield ran(tmp_path_factory.mktemp("alone"), plan())


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    return Cts(monkeypatch, capsys, tmp_path)


def test_a_campaign_finds_and_keeps(alone: Run) -> None:
    assert sum(chunk.length for chunk in outcomes(alone)) == 120
    covered = Covered()
    for one in alone.examples:
        covered(one)
    assert covered.judged == len(covered.cases) > 90
    failing = alone.failing()
    assert {cause for _, cause in failing} == {r.cause for r in alone.results if r.cause} == set(covered.causes)
    assert sum(map(len, failing.values())) == covered.new == covered.areas["tensor_addressing"].new > 0
    assert all(r.alike == len(failing[r.driver, r.cause]) for r in alone.results if r.cause)
    (right,) = [r for r in alone.results if not r.cause]
    assert (right.name, right.verdict) == ("generated.reductions", Verdict.PASS)
    assert alone.footer is not None and alone.footer.exit_status == 1 and not alone.incomplete
    found = next(r for r in alone.results if r.cause)
    assert found.finding is not None
    command = f"cts learn {saved_case(found, alone.path)} --driver {found.driver}"
    assert failure(found, alone.path).endswith(f"which cases fail like it: {command}")


def test_two_processes_find_the_same(alone: Run, tmp_path: Path) -> None:
    found = ran(tmp_path, plan(jobs=2))
    assert outcomes(found) == outcomes(alone)
    assert found.outcome == alone.outcome


@pytest.mark.parametrize("cut", [0, 7])
def test_after_an_end_nothing_is_judged_twice(alone: Run, tmp_path: Path, cut: int) -> None:
    folder = tmp_path / "001"
    folder.mkdir()
    (folder / "manifest.json").write_bytes((alone.path / "manifest.json").read_bytes())
    lines = (alone.path / "results.jsonl").read_bytes().splitlines(keepends=True)
    some = [n for n, line in enumerate(lines) if b'"examples-judged"' in line][5] + 1
    text = b"".join(lines[:some])
    (folder / "results.jsonl").write_bytes(text[: len(text) - cut])
    before = len(load(folder).examples)
    assert before == (6 if cut == 0 else 5)
    writer, left = resume(folder)
    with_reductions = replace(left, profile=replace(left.profile, reduce_seconds=0))
    judged: list[Event] = []

    def emit(event: Event) -> None:
        judged.append(event)
        writer(event)

    run(with_reductions, emit)
    writer.close()
    found = load(folder)
    assert found.outcome == alone.outcome and outcomes(found) == outcomes(alone)
    assert (
        Counter(e.start for e in judged if isinstance(e, ExamplesJudged) and e.area == "reductions").most_common(1)[0][
            1
        ]
        == 1
    )
    assert (folder / "results.jsonl").read_bytes().startswith(text[: text.rfind(b"\n", 0, len(text) - 8) + 1])


def test_more_time_finds_more_of_the_same(tmp_path: Path) -> None:
    """A campaign that ends with its time has results; when it goes on, these are replaced."""
    short = ran(tmp_path / "short", plan(cases=60))
    folder = short.path / "manifest.json"
    folder.write_bytes(folder.read_bytes().replace(b'"budget": 60', b'"budget": 120'))
    writer, left = resume(short.path)
    run(replace(left, profile=replace(left.profile, reduce_seconds=0)), writer)
    writer.close()
    whole = ran(tmp_path / "whole", plan(cases=120))
    found = load(short.path)
    assert {r.name: (r.alike, r.examples) for r in found.results} == {
        r.name: (r.alike, r.examples) for r in whole.results
    }
    assert found.footer is not None and not found.incomplete


def test_what_there_was_no_time_for_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was planned and not begun, too: the footer has each case of the budget."""
    now = time.monotonic

    def stop(event: Event) -> None:
        if isinstance(event, ExamplesJudged):
            monkeypatch.setattr("cts.base.deadline.time.monotonic", lambda: now() + 2000)

    found = ran(tmp_path, plan(max_seconds=1000), stop)
    assert found.footer is not None and found.footer.exit_status == 0 and found.footer.examples == 2
    assert found.footer.not_run == {MUTANT: {"the time of the run was up (--max-time 1000)": 118}}
    assert found.incomplete


class Mortal(Processes):
    """Processes of which the first one dies with some of the tasks that are given out, by their numbers."""

    deaths: set[int]

    def _give(self, *given: Any) -> None:
        super()._give(*given)
        if self._taken in self.deaths and self._processes and self._processes[0].numbers:
            self.deaths.remove(self._taken)
            os.kill(self._processes[0].process.pid or 0, signal.SIGKILL)


def test_a_process_that_dies_costs_nothing_but_time(
    alone: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cts.running.runner.Processes", Mortal)
    Mortal.deaths = {3, 8}
    found = ran(tmp_path, plan(jobs=2))
    assert not Mortal.deaths
    assert outcomes(found) == outcomes(alone) and found.outcome == alone.outcome


def test_a_chunk_whose_process_always_dies_is_told_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deadly(Processes):
        """Processes that die with one chunk."""

        def _give(self, ready: Any, given: Any, *more: Any) -> None:
            super()._give(ready, given, *more)
            for one in self._processes:
                task = given[one.numbers[0]].task if one.numbers and one.numbers[0] in given else None
                if isinstance(task, Examples) and (task.area, task.numbers.start) == ("reductions", 9):
                    os.kill(one.process.pid or 0, signal.SIGKILL)

    monkeypatch.setattr("cts.running.runner.Processes", Deadly)
    found = ran(tmp_path, plan(jobs=2))
    (trouble,) = [p for p in found.problems if isinstance(p, Trouble)]
    assert trouble.code == "process-died" and "examples 9 to 18 of reductions" in trouble.where
    assert found.footer is not None and found.footer.exit_status == 3
    assert sum(one.count for one in found.examples) == 120
    assert processes.TRIES == 3


def test_processes_end_with_a_campaign_that_is_killed(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "cts", "campaign", "-d", "emulator", "--area", "reductions", "--cases", "100000")
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    client = subprocess.Popen([*command, "-j", "2"], cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    journal = tmp_path / "cts-run/001/results.jsonl"
    while not (journal.exists() and b"examples-judged" in journal.read_bytes()):
        with pytest.raises(subprocess.TimeoutExpired):  # it goes on
            client.wait(0.05)
    client.kill()
    client.communicate(timeout=60)  # each process holds the other end of its standard error until it ends


def test_a_case_of_each_cause_is_made_smaller(tmp_path: Path) -> None:
    found = ran(tmp_path, plan(reduce_seconds=20))
    results = [r for r in found.results if r.cause]
    assert results
    for result in results:
        assert result.finding is not None and result.finding.reduction is not None
        assert result.finding.found is not None
        assert len(result.finding.case.program) <= len(result.finding.found.program)
        assert result.finding.case.name == f"generated.{result.area}.{result.finding.case.content_hash}"


def test_its_baseline_leaves_nothing_new(cts: Cts) -> None:
    words = ("campaign", "-d", MUTANT, "--area", "tensor_addressing", "--seed", "3", "--cases", "100")
    assert cts(*words, "--reduce-time", "1").status == 1
    Path("known.yaml").write_text(cts("baseline", "cts-run/001").out, encoding="utf-8")
    again = cts(*words, "--reduce-time", "1", "--baseline", "known.yaml")
    assert again.status == 0, again.out
    failed = sum(map(len, load(Path("cts-run/001")).failing().values()))
    known = load(Path("cts-run/002"))
    assert not known.findings() and sum(r.known_examples.get("known", 0) for r in known.results) == failed > 1
    for verb in ("report", "triage", "compare"):
        assert cts(verb, "cts-run/002").status == 0
    assert cts("compare", "cts-run/001", "cts-run/002").status == 0
    assert cts("compare", "cts-run/002", "cts-run/001").status == 1


def planned(order: int, news: dict[str, int], cases: int, lacking: frozenset[str] = frozenset()) -> list[Chunk]:
    """All chunks of a plan, answered `order` at a time from the last to the first; `news` of each area never end."""
    planner, chunks = Planner(AREAS, 10, 0, cases, by_novelty=True), []
    while some := [chunk for _ in range(order) if (chunk := planner.next()) is not None]:
        chunks += some
        for chunk in reversed(some):
            new = {f"{chunk.stream} {chunk.start} {n}": 1 for n in range(news[chunk.stream])}
            features = {} if chunk.stream in lacking else {"all": chunk.length, **new}
            judged = ExamplesJudged("", chunk.stream, chunk.start, chunk.length, drawn=chunk.length, features=features)
            planner.done(chunk.stream, chunk.start, chunk.length, judged)
    return chunks


@pytest.mark.parametrize("order", [2, 3, 7])
def test_plans_follow_from_answers_alone(order: int) -> None:
    news = {"reductions": 0, "tensor_addressing": 4}
    chunks = planned(order, news, 9605)
    assert set(chunks) == set(planned(1, news, 9605))
    for area in AREAS:
        starts = sorted(chunk for chunk in chunks if chunk.stream == area)
        assert [chunk.start for chunk in starts] == [1 + sum(c.length for c in starts[:n]) for n in range(len(starts))]
    by_area = {area: sum(chunk.length for chunk in chunks if chunk.stream == area) for area in AREAS}
    assert sum(by_area.values()) == 9605
    assert by_area["tensor_addressing"] > 4 * by_area["reductions"] > 0


def test_an_area_that_the_driver_cannot_run_gets_little() -> None:
    chunks = planned(1, {"reductions": 4, "tensor_addressing": 4}, 9600, frozenset(["tensor_addressing"]))
    counts = Counter(chunk.stream for chunk in chunks)
    assert counts["reductions"] > 4 * counts["tensor_addressing"] > 0


def test_what_was_cut_is_planned_again() -> None:
    planner = Planner(("a",), 40, 85, 0, by_novelty=True)
    planner.done("a", 1, 4)
    assert [planner.next(), planner.next()] == [Chunk("a", 5, 6), Chunk("a", 11, 10)]
    planner.done("a", 5, 6)
    planner.done("a", 11, 10)
    for start in range(21, 81, 10):
        assert planner.has_more("a") and planner.next() == Chunk("a", start, 10)
    assert planner.next() is None  # the next round follows from answers
    for start in range(21, 81, 10):
        planner.done("a", start, 10)
    assert planner.has_more("a") and planner.next() == Chunk("a", 81, 5)
    planner.done("a", 81, 5)
    assert not planner.has_more("a") and planner.next() is None


def test_chunks_of_another_size_fit_between_those_that_are_done() -> None:
    planner = Planner(("a",), 25, 100, 0, by_novelty=False)
    for start in (1, 21, 31):
        planner.done("a", start, 10)
    chunks = []
    while (chunk := planner.next()) is not None:
        chunks.append(chunk)
        planner.done(*chunk)
    assert chunks == [Chunk("a", 11, 10), Chunk("a", 41, 25), Chunk("a", 66, 25), Chunk("a", 91, 10)]
    assert not planner.has_more("a")


def test_areas_are_spread_by_weight() -> None:
    assert interleaved(["a", "b", "c"], [2, 1, 1], 8) == ["a", "b", "c", "a", "a", "b", "c", "a"]
    assert interleaved([], [], 8) == []


def test_a_structure_is_a_case_without_its_numbers() -> None:
    source = registry.area("reductions")(registry.driver("emulator").capabilities())
    case, other = Draws(source, 3).example(1), Draws(source, 3).example(2)
    assert structure(case) == structure(msgspec.structs.replace(case, name="other", description="of it"))  # type: ignore
    assert structure(case) != structure(other)  # type: ignore[arg-type]


def test_the_chance_of_something_new_is_what_was_seen_once() -> None:
    assert chance({"a": 1, "b": 5, "c": 1}, 10) == 0.2
    assert chance({}, 0) == 1.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("campaign", "no driver to test"),
        ("campaign -d emulator", "a campaign without an end"),
        ("campaign -d emulater --cases 10", "emulater"),
        ("campaign -d emulator --cases 10 --area tensors", "tensors"),
        ("campaign -d emulator --cases 10 --devices 0,1", "both or none"),
        ("campaign -d vulkan:{device} --cases 10", "both or none"),
        ("campaign -d emulator --cases 10 --scheduler tcp://127.0.0.1:1 -j 2", "--scheduler with --jobs"),
        ("campaign -d emulator --cases 0", "--cases"),
        ("campaign -d emulator --cases 10 --shard 1/2 --seed 1", "each shard would plan its cases"),
        ("campaign --resume .", "no run is kept here"),
        ("campaign --resume gone", "gone"),
        ("campaign --resume . --cases 10", "--cases"),
        ("run -d emulator --cases 10 --max-examples 5", "--cases with --max-examples"),
        ("run -d emulator --failed gone", "gone"),
        ("run -d emulator --failed . reductions", "--failed with CASE"),
        ("merge gone", "gone"),
    ],
)
def test_what_is_wrong_is_said(cts: Cts, arguments: str, said: str) -> None:
    ran = cts(*arguments.split())
    assert ran.status in (2, 3) and said in ran.err, ran.err
    assert not ran.out and "Traceback" not in ran.err
    assert not (cts.folder / "cts-run").exists()


def test_the_verb(cts: Cts) -> None:
    arguments = ("--cases", "40", "--area", "tensor_addressing", "--seed", "3", "--chunk", "5")
    ran = cts("campaign", "-d", MUTANT, *arguments, "--reduce-time", "0")
    assert ran.status == 1 and "exit status 1" in ran.out and "distinct cases of" in ran.out
    folder = cts.folder / "cts-run/001"
    before = load(folder)
    assert (folder / "report.html").is_file()
    for path in (folder / "findings").rglob("*.yaml"):
        load_case(path)
    again = cts("campaign", "--resume", "cts-run/001", "--reduce-time", "2")
    assert again.status == 1 and "then shrunk" in again.out
    after = load(folder)
    assert after.examples == before.examples
    assert {r.cause for r in after.results} == {r.cause for r in before.results}


def test_sets_of_cases_and_of_universes_are_judged(cts: Cts) -> None:
    words = ("campaign", "-d", "emulator", "--area", "tensor_addressing", "--cases", "20", "--sets", "5")
    assert cts(*words, "--sweep", "8", "--seed", "3", "-j", "2").status == 0
    found = load(cts.folder / "cts-run/001")
    assert sum(one.sets for one in found.examples) > 20
    assert len(found.swept) > 10 and all(one.chosen <= 8 for one in found.swept)


class Among:
    """A driver whose dispatches of several sets flip a byte of what the second one stores."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self.driver, name)

    def run_sweeps(self, jobs: Iterable[SweepJob]) -> Iterator[Outcome]:
        for job in jobs:
            (outcome,) = self.driver.run_sweeps([job])
            if len(job.sweep) > 1:
                name = written(job.sweep.template)[0]
                job.sweep.windows[name].contents(outcome.memory[name])[1, 0] ^= 0x55
            yield outcome


@pytest.mark.parametrize("keep", [0, 3])
def test_a_set_that_fails_among_others_alone_is_kept_with_what_it_left(keep: int) -> None:
    opened = open_driver("emulator")
    opened = replace(opened, driver=Among(opened.driver))
    settings = replace(profile("default", seed=5, sets=5), max_examples=10)
    runner = TaskRunner([opened], registry.oracle(), settings, Policy(keep), lambda event: None, 1)
    task = Examples("reductions", ("emulator",), range(1, 11), ("emulator",))
    (judged,) = runner.answer(task).judged
    assert judged.verdicts["flaky"] > (3 if keep else 0)
    for kept in judged.kept:
        assert kept.detail.startswith("a parameter set fails among others")
        assert kept.finding.differing == 1 and kept.finding.listed


def test_three_shards_are_one_run(tmp_path: Path) -> None:
    """With findings, of which each cause is kept; and of what ends an area, on a driver that is right."""
    for driver, policy in ((MUTANT, Policy(keep=3, chunk=10)), ("emulator", Policy())):
        found = []
        for shard in ("1/1", "1/3", "2/3", "3/3"):
            settings = profile("default", 60, 5, package_shard(shard))
            settings = replace(settings, reduce_seconds=0)
            found.append(ran(tmp_path / policy_name(policy), Plan((driver,), settings, areas=AREAS, policy=policy)))
        whole, *shards = found
        manifest = merged_manifest(shards, ["cts", "merge"])
        kept = create(tmp_path / "merged", manifest)
        events: list[Event] = []

        def emit(event: Event, kept: Any = kept, events: list[Event] = events) -> None:
            kept(event)
            events.append(event)

        status = merge(shards, manifest, emit)
        kept.close()
        one = load(kept.path)
        assert one.outcome == whole.outcome
        assert whole.footer is not None and status == whole.footer.exit_status
        footer = events[-1]
        assert isinstance(footer, RunFinished) and footer.verdicts == whole.footer.verdicts
        assert {r.name for r in one.results if isinstance(r, Result)} == {r.name for r in whole.results}
        events.clear()
        assert merge([*shards[:2], replace(shards[2], footer=None)], manifest, events.append) == 3
        assert any(isinstance(event, Trouble) and event.code == "part-incomplete" for event in events)
        footer = events[-1]
        assert isinstance(footer, RunFinished) and footer.cut_short, "a part did not end"


def package_shard(text: str) -> Any:
    from cts.running.shard import parse

    return parse(text)


def policy_name(policy: Policy) -> str:
    return f"keep-{policy.keep}"


def test_workers_of_a_scheduler_find_the_same(alone: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    from cts.running import on_dask

    answered = on_dask.Cluster._answered

    def dying(self: Any, flying: Any) -> Iterator[tuple[Task, Any]]:
        found = list(answered(self, flying))
        if found and workers:
            os.kill(workers.pop(), signal.SIGKILL)
        yield from found

    monkeypatch.setattr(on_dask.Cluster, "_answered", dying)
    options = {"n_workers": 2, "threads_per_worker": 1, "resources": {"cts": 1}, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        workers = [cluster.workers[0].pid]
        found = ran(tmp_path, plan(scheduler=cluster.scheduler_address))
        assert not found.problems and not workers
    assert outcomes(found) == outcomes(alone) and found.outcome == alone.outcome


def test_a_campaign_without_a_scheduler_is_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("cts.running.on_dask.PATIENCE", 0.1)
    ran = ran_in(tmp_path, "campaign", "-d", "emulator", "--cases", "10", "--scheduler", "tcp://127.0.0.1:1")
    assert ran.status == 3 and "the address that `dask scheduler` printed" in ran.err
