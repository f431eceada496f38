"""A run in several processes says what it says in one, and outlives their deaths."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cts.base.deadline import Deadline
from cts.base.errors import BadInput, HarnessTrouble
from cts.base.heartbeat import heartbeat
from cts.judging.events import Event, Result, Trouble, encode
from cts.judging.known.baseline import NO_BASELINE
from cts.judging.known.quarantine import Quarantine, loads_rules
from cts.judging.verdict import Verdict
from cts.running import corpus
from cts.running import processes as processes_module
from cts.running.checks import check_jobs, processors
from cts.running.plan import Plan
from cts.running.policy import FIRST_FINDING
from cts.running.processes import ProcessConfig, Processes
from cts.running.profiles import Profile
from cts.running.runner import run
from cts.running.store import load
from cts.running.tasks import Answer, Cases, Examples, Task

PROFILE = Profile("default", 40, 2)
NAMES = tuple(corpus.find_one(f"tensor_addressing.clamp.{name}_low_load") for name in ("edge", "repeat", "mirrored"))


def events_of(jobs: int, *drivers: str, **more: Any) -> tuple[int, list[Event]]:
    seen: list[Event] = []
    plan = Plan(drivers, PROFILE, NAMES, ("fake_area", "reductions"), jobs=jobs, **more)
    return run(plan, seen.append), seen


def comparable(events: list[Event]) -> list[dict[str, Any]]:
    """Events without times, and without what is told of cases that are about to run."""
    import msgspec

    raw = [msgspec.json.decode(encode(event)) for event in events]
    for event in raw:
        event.pop("seconds", None)
        for holder in (event, event.get("finding") or {}):
            for case in (holder.get("case"), holder.get("found")):
                if case is not None:
                    case.pop("dispatch", None)  # a default, which is left out or not
    return [event for event in raw if event["event"] not in ("cases-started", "examples-judged")]


def in_one_order(events: list[dict[str, Any]]) -> list[str]:
    """Events in an order that does not depend on which process was ready first."""
    return sorted(map(str, events))


@pytest.mark.parametrize("drivers", [("fake:right", "fake:wrong"), ("fake:remarks,batch=well",), ("emulator",)])
def test_the_same_as_in_one(fakes: ModuleType, drivers: tuple[str, ...]) -> None:
    status, one = events_of(1, *drivers)
    again, several = events_of(3, *drivers)
    assert status == again
    assert in_one_order(comparable(several)) == in_one_order(comparable(one))


def test_few_cases_are_dealt_out_to_all(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that takes 64 cases at a time has no process idle that could have some of them."""
    given: list[int] = []
    perform = Processes.perform

    def noted(tasks: Iterable[Task]) -> Iterator[Task]:
        for task in tasks:
            if isinstance(task, Cases):
                given.append(len(task.entries))
            yield task

    monkeypatch.setattr(Processes, "perform", lambda self, tasks, *more: perform(self, noted(tasks), *more))
    assert events_of(3, "fake:remarks,batch=well")[0] == 0
    assert given == [1, 1, 1]


def test_what_a_quarantine_leaves_for_last(fakes: ModuleType) -> None:
    quarantine = Quarantine(
        loads_rules(f"schema: 1\nentries:\n  - {{match: {{cases: {NAMES[0].name}}}, when: last, reason: it hangs}}\n")
    )
    (_, one), (_, several) = (events_of(jobs, "fake:right", quarantine=quarantine) for jobs in (1, 2))
    names = [[e.name for e in events if isinstance(e, Result)] for events in (one, several)]
    assert sorted(names[0]) == sorted(names[1])
    assert names[0][-1] == names[1][-1] == NAMES[0].name


