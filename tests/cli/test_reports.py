"""Triage and JUnit XML of runs, as their user sees them."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as Xml

import pytest
from command_line import Cts

WIDTH = "tensor_addressing.clip.width_beyond_the_columns"
EDGE = "tensor_addressing.clamp.edge_low_load"
CLIP = "tensor_addressing.clip.outside"
MUTANT = "emulator:mutant=clip-width-remaining"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


#: Attributes that Surefire's schema (and Jenkins) asks for, and those beside them that it allows.
REQUIRED = {"testsuite": {"name", "tests", "failures", "errors", "skipped"}, "testcase": {"name", "classname", "time"}}
ALLOWED = {"testsuite": {"time", "timestamp", "hostname"}, "testcase": set[str]()}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}
ENDINGS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def check(root: Xml.Element) -> None:
    """The form of the schema: elements, attributes, counts, and at most one ending of a test."""
    for element in root.iter():
        children = [child.tag for child in element]
        assert set(children) <= CHILDREN.get(element.tag, set()), element.tag
        required = REQUIRED.get(element.tag, set())
        assert required <= set(element.keys()) <= required | ALLOWED.get(element.tag, set(element.keys()))
        if element.tag == "testcase":
            assert len(children) <= 1
            assert float(element.attrib["time"]) >= 0
        if element.tag == "testsuite":
            assert children.index("properties") == 0
            assert int(element.attrib["tests"]) == children.count("testcase")
        if element.tag in ("testsuite", "testsuites"):
            for plural, tag in ENDINGS.items():
                assert int(element.attrib[plural]) == len(list(element.iter(tag)))


def test_junit(cts: Cts, fakes: ModuleType) -> None:
    (cts.folder / "known.yaml").write_text(
        "schema: 1\nentries:\n"
        f"  - {{match: {{cases: {EDGE}, driver: 'fake:wrong'}}, verdict: fail, reason: <it> & is known}}\n"
        f"  - {{match: {{cases: {EDGE}, driver: 'fake:right'}}, verdict: fail, reason: another}}\n"
    )
    drivers = [w for kind in ("wrong", "right", "raises", "no-features", "crash") for w in ("--driver", f"fake:{kind}")]
    ran = cts("run", EDGE, CLIP, "nope", *drivers, "--baseline", "known.yaml", "--junit", "out.xml")
    assert ran.status == 3
    root = Xml.parse(cts.folder / "out.xml").getroot()
    check(root)
    endings = {
        (suite.attrib["name"], test.attrib["name"]): [(c.tag, c.get("type"), c.get("message", "")) for c in test]
        for suite in root
        for test in suite.iter("testcase")
    }
    assert endings["fake:wrong", EDGE] == [("skipped", None, "known fail: <it> & is known")]
    assert endings["fake:wrong", CLIP] == [("failure", "fail", f"FAIL fake:wrong {CLIP}")]
    assert endings["fake:right", EDGE][0][:2] == ("failure", "unexpected pass")
    assert endings["fake:right", CLIP] == []
    assert endings["fake:raises", CLIP][0][:2] == ("error", "error")
    assert endings["fake:no-features", CLIP][0][0] == "skipped"
    assert endings["fake:crash", CLIP][0][:2] == ("failure", "crash")
    assert [e[0][:2] for (suite, _), e in endings.items() if suite == "cts"] == [
        ("error", "unknown-case"),
        ("error", "nothing-tested"),
    ]
    (failure,) = [f for f in root.iter("failure") if f.get("type") == "fail"]
    assert failure.text is not None and "first: dst[0, 0]" in failure.text
    again = cts("report", "cts-run", "--junit", "again.xml")
    assert again.status == 0
    assert (cts.folder / "again.xml").read_bytes() == (cts.folder / "out.xml").read_bytes()


def test_what_xml_cannot_say_is_replaced(cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fakes.KINDS, "crash", lambda: fakes.ends(fakes.Status.CRASH, "a\x00b\x1b[31m\uffff ok"))
    cts("run", EDGE, "--driver", "fake:crash", "--junit", "out.xml")
    (failure,) = Xml.parse(cts.folder / "out.xml").getroot().iter("failure")
    assert failure.text is not None and "a\ufffdb\ufffd[31m" in failure.text


def test_triage_groups_by_cause(cts: Cts) -> None:
    assert cts("run", WIDTH, EDGE, "--driver", MUTANT).status == 1
    ran = cts("triage", "--json")
    assert ran.status == 1
    (group,) = json.loads(ran.out)["groups"]
    cause = group["cause"]
    assert (cause["driver"], cause["verdict"], cause["instruction"]) == (MUTANT, "fail", "MatrixLoadTensor")
    assert cause["fact"] == "TA-032"
    assert [f["status"] for f in group["failures"]] == ["new"]


def test_triage_by_explanations(cts: Cts) -> None:
    """With --explain the cause is what the driver shows, and is kept for the next time."""
    cts("run", WIDTH, "--driver", MUTANT)
    ran = cts("triage", "--explain")
    assert "MatrixLoadTensor TA-" in ran.out and "(shown by the driver)" in ran.out
    assert f"explaining {WIDTH} on {MUTANT}" in ran.err
    again = cts("triage")
    assert again.out == ran.out
    assert cts("triage", "--explain").err == ""


def test_triage_against_an_earlier_run(cts: Cts, fakes: ModuleType) -> None:
    cts("run", EDGE, "--driver", "fake:wrong")
    cts("run", EDGE, CLIP, "--driver", "fake:wrong")
    ran = cts("triage")
    assert ran.status == 1
    assert "cts-run/002, against cts-run/001" in ran.out
    assert f"  known    {EDGE}\n" in ran.out and f"  new      {CLIP}\n" in ran.out
    assert ran.out.endswith("causes, 1 new failures, 1 known; 0 fixed, 0 gone\n")
    cts("run", CLIP, "--driver", "fake:right", "--driver", "fake:wrong")
    ran = cts("triage", "--against", "cts-run/002")
    assert ran.status == 0
    assert f"gone:\n  {EDGE} on fake:wrong\n" in ran.out
    assert cts("triage", "--against", "nowhere").status == 2
