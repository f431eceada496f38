"""`cts campaign`: the same findings in one process, in several, after any end, and on workers of a Dask scheduler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cts.campaign import folder as folders
from cts.campaign.chunks import Answer, Chunk, Lost, Reduce, Report, Task, Waiting, structure
from cts.campaign.folder import CampaignFolder
from cts.campaign.local import Executor, Processes
from cts.campaign.page import page
from cts.campaign.planning import Planner, interleaved
from cts.campaign.running import Campaign
from cts.campaign.settings import Settings, identity
from cts.campaign.table import silence
from cts.campaign.totals import Totals, chance
from cts.campaign.worker import Worker
from cts.deadline import Deadline
from cts.driver import Outcome, SweepJob
from cts.errors import BadInput
from cts.model import loads_case, written
from cts.plugins import registry
from cts.running.drawing import example
from cts.sweeps.selection import select, sweep_record
from cts.verdict import Verdict
from tests.cli.command_line import Cts, ran_in

MUTANT = "emulator:mutant=clip-width-remaining"


def settings(**changes: object) -> Settings:
    """A small campaign on a mutant that is found in it."""
    areas = ("reductions", "tensor_addressing")
    given = Settings(MUTANT, areas, seed=3, cases=120, chunk=10, round=4, suite=identity())
    return msgspec.structs.replace(given, **changes)


def campaign(folder: CampaignFolder, executor: Executor, reduce_seconds: float = 0) -> int:
    """A campaign in a folder, to its end; the exit status."""
    with closing(folder), closing(executor):
        return Campaign(folder, executor, lambda folder, waiting: None, Deadline(None), reduce_seconds).run()


def outcomes(path: Path) -> dict[Chunk, Report]:
    """The report of each chunk, without where and in how many seconds it was made. Each chunk has one."""
    _, totals = folders.load(path)
    assert not totals.lost
    found: dict[Chunk, Report] = {}
    for text in (path / folders.ANSWERS).read_bytes().splitlines():
        report = msgspec.json.decode(text, type=folders.Line).answer
        if isinstance(report, Report):
            assert report.chunk not in found
            found[report.chunk] = msgspec.structs.replace(report, where="", seconds={})
    return found


def kept(path: Path) -> dict[str, bytes]:
    """The files of findings."""
    files = (file for file in (path / folders.FINDINGS).rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the campaign in one process."""
    given = settings()
    folder = folders.create(tmp_path_factory.mktemp("alone"), given)
    assert campaign(folder, Processes(given, 1)) == 1
    return folder.path


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    return Cts(monkeypatch, capsys, tmp_path)


def test_a_campaign_finds_and_keeps(alone: Path) -> None:
    given, totals = folders.load(alone)
    reports = outcomes(alone)
    assert sum(chunk.count for chunk in reports) == given.cases == sum(report.drawn for report in reports.values())
    assert totals.judged == len(totals.cases) > 90
    assert totals.verdicts[Verdict.FAIL.value] == sum(totals.causes.values()) > 0
    assert set(totals.areas) == set(given.areas) and not totals.areas["reductions"].new
    assert all(cause.startswith("fail: ") for cause in totals.causes)
    for name, text in kept(alone).items():
        assert any(f"/{folders.slug(cause)}/" in name for cause in totals.causes)
        if name.endswith(".yaml"):
            loads_case(text.decode())
    shown = page(given, totals, alone)
    assert all(cause in shown and folders.slug(cause) in shown for cause in totals.causes) and "<svg" in shown


def test_two_processes_find_the_same(alone: Path, tmp_path: Path) -> None:
    given = settings()
    folder = folders.create(tmp_path, given)
    assert campaign(folder, Processes(given, 2)) == 1
    assert outcomes(folder.path) == outcomes(alone)
    assert kept(folder.path) == kept(alone)


@pytest.mark.parametrize("cut", [0, 7])
def test_after_an_end_nothing_is_judged_twice(alone: Path, tmp_path: Path, cut: int) -> None:
    (tmp_path / folders.SETTINGS).write_bytes((alone / folders.SETTINGS).read_bytes())
    lines = (alone / folders.ANSWERS).read_bytes().splitlines(keepends=True)
    text = b"".join(lines[:6])
    (tmp_path / folders.ANSWERS).write_bytes(text[: len(text) - cut])
    folder = folders.resume(tmp_path)
    assert len(folder.answers) == (6 if cut == 0 else 5)
    assert campaign(folder, Processes(folder.settings, 1)) == 1
    assert outcomes(tmp_path) == outcomes(alone)
    assert (tmp_path / folders.ANSWERS).read_bytes().startswith(b"".join(lines[:5]))


