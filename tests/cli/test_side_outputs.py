"""Outputs beside the run's own folder: what goes wrong with one is told at the end, and ends nothing."""

from __future__ import annotations

import errno
from pathlib import Path
from types import ModuleType

import pytest

from cts.base.errors import HarnessTrouble
from cts.judging.events import Event, Result
from cts.judging.verdict import Verdict
from cts.running.store import load
from cts.showing.report.save import Saver
from cts.showing.report.side import SideOutput
from tests.cli.command_line import Cts

RESULT = Result("d", "area", "name", False, Verdict.PASS, 1, 0, 0.0)
CASE = "tensor_addressing.clamp.edge_low_load"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    return Cts(monkeypatch, capsys, tmp_path)


def test_the_first_trouble_is_kept() -> None:
    seen: list[Event] = []

    def consumer(event: Event) -> None:
        seen.append(event)
        if len(seen) > 1:
            raise OSError(errno.ENOSPC, "No space left on device", "out.json")

    side = SideOutput(consumer, "--json out.json", whole=True)
    side(RESULT)
    assert side.trouble is None
    side(RESULT)
    side(RESULT)
    assert len(seen) == 2, "what would have a gap gets no more"
    assert isinstance(side.trouble, HarnessTrouble)
    assert side.trouble.what == "--json out.json is not complete: No space left on device"
    side = SideOutput(consumer, "the page")
    side(RESULT)
    side(RESULT)
    assert len(seen) == 4, "others may go on"


def test_nobody_who_reads_is_no_trouble() -> None:
    def consumer(event: Event) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        SideOutput(consumer, "--json -")(RESULT)


@pytest.mark.parametrize("option", ["--json", "--junit", "--html"])
def test_a_disk_that_is_full(cts: Cts, option: str) -> None:
    ran = cts("run", CASE, "-d", "emulator", option, "/dev/full")
    assert ran.status == 3
    assert "No space left on device" in ran.err and "Traceback" not in ran.err
    run = load(cts.folder / "cts-run")
    assert run.footer is not None and run.footer.exit_status == 0


def test_what_is_saved_beside_the_run(cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Saver, path: Path, text: str) -> None:
        raise HarnessTrouble("save", "No space left on device", str(path))

    monkeypatch.setattr(Saver, "_write", full)
    ran = cts("run", CASE, "-d", "fake:wrong")
    assert ran.status == 3 and "beside the run is not complete" in ran.err
    assert load(cts.folder / "cts-run").footer is not None


def test_a_run_that_is_incomplete_makes_no_baseline(cts: Cts, fakes: ModuleType) -> None:
    cts("run", CASE, "-d", "fake:wrong", "-d", "fake:does-not-start")
    refused = cts("baseline", "cts-run")
    assert refused.status == 2 and "error[incomplete-run]" in refused.err and refused.out == ""
    assert "fake:does-not-start was never opened" in refused.err
    made = cts("baseline", "cts-run", "--incomplete")
    assert made.status == 0
    assert made.out.startswith("# from an incomplete run: fake:does-not-start was never opened\nschema: 1\n")
    for verb in (("triage",), ("report", "--max-examples", "0"), ("report", "--junit", "out.xml"), ("compare",)):
        assert "is incomplete: fake:does-not-start was never opened" in cts(*verb).err
    assert 'name="incomplete"' in (cts.folder / "out.xml").read_text(encoding="utf-8")
    (page,) = cts.folder.glob("cts-run/*/report.html")
    assert "This run is incomplete" in page.read_text(encoding="utf-8")


def test_timeouts_are_listed_where_that_is_asked_for(cts: Cts, fakes: ModuleType) -> None:
    cts("run", CASE, "-d", "fake:timeout")
    plain, all_ = cts("baseline", "cts-run"), cts("baseline", "cts-run", "--timeouts")
    assert "entries: []" in plain.out and "1 timeouts are left out" in plain.err
    assert "verdict: timeout" in all_.out
