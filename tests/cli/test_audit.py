"""`cts baseline --audit` and `cts features`: how precise what is known is, and what it can speak of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cts.running.store.audit import ENOUGH, Area, Entry
from tests.cli.command_line import Cts

KNOWN = """
schema: 1
conditions:
  blocks: some(TensorLayoutSetBlockSize)
entries:
  - {match: {condition: blocks}, verdict: fail, reason: too many}
  - {match: {condition: "some(VectorMatrixMul)"}, verdict: fail, reason: there is none}
  - {match: {condition: "some(MatrixLoadTensor, layout.dim == 5)"}, when: never, reason: five dimensions}
  - {match: {condition: blocks, driver: another}, verdict: fail, reason: of another driver}
"""


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def test_what_a_run_knew_is_audited(cts: Cts) -> None:
    (cts.folder / "known.yaml").write_text(KNOWN)
    asked = ("run", "-d", "emulator", "--area", "block_loads", "--no-corpus", "--cases", "80", "--seed", "3")
    ran = cts(*asked, "--keep", "1", "--baseline", "known.yaml", "--no-steer")
    assert ran.status == 0
    audit = cts("baseline", "cts-run", "--audit", "--json", "-")
    assert audit.status == 1
    found = json.loads(audit.out)
    verdicts = {entry["text"]: entry["verdict"] for entry in found["entries"]}
    assert verdicts == {
        "condition blocks: too many": "too wide",
        "condition some(VectorMatrixMul): there is none": "dead",
        "condition some(MatrixLoadTensor, layout.dim == 5): five dimensions": "",
    }
    (area,) = found["areas"]
    assert area["ran"] + area["left_out"] == 80 and 0 < area["left_out"] < 40
    wide = next(entry for entry in found["entries"] if entry["verdict"] == "too wide")
    assert (wide["ran"], wide["failed"]) == (area["matching"], 0)
    share = f"{area['matching'] / area['ran']:.1%}"
    assert f"blind: {share} of the generated cases on emulator match what is known to fail" in ran.out
    cts("report", "cts-run", "--html", "page.html", "--no-coverage")
    assert f"<strong>{share}</strong> blind" in (cts.folder / "page.html").read_text()
    text = cts("baseline", "cts-run", "--audit").out
    assert f"blind: {area['matching'] / area['ran']:.1%} of them match an entry" in text
    assert "too wide: condition blocks: too many" in text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("baseline", "cts-run", "--json", "-"), "json-audit"),
        (("baseline", "cts-run", "--audit"), "nothing-to-audit"),
        (("baseline", "nowhere", "--audit"), "no-run"),
        (("features", "MatrixRedcue"), "unknown-kind"),
    ],
)
def test_what_cannot_be_audited_or_listed_is_said(cts: Cts, arguments: tuple[str, ...], code: str) -> None:
    cts("run", "tensor_addressing.clip.rows", "-d", "emulator")
    ran = cts(*arguments)
    assert ran.status == 2
    assert f"error[{code}]" in ran.err


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        (Entry("d", "e"), "dead"),
        (Entry("d", "e", left_out=3), ""),
        (Entry("d", "e", ran=ENOUGH - 1, failed=0), "few"),
        (Entry("d", "e", ran=ENOUGH, failed=27), ""),
        (Entry("d", "e", ran=ENOUGH, failed=26), "too wide"),
    ],
)
def test_entries_are_precise_where_nine_of_ten_cases_fail(entry: Entry, verdict: str) -> None:
    assert entry.verdict == verdict


def test_shares_of_areas() -> None:
    area = Area("d", "a", ran=80, matching=8, left_out=20)
    assert (area.blind, area.out) == (0.1, 0.2)
    assert (Area("d", "a").blind, Area("d", "a").out) == (0.0, 0.0)


def test_the_vocabulary_is_listed(cts: Cts) -> None:
    every = cts("features")
    assert every.status == 0 and "MatrixReduce" in every.out and "Memory" in every.out
    one = cts("features", "MatrixReduce").out
    assert "`mode`: Row, Column, 2x2" in one
    plain = json.loads(cts("features", "Product", "--json", "-").out)
    assert plain["Product"]["members"] == ["MatrixMulAdd", "VectorMatrixMul"]
    assert plain["Product"]["attributes"]["a"] == {"kind": "Value", "words": [], "says": "the operand `a`"}
    assert set(json.loads(cts("features", "--json", "-").out)) > {"Case", "Loop", "Expression"}
