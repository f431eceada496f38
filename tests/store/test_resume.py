"""A run that is killed at any moment has lost the case in flight alone, and is continued."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import cts
from cts.base.errors import BadInput, OutputClosed
from cts.judging.events import CaseJudged, Event, GeneratorFault, Result, encode
from cts.judging.verdict import Verdict
from cts.running import corpus
from cts.running.plan import Plan
from cts.running.profiles import Profile
from cts.running.runner import run
from cts.running.shard import Shard
from cts.running.store import Manifest, Run, RunFolder, create, explanations, latest, load, locate, resume
from cts.running.store.diff import Change, diff
from cts.running.store.journal import Journal, read

FOLDER = "tensor_addressing.clip"
DRIVERS = ("fake:mortal", "fake:right")
PROFILE = Profile("default", 25, 3)


class Died(OutputClosed):
    """In the place of the end of the process: nothing is closed, and nothing else is written."""


class Runs:
    """Runs a plan in this process, which may die; what its mortal driver has run is in `log`."""

    def __init__(self, folder: Path, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "cts-run"
        self.log = folder / "log"
        self.log.touch()
        self.monkeypatch = monkeypatch
        monkeypatch.setenv("FAKE_LOG", str(self.log))
        monkeypatch.setattr(fakes, "end_process", self._die)

    def _die(self) -> None:
        raise Died

    def __call__(
        self, drivers: Sequence[str] = DRIVERS, cases: str = FOLDER, dies_at: int = 0, profile: Profile = PROFILE
    ) -> Path:
        """The folder of a new run, which dies at the run of a case that `dies_at` counts."""
        plan = Plan(tuple(drivers), profile, tuple(corpus.select([cases])[0][:12]) if cases else (), ("fake_area",))
        folder = create(self.folder, Manifest.from_plan(plan, "cts run", ["cts", "run"]))
        self._run(plan, folder, dies_at)
        return folder.path

    def again(self, path: Path, dies_at: int = 0) -> Run:
        """The run, resumed."""
        folder, plan = resume(path)
        self._run(plan, folder, dies_at)
        return load(path)

    def _run(self, plan: Plan, folder: RunFolder, dies_at: int) -> None:
        self.monkeypatch.setenv("FAKE_DIES_AT", str(dies_at))
        try:
            run(plan, folder)
        except Died:
            folder.journal.close()
        else:
            folder.close()

    def logged(self) -> list[str]:
        return self.log.read_text().split()


@pytest.fixture
def runs(tmp_path: Path, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(tmp_path, fakes, monkeypatch)


def told(results: tuple[Result, ...]) -> dict[tuple[str, str], tuple[Verdict, int, object]]:
    """What a run says of each case and area: all but what it took."""
    return {(r.driver, r.name): (r.verdict, r.examples, r.finding) for r in results}


def reported(path: Path) -> int:
    """How often one result is in the journal, at most."""
    return max(Counter((e.driver, e.name) for e in read(path / "results.jsonl") if isinstance(e, Result)).values())


@pytest.mark.parametrize("batch", ["", ",batch=ends"])
def test_killed_at_any_moment(runs: Runs, batch: str) -> None:
    """Killed at each run of a case in the corpus, among generated cases and while shrinking; once or twice."""
    drivers = [f"{d}{batch}" for d in DRIVERS]
    expected = load(runs(drivers))
    assert expected.footer is not None
    once = runs.logged()
    assert len(once) > 40, "the corpus, the examples up to the first failure, and its shrinking"
    step = 35 if batch else 13
    for moment in range(3, len(once) + 1, step):
        # Twice, but not with the same case.
        deaths = (moment, 3) if moment < 20 and not batch else (moment,)
        runs.log.write_text("")
        path = runs(drivers, dies_at=deaths[0])
        for death in deaths[1:]:
            runs.again(path, dies_at=death)
        before = load(path)
        assert before.footer is None
        after = runs.again(path)
        assert told(after.results) == told(expected.results)
        assert after.footer is not None and after.footer.verdicts == expected.footer.verdicts
        assert reported(path) == 1
        # What had passed has not run again: the case in flight alone has, once for each death.
        passed = {j.hash for j in before.judged if j.driver == drivers[0] and j.verdict is Verdict.PASS}
        again = Counter(runs.logged()) - Counter(once)
        assert sum(again[hash_] for hash_ in passed) < len(deaths)


def test_faults_of_a_generator_are_told_again(runs: Runs, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before, within and behind an area whose generator has bugs: the resumed run ends in the same way."""

    def faults(run: Run) -> list[GeneratorFault]:
        return [p for p in run.problems if isinstance(p, GeneratorFault)]

    monkeypatch.setattr(fakes, "fake_area", fakes.faulty_area)
    profile = Profile("default", 20, 21)
    expected = load(runs(["fake:mortal", "fake:right"], profile=profile))
    assert expected.footer is not None and expected.footer.exit_status == 3
    assert len(faults(expected)) == 2
    cases = len({r.name for r in expected.results if not r.generated})
    for moment in (3, cases + 3):
        path = runs(["fake:mortal", "fake:right"], profile=profile, dies_at=moment)
        after = runs.again(path)
        assert (faults(after), told(after.results)) == (faults(expected), told(expected.results))
        assert after.footer is not None and after.footer.exit_status == 3
    # All that is left is to say how it ended.
    lines = (path / "results.jsonl").read_bytes().splitlines(keepends=True)
    (path / "results.jsonl").write_bytes(b"".join(lines[:-1]))
    after = runs.again(path)
    assert faults(after) == faults(expected)
    assert after.footer is not None and (after.footer.exit_status, after.footer.troubles) == (3, 2)


