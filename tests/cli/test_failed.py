"""`cts run --failed RUN` and `pytest --cts-failed RUN`: what failed there, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.running.store import Run, load
from tests.cli.command_line import Cts

BROKEN = ("emulator:mutant=clamp-value-zero", "emulator:mutant=offset-unsigned", "emulator:mutant=perm-inverse")


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def judged(run: Run) -> set[tuple[str, str]]:
    """What a run has results of: drivers, and the names of corpus cases and of files without their folders."""
    return {(result.driver, Path(result.name).name) for result in run.results}


def test_eighty_failures_are_run_again_and_nothing_else(cts: Cts) -> None:
    drivers = [word for spec in BROKEN for word in ("-d", spec)]
    cts("run", "tensor_addressing", *drivers, "--reduce-time", "1")
    before = load(Path("cts-run/001"))
    failed = {(result.driver, result.name) for result in before.findings()}
    assert len(failed) >= 80
    assert len({spec for spec, _ in failed}) == 3
    assert len({name for _, name in failed}) < len(failed), "some cases fail on one of the drivers, others on several"

    again = cts("run", "--failed", "cts-run/001", "--reduce-time", "1")
    assert again.status == 1
    assert judged(load(Path("cts-run/002"))) == failed

    assert cts("run", "--failed", "cts-run/001", "-d", "emulator").status == 0
    assert judged(load(Path("cts-run/003"))) == {("emulator", name) for _, name in failed}

    one = sorted(name for spec, name in failed if spec == BROKEN[2])[0]
    cts("run", "--failed", "cts-run/001", "-d", BROKEN[2], "-k", one, "--reduce-time", "1")
    assert judged(load(Path("cts-run/004"))) == {(BROKEN[2], one)}

    refused = cts("run", "--failed", "cts-run/003")
    assert refused.status == 2
    assert "error[nothing-failed]: no case failed in this run" in refused.err


def test_generated_cases_and_what_was_kept_with_them_are_run_again(cts: Cts) -> None:
    asked = ("--area", "tensor_addressing", "--no-corpus", "--cases", "300", "--seed", "3", "--keep", "3")
    cts("run", "-d", BROKEN[1], *asked, "--reduce-time", "1")
    before = load(Path("cts-run/001"))
    files = {path.name for path in before.path.rglob("*.yaml") if not path.name.endswith(".found.yaml")}
    assert len(files) > len(before.findings()) >= 1
    for path in before.path.glob("generated.*.yaml"):
        path.unlink()  # what was kept of it is in the run's results

    cts("run", "--failed", "cts-run/001", "--reduce-time", "1")
    assert judged(load(Path("cts-run/002"))) == {(BROKEN[1], name) for name in files}
    assert all(result.verdict.is_finding for result in load(Path("cts-run/002")).results)


def test_sets_of_universes_are_run_again(cts: Cts) -> None:
    cts("sweep", "tensor_loads_4d", "-d", BROKEN[1], "--max-sets", "500", "--reduce-time", "1")
    found = load(Path("cts-run/001")).findings()
    assert found and cts("run", "--failed", "cts-run/001", "-d", "emulator").status == 0
    names = {Path(result.name).stem.rpartition(".")[2] for result in load(Path("cts-run/002")).results}
    assert names == {result.finding.case.content_hash for result in found if result.finding is not None}


@pytest.mark.parametrize("dies", [False, True])
def test_a_run_of_what_failed_can_be_resumed(cts: Cts, dies: bool) -> None:
    cts("run", "tensor_addressing.clip", "-d", "emulator:mutant=clip-ignored-on-load", "-d", BROKEN[2])
    failed = judged(load(Path("cts-run/001"))) & {(r.driver, r.name) for r in load(Path("cts-run/001")).findings()}
    assert failed
    cts("run", "--failed", "cts-run/001", *(["-x"] if dies else []))
    cts("run", "--resume", "cts-run/002")
    assert judged(load(Path("cts-run/002"))) == failed