def test_one_process_writes_a_campaign(tmp_path: Path) -> None:
    folder = folders.create(tmp_path, settings())
    with closing(folder), pytest.raises(BadInput, match="another process"):
        folders.resume(folder.path)


def test_another_suite_is_refused(tmp_path: Path) -> None:
    given = settings(suite={**identity(), "files": "0123"})
    folders.create(tmp_path, given).close()
    with pytest.raises(BadInput, match=r"files .* in the place of 0123"):
        folders.resume(tmp_path / "001")
    with pytest.raises(BadInput, match=r"files .* in the place of 0123"):
        Worker(given)


class Mortal(Processes):
    """Processes of which the first one dies as some tasks are given, by their numbers."""

    def __init__(self, given: Settings, count: int, deaths: set[int]) -> None:
        super().__init__(given, count)
        self.deaths = deaths
        self.given = 0

    def submit(self, task: Task) -> None:
        super().submit(task)
        self.given += 1
        slot = self._slots[0]
        if self.given in self.deaths and slot.flying:
            self.deaths.remove(self.given)
            for pid in list(slot.pool._processes):
                os.kill(pid, signal.SIGKILL)


def test_a_process_that_dies_costs_nothing_but_time(alone: Path, tmp_path: Path) -> None:
    given = settings()
    executor, folder = Mortal(given, 2, {1, 7}), folders.create(tmp_path, given)
    assert campaign(folder, executor) == 1
    assert not executor.deaths
    assert outcomes(folder.path) == outcomes(alone)


class Slow:
    """An executor that answers every other time that it is asked, that it has lost what it was given."""

    size = 1

    def __init__(self) -> None:
        self.begun: list[Task] = []
        self.asked = 0

    @property
    def flying(self) -> int:
        return len(self.begun)

    def submit(self, task: Task) -> None:
        self.begun.append(task)

    def answers(self, seconds: float) -> Iterator[tuple[Task, Answer]]:
        self.asked += 1
        if self.asked % 2 == 0:
            task = self.begun.pop(0)
            yield task, Lost(task, "slow")

    def close(self) -> None:
        pass


def test_what_a_campaign_waits_for_is_said(tmp_path: Path) -> None:
    seen: list[Waiting] = []
    folder = folders.create(tmp_path, settings(cases=20))
    with closing(folder):
        Campaign(folder, Slow(), lambda _, waiting: seen.append(waiting), Deadline(None), 0).run()
    assert [[task.name for task in waiting.begun] for waiting in seen] == [
        ["reductions 1", "tensor_addressing 1"],
        ["tensor_addressing 1"],
        ["tensor_addressing 1"],
        [],
        [],
    ]
    assert [waiting.flying for waiting in seen] == [2, 1, 1, 0, 0] and seen[0].seconds > 0
    tasks = tuple(Chunk("area", n, 10) for n in (1, 11, 21, 31, 41, 51))
    assert list(silence(Waiting(40, 12, tasks))) == [
        "nothing has come back for 40 s: waiting for area 1, area 11, area 21, area 31 and 2 more"
    ]
    assert not list(silence(Waiting(3, 12, tasks)))