def test_killed_for_good(tmp_path: Path, fakes_path: Path) -> None:
    """The same with a process that is really killed."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{fakes_path}:{Path(cts.__file__).parents[1]}",
        "FAKE_LOG": str(tmp_path / "log"),
    }

    def command(*arguments: str, dies_at: str = "0") -> int:
        return subprocess.run(
            [sys.executable, "-m", "cts", *arguments], cwd=tmp_path, capture_output=True, check=False,
            env={**environment, "FAKE_DIES_AT": dies_at}, timeout=120,
        ).returncode  # fmt: skip

    assert command("run", FOLDER, "--driver", "fake:mortal,process=shared", dies_at="13") == -signal.SIGABRT
    before = load(tmp_path / "cts-run")
    assert len(before.judged) == 11 and before.footer is None, "one of them failed, and was run again"
    assert sum(before.died["fake:mortal,process=shared"].values()) == 1
    assert command("run", "--resume", "cts-run") == 1
    after = load(tmp_path / "cts-run")
    assert after.footer is not None and len(after.results) == len(corpus.select([FOLDER])[0])


@pytest.mark.parametrize("batch", ["", ",batch=ends"])
def test_what_takes_the_run_along_each_time_is_a_crash(runs: Runs, batch: str) -> None:
    """A case that the run has died with twice is not run a third time, and the others have their verdicts."""
    driver = f"fake:deadly{batch}"
    path = runs([driver])
    resumed, after = 0, load(path)
    while after.footer is None:
        after = runs.again(path)
        resumed += 1
    crashed = {r.name: r for r in after.results if r.verdict is Verdict.CRASH}
    assert set(crashed) > {"generated.fake_area"}, "a case of the corpus, too"
    assert {r.detail for r in crashed.values()} == {"the run ended twice while this case ran"}
    assert all(r.verdict is Verdict.PASS for r in after.results if r.name not in crashed)
    assert max(after.died[driver].values()) == 2
    assert resumed == 2 * len(crashed) or batch, "each took two processes along; a block may have others behind it"
    generated = crashed["generated.fake_area"].finding
    assert generated is not None and not generated.shrunk
    assert reported(path) == 1


def test_a_run_that_is_left_in_order_blames_no_case(runs: Runs) -> None:
    """Interrupted again and again while a case runs, as whoever waits for a slow one may do."""
    plan = Plan(("fake:interrupts",), PROFILE, (corpus.find_one(f"{FOLDER}.outside"),))
    folder = create(runs.folder, Manifest.from_plan(plan, "cts run", ["cts", "run"]))
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run(plan, folder)
        folder.close()
        left = load(folder.path)
        assert left.died == {}
        assert left.footer is not None and left.footer.exit_status == 130 and left.incomplete == ("it was cut short",)
        folder, plan = resume(folder.path)
    folder.close()


def test_what_there_was_no_time_for_is_run_when_the_run_is_resumed(runs: Runs) -> None:
    entries = tuple(corpus.select([FOLDER])[0])
    plan = Plan(("fake:right",), PROFILE, entries, ("fake_area",), max_seconds=0)
    folder = create(runs.folder, Manifest.from_plan(plan, "cts run", ["cts", "run"]))
    run(plan, folder)
    folder.close()
    assert {r.verdict for r in load(folder.path).results} == {Verdict.NOT_RUN}
    after = runs.again(folder.path)
    assert {r.verdict for r in after.results} == {Verdict.PASS}
    assert len(after.results) == len(entries) + 1


def test_a_resumed_run_is_of_the_same_shard(runs: Runs) -> None:
    plan = Plan(("fake:right",), replace(PROFILE, shard=Shard(2, 3)), areas=("fake_area",))
    folder = create(runs.folder, Manifest.from_plan(plan, "cts run", ["cts", "run"]))
    folder.close()
    resumed, again = resume(folder.path)
    resumed.close()
    assert again.profile.shard == Shard(2, 3)


def test_a_failure_from_before_is_not_lost(runs: Runs) -> None:
    """What failed, and passes when the run is resumed, is flaky: in the corpus and among generated cases."""
    kept = load(runs())
    results = [r for r in kept.results if r.driver == "fake:mortal" and r.verdict is Verdict.PASS and not r.generated]
    name = results[0].name
    path = kept.path / "results.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if f'"{name}"'.encode() in line)
    judged = next(e for e in kept.judged if e.driver == "fake:mortal")
    failed = CaseJudged(judged.driver, judged.area, judged.hash, Verdict.CRASH)
    path.write_bytes(b"".join(lines[: first - 1]).replace(encode(judged), encode(failed)))
    result = next(r for r in runs.again(kept.path).results if r.name == name and r.driver == "fake:mortal")
    assert (result.verdict, result.detail) == (Verdict.FLAKY, "crash at first, pass when the run was resumed")


def test_a_case_that_took_the_run_along_is_kept(runs: Runs) -> None:
    """A generated case that fails is in the journal before it is shrunk."""
    shrunk_from = next(j for j in load(runs(["fake:mortal"], "")).judged if j.verdict is Verdict.FAIL)
    path = runs(["fake:mortal"], "", dies_at=runs.logged().index(shrunk_from.hash) + 2)
    (kept,) = [kept for judged in load(path).examples for kept in judged.kept]
    assert kept.finding.case.content_hash == shrunk_from.hash


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
    path = runs()
    logged, journal = runs.logged(), (path / "results.jsonl").read_bytes()
    events: list[Event] = []
    folder, plan = resume(path)
    assert run(plan, events.append) == 1
    folder.close()
    assert (runs.logged(), (path / "results.jsonl").read_bytes()) == (logged, journal)
    assert tuple(e for e in events if isinstance(e, Result)) == load(path).results


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ((f'"suite": "{cts.__version__}"', '"suite": "0.0.9"'), "run-versions"),
        (('"ml_dtypes": "', '"ml_dtypes": "0'), "run-versions"),
        (('"digest": "', '"digest": "0'), "case-changed"),
        (('"origin": "cts run"', '"origin": "pytest"'), "run-of-pytest"),
        (('"format": 4', '"format": 5'), "run-format"),
        (('"format": 4', '"format": 2'), "run-format"),
        (('"format": 4', '"format": ' + "[" * 100_000), "run-malformed"),
        (('"hashes": 2', '"hashes": 1'), "run-hashes"),
        (('"seed"', '"sead"'), "run-malformed"),
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


def test_a_run_with_older_content_hashes_is_read_and_says_so(runs: Runs) -> None:
    """What was explained is known by other hashes."""
    path = runs(["fake:wrong"])
    told = explanations.complete(load(path), lambda text: None)
    assert told and load(path).older == ""
    manifest = path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"hashes": 2', '"hashes": 1'))
    for file in (path / "results.jsonl", path / "explanations.jsonl"):
        for _, identity in told:
            file.write_text(file.read_text().replace(identity, identity[::-1]))
    older = load(path)
    assert "content hashes of kind 1, this suite of kind 2" in older.older and "not resumed" in older.older
    assert explanations.read(older).keys() == told.keys()
    assert all(d.change is Change.SAME for d in diff(older, load(path)))
    with pytest.raises(BadInput, match="run-hashes") as caught:
        resume(path)
    assert "a new run" in caught.value.remedy


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_run_of_a_format_before_1_0_is_refused_with_the_release_that_reads_it(one: Path, number: int) -> None:
    manifest = one / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 4', f'"format": {number}'))
    for open_run in (load, resume):
        with pytest.raises(BadInput, match=f"a run of format {number} was written") as caught:
            open_run(one)
        error = caught.value
        assert (error.code, error.where) == ("run-format", str(manifest)) and "coopmat-cts 1.0.0" in error.remedy


def test_a_campaign_of_before_1_0_is_refused_with_the_release_that_reads_it(tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text("{}")
    for open_run in (load, resume):
        with pytest.raises(BadInput, match="a campaign's folder") as caught:
            open_run(tmp_path)
        error = caught.value
        assert (error.code, error.where) == ("run-format", str(tmp_path / "campaign.json"))
        assert "coopmat-cts 1.0.0" in error.remedy


@pytest.fixture
def one(tmp_path: Path, fakes: ModuleType) -> Path:
    """The folder of a run of two cases that has ended."""
    entries = (corpus.find_one(f"{FOLDER}.outside"), corpus.find_one("tensor_addressing.clamp.edge_low_load"))
    plan = Plan(("fake:right",), Profile("default", 5, 1), entries)
    folder = create(tmp_path / "cts-run", Manifest.from_plan(plan, "cts run", ["cts", "run"]))
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
