"""A run that is killed at any moment has lost the case in flight alone, and is continued."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import cts
from cts import corpus
from cts.errors import BadInput
from cts.events import CaseJudged, Result, encode
from cts.profiles import Profile
from cts.runner import Plan, run
from cts.store import Manifest, Run, create, explanations, latest, load, locate, resume
from cts.store.journal import Journal, read
from cts.verdict import Verdict

FOLDER = "tensor_addressing.clip"
DRIVERS = ("fake:mortal", "fake:right")
PLAN = ("run", FOLDER, "--area", "fake_area", "--seed", "3", "--max-examples", "25")


class Runs:
    """Runs `cts` in a process of its own, which may be killed; what its driver has run is in `log`."""

    def __init__(self, folder: Path, fakes_path: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.log.touch()
        root = Path(cts.__file__).parents[1]
        self.environment = {**os.environ, "PYTHONPATH": f"{fakes_path}:{root}", "FAKE_LOG": str(self.log)}

    def __call__(self, *arguments: str, dies_at: int = 0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cts", *arguments], cwd=self.folder, capture_output=True, text=True, check=False,
            env={**self.environment, "FAKE_DIES_AT": str(dies_at)}, timeout=120,
        )  # fmt: skip

    def logged(self) -> list[str]:
        return self.log.read_text().split()


@pytest.fixture
def runs(tmp_path: Path, fakes_path: Path) -> Runs:
    return Runs(tmp_path, fakes_path)


def told(results: tuple[Result, ...]) -> dict[tuple[str, str], tuple[Verdict, int, object]]:
    """What a run says of each case and area: all but what it took."""
    return {(r.driver, r.name): (r.verdict, r.examples, r.finding) for r in results}


def plan(batch: str) -> list[str]:
    return [*PLAN, *(word for d in DRIVERS for word in ("--driver", f"{d}{batch}"))]


@pytest.mark.parametrize(
    ("batch", "moments"),
    [("", [[1], [5, 7], [28], [35], [-1]]), (",batch=ends", [[7]])],
)
def test_killed_at_any_moment(runs: Runs, batch: str, moments: list[list[int]]) -> None:
    """Killed at the first case, in the corpus, at its end, among generated cases, while shrinking; twice in one run."""
    whole = runs(*plan(batch))
    assert whole.returncode == 1, whole.stderr
    expected = load(runs.folder / "cts-run")
    assert expected.footer is not None
    once = runs.logged()
    assert len(once) > 40, "the corpus, the examples up to the first failure, and its shrinking"
    for number, deaths in enumerate(moments, 2):
        runs.log.write_text("")
        folder = f"cts-run/{number:03}"
        killed = runs(*plan(batch), dies_at=deaths[0] % (len(once) + 1))
        for death in deaths[1:]:
            assert killed.returncode == -signal.SIGKILL
            killed = runs("run", "--resume", folder, dies_at=death)
        assert killed.returncode == -signal.SIGKILL
        before = load(runs.folder / folder)
        assert before.footer is None
        ended = runs("run", "--resume", folder)
        assert ended.returncode == 1, ended.stderr
        after = load(runs.folder / folder)
        assert told(after.results) == told(expected.results)
        assert after.footer is not None and after.footer.verdicts == expected.footer.verdicts
        reported = Counter((e.driver, e.name) for e in read(after.path / "results.jsonl") if isinstance(e, Result))
        assert max(reported.values()) == 1
        # What had passed has not run again: the case in flight alone has, once for each death.
        passed = {j.hash for j in before.judged if j.driver.startswith("fake:mortal") and j.verdict is Verdict.PASS}
        again = Counter(runs.logged()) - Counter(once)
        assert sum(again[hash_] for hash_ in passed) < len(deaths)


def test_a_failure_from_before_is_not_lost(runs: Runs) -> None:
    """What failed, and passes when the run is resumed, is flaky: in the corpus and among generated cases."""
    runs(*plan(""))
    kept = load(runs.folder / "cts-run")
    results = [r for r in kept.results if r.driver == "fake:mortal" and r.verdict is Verdict.PASS and not r.generated]
    name = results[0].name
    path = kept.path / "results.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if f'"{name}"'.encode() in line)
    judged = next(e for e in kept.judged if e.driver == "fake:mortal")
    failed = CaseJudged(judged.driver, judged.area, judged.hash, Verdict.CRASH)
    path.write_bytes(b"".join(lines[: first - 1]).replace(encode(judged), encode(failed)))
    assert runs("run", "--resume", str(kept.path)).returncode == 1
    result = next(r for r in load(kept.path).results if r.name == name and r.driver == "fake:mortal")
    assert (result.verdict, result.detail) == (Verdict.FLAKY, "crash at first, pass when the run was resumed")


def test_a_case_that_took_the_run_along_is_kept(runs: Runs) -> None:
    """A generated case that fails is in the journal before it is shrunk."""
    runs("run", "--no-corpus", "--area", "fake_area", "--seed", "3", "--max-examples", "25", "--driver", "fake:mortal")
    shrunk_from = next(j for j in load(runs.folder / "cts-run").judged if j.verdict is Verdict.FAIL)
    at = runs.logged().index(shrunk_from.hash) + 2
    runs("run", "--no-corpus", "--area", "fake_area", "--seed", "3", "--max-examples", "25", "--driver", "fake:mortal",
         dies_at=at)  # fmt: skip
    (kept,) = [j for j in load(runs.folder / "cts-run" / "002").judged if j.case is not None]
    assert kept.case is not None and kept.case.content_hash == kept.hash == shrunk_from.hash


def test_a_torn_line_is_no_line(one: Path) -> None:
    path = one / "results.jsonl"
    text = path.read_bytes()
    whole = load(one).results
    cut = text.rindex(b'{"event":"result"')
    for end in (cut + 1, cut + 40, text.index(b"\n", cut)):
        path.write_bytes(text[:end])
        assert load(one).results == whole[:-1]
        assert told(run_again(one).results) == told(whole)


def test_an_ended_run_is_only_told_again(runs: Runs) -> None:
    runs(*plan(""))
    logged = runs.logged()
    again = runs("run", "--resume", "cts-run/001")
    assert (again.returncode, runs.logged()) == (1, logged)
    assert "FAIL fake:mortal generated.fake_area" in again.stdout


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (('"suite": "0.1.0"', '"suite": "0.0.9"'), "run-versions"),
        (('"hypothesis": "', '"hypothesis": "0'), "run-versions"),
        (('"digest": "', '"digest": "0'), "case-changed"),
        (('"origin": "cts run"', '"origin": "pytest"'), "run-of-pytest"),
        (('"format": 1', '"format": 2'), "run-format"),
        (('"seed"', '"sead"'), "run-manifest"),
        (('"identity": "Fake GPU, fake 3.1"', '"identity": "Fake GPU, fake 3.0"'), "driver-changed"),
    ],
)
def test_what_cannot_be_resumed(one: Path, change: tuple[str, str], code: str) -> None:
    manifest = one / "manifest.json"
    text = manifest.read_text()
    assert change[0] in text
    manifest.write_text(text.replace(*change))
    with pytest.raises(BadInput, match=code):
        run_again(one)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--resume", "nowhere"], "no-run"),
        (["--resume", "cts-run", "--driver", "emulator", "--seed", "4"], "resume-options"),
    ],
)
def test_wrong_options(runs: Runs, arguments: list[str], code: str) -> None:
    ran = runs("run", *arguments)
    assert (ran.returncode, f"error[{code}]" in ran.stderr) == (2, True)


@pytest.fixture
def one(tmp_path: Path, fakes: ModuleType) -> Path:
    """The folder of a run of two cases that has ended."""
    entries = (corpus.one(f"{FOLDER}.outside"), corpus.one("tensor_addressing.clamp.edge_low_load"))
    plan = Plan(("fake:right",), Profile("default", 5, 1), entries)
    folder = create(tmp_path / "cts-run", Manifest.of(plan, "cts run", ["cts", "run"]))
    run(plan, folder)
    folder.close()
    return folder.path


def run_again(path: Path) -> Run:
    """Resume a run in this process. Raises BadInput also for what the runner rejects."""
    folder, plan = resume(path)
    try:
        run(plan, folder)
    finally:
        folder.close()
    again = load(path)
    for problem in again.problems:
        raise BadInput(problem.code, problem.what, problem.where, problem.remedy)
    return again


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")
def test_two_processes_do_not_write_one_run(one: Path) -> None:
    journal = Journal(one / "results.jsonl")
    with pytest.raises(BadInput, match="run-busy"):
        resume(one)
    journal.close()
    run_again(one)


@pytest.mark.parametrize("name", ["results.jsonl", "explanations.jsonl"])
def test_files_that_no_run_wrote_are_refused_with_their_line(one: Path, name: str) -> None:
    with (one / name).open("ab") as file:
        file.write(b'{"event": "surprise"}\n')
    number = len((one / name).read_bytes().splitlines())
    with pytest.raises(BadInput) as e:
        explanations.read(load(one))
    assert e.value.where == f"{one / name}:{number}"


def test_the_latest_run_of_a_folder(one: Path) -> None:
    runs = one.parent
    assert locate(runs) == locate(one) == one
    (runs / "002").mkdir()  # killed before it had a manifest
    (runs / "vulkan").mkdir()
    assert latest(runs) == one and latest(runs, before=one) is None
    folder = create(runs, load(one).manifest)
    folder.close()
    assert folder.path.name == "003"
    assert latest(runs) == folder.path and latest(runs, before=folder.path) == one