def test_processes_end_with_a_campaign_that_is_killed(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "cts", "campaign", "-d", "emulator", "--area", "reductions", "--cases", "100000")
    environment = {**os.environ, "PYTHONPATH": str(Path(folders.__file__).parents[2])}
    client = subprocess.Popen([*command, "-j", "2"], cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    answers = tmp_path / "cts-run/001" / folders.ANSWERS
    while not (answers.exists() and answers.read_bytes()):
        with pytest.raises(subprocess.TimeoutExpired):  # it goes on
            client.wait(0.05)
    client.kill()
    client.communicate(timeout=60)  # each process holds the other end of its standard error until it ends


def test_a_chunk_whose_process_always_dies_is_lost(tmp_path: Path) -> None:
    given = settings()
    executor, folder = Mortal(given, 1, {1, 2, 3}), folders.create(tmp_path, given)
    executor.submit(Chunk("reductions", 1, 10))
    with closing(executor), closing(folder):
        found = next(answer for _ in range(100) for _, answer in executor.answers(5))
        assert isinstance(found, Lost) and "died 3 times" in found.what
        folder.add(found, 1)
        assert folder.totals.exit_status == 3


def test_what_the_suite_cannot_do_is_a_task_that_is_lost() -> None:
    worker = Worker(settings())
    with closing(worker):
        found = worker.answer(Chunk("no_such_area", 1, 10))
        assert isinstance(found, Lost) and "no_such_area" in found.what


def test_reduced_cases_fail_as_theirs(alone: Path) -> None:
    given, totals = folders.load(alone)
    ((cause, _),) = totals.causes.most_common(1)
    worker = Worker(given)
    with closing(worker):
        answers = [worker.answer(Reduce(cause, totals.shortest(cause).case, 60)) for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(answers[0].case) < len(totals.shortest(cause).case)  # type: ignore[union-attr]
    assert answers[0].note.startswith("fail")  # type: ignore[union-attr]


def planned(given: Settings, order: int, news: dict[str, int]) -> list[Chunk]:
    """All chunks of a plan, answered `order` at a time from the last to the first; `news` of each area never end."""
    planner, chunks, count = Planner(given, {}), [], 0
    while some := [chunk for _ in range(order) if (chunk := planner.next()) is not None]:
        chunks += some
        for chunk in reversed(some):
            new = {f"{chunk.area} {chunk.start} {n}": 1 for n in range(news[chunk.area])}
            count += len(new)
            report = Report(chunk, "", "", drawn=chunk.count, situations={"all": chunk.count, **new})
            assert planner.done(chunk, report) and not planner.done(chunk, report)
    return chunks


@pytest.mark.parametrize("order", [2, 3, 7])
def test_plans_follow_from_reports_alone(order: int) -> None:
    given, news = settings(cases=9605), {"reductions": 0, "tensor_addressing": 4}
    chunks = planned(given, order, news)
    assert set(chunks) == set(planned(given, 1, news))
    for area in given.areas:
        starts = sorted(chunk for chunk in chunks if chunk.area == area)
        assert [chunk.start for chunk in starts] == [1 + sum(c.count for c in starts[:n]) for n in range(len(starts))]
    assert sum(chunk.count for chunk in chunks) == 9605
    by_area = {area: sum(chunk.count for chunk in chunks if chunk.area == area) for area in given.areas}
    assert by_area["tensor_addressing"] > 4 * by_area["reductions"] > 0


def test_an_area_that_the_driver_cannot_run_gets_little() -> None:
    given = settings(cases=9600)
    planner, counts = Planner(given, {}), dict.fromkeys(given.areas, 0)
    while (chunk := planner.next()) is not None:
        counts[chunk.area] += chunk.count
        new = {f"{chunk.start} {n}": 1 for n in range(4)} if chunk.area == "reductions" else {}
        unsupported = {} if new else {"everything": chunk.count}
        planner.done(chunk, Report(chunk, "", "", drawn=chunk.count, unsupported=unsupported, situations=new))
    assert counts["reductions"] > 4 * counts["tensor_addressing"] > 0


def test_areas_are_spread_by_weight() -> None:
    assert interleaved(["a", "b", "c"], [2, 1, 1], 8) == ["a", "b", "c", "a", "a", "b", "c", "a"]
    assert interleaved([], [], 8) == []


def test_a_structure_is_a_case_without_its_numbers() -> None:
    case = example(registry.area("reductions")(registry.driver("emulator").capabilities()), 3, 1)
    assert structure(case) == structure(msgspec.structs.replace(case, name="other", description="of it"))  # type: ignore
    other = example(registry.area("reductions")(registry.driver("emulator").capabilities()), 3, 2)
    assert structure(case) != structure(other)  # type: ignore[arg-type]


def test_the_chance_of_something_new_is_what_was_seen_once() -> None:
    assert chance({"a": 1, "b": 5, "c": 1}, 10) == 0.2
    assert chance({}, 0) == 1.0
    assert Totals().exit_status == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "no driver to test"),
        ("-d emulator", "a campaign without an end"),
        ("-d emulater --cases 10", "emulater"),
        ("-d emulator --cases 10 --area tensors", "tensors"),
        ("-d emulator --cases 10 --devices 0,1", "both or none"),
        ("-d vulkan:{device} --cases 10", "both or none"),
        ("-d emulator --cases 10 --scheduler tcp://127.0.0.1:1 -j 2", "--scheduler with --jobs"),
        ("-d emulator --cases 10 --scheduler nonsense:at/all", "--scheduler"),
        ("-d emulator --cases 0", "--cases"),
        ("--resume .", "no campaign is kept here"),
        ("--resume gone", "gone"),
        ("--resume . --cases 10", "--cases"),
    ],
)
def test_what_is_wrong_is_said(cts: Cts, arguments: str, said: str) -> None:
    ran = cts("campaign", *arguments.split())
    assert ran.status in (2, 3) and said in ran.err
    assert not ran.out and "Traceback" not in ran.err
    assert not (cts.folder / "cts-run").exists()


