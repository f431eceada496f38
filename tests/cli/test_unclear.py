"""`cts unclear`: what it lists, prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cts.running.unclear_topics import TOPICS
from tests.cli.command_line import Cts


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def test_topics_are_listed(cts: Cts) -> None:
    ran = cts("unclear", "--list")
    assert ran.status == 0 and [line.split()[0] for line in ran.out.splitlines()] == [t.rule for t in TOPICS]
    assert all(len(line.split()) > 5 for line in ran.out.splitlines())
    assert cts("unclear", "AM-26", "--list").out.startswith("AM-26 ")


def test_what_drivers_do_is_printed_and_written(cts: Cts) -> None:
    drivers = ("-d", "interpreter", "-d", "interpreter:subgroup_size=8")
    ran = cts("unclear", "AM-26", *drivers, "-n", "2", "--out", "cases", "--json", "u.json")
    assert ran.status == 0 and not ran.err
    lines = ran.out.splitlines()
    assert lines[0].startswith("AM-26  ") and lines[1] == "  readings: Rows may be tight. Or: Tight rows are invalid."
    assert lines[-2] == "  alike after 2 of the 2 cases that several drivers ran"
    assert "2 rows may be tight" in lines[3] and "2 rows may be tight" in lines[4]
    (topic,) = json.loads((cts.folder / "u.json").read_text())["topics"]
    assert (topic["rule"], topic["alike"], topic["compared"]) == ("AM-26", 2, 2)
    assert topic["computed"] == ["rows may be tight"] and len(topic["readings"]) == 2
    answers = topic["cases"][0]["drivers"]
    assert answers["interpreter"] == {**answers["interpreter:subgroup_size=8"]}
    assert sorted(p.name for p in (cts.folder / "cases").iterdir()) == ["AM-26.1.yaml", "AM-26.2.yaml"]


def test_its_cases_are_refused_as_unclear_and_not_as_undefined(cts: Cts) -> None:
    assert cts("unclear", "AM-26", "-d", "interpreter", "-n", "1", "--out", "cases").status == 0
    ran = cts("run", "cases/AM-26.1.yaml", "-d", "interpreter")
    assert ran.status == 2 and "error[unclear]: what the case does is unclear by AM-26" in ran.err
    assert "readings: Rows may be tight. Or: Tight rows are invalid." in ran.err


def test_json_alone_goes_to_standard_output(cts: Cts) -> None:
    ran = cts("unclear", "CM-023", "-d", "interpreter", "-n", "1", "--json", "-")
    assert [t["rule"] for t in json.loads(ran.out)["topics"]] == ["CM-023"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "error[no-driver]: no driver to run cases on"),
        (("AM-2", "-d", "interpreter"), "error[no-topic]: no unclear fact with cases"),
        (("AM-26", "-d", "interpretr"), "did you mean"),
        (("AM-26", "-d", "interpreter", "-n", "0"), "greater than or equal to 1"),
        (("AM-26", "-d", "interpreter", "--json", "no/such/u.json"), "error[output-path]"),
    ],
)
def test_what_is_refused(cts: Cts, arguments: tuple[str, ...], says: str) -> None:
    ran = cts("unclear", *arguments)
    assert ran.status == 2 and says in ran.err and not ran.out
