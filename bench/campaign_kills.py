"""Kills workers and the client of a campaign on Dask: every chunk is counted once, with the verdicts of one process.

    python bench/campaign_kills.py [--driver emulator:mutant=clip-width-remaining] [--cases 2000] [--every 10]

One of three workers is killed every so many seconds; the client is killed once half of the chunks have an answer, and
`--resume` goes on. Exit status 1 where a chunk is missing, is there twice, or differs from that of one process.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from distributed import LocalCluster

from cts.running.store import journal, load


def command(arguments: argparse.Namespace, folder: Path, *others: str) -> list[str]:
    """A new campaign in a folder."""
    cases = ("--cases", str(arguments.cases), "--seed", "7", "--chunk", "10", "--reduce-time", "0")
    new = ("campaign", "-d", arguments.driver, *cases, "--save-dir", str(folder), *others)
    return [sys.executable, "-m", "cts", *new]


def judged(folder: Path) -> tuple[set[tuple[str, int]], int, str]:
    """The chunks of a campaign by area and first number, how many lines of chunks there are, and its outcome."""
    found = load(folder / "001")
    lines = (folder / "001" / journal.NAME).read_bytes().count(b'"examples-judged"')
    return {(one.area, one.start) for one in found.examples}, lines, found.outcome


class Killer(threading.Thread):
    """Kills one of a cluster's workers every so many seconds, until it is stopped."""

    def __init__(self, cluster: Any, every: float) -> None:
        super().__init__(daemon=True)
        self.cluster, self.every = cluster, every
        self.stopped = threading.Event()
        self.kills = 0

    def run(self) -> None:
        """Until it is stopped."""
        dice = random.Random(1)
        while not self.stopped.wait(self.every):
            worker = dice.choice(list(self.cluster.workers.values()))
            if worker.pid:
                os.kill(worker.pid, signal.SIGKILL)
                self.kills += 1


def killed(arguments: argparse.Namespace, folder: Path, chunks: int) -> tuple[int, float]:
    """The campaign on three workers, one of which is killed now and then, and its client once; kills and seconds."""
    started = time.monotonic()
    with LocalCluster(
        n_workers=3, threads_per_worker=1, resources={"cts": 1}, dashboard_address=None, silence_logs=50
    ) as cluster:
        killer = Killer(cluster, arguments.every)
        client = subprocess.Popen(command(arguments, folder, "--scheduler", cluster.scheduler_address))
        killer.start()
        answers = folder / "001" / journal.NAME
        half = chunks / 2
        while client.poll() is None and (not answers.exists() or answers.read_bytes().count(b"examples-judged") < half):
            time.sleep(0.1)
        client.kill()
        client.wait()
        resumed = ("campaign", "--resume", str(folder / "001"), "--scheduler", cluster.scheduler_address)
        subprocess.run([sys.executable, "-m", "cts", *resumed, "--reduce-time", "0"], check=False)
        killer.stopped.set()
        killer.join()
    return killer.kills, time.monotonic() - started


def main() -> int:
    """Both campaigns, and their comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", default="emulator:mutant=clip-width-remaining")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--every", type=float, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        alone, by_many = Path(temporary) / "alone", Path(temporary) / "many"
        started = time.monotonic()
        subprocess.run(command(arguments, alone), check=False)
        seconds = time.monotonic() - started
        expected, _, outcome = judged(alone)
        kills, with_kills = killed(arguments, by_many, len(expected))
        found, lines, outcome_with_kills = judged(by_many)
        missing, twice, same = expected - found, lines - len(found), outcome == outcome_with_kills
    print(
        f"{len(expected)} chunks, {kills} workers and one client killed: {len(missing)} missing, {twice} twice, "
        f"outcomes {'the same' if same else 'differ'};"
        f" {with_kills:.0f} s, one process without kills {seconds:.0f} s"
    )
    return int(bool(missing or twice or found - expected or not same or not kills))


if __name__ == "__main__":
    sys.exit(main())
