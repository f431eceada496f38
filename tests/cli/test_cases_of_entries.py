"""`cts run --retry-never N` and `--known N`: cases of the entries of a quarantine or baseline."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from cts.case.model import loads_case
from cts.features.language import parse
from cts.features.sites import CaseView
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
        assert parse("some(MatrixReduce, matrix.rows == 7, matrix.cols == 5)").test(
            CaseView(loads_case(path.read_text())).root
        ), path.name


BASELINE = """
schema: 1
entries:
  - {match: {cases: "tensor_addressing.clamp.edge_*"}, verdict: crash, reason: edges crash}
  - {match: {condition: "some(MatrixReduce, matrix.rows == 7)"}, verdict: crash, reason: sevens crash}
  - {match: {condition: "some(MatrixReduce, matrix.rows == 7, matrix.cols == 5)"}, when: never, reason: a hang}
  - {match: {condition: "some(MatrixReduce, matrix.rows == 70000)"}, verdict: crash, reason: of no case}
"""


@pytest.mark.parametrize(("driver", "status", "share"), [(CRASH, 0, "(100%)"), (RIGHT, 1, "(0%)")])
def test_some_cases_of_each_known_failure_run(
    cts: Cts, fakes: ModuleType, driver: str, status: int, share: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retried, "registry", SimpleNamespace(names=lambda _: ["reductions"]))
    (cts.folder / "b.yaml").write_text(BASELINE)
    ran = cts("run", "--known", "2", "--baseline", "b.yaml", "--reruns", "0", "-d", driver, "--seed", "3")
    assert ran.status == status, ran.out  # where a named case passes, its entry is to go
    assert "4 crash (4 known" in ran.out if driver == CRASH else "4 pass (0 known, 2 unexpected" in ran.out
    for path in (cts.folder / "cts-run/retried").iterdir():
        assert parse("some(MatrixReduce, matrix.rows == 7, not (matrix.cols == 5))").test(
            CaseView(loads_case(path.read_text())).root
        ), path.name
    audit = cts("baseline", "cts-run", "--audit").out
    assert f"2 {2 if driver == CRASH else 0} {share}" in " ".join(audit.split())
    assert "dead: condition some(MatrixReduce, matrix.rows == 70000)" in audit and "a hang" not in audit


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


def test_known_failures_that_cannot_be_looked_for_say_why(cts: Cts, fakes: ModuleType) -> None:
    (cts.folder / "none.yaml").write_text("schema: 1\nentries: []\n")
    ran = cts("run", "--known", "2", "--baseline", "none.yaml", "-d", RIGHT)
    assert ran.status == 2 and "error[nothing-selected]" in ran.err and "fix:   --baseline" in ran.err
    ran = cts("run", "--known", "2", "--retry-never", "2", "-d", RIGHT)
    assert ran.status == 2 and "error[known-alone]" in ran.err
