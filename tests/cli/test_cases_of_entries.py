"""`cts run --retry-never N`: what a quarantine leaves out, tried again."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from cts.running import corpus, retried
from tests.cli.command_line import Cts

CRASH, RIGHT = "fake:crash,process=own", "fake:right,process=own"

QUARANTINE = """
schema: 1
entries:
  - {match: {cases: "tensor_addressing.clamp.edge_*"}, when: never, reason: it hangs}
  - {match: {condition: "some(MatrixReduce, mode == '2x2')"}, when: never, reason: quadrants hang}
  - {match: {driver: nobody, cases: "*"}, when: never, reason: of another driver}
"""


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in a folder with a quarantine, and a corpus of few cases."""
    some = [one for one in corpus.entries() if one.name.startswith(("tensor_addressing.clamp", "reductions.square"))]
    monkeypatch.setattr(retried, "entries", lambda: some)
    (tmp_path / "q.yaml").write_text(QUARANTINE)
    return Cts(monkeypatch, capsys, tmp_path)


def retry(cts: Cts, *arguments: str) -> tuple[int, str, str]:
    ran = cts("run", "--retry-never", "2", "--quarantine", "q.yaml", "--reruns", "0", *arguments)
    return ran.status, ran.out, ran.err


def test_what_still_crashes_is_known(cts: Cts, fakes: ModuleType) -> None:
    status, out, _ = retry(cts, "-d", CRASH)
    assert status == 0 and "4 crash (4 known, 0 unexpected passes)" in out
    assert "not seen" not in out


def test_an_entry_whose_cases_pass_is_said(cts: Cts, fakes: ModuleType) -> None:
    _, out, _ = retry(cts, "-d", RIGHT)
    assert "4 pass" in out and out.count("not seen on fake:right,process=own: ") == 2


def test_cases_are_drawn_where_the_corpus_has_too_few(cts: Cts, fakes: ModuleType) -> None:
    text = QUARANTINE.replace("mode == '2x2'", "matrix.rows == 7, matrix.cols == 5")
    (cts.folder / "q.yaml").write_text(text)
    status, out, _ = retry(cts, "-d", CRASH, "--seed", "3")
    assert status == 0 and "4 crash (4 known" in out
    for path in (cts.folder / "cts-run/retried").iterdir():
        assert "rows: 7, cols: 5" in path.read_text() or "spec: 7" in path.read_text(), path.name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-d", "emulator"), "fix:   emulator:process=own"),
        (("-d", "interpreter:decode=scalar"), "fix:   interpreter:decode=scalar,process=own"),
        (("-d", CRASH, "--corpus"), "error[retry-never-alone]: --retry-never with CASE"),
        (("-d", CRASH, "tensor_addressing"), "error[retry-never-alone]"),
        (("-d", CRASH, "--quarantine", "none.yaml"), "error[nothing-selected]"),
    ],
)
def test_what_cannot_be_tried_again_says_why(
    cts: Cts, fakes: ModuleType, arguments: tuple[str, ...], said: str
) -> None:
    (cts.folder / "none.yaml").write_text("schema: 1\nentries: []\n")
    status, _, err = retry(cts, *arguments)
    assert status == 2 and said in err