def test_the_heartbeat_knows_what_processes_run(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name and process, until the answer comes."""
    seen: list[str] = []
    left: set[object] = set()

    def started(driver: str, names: Iterable[str], process: object = "", pid: int | None = None) -> None:
        if process != "":
            seen.extend(names)
            left.add(process)
            assert pid not in (None, os.getpid())

    monkeypatch.setattr(heartbeat, "started", started)
    monkeypatch.setattr(heartbeat, "ended", left.discard)
    events_of(2, "fake:right")
    assert {entry.name for entry in NAMES} <= set(seen)
    assert not left


def test_the_first_finding_stops_all(fakes: ModuleType) -> None:
    (_, one), (_, several) = (events_of(jobs, "fake:wrong", stop_at_first=True) for jobs in (1, 2))
    assert comparable(one) == comparable(several)
    assert next(e.verdict for e in several if isinstance(e, Result)) is Verdict.FAIL


def test_processes_that_die(fakes: ModuleType) -> None:
    """In one process the run would be over. A case that ends two processes is a crash, and the others go on."""
    status, events = events_of(2, "fake:deadly,process=shared")
    results = {e.name: e for e in events if isinstance(e, Result)}
    cases = {entry.name: corpus.load(entry.path).case for entry in NAMES}
    for name, case in cases.items():
        deadly = int(case.content_hash, 16) % 5 == 0
        assert results[name].verdict is (Verdict.CRASH if deadly else Verdict.PASS)
    assert results["generated.fake_area"].verdict is Verdict.CRASH
    assert "the run ended twice while this case ran" in results["generated.fake_area"].detail
    assert status == 1


def test_a_process_that_cannot_work_ends_the_run(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = ProcessConfig(
        ("fake:does-not-start",), PROFILE, FIRST_FINDING, Quarantine(), Plan((), PROFILE).baseline, 1, {}
    )
    with Processes(2, setting) as processes, pytest.raises(HarnessTrouble, match="does not start"):
        list(processes.perform([Cases(((NAMES[0], ("fake:does-not-start",)),))]))


class Frozen(Processes):
    """Processes that do nothing."""

    def _begin(self) -> Any:
        begun = super()._begin()
        assert begun.process.pid is not None
        os.kill(begun.process.pid, signal.SIGSTOP)
        return begun


class Told:
    """A connection that notes the numbers of the tasks that it was sent."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def send(self, message: tuple[int, Task]) -> None:
        self.numbers.append(message[0])


@pytest.mark.parametrize("last", [True, False])
def test_no_task_waits_behind_one_that_may_take_long(last: bool) -> None:
    """A plan waits for the answers of all short ones."""
    short = Examples("reductions", ("interpreter",), range(1, 6), ("interpreter",))
    long = Examples("reductions", ("interpreter",), range(9, 10), ("interpreter",), last=last)
    executor = Processes(2, ProcessConfig((), PROFILE, FIRST_FINDING, Quarantine(), NO_BASELINE, 0, {}))
    executor._processes = [processes_module._Process(None, Told(), "") for _ in range(2)]  # type: ignore[arg-type]
    given = {number: processes_module._Given(task) for number, task in enumerate([long, short, short, short])}
    ready, answers = deque(given), dict[int, Answer]()
    executor._give(ready, given, answers, lambda task: False)
    assert sorted(process.connection.numbers for process in executor._processes) == (  # type: ignore[attr-defined]
        [[0], [1, 2]] if last else [[0, 2], [1, 3]]
    )
    assert list(ready) == ([3] if last else []) and not answers


def test_a_process_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the time of the run is up is none: a task that has not begun is not run."""
    monkeypatch.setattr(processes_module, "OVERRUN", 0.0)
    config = ProcessConfig(
        ("emulator",), PROFILE, FIRST_FINDING, Quarantine(), Plan((), PROFILE).baseline, 1, {}, frozenset(), Deadline(0)
    )
    tasks = [Cases(((name, ("emulator",)),)) for name in NAMES]
    with Frozen(1, config) as processes:
        answers = [answer for _, answer in processes.perform(tasks)]
    assert [answer.why for answer in answers] == ["the time of the run was up (--max-time 0)"] * 3
    troubles = [event for answer in answers for event in answer.events if isinstance(event, Trouble)]
    assert [trouble.code for trouble in troubles] == ["no-answer"] and NAMES[0].name in troubles[0].what


@pytest.mark.parametrize("text", ["0", "-1", "two", "", "1.5", "2000"])
def test_wrong_numbers_of_processes(text: str) -> None:
    with pytest.raises(BadInput, match="is no number of processes"):
        check_jobs(text)


def test_numbers_of_processes() -> None:
    assert check_jobs("3") == 3
    assert check_jobs("auto") == processors() >= 1


@pytest.mark.parametrize("ended", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_and_resumed(ended: signal.Signals, tmp_path: Path) -> None:
    """By Ctrl-C, which all processes get, or as a job that is cancelled, of which the first one is told alone."""
    words = ["--no-corpus", "--area", "reductions", "--area", "conversions", "--max-examples", "300", "--seed", "1"]
    # A shell that starts these tests in the background has them, and what they start, ignore SIGINT.
    heeding = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    heeding += "; runpy.run_module('cts', run_name='__main__')"
    command = [sys.executable, "-c", heeding, "run", "--driver", "interpreter", "-j", "2", *words]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        journal = tmp_path / "cts-run" / "001" / "results.jsonl"
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"case-judged") < 30):
            pass
        (os.killpg if ended is signal.SIGINT else os.kill)(process.pid, ended)
        _, err = process.communicate()
    assert process.returncode == 130 and "cts run --resume" in err
    cut = load(tmp_path / "cts-run" / "001")
    assert cut.footer is not None and cut.footer.exit_status == 130 and "it was cut short" in cut.incomplete
    resumed = [sys.executable, "-m", "cts", "run", "--resume", "cts-run/001", "-j", "2"]
    done = subprocess.run(resumed, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kept = load(tmp_path / "cts-run" / "001")
    assert {r.name: r.examples for r in kept.results} == {"generated.reductions": 300, "generated.conversions": 300}
