"""Triage and JUnit XML of runs, as their user sees them."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as Xml

import pytest
from xmlschema import XMLSchema10, XMLSchemaException

from tests.cli.command_line import Cts

WIDTH = "tensor_addressing.clip.width_beyond_the_columns"
EDGE = "tensor_addressing.clamp.edge_low_load"
CLIP = "tensor_addressing.clip.outside"
MUTANT = "emulator:mutant=clip-width-remaining"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


#: What differs where the lowest bit of the first element is wrong.
WRONG_CLIP = (
    "program[6] MatrixStore: 1 of 256 elements of dst differ; "
    "first dst[0, 0]: expected 0xc700 (-7.0), actual 0xc701 (-7.00390625)"
)

SCHEMA = XMLSchema10(Path(__file__).parent / "junit.xsd")
ENDINGS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def check(path: Path) -> Xml.Element:
    """The document, which has the form of the schema, and counts that are those of its tests."""
    SCHEMA.validate(path)
    root = Xml.parse(path).getroot()
    for element in (root, *root):
        assert int(element.attrib["tests"]) == len(list(element.iter("testcase")))
        for plural, tag in ENDINGS.items():
            assert int(element.attrib[plural]) == len(list(element.iter(tag)))
    return root


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('tests="', 'tests="-'), "non negative"),
        (('time="', 'time="1e'), "invalid value"),
        (("testcase", "test"), "testcase"),
        ((' classname="', ' class="'), "classname"),
        (("<failure ", "<skipped message='b'/><failure "), "failure"),
        (('timestamp="', 'timestamp="+'), "timestamp"),
    ],
)
def test_the_schema_refuses_other_forms(cts: Cts, fakes: ModuleType, change: tuple[str, str], words: str) -> None:
    cts("run", EDGE, "--driver", "fake:wrong", "--junit", "out.xml")
    text = (cts.folder / "out.xml").read_text()
    assert SCHEMA.is_valid(text)
    with pytest.raises(XMLSchemaException, match=words):
        SCHEMA.validate(text.replace(*change))


def test_faults_of_a_generator_are_errors_of_no_driver(
    cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fakes, "fake_area", fakes.faulty_area)
    area = ("--no-corpus", "--area", "fake_area", "--max-examples", "20", "--seed", "21")
    drivers = ("--driver", "fake:right", "--driver", "fake:remarks")
    ran = cts("run", *area, *drivers, "--junit", "out.xml")
    assert ran.status == 3
    cts("report", "cts-run/001", "--html", "out.html", "--no-coverage")
    root = check(cts.folder / "out.xml")
    (saved,) = (cts.folder / "cts-run" / "001").glob("*.yaml")
    assert {(s.attrib["name"], s.attrib["errors"]) for s in root} == {
        ("fake:right", "0"),
        ("fake:remarks", "0"),
        ("cts", "2"),
    }
    assert saved.stem in {t.attrib["name"] for t in root.iter("testcase")}
    page = (cts.folder / "out.html").read_text()
    assert page.count("cts check --area fake_area --seed 21 --max-examples 20 --driver fake:right") == 2


def test_junit(cts: Cts, fakes: ModuleType) -> None:
    (cts.folder / "known.yaml").write_text(
        "schema: 1\nentries:\n"
        f"  - {{match: {{cases: {EDGE}, driver: 'fake:wrong'}}, verdict: fail, reason: <it> & is known}}\n"
        f"  - {{match: {{cases: {EDGE}, driver: 'fake:right'}}, verdict: fail, reason: another}}\n"
    )
    (cts.folder / "bad.yaml").write_text("services: {}\n")
    drivers = [w for kind in ("wrong", "right", "raises", "no-features", "crash") for w in ("--driver", f"fake:{kind}")]
    ran = cts("run", EDGE, CLIP, "bad.yaml", *drivers, "--baseline", "known.yaml", "--junit", "out.xml")
    assert ran.status == 3
    root = check(cts.folder / "out.xml")
    endings = {
        (suite.attrib["name"], test.attrib["name"]): [(c.tag, c.get("type"), c.get("message", "")) for c in test]
        for suite in root
        for test in suite.iter("testcase")
    }
    assert endings["fake:wrong", EDGE] == [("skipped", None, "known fail: <it> & is known")]
    ((tag, kind, message),) = endings["fake:wrong", CLIP]
    assert (tag, kind, message) == ("failure", "fail", WRONG_CLIP)
    assert endings["fake:right", EDGE] == [("failure", "unexpected pass", "it passes, and should fail: another")]
    assert endings["fake:right", CLIP] == []
    assert endings["fake:raises", CLIP] == [("error", "error", "error: RuntimeError: the driver has a bug")]
    assert endings["fake:no-features", CLIP][0][0] == "skipped"
    assert endings["fake:crash", CLIP] == [("failure", "crash", "crash: signal 11 in the shader compiler")]
    assert [e[0][:2] for (suite, _), e in endings.items() if suite == "cts"] == [
        ("error", "not-a-case"),
        ("error", "nothing-tested"),
    ]
    (failure,) = [f for f in root.iter("failure") if f.get("type") == "fail"]
    assert failure.text is not None and "first: dst[0, 0]" in failure.text
    assert failure.text.startswith(f"FAIL fake:wrong {CLIP}\n") and "reproduce: cts run" in failure.text
    again = cts("report", "cts-run", "--junit", "again.xml")
    assert again.status == 0
    assert (cts.folder / "again.xml").read_bytes() == (cts.folder / "out.xml").read_bytes()


def test_what_xml_cannot_say_is_replaced(cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fakes.KINDS, "crash", lambda: fakes.ends(fakes.Status.CRASH, "a\x00b\x1b[31m\uffff ok"))
    cts("run", EDGE, "--driver", "fake:crash", "--junit", "out.xml")
    (failure,) = Xml.parse(cts.folder / "out.xml").getroot().iter("failure")
    assert failure.text is not None and r"a\x00b\x1b[31m\uffff ok" in failure.text


def test_every_report_says_what_rests_on_policy(cts: Cts) -> None:
    names = ("vector_multiply.float.float32", "vector_multiply.float.wide_result")
    driver = "emulator:mutant=vector-accumulator-float16"
    ran = cts("run", *names, "--driver", driver, "--junit", "out.xml", "--bundle-dir", "bundles")
    assert ran.out.count("by this suite's policy, not by the specifications' text: exact in any order") == 1
    by_policy, by_text = (cts.folder / "bundles" / f"{n}.emulator_mutant=vector-accumulator-float16" for n in names)
    assert "By the suite's policy, not by the" in (by_policy / "README.md").read_text(encoding="utf-8")
    assert "By the suite's policy" not in (by_text / "README.md").read_text(encoding="utf-8")
    types = [f.get("type") for f in check(cts.folder / "out.xml").iter("failure")]
    assert types == ["fail by policy", "fail"]
    triage = cts("triage").out
    assert f"{names[0]} (by policy)\n" in triage and f"{names[1]}\n" in triage
    assert cts("report", "--max-examples", "0").status == 0
    (page,) = cts.folder.glob("cts-run/*/report.html")
    assert page.read_text(encoding="utf-8").count("By this suite's policy") == 1


def test_triage_groups_by_cause(cts: Cts) -> None:
    assert cts("run", WIDTH, EDGE, "--driver", MUTANT).status == 1
    ran = cts("triage", "--json", "-")
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
    assert ran.out.endswith("1 cause, 1 new failures, 1 known; 0 fixed, 0 gone\n")
    cts("run", CLIP, "--driver", "fake:right", "--driver", "fake:wrong")
    ran = cts("triage", "--against", "cts-run/002")
    assert ran.status == 0
    assert f"gone:\n  {EDGE} on fake:wrong\n" in ran.out
    assert cts("triage", "--against", "nowhere").status == 2


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        (
            MUTANT,
            "program[6] MatrixStore: 60 of 256 elements of dst differ; first dst[1, 12]: expected 0x4800 (8.0), actual "
            "0x4400 (4.0); dst[28] holds the value of src[4] instead of src[8]",
        ),
        (
            "fake:guard-before",
            "2 of 1024 guard bytes around dst differ; first guard byte at byte -2 of dst: expected 0x0b (11), actual "
            "0xf4 (244); 2 bytes before dst were overwritten",
        ),
        (
            "fake:flaky",
            f"flaky: fail at first, pass when it was run again; {WRONG_CLIP}",
        ),
    ],
)
def test_the_message_of_a_failure_says_what_differs(cts: Cts, fakes: ModuleType, driver: str, message: str) -> None:
    cts("run", WIDTH, "--driver", driver, "--junit", "out.xml")
    (failure,) = check(cts.folder / "out.xml").iter("failure")
    assert failure.get("message") == message
    assert failure.text is not None and "\nfirst: dst[" in failure.text.replace("guard byte at byte -2 of dst", "dst[")
