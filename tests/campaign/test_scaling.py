"""Workers of a scheduler: the commands of docs/scaling.md, and what becomes of a campaign whose scheduler is lost."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import HarnessTrouble
from cts.judging.events import Trouble
from cts.judging.known.baseline import NO_BASELINE
from cts.judging.known.quarantine import NO_RULES
from cts.running import on_dask
from cts.running.policy import FIRST_FINDING
from cts.running.processes import ProcessConfig
from cts.running.profiles import Profile
from cts.running.store import load
from cts.running.tasks import Answer, Examples

pytest.importorskip("distributed")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scaling.md"
BLOCKS = [
    re.sub("(?m)^ {3}", "", block) for block in re.findall(r"```\w*\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
]


def block(words: str) -> str:
    """The block of the page with these words."""
    (found,) = [block for block in BLOCKS if words in block and "for device" not in block]
    return found


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


Started = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Starts commands of this Python in a folder; they end with the test."""
    processes: list[subprocess.Popen[str]] = []

    def start(command: str, **more: str) -> subprocess.Popen[str]:
        name, *words = shlex.split(command)
        argv = [sys.executable, "-m", "cts"] if name == "cts" else [str(Path(sys.executable).with_name("dask"))]
        process = subprocess.Popen(
            [*argv, *words], cwd=tmp_path, env={**os.environ, **more}, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        processes.append(process)
        return process

    yield start
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def said_by(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=120)
    return process.returncode, said


def patiently(start: Started, command: str, **more: str) -> tuple[int, str]:
    """A campaign, when its workers are there."""
    for _ in range(20):
        status, said = said_by(start(command, **more))
        if "error[no-workers]" not in said and "error[no-scheduler]" not in said:
            break
    return status, said


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
def test_the_documented_commands(started: Started, tmp_path: Path) -> None:
    """They let in who has the key, and nobody else; and nothing listens on another interface."""
    import psutil

    port = str(free_port())
    subprocess.run(shlex.split(block("openssl")), cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "dask.yaml").write_text(block("require-encryption"))
    with_key = {"DASK_CONFIG": str(tmp_path / "dask.yaml")}
    text = (
        block("dask scheduler")
        .replace("HOST:8786", f"127.0.0.1:{port}")
        .replace("eth0", "lo")
        .replace("localhost:8787", "localhost:0")
    )
    scheduler, worker, campaign = text.replace("--nworkers 15", "--nworkers 1").strip().splitlines()
    campaign = re.sub("-d [^ ]+", "-d emulator --area reductions", campaign).replace("100000", "20")
    running = [started(f"{scheduler} --port {port}", **with_key), started(worker, **with_key)]
    status, said = patiently(started, campaign, **with_key)
    assert (status, "20 cases judged" in said) == (0, True), said
    top = [psutil.Process(process.pid) for process in running]
    processes = [*top, *(child for one in top for child in one.children(recursive=True))]
    listening = {c.laddr.ip for one in processes for c in one.net_connections("inet") if c.status == "LISTEN"}
    assert listening == {"127.0.0.1"}
    for address in (f"tls://127.0.0.1:{port}", f"tcp://127.0.0.1:{port}"):
        status, said = said_by(started(f"cts campaign -d emulator --cases 20 --scheduler {address}"))
        assert status == 3 and "error[no-scheduler]" in said and "Traceback" not in said


def test_security_says_what_a_scheduler_may_do() -> None:
    text = (PAGE.parents[1] / "SECURITY.md").read_text("utf-8")
    assert "Dask" in text and "runs code" in text


CAMPAIGN = "cts campaign -d emulator --area reductions --cases 60 --chunk 5 --seed 3"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_scheduler_that_is_lost(started: Started, tmp_path: Path, how: signal.Signals) -> None:
    """It ends in time, with one error, a footer and the line that resumes it, which does nothing without workers."""
    assert said_by(started(f"{CAMPAIGN} --save-dir whole"))[0] == 0
    whole = load(tmp_path / "whole" / "001")

    def dask() -> tuple[subprocess.Popen[str], str]:
        port = free_port()
        words = "--host 127.0.0.1 --no-dashboard"
        scheduler = started(f"dask scheduler {words} --port {port}")
        started(f"dask worker tcp://127.0.0.1:{port} {words} --nthreads 1 --nworkers 1 --resources cts=1")
        return scheduler, f"tcp://127.0.0.1:{port}"

    scheduler, address = dask()
    journal = tmp_path / "cts-run" / "001" / "results.jsonl"
    while True:
        process = started(f"{CAMPAIGN} --max-time 20 --scheduler {address}")
        while process.poll() is None and (not journal.exists() or b"examples-judged" not in journal.read_bytes()):
            time.sleep(0.01)
        if journal.exists() and b"examples-judged" in journal.read_bytes():
            break
        shutil.rmtree(tmp_path / "cts-run")
    os.killpg(scheduler.pid, how)
    status, said = said_by(process)
    assert status != 0 and "Traceback" not in said, said
    cut = load(tmp_path / "cts-run")
    assert cut.footer is not None and cut.footer.exit_status == status and cut.incomplete
    assert cut.footer.seconds < 20 + 20, "the report comes after that"
    if how is signal.SIGKILL:
        assert said.count("error[scheduler-lost]") == 1
        assert f"to go on: cts campaign --resume cts-run/001 --scheduler {address}" in said
    before = {path: path.read_bytes() for path in journal.parent.rglob("*") if path.is_file()}
    status, said = said_by(started(f"cts campaign --resume cts-run/001 --scheduler {address} --max-time 1"))
    assert status == 3 and "error[no-scheduler]" in said and "cases judged" not in said
    assert {path: path.read_bytes() for path in before} == before
    assert patiently(started, f"cts campaign --resume cts-run/001 --scheduler {dask()[1]}")[0] == 0
    resumed = load(tmp_path / "cts-run")
    assert resumed.outcome == whole.outcome
    assert sorted(e.start for e in resumed.examples) == sorted(e.start for e in whole.examples)


def cluster(monkeypatch: pytest.MonkeyPatch, info: Callable[[], object], time_is_up: Deadline) -> on_dask.Cluster:
    """A cluster whose scheduler answers as `info` does."""

    class Future:
        key = "only"

        def add_done_callback(self, call: object) -> None:
            """It never ends."""

    class Client:
        def scheduler_info(self, n_workers: int) -> object:
            return info()

        def close(self, timeout: float) -> None:
            pass

        def submit(self, *words: object, **more: object) -> Future:
            return Future()

        def cancel(self, futures: object) -> None:
            pass

        def processing(self) -> dict[str, tuple[str, ...]]:
            return {"a": ("only",), "b": ()}

        def run(self, function: Callable[[], object]) -> dict[str, object]:
            return {"worker": function()}

    monkeypatch.setattr(on_dask, "_client", lambda address: Client())
    return on_dask.Cluster("tcp://there:1", time_is_up)


WITH_WORKERS = {"workers": {"a": {"resources": {"cts": 2}}, "b": {}}}


def test_a_call_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([WITH_WORKERS])
    here = cluster(monkeypatch, lambda: next(answers), NO_DEADLINE)
    monkeypatch.setattr(on_dask, "PATIENCE", 0.05)
    held = threading.Event()
    with pytest.raises(HarnessTrouble, match="does not answer: TimeoutError: no answer within"):
        here._asked(held.wait)
    held.set()


def test_workers_that_do_not_answer_until_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is no loss of the scheduler: what they had is not run, which is one error, and nothing more is sent."""
    monkeypatch.setattr(on_dask, "TICK", 0.01)
    time_is_up, asked = Deadline(1000.0), []

    def info() -> object:
        """Asked before all and before the task is sent; then the time is up, and nobody needs to know any more."""
        asked.append(time_is_up.left)
        if len(asked) == 2:
            time_is_up.not_after(-on_dask.OVERRUN - 1)
        elif len(asked) > 2:
            raise ConnectionError("nobody needs to know any more")
        return WITH_WORKERS

    here = cluster(monkeypatch, info, time_is_up)
    task = Examples("reductions", ("emulator",), range(5), ("emulator",))
    (first, answer), (_, second) = here.perform(iter([task, None, Examples("reductions", ("a",), range(9), ("a",))]))
    assert first is task and answer.why == second.why == "the time of the run was up (--max-time 1000)"
    (trouble,) = answer.events
    assert isinstance(trouble, Trouble) and trouble.code == "no-answer" and "examples 0 to 4" in trouble.what
    assert not second.events


@pytest.mark.parametrize(("signs", "codes"), [(range(9), []), ((1, 1, 1), ["no-answer"])], ids=["alive", "frozen"])
def test_a_long_case_when_the_time_is_up(
    monkeypatch: pytest.MonkeyPatch, signs: Iterable[int], codes: list[str]
) -> None:
    """What a worker that gives signs of life is at is left to a resumed run, as no error; a silent one is an error."""
    monkeypatch.setattr(on_dask, "TICK", 0.01)
    time_is_up, seen = Deadline(1000.0), iter(signs)

    def info() -> object:
        worker = {"resources": {"cts": 1}, "last_seen": next(seen)}
        if time_is_up.left > 0 and worker["last_seen"] and here:
            # The first sign was long ago, and then the time is up.
            here[0]._signs = {name: (sign, when - 100) for name, (sign, when) in here[0]._signs.items()}
            time_is_up.not_after(-on_dask.OVERRUN - 1)
        return {"workers": {"a": worker}}

    here: list[on_dask.Cluster] = []
    here.append(cluster(monkeypatch, info, time_is_up))
    task = Examples("reductions", ("emulator",), range(5), ("emulator",))
    ((_, answer),) = here[0].perform(iter([task]))
    assert answer.why == "the time of the run was up (--max-time 1000)"
    assert [event.code for event in answer.events if isinstance(event, Trouble)] == codes


def test_a_worker_knows_how_much_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own clock, from the first task on, and not from one that has waited for it."""
    seen: list[Deadline] = []

    class Worker:
        def __init__(self, config: ProcessConfig) -> None:
            self.time_is_up = config.time_is_up
            seen.append(self.time_is_up)

        def answer(self, task: object) -> Answer:
            return Answer(why=self.time_is_up())

        def close(self) -> None:
            """There is nothing."""

    monkeypatch.setattr(on_dask, "WorkerProcess", Worker)
    monkeypatch.setattr(on_dask, "_workers", {})
    time_is_up = Deadline(100.0)
    config = ProcessConfig(
        ("emulator",), Profile("default", 1, 1), FIRST_FINDING, NO_RULES, NO_BASELINE, 1, {}, frozenset(), time_is_up
    )
    sent = cluster(monkeypatch, lambda: WITH_WORKERS, time_is_up).working(config)._config
    assert sent is not None and sent.time_is_up.left == float("inf")
    task = Examples("reductions", ("emulator",), range(5), ("emulator",))
    asked = partial(on_dask._answer, "key", sent, task)
    for left in (60.0, 1000.0):
        answer = asked(left)
        assert isinstance(answer, Answer) and not answer.why and 50 < seen[0].left <= 60
    late = asked(-1.0)
    assert isinstance(late, Answer) and late.why == "the time of the run was up (--max-time 100)"


def test_workers_that_have_all_left(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([WITH_WORKERS, {"workers": {}}, {"workers": {}}])
    here = cluster(monkeypatch, lambda: next(answers), NO_DEADLINE)
    assert here.size == 0, "others may come"
    monkeypatch.setattr(on_dask, "WITHOUT_WORKERS", 0.0)
    with pytest.raises(HarnessTrouble, match="no worker declares the resource cts"):
        _ = here.size
