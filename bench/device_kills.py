"""Kills a device's workers, and the suite itself, at random moments of campaigns: do they find what others find?.

    python bench/device_kills.py --driver 'vulkan:worker=chroot /srv/lavapipe python3,timeout=120'
        [--area conversions ...] [--cases 300] [--workers 100] [--suites 30] [--seed 1]

One campaign runs undisturbed. Then workers are killed (SIGKILL) in as many campaigns as that takes; a worker dies only
after something was judged since the last one died, as three deaths in one case make an error of it. Then the suite is
killed in further campaigns, and each is resumed until it ends. Exit status 1 if an outcome is another one, or an
example is missing or there twice.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from cts.running.store import Run, load

#: Seconds between two kills, at least and at most.
PAUSE = (0.3, 3.0)


def command(arguments: argparse.Namespace, runs: Path) -> list[str]:
    """A new campaign in a folder of runs."""
    words = ("-d", arguments.driver, "--cases", str(arguments.cases), "--chunk", "5", "--seed", "3")
    areas = [word for area in arguments.area for word in ("--area", area)]
    return [sys.executable, "-m", "cts", "campaign", *words, *areas, "--reduce-time", "0", "--save-dir", str(runs)]


def started(words: list[str]) -> subprocess.Popen[bytes]:
    """A command that has begun, and prints nothing."""
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def judged(runs: Path) -> int:
    """How long the journal of the first run is, 0 without one."""
    journal = runs / "001" / "results.jsonl"
    return journal.stat().st_size if journal.exists() else 0


def workers(suite: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The workers of a suite."""
    try:
        return [child for child in psutil.Process(suite.pid).children() if child.name().startswith("python")]
    except psutil.NoSuchProcess:
        return []


def with_dead_workers(arguments: argparse.Namespace, runs: Path, draw: random.Random, most: int) -> int:
    """A campaign in which at most so many workers die; how many did."""
    suite, kills, before = started(command(arguments, runs)), 0, -1
    while suite.poll() is None:
        time.sleep(draw.uniform(*PAUSE))
        size, alive = judged(runs), workers(suite)
        if kills < most and alive and size > before:
            for worker in alive:
                worker.kill()
                kills += 1
            before = size
    return kills


def with_dead_suites(arguments: argparse.Namespace, runs: Path, draw: random.Random, most: int) -> int:
    """A campaign that at most so many suites die in, and that is resumed; how many did."""
    kills = 0
    words = command(arguments, runs)
    while True:
        suite, before = started(words), judged(runs)
        if kills < most:
            # A run that never gets as far as its next chunk would never end.
            while suite.poll() is None and judged(runs) <= before:
                time.sleep(0.05)
            time.sleep(draw.uniform(*PAUSE))
            if suite.poll() is None:
                os.killpg(suite.pid, signal.SIGKILL)
                kills += 1
        suite.wait()
        if load(runs).footer is not None and suite.returncode >= 0:
            return kills
        words = [sys.executable, "-m", "cts", "campaign", "--resume", str(runs / "001"), "--reduce-time", "0"]


def problem(found: Run, wanted: Run) -> str:
    """How a run differs from the one that is wanted, "" if it does not."""
    times = Counter((e.driver, e.area, e.start + n) for e in found.examples for n in range(e.count))
    expected = {(e.driver, e.area, e.start + n) for e in wanted.examples for n in range(e.count)}
    if max(times.values()) > 1 or set(times) != expected:
        return (
            f"{len(expected - set(times))} examples are missing, {sum(n > 1 for n in times.values())} are there twice"
        )
    return "" if found.outcome == wanted.outcome else f"outcome {found.outcome}, not {wanted.outcome}"


def main() -> int:
    """Run all campaigns, and compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--area", action="append", default=[])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--suites", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw, failed = random.Random(arguments.seed), 0
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / "whole"
        started(command(arguments, whole)).wait()
        wanted = load(whole)
        print(f"undisturbed: {wanted.outcome}, {wanted.footer.verdicts if wanted.footer else None}", flush=True)
        for what, most, disturbed in (
            ("workers", arguments.workers, with_dead_workers),
            ("suites", arguments.suites, with_dead_suites),
        ):
            kills = campaigns = 0
            while kills < most:
                runs = Path(name) / f"{what}-{campaigns}"
                killed = disturbed(arguments, runs, draw, most - kills)
                if not killed:
                    raise SystemExit("a campaign is too short for a kill: give more --cases")
                kills, campaigns = kills + killed, campaigns + 1
                wrong = problem(load(runs), wanted)
                failed += bool(wrong)
                print(f"{killed} {what} killed: {wrong or 'the same'}", flush=True)
            print(f"{kills} {what} killed in {campaigns} campaigns", flush=True)
    print(f"{failed} campaigns differ")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
