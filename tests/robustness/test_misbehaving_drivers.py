"""Whatever a driver does at whichever call: its cases have a verdict that is true, and the rest of the run goes on."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from cts.running import corpus
from cts.running.store import load

#: What is found in one process by all ways, elsewhere by those that differ most.
SOME = (
    "factory-end", "factory-hang", "capabilities-exit", "run-interrupt", "run-end", "run-abort", "run-kill", "run-hang",
    "run-surrogate", "run-print", "run-streams", "run-thread", "run-process", "close-end", "close-hang",
)  # fmt: skip

CASES = ("tensor_addressing.clamp.edge_low_load", "tensor_addressing.clamp.repeat_low_load")


def expected(fakes_path: Path) -> dict[str, str]:
    """Every way, and the verdict of each case."""
    sys.path.insert(0, str(fakes_path))
    try:
        return dict(importlib.import_module("misbehaving").EXPECTED)
    finally:
        sys.path.remove(str(fakes_path))


def spec(way: str) -> str:
    """Only what never answers is not waited for as long as a busy machine may need to start a process."""
    hangs = way.endswith(("-hang", "-deaf", "-stop"))
    return f"misbehaving:{way},process_timeout=3" if hangs else f"misbehaving:{way}"


def options(ways: Iterable[str], option: str = "-d") -> list[str]:
    """Options for all these drivers, and one that is right."""
    return [word for driver in (*map(spec, ways), "fake:right") for word in (option, driver)]


def ran(folder: Path, fakes_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, which ends by itself."""
    path = os.pathsep.join(filter(None, (str(fakes_path), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": path, "GITHUB_ACTIONS": ""}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=280,
        check=False,
    )  # fmt: skip


def verdicts(run: Path) -> dict[str, Counter[str]]:
    """What became of the cases of each driver of a run that has ended."""
    kept = load(run)
    assert kept.footer is not None and kept.footer.exit_status == 3
    found: dict[str, Counter[str]] = {}
    for result in kept.results:
        found.setdefault(result.driver, Counter())[result.verdict.value] += 1
    return found


def wanted(ways: Mapping[str, str], count: int) -> dict[str, Counter[str]]:
    found = {spec(way): Counter({verdict: count}) for way, verdict in ways.items() if verdict}
    return found | {"fake:right": Counter({"pass": count})}


def fit(text: str) -> bool:
    """Whether a log or terminal can have it."""
    return re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text) is None


def ways_of(fakes_path: Path, some: Iterable[str]) -> dict[str, str]:
    every = expected(fakes_path)
    return {way: every[way] for way in some}


def test_there_are_enough_ways(fakes_path: Path) -> None:
    every = expected(fakes_path)
    assert len(every) >= 70
    assert {way.partition("-")[0] for way in every} == {"factory", "capabilities", "run", "close"}


def test_in_one_process(tmp_path: Path, fakes_path: Path) -> None:
    ways = expected(fakes_path)
    done = ran(tmp_path, fakes_path, "cts", "run", *options(ways), CASES[0], "--json", "-", "--reruns", "0")
    assert done.returncode == 3
    assert verdicts(tmp_path / "cts-run") == wanted(ways, 1)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [e["event"] for e in events].count("run-finished") == 1 and events[-1]["exit_status"] == 3
    assert fit(done.stdout) and fit(done.stderr)
    assert "Traceback" not in done.stdout + done.stderr


def test_in_the_process_of_the_suite(tmp_path: Path, fakes_path: Path) -> None:
    """There a driver may end the suite, but what it returns or raises belongs to it."""
    every = expected(fakes_path)
    raising = ("exit", "raise", "unknown", "surrogate", "controls", "recursion", "silent", "group")
    returning = importlib.import_module("misbehaving").RETURNED
    ways = {f"run-{way}": every[f"run-{way}"] for way in (*raising, *returning)}
    assert len(ways) >= 25
    words = [word for way in ways for word in ("-d", f"{spec(way)},process=shared")]
    done = ran(tmp_path, fakes_path, "cts", "run", *words, CASES[0], "--reruns", "0")
    kept = load(tmp_path / "cts-run")
    assert (done.returncode, kept.footer and kept.footer.exit_status) == (3, 3)
    assert {r.driver: r.verdict.value for r in kept.results} == {
        f"{spec(way)},process=shared": verdict for way, verdict in ways.items()
    }
    assert "Traceback" not in done.stdout + done.stderr
    assert all("cts/" not in r.detail or "fakes" in r.detail for r in kept.results)


def test_in_several_processes(tmp_path: Path, fakes_path: Path) -> None:
    ways = ways_of(fakes_path, SOME)
    done = ran(tmp_path, fakes_path, "cts", "run", *options(ways), *CASES, "-j", "2", "--reruns", "0")
    assert done.returncode == 3
    assert verdicts(tmp_path / "cts-run") == wanted(ways, len(CASES))
    assert fit(done.stdout) and fit(done.stderr)


def test_in_pytest(tmp_path: Path, fakes_path: Path) -> None:
    ways = ways_of(fakes_path, SOME)
    for name in CASES:
        (tmp_path / f"{name}.yaml").write_bytes(corpus.find_one(name).path.read_bytes())
    files = [f"{name}.yaml" for name in CASES]
    done = ran(
        tmp_path,
        fakes_path,
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--cts-reruns",
        "0",
        *files,
        *options(ways, "--cts-driver"),
    )
    assert done.returncode == 1
    assert verdicts(tmp_path / "cts-run") == wanted(ways, len(CASES))
    assert fit(done.stdout)


@pytest.mark.parametrize("way", ["run-end", "run-hang", "run-print"])
def test_in_a_campaign(tmp_path: Path, fakes_path: Path, way: str) -> None:
    verdict = expected(fakes_path)[way]
    words = ("cts", "campaign", "-d", spec(way), "--area", "fake_area", "--cases", "4", "--chunk", "2", "-j", "2")
    done = ran(tmp_path, fakes_path, *words, "--reduce-time", "1", "--reruns", "0")
    assert re.search(rf"\b\d+ {verdict}\b.*; \d+ cases judged", done.stdout), done.stdout + done.stderr
    assert done.returncode == {"pass": 0, "error": 3}.get(verdict, 1)
    assert fit(done.stdout) and fit(done.stderr)
