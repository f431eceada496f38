"""A campaign on a Dask scheduler that is killed or frozen: does it end in time, and is nothing lost or doubled?.

    python bench/cut_scheduler.py [--moments 20] [--cases 120] [--max-time 20]

Each moment is a number of judged chunks, after which the scheduler, or the workers, are killed (SIGKILL) or frozen
(SIGSTOP), in turn. The campaign must end within its time and 20 s, with a status and a footer that say so. Then it is
resumed on new ones: its outcome and its chunks must be those of a campaign that nothing has happened to.
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
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cts.running.store import load

#: What happens to what.
HAPPENINGS = [(whom, how) for whom in ("scheduler", "workers") for how in (signal.SIGKILL, signal.SIGSTOP)]

#: Seconds that a run may take beyond its time.
BEYOND = 20.0


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Dask:
    """A scheduler with two workers, each in a process group of its own."""

    def __init__(self, folder: Path) -> None:
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.groups: dict[str, subprocess.Popen[bytes]] = {}
        port = self.address.rpartition(":")[2]
        self._start(folder, "scheduler", "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        words = ("--host", "127.0.0.1", "--nthreads", "1", "--nworkers", "2", "--no-dashboard", "--resources", "cts=1")
        self._start(folder, "workers", "worker", self.address, *words)

    def _start(self, folder: Path, name: str, *words: str) -> None:
        command = [str(Path(sys.executable).with_name("dask")), *words]
        log = (folder / f"{name}.log").open("ab")
        self.groups[name] = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)

    def signal(self, name: str, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.groups[name].pid, number)

    def close(self) -> None:
        for name, process in self.groups.items():
            self.signal(name, signal.SIGKILL)
            process.wait()


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


def patiently(folder: Path, *words: str) -> str:
    """What a campaign prints. It is tried until the workers are there."""
    for _ in range(20):
        process = campaign(folder, *words)
        said, _ = process.communicate()
        if "no-workers" not in said and "no-scheduler" not in said:
            return said
    raise SystemExit(f"no workers:\n{said}")


def chunks(run: Path) -> int:
    """How many chunks a run has judged so far."""
    journal = run / "results.jsonl"
    return journal.read_bytes().count(b'"examples-judged"') if journal.exists() else 0


def main() -> None:
    """Try all moments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--max-time", type=float, default=20.0)
    asked = parser.parse_args()
    settings = ("-d", "emulator", "--area", "reductions", "--cases", str(asked.cases), "--chunk", "5", "--seed", "3")
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = folder / "whole"
        process = campaign(folder, *settings, "--save-dir", str(whole))
        process.communicate()
        wanted = load(whole)
        count = chunks(wanted.path)
        longest = 0.0
        for moment in range(asked.moments):
            whom, how = HAPPENINGS[moment % len(HAPPENINGS)]
            after = 1 + moment * (count - 2) // max(1, asked.moments - 1)
            runs = folder / f"{moment}"
            with dask(folder) as first:
                limit = ("--max-time", str(asked.max_time), "--save-dir", str(runs), "--scheduler", first.address)
                while True:
                    started = time.monotonic()
                    process = campaign(folder, *settings, *limit)
                    while process.poll() is None and chunks(runs / "001") < after:
                        time.sleep(0.01)
                    if process.poll() is None or chunks(runs / "001"):
                        break
                    for path in sorted(runs.rglob("*"), reverse=True):
                        path.unlink() if path.is_file() else path.rmdir()
                first.signal(whom, how)
                said, _ = process.communicate()
                took = time.monotonic() - started
            cut = load(runs / "001")
            problems = [] if took <= asked.max_time + BEYOND else [f"it took {took:.0f} s"]
            if "Traceback" in said:
                problems.append("a traceback")
            if cut.footer is None or cut.footer.exit_status != process.returncode:
                problems.append("no footer with its status")
            if process.returncode == 0 and len(cut.examples) < count:
                problems.append("status 0")
            with dask(folder) as second:
                patiently(folder, "--resume", str(runs / "001"), "--scheduler", second.address)
            resumed = load(runs / "001")
            times = Counter((e.driver, e.area, e.start) for e in resumed.examples)
            if resumed.outcome != wanted.outcome or max(times.values()) > 1 or len(times) != count:
                problems.append(f"resumed: {resumed.outcome} of {len(times)} chunks, not {wanted.outcome} of {count}")
            failed += bool(problems)
            longest = max(longest, took)
            what = f"{whom} {how.name} after {after} of {count} chunks"
            print(f"{what}: status {process.returncode} in {took:.1f} s; {'; '.join(problems) or 'as it should be'}")
            sys.stdout.flush()
            if problems:
                print(said)
    print(f"{asked.moments} moments, {failed} wrong; the longest took {longest:.1f} s of {asked.max_time:g} and 20 s")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
