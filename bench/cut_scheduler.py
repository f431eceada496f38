"""A campaign on Dask whose scheduler, network or workers are killed, frozen or cut: does it end in time, is all there?.

    python bench/cut_scheduler.py [--moments 20] [--cases 120] [--max-time 30]

At moments from before the campaign is connected to after its last chunk but one, in turn: the scheduler or its workers
are killed (SIGKILL) or frozen (SIGSTOP), or the network between campaign and scheduler carries nothing any more. The
campaign must end within its time and 20 s, with one error, a footer, the line that resumes it, and a status that is not
0 if an answer is missing; if it was over or its time up before that moment, what is missing is no error. That line is
tried twice: without a scheduler, which must change nothing, and on new workers,
after which outcome and examples must be those of a campaign that nothing has happened to.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from cts.running.store import Run, load

#: Seconds that a run may take beyond its time.
BEYOND = 20.0


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Network:
    """Carries bytes to a port of this machine, until it is cut: then all connections stay open, and carry nothing."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._there = threading.Event()
        self._there.set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listening.getsockname()[1]}"
        self._open: list[socket.socket] = [self._listening]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """From now on nothing arrives."""
        self._there.clear()

    def close(self) -> None:
        """Close all connections."""
        self._there.set()
        for one in self._open:
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._open.append(near)
                try:
                    far = socket.create_connection(("127.0.0.1", self._port))
                except OSError:  # a scheduler that does not listen, or does not yet
                    near.close()
                    continue
                self._open.append(far)
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                self._there.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)


class Dask:
    """A scheduler with two workers, each in a process group of its own, and the network to it."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self._network = Network(port)
        self.address = self._network.address
        self._groups: dict[str, subprocess.Popen[bytes]] = {}
        self._start(folder, "scheduler", "scheduler", "--host", "127.0.0.1", "--port", f"{port}", "--no-dashboard")
        words = ("--host", "127.0.0.1", "--nthreads", "1", "--nworkers", "2", "--no-dashboard", "--resources", "cts=1")
        self._start(folder, "workers", "worker", f"tcp://127.0.0.1:{port}", *words)
        self._await_workers(port)

    def _start(self, folder: Path, name: str, *words: str) -> None:
        command = [str(Path(sys.executable).with_name("dask")), *words]
        log = (folder / f"{name}.log").open("ab")
        self._groups[name] = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)

    def _await_workers(self, port: int) -> None:
        from distributed import Client

        with Client(f"tcp://127.0.0.1:{port}", timeout=60) as client:
            client.wait_for_workers(2, timeout=120)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the scheduler or to all processes of the workers."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._groups[name].pid, number)

    def cut(self) -> None:
        """Cut the network."""
        self._network.cut()

    def close(self) -> None:
        """End all of it."""
        for name, process in self._groups.items():
            self.signal(name, signal.SIGKILL)
            process.wait()
        self._network.close()


#: What happens, by name.
HAPPENINGS: dict[str, Callable[[Dask], None]] = {
    "scheduler killed": lambda dask: dask.signal("scheduler", signal.SIGKILL),
    "scheduler frozen": lambda dask: dask.signal("scheduler", signal.SIGSTOP),
    "network cut": Dask.cut,
    "workers killed": lambda dask: dask.signal("workers", signal.SIGKILL),
    "workers frozen": lambda dask: dask.signal("workers", signal.SIGSTOP),
}


@contextlib.contextmanager
def dask(folder: Path) -> Iterator[Dask]:
    """A scheduler with workers, which end with the block."""
    started = Dask(folder)
    try:
        yield started
    finally:
        started.close()


def campaign(folder: Path, *words: str) -> subprocess.Popen[str]:
    """A campaign that has begun."""
    command = [sys.executable, "-m", "cts", "campaign", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def chunks(run: Path) -> int:
    """How many chunks a run has judged so far; -1 before it exists."""
    journal = run / "results.jsonl"
    return journal.read_bytes().count(b'"examples-judged"') if journal.exists() else -1


def examples(run: Run) -> Counter[tuple[str, str, int]]:
    """How often each example was judged, by driver, area and number."""
    return Counter((e.driver, e.area, e.start + n) for e in run.examples for n in range(e.count))


def files(folder: Path) -> dict[Path, bytes]:
    """All files of a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def wrong_ends(run: Path, status: int, said: str, wanted: Run, late: bool) -> Iterator[str]:
    """What is wrong with the end of a campaign to which something has happened, `late` if when its time was up."""
    cut = load(run)
    missing = examples(wanted).total() - examples(cut).total()
    if "Traceback" in said:
        yield "a traceback"
    if cut.footer is None or cut.footer.exit_status != status:
        yield "no footer with its status"
    elif cut.footer.examples != examples(cut).total():
        yield f"a footer with {cut.footer.examples} of {examples(cut).total()} cases"
    if late and missing and cut.incomplete and status == 0:
        return
    if missing and status == 0:
        yield f"status 0, and {missing} answers are missing"
    if missing and (said.count("error[") != 1 or f"to go on: cts campaign --resume {run}" not in said):
        yield "not one error with the line that resumes"
    if missing and not cut.incomplete:
        yield "it is taken for complete"


def main() -> None:
    """Try all moments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--max-time", type=float, default=30.0)
    asked = parser.parse_args()
    settings = ("-d", "emulator", "--area", "reductions", "--cases", str(asked.cases), "--chunk", "5", "--seed", "3")
    failed, longest = 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        campaign(folder, *settings, "--save-dir", "whole").communicate()
        wanted = load(folder / "whole")
        count = chunks(wanted.path)
        for moment in range(asked.moments):
            what, happen = list(HAPPENINGS.items())[moment % len(HAPPENINGS)]
            after = moment * count // asked.moments - 1
            run = folder / f"{moment}" / "001"
            with dask(folder) as first:
                started = time.monotonic()
                limit = ("--max-time", str(asked.max_time), "--save-dir", str(run.parent), "--scheduler", first.address)
                process = campaign(folder, *settings, *limit)
                while process.poll() is None and chunks(run) < after:
                    time.sleep(0.01)
                judged = chunks(run)
                late = process.poll() is not None or time.monotonic() - started > asked.max_time
                happen(first)
                said, _ = process.communicate()
                took = time.monotonic() - started
            problems = [] if took <= asked.max_time + BEYOND else [f"it took {took:.0f} s"]
            problems += wrong_ends(run, process.returncode, said, wanted, late)
            before = files(run)
            again = campaign(folder, "--resume", str(run), "--scheduler", first.address, "--max-time", "1")
            without, _ = again.communicate()
            if files(run) != before or again.returncode != 3 or "cases judged" in without:
                problems.append(f"resumed without a scheduler: {without}")
            with dask(folder) as second:
                last, _ = campaign(folder, "--resume", str(run), "--scheduler", second.address).communicate()
            resumed = load(run)
            if resumed.outcome != wanted.outcome or examples(resumed) != examples(wanted):
                problems.append(
                    f"resumed: {resumed.outcome} of {examples(resumed).total()}, not {wanted.outcome}\n{last}"
                )
            failed += bool(problems)
            longest = max(longest, took)
            when = f"after {judged} of {count} chunks" if judged >= 0 else "before it had begun"
            when += ", when its time was up" if late else ""
            print(f"{what} {when}: status {process.returncode} in {took:.1f} s; {'; '.join(problems) or 'right'}")
            sys.stdout.flush()
            if problems:
                print(said)
    print(f"{asked.moments} moments, {failed} wrong; the longest took {longest:.1f} s of {asked.max_time:g} and 20 s")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
