"""A run as JUnit XML, in the form that Surefire writes and Jenkins and others read."""

from __future__ import annotations

import platform
from xml.etree import ElementTree as Xml

from cts.base.errors import CtsError
from cts.base.printable import printable
from cts.judging.events import GeneratorFault, Rejected, Result, Trouble
from cts.judging.verdict import Verdict
from cts.running.store import Run
from cts.running.tally import by_verdict, tally_of
from cts.showing.report.failure import fault_text, full, headline


def junit(run: Run) -> bytes:
    """The document: a suite for each driver, and one for rejected cases and errors.

    A case is a test, and so are the generated cases of an area: properties of a suite count cases by verdict. Known
    failures are skipped, and an unexpected pass fails. The message of a failure says what differs in one line, its text
    is the whole report.
    """
    root = Xml.Element("testsuites", name="cts")
    suites = []
    for driver in dict.fromkeys(r.driver for r in run.results):
        results = [r for r in run.results if r.driver == driver]
        suites.append(_suite(root, run, driver, [_test(r, run) for r in results]))
    if run.problems:
        suites.append(_suite(root, run, "cts", [_problem(p, run) for p in run.problems]))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(s.get(name, "0")) for s in suites)))
    root.set("time", _seconds(sum(float(s.get("time", "0")) for s in suites)))
    Xml.indent(root)
    return bytes(Xml.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(root: Xml.Element, run: Run, name: str, tests: list[Xml.Element]) -> Xml.Element:
    counts = {plural: sum(t.find(tag) is not None for t in tests) for tag, plural in _ENDINGS.items()}
    suite = Xml.SubElement(
        root,
        "testsuite",
        name=_text(name),
        tests=str(len(tests)),
        time=_seconds(sum(float(t.get("time", "0")) for t in tests)),
        timestamp=run.manifest.started.partition("+")[0],
        hostname=_text(platform.node() or "localhost"),
    )
    for plural, n in counts.items():
        suite.set(plural, str(n))
    properties = Xml.SubElement(suite, "properties")
    identity = next((d.identity for d in run.manifest.drivers if d.driver == name), "")
    cases = tally_of(r for r in run.results if r.driver == name).verdicts
    for key, value in {
        "suite": run.manifest.suite,
        "seed": str(run.manifest.seed),
        "profile": run.manifest.profile,
        "device": identity,
        "incomplete": "; ".join(run.incomplete),
        **{f"cases.{verdict}": str(count) for verdict, count in by_verdict(cases).items()},
    }.items():
        if value:
            Xml.SubElement(properties, "property", name=key, value=_text(value))
    suite.extend(tests)
    return suite


#: Elements of a test that did not simply pass, and the attributes of a suite that count them.
_ENDINGS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def _test(result: Result, run: Run) -> Xml.Element:
    test = _case(result.area, result.name, result.seconds)
    verdict = result.verdict
    if result.known:
        Xml.SubElement(test, "skipped", message=_text(f"known {verdict.value}: {result.known}"))
    elif result.unexpected:
        _ending(test, "failure", "unexpected pass", headline(result), full(result, run.path))
    elif verdict in (Verdict.UNSUPPORTED, Verdict.NOT_RUN):
        Xml.SubElement(test, "skipped", message=_text(f"{verdict.value}: {result.detail}"))
    elif verdict is Verdict.ERROR:
        _ending(test, "error", verdict.value, headline(result), full(result, run.path))
    elif verdict is not Verdict.PASS:
        policy = result.finding is not None and result.finding.policy
        kind = f"{verdict.value} by policy" if policy else verdict.value
        _ending(test, "failure", kind, headline(result), full(result, run.path))
    elif result.detail:
        Xml.SubElement(test, "system-out").text = _text(result.detail)
    return test


def _problem(problem: Rejected | Trouble, run: Run) -> Xml.Element:
    if isinstance(problem, GeneratorFault):
        test = _case(problem.area, problem.name, 0.0)
        _ending(test, "error", problem.code, problem.what, fault_text(problem, run.path))
        return test
    test = _case("cts", f"{problem.code}: {problem.where}" if problem.where else problem.code, 0.0)
    text = str(CtsError(problem.code, problem.what, problem.where, problem.remedy))
    _ending(test, "error", problem.code, problem.what, text)
    return test


def _case(area: str, name: str, seconds: float) -> Xml.Element:
    return Xml.Element("testcase", classname=_text(area), name=_text(name), time=_seconds(seconds))


def _ending(test: Xml.Element, tag: str, kind: str, message: str, text: str) -> None:
    Xml.SubElement(test, tag, type=_text(kind), message=_text(message)).text = _text(text)


def _text(text: str) -> str:
    """Text that XML can say."""
    return printable(text)


def _seconds(seconds: float) -> str:
    return f"{seconds:.6f}"
