"""The facts: every one cited is written down, every testable one is covered by a case, the others say why not."""

from __future__ import annotations

import re
from pathlib import Path

import cts.cases
from cts.case.model import load_case
from cts.features.coverage.exercised import exercised
from cts.modules.validation.rules import rules_of_facts

TREE = Path(__file__).resolve().parents[2]
PAGE = TREE / "docs" / "facts.md"
ROW = re.compile(r"^\| ([A-Z]{2}-\d{2,3}b?) \| (C?) ?\| (.+) \|$", re.MULTILINE)
CITED = re.compile(r"\b(?:TA|AL|CM|CV|DV|KM|MT|QC|VK|NU|AM|DQ|LC|ST)-\d{2,3}b?\b")

#: Facts about what a program does, by group: everything but enumerations of Vulkan and readings of unclear text.
GROUPS = re.compile(r"(?:TA|AL|KM|CM|CV|DV|MT|NU|QC)-\d{3}b?|VK-0(?:[1-3]\d|4[0-4]|5\d|6[0-6]|7\d)b?")

#: Why no case shows a fact that modules of rules break.
BROKEN = "a ban or a declaration: a rule of cts validation breaks it"

#: Why no case shows how pipelines are made and submitted.
PIPELINES = "how a pipeline is made or submitted: forms of pipelines and their tests show it"

#: Facts of these groups that no valid case can show, and why.
NOT_TESTABLE = {
    "TA-001": BROKEN,
    "AL-001": BROKEN,
    "QC-001": BROKEN,
    "MT-001": BROKEN,
    "MT-002": BROKEN,
    "MT-003": BROKEN,
    "MT-011": BROKEN,
    "MT-013": "undefined: cases that do it are refused",
    "MT-014": BROKEN,
    "MT-016": BROKEN,
    "MT-030": "undefined: cases that do it are refused",
    "CM-001": BROKEN,
    "CM-002": "names of numbers: the tests of the grammar read both",
    "CM-003": BROKEN,
    "CM-005": BROKEN,
    "DV-001": BROKEN,
    "KM-001": BROKEN,
    "KM-011b": "no instruction of a case keeps a matrix in a variable of Private storage",
    "KM-013b": "no case lowers to untyped pointers; the form `untyped` does",
    "KM-020": BROKEN,
    "CM-062": BROKEN,
    "TA-023": "a ban: a module that breaks it is invalid, and no case lowers to one",
    "CM-012": BROKEN,
    "CM-061": BROKEN,
    "CM-060": "a ban: conditions of a case never differ within a scope (TA-071)",
    "TA-030": "the heading of TA-031 to TA-036, which are covered one by one",
    "TA-041": "needs 64-bit indexing, which no module asks for",
    "TA-042": "a limit that shows only in buffers of 4 GiB",
    "TA-061": "all of it is undefined; there is no defined edge to stand on",
    "TA-062": "all of it is undefined; there is no defined edge to stand on",
    "TA-074": BROKEN,
    "NU-041": "a ban: a case that breaks it is malformed",
    "NU-047": "a device's properties: the tests of capabilities match cases with them",
    "NU-024": "a device's properties: the Vulkan driver's tests check what it asks for",
    "VK-010": "a device's features: the tests of capabilities check what a case needs",
    "VK-011": "a device's features: the Vulkan driver's tests check what it asks for",
    "VK-020": "a device's list: the tests of capabilities match cases with it",
    "VK-028": "a device's list: the Vulkan driver's tests check the query",
    "VK-028b": "a device's list: the Vulkan driver's tests match modules with it",
    "VK-041": "a device's stages: every case is a compute shader",
    "VK-042": "how a pipeline is made: the Vulkan driver's tests check it",
    **{f"VK-{number:03}": PIPELINES for number in range(70, 80)},
    "CV-010b": "no instruction of a case keeps a vector in a variable",
    "CV-022": BROKEN,
    "CV-019": "a ban: cases that break it are refused",
    "CV-023": BROKEN,
    "CV-039": "says what a host may do to memory that only conversions reach here",
    "VK-053b": "memory is as large as the device asks for: trials give less (LC-009)",
    "VK-065": "what cases stay clear of: sizes that are no multiple of 4",
    "VK-056": "how a device waits for a conversion: the Vulkan driver's tests check it",
}


def facts() -> dict[str, bool]:
    """Fact ID -> marked as covered, from docs/facts.md."""
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) == len({r[0] for r in rows}), "a fact has two lines"
    return {fact: mark == "C" for fact, mark, _ in rows}


def covered() -> dict[str, list[str]]:
    """Fact ID -> corpus cases that say they cover it."""
    out: dict[str, list[str]] = {}
    for file in sorted(Path(cts.cases.__file__).parent.rglob("*.yaml")):
        for fact in load_case(file).covers:
            out.setdefault(fact, []).append(file.stem)
    return out


def test_every_cited_fact_is_written_down() -> None:
    known = facts()
    unknown: dict[str, str] = {}
    for file in sorted(p for ext in ("py", "yaml", "md") for p in TREE.rglob(f"*.{ext}")):
        if any(part.startswith(".") or part in ("build", "dist") for part in file.relative_to(TREE).parts):
            continue
        for fact in set(CITED.findall(file.read_text(encoding="utf-8"))) - set(known):
            unknown.setdefault(fact, str(file.relative_to(TREE)))
    assert unknown == {}, "add a line to docs/facts.md"


def test_marks_are_true() -> None:
    assert {f for f, mark in facts().items() if mark} == set(covered())


def test_every_testable_fact_is_covered() -> None:
    groups = {f for f in facts() if GROUPS.fullmatch(f)}
    assert groups - set(covered()) == set(NOT_TESTABLE)


def test_what_only_rules_test_is_broken_by_one() -> None:
    assert {fact for fact, why in NOT_TESTABLE.items() if why == BROKEN} - set(rules_of_facts()) == set()


def test_no_fact_of_the_specifications_is_left_out() -> None:
    known = set(facts())
    wanted = {
        "TA": (*range(10, 24), *range(30, 45), *range(60, 76), *range(80, 90)),
        "KM": (1, 2, *range(10, 22)),
        "CM": (1, 2, 3, 4, 5, 10, 11, 12, 13, *range(20, 25), 30, 31, 50, 51, 52, 60, 61, 62),
        "DV": (1, *range(10, 15)),
        "NU": (*range(1, 6), *range(10, 20), *range(30, 36)),
        "CV": (2, *range(10, 24), *range(30, 40)),
        "VK": (10, 11, 12, 13, *range(20, 27), 28, 29, *range(40, 44), *range(50, 57)),
    }
    assert {f"{group}-{n:03}" for group, numbers in wanted.items() for n in numbers} - known == set()


def test_no_case_lists_a_fact_twice() -> None:
    for file in sorted(Path(cts.cases.__file__).parent.rglob("*.yaml")):
        covers = load_case(file).covers
        assert len(set(covers)) == len(covers) > 0, file


#: Facts that only one kind of instruction shows, so that a case without it cannot cover them.
OWN = re.compile(r"CM-(?:0[0235]\d)|DV-(?:\d{3})|KM-(?:01[4-8]|021)|NU-(?:00[12]|033)")


def test_cases_have_the_instructions_whose_facts_they_say_they_cover() -> None:
    wrong = {}
    for file in sorted(Path(cts.cases.__file__).parent.rglob("*.yaml")):
        case = load_case(file)
        claimed = {f for f in case.covers if OWN.fullmatch(f)} - exercised(case)
        if claimed:
            wrong[case.name] = claimed
    assert wrong == {}
