"""The facts: every one cited is written down, every testable one is covered by a case, the others say why not."""

from __future__ import annotations

import re
from pathlib import Path

import cts.cases
from cts.model import load_case

TREE = Path(__file__).resolve().parents[2]
PAGE = TREE / "docs" / "facts.md"
ROW = re.compile(r"^\| ([A-Z]{2}-\d{2,3}b?) \| (C?) ?\| (.+) \|$", re.MULTILINE)
CITED = re.compile(r"\b(?:TA|CM|CV|DV|KM|VK|NU|AM)-\d{2,3}b?\b")

#: Facts of the section on tensor addressing that no valid case can show, and why.
NOT_TESTABLE = {
    "TA-001": "a capability: the lowering's tests check what modules declare",
    "TA-023": "a ban: a module that breaks it is invalid, and no case lowers to one",
    "TA-030": "the heading of TA-031 to TA-036, which are covered one by one",
    "TA-037": "needs decode functions, which cases do not have",
    "TA-041": "needs 64-bit indexing, which no module asks for",
    "TA-042": "a limit that shows only in buffers of 4 GiB",
    "TA-061": "all of it is undefined; there is no defined edge to stand on",
    "TA-062": "all of it is undefined; there is no defined edge to stand on",
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


def test_every_testable_fact_of_tensor_addressing_is_covered() -> None:
    section = {f for f in facts() if f.startswith("TA-")}
    assert section - set(covered()) == set(NOT_TESTABLE)
    assert {f"TA-{i:03}" for i in (*range(10, 24), *range(30, 45), *range(60, 73), 75, *range(80, 90))} <= section


def test_no_case_lists_a_fact_twice() -> None:
    for file in sorted(Path(cts.cases.__file__).parent.rglob("*.yaml")):
        covers = load_case(file).covers
        assert len(set(covers)) == len(covers) > 0, file
