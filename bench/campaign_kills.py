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

import msgspec
from distributed import LocalCluster

from cts.campaign.chunks import Chunk, Report
from cts.campaign.folder import ANSWERS, FINDINGS, Line


def command(arguments: argparse.Namespace, folder: Path, *others: str) -> list[str]:
    """A new campaign in a folder."""
    cases = ("--cases", str(arguments.cases), "--seed", "7", "--chunk", "10", "--reduce-seconds", "0")
    new = ("campaign", "-d", arguments.driver, *cases, "--save-dir", str(folder), *others)
    return [sys.executable, "-m", "cts", *new]


def reports(folder: Path) -> tuple[dict[Chunk, Report], list[Chunk]]:
    """The report of each chunk, without places and times; and chunks that have two."""
    found: dict[Chunk, Report] = {}
    twice = []
    for text in (folder / "001" / ANSWERS).read_bytes().splitlines():
        answer = msgspec.json.decode(text, type=Line).answer
        assert isinstance(answer, Report), answer
        twice += [answer.chunk] * (answer.chunk in found)
        found[answer.chunk] = msgspec.structs.replace(answer, where="", seconds={})
    return found, twice


def findings(folder: Path) -> dict[str, bytes]:
    """The files of findings."""
    base = folder / "001" / FINDINGS
    return {str(path.relative_to(base)): path.read_bytes() for path in base.rglob("*") if path.is_file()}


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
        answers = folder / "001" / ANSWERS
        while client.poll() is None and (not answers.exists() or answers.read_bytes().count(b"\n") < chunks / 2):
            time.sleep(0.1)
        client.kill()
        client.wait()
        resumed = ("campaign", "--resume", str(folder / "001"), "--scheduler", cluster.scheduler_address)
        subprocess.run([sys.executable, "-m", "cts", *resumed, "--reduce-seconds", "0"], check=False)
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
        expected, _ = reports(alone)
        kills, with_kills = killed(arguments, by_many, len(expected))
        found, twice = reports(by_many)
        missing = set(expected) - set(found)
        differ = [chunk for chunk in expected if chunk in found and found[chunk] != expected[chunk]]
        same = findings(alone) == findings(by_many)
    print(
        f"{len(expected)} chunks, {kills} workers and one client killed: {len(missing)} missing, {len(twice)} twice,"
        f" {len(differ)} differ, files of findings {'the same' if same else 'differ'};"
        f" {with_kills:.0f} s, one process without kills {seconds:.0f} s"
    )
    return int(bool(missing or twice or differ or set(found) - set(expected) or not same or not kills))


if __name__ == "__main__":
    sys.exit(main())