def test_the_verb(cts: Cts) -> None:
    arguments = ("--cases", "40", "--area", "tensor_addressing", "--seed", "3", "--chunk", "5")
    ran = cts("campaign", "-d", MUTANT, *arguments, "--reduce-seconds", "0")
    assert ran.status == 1 and "new: fail: " in ran.out and "exit status 1" in ran.out
    _, totals = folders.load(cts.folder / "cts-run/001")
    before = (cts.folder / "cts-run/001" / folders.ANSWERS).read_bytes()
    again = cts("campaign", "--resume", "cts-run/001", "--reduce-seconds", "2")
    assert again.status == 1 and "made smaller: fail" in again.out
    after = (cts.folder / "cts-run/001" / folders.ANSWERS).read_bytes()
    assert after.startswith(before) and after.count(b"\n") == before.count(b"\n") + len(totals.causes)
    assert list((cts.folder / "cts-run/001/findings").rglob("reduced.yaml"))


def test_other_verbs_say_what_a_campaign_is(cts: Cts) -> None:
    cts("campaign", "-d", "emulator", "--cases", "2", "--area", "reductions")
    for verb in ("report", "triage", "history"):
        ran = cts(verb, "cts-run/001")
        assert ran.status == 2 and "a campaign is kept here" in ran.err and "--resume" in ran.err


def test_sets_of_cases_and_of_universes_are_judged(tmp_path: Path) -> None:
    universes = tuple(map(sweep_record, select(["vector_loads", "vector_unary_8"], 40)[0]))
    given = settings(driver="emulator", areas=("tensor_addressing",), cases=20, sets=5, sweeps=universes)
    folder = folders.create(tmp_path, given)
    assert campaign(folder, Processes(given, 2)) == 0
    found = {area: totals.sets for area, totals in folder.totals.areas.items()}
    assert found.pop("tensor_addressing") > 20
    assert found == {"sweep.vector_loads": 40, "sweep.vector_unary_8": 8}


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


def test_a_set_that_fails_among_others_alone_is_kept_with_what_it_left() -> None:
    worker = Worker(settings(driver="emulator", areas=("reductions",), sets=5))
    worker.driver = replace(worker.driver, driver=Among(worker.driver.driver))
    with closing(worker):
        report = worker.answer(Chunk("reductions", 1, 10))
    assert isinstance(report, Report) and report.verdicts["flaky"] > 3
    assert all(kept.detail.startswith("a parameter set fails among others") for kept in report.kept)
    assert all("1 of " in kept.detail and "expected" in kept.detail for kept in report.kept)


def test_workers_of_a_scheduler_find_the_same(alone: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    from cts.campaign.on_dask import Cluster

    class Dying(Cluster):
        """The workers of a scheduler, one of which dies when the first answers are there."""

        def answers(self, seconds: float) -> Iterator[tuple[Task, Answer]]:
            found = list(super().answers(seconds))
            if found and workers:
                os.kill(workers.pop(), signal.SIGKILL)
            yield from found

    given = settings()
    options = {"n_workers": 2, "threads_per_worker": 1, "resources": {"cts": 1}, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        workers = [cluster.workers[0].pid]
        folder = folders.create(tmp_path, given)
        assert campaign(folder, Dying(given, cluster.scheduler_address)) == 1
        assert not workers
    assert outcomes(folder.path) == outcomes(alone)
    assert kept(folder.path) == kept(alone)


def test_a_campaign_that_cannot_begin_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("cts.campaign.on_dask.PATIENCE", 0.1)
    ran = ran_in(tmp_path, "campaign", "-d", "emulator", "--cases", "10", "--scheduler", "tcp://127.0.0.1:1")
    assert ran.status == 3 and "the address that `dask scheduler` printed" in ran.err
    assert not (tmp_path / "cts-run").exists()
