"""Every accusation has the sentence it rests on, the best objection with its answer, versions, and its basis.

A finding is a numbered section of a page, or a page without such. A withdrawn one keeps its number, and the sentence.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "findings").glob("*.md"))

SECTION = re.compile(r"^## (?:(\d+)\. )?(.+)\n", re.MULTILINE)
PART = re.compile(r"^\*\*(Text|Objection|Seen|Basis)\.\*\* ((?:.+\n)+)", re.MULTILINE)
PARTS = ["Text", "Objection", "Seen", "Basis"]
DOCUMENT = re.compile(r"SPV_\w+|SPIR-V|Vulkan|GLSL_\w+|GLSL\.std\.450")
QUOTATION = re.compile(r'"[^"]{12,}"')


def findings(page: str) -> dict[str, str]:
    """Title -> text of every numbered section, or of the whole page."""
    heads = list(SECTION.finditer(page))
    starts = [*(h.start() for h in heads), len(page)]
    numbered = {h[2]: page[h.end() : end] for h, end in zip(heads, starts[1:], strict=True) if h[1]}
    return numbered or {page.partition("\n")[0].removeprefix("# "): page}


def problems(title: str, text: str) -> list[str]:
    """What a finding lacks."""
    found = PART.findall(text if text.endswith("\n") else f"{text}\n")
    parts = {name: " ".join(body.split()) for name, body in found}
    withdrawn = title.startswith("Withdrawn: ")
    wanted = ["Text"] if withdrawn else PARTS
    if [name for name, _ in found] != wanted:
        return [f"has the parts {[name for name, _ in found]}, not {wanted}"]
    checks = [
        ("Text", DOCUMENT.search(parts["Text"]), "no document"),
        ("Text", QUOTATION.search(parts["Text"]), "no quotation"),
    ]
    if not withdrawn:
        checks += [
            ("Objection", re.search(r"\S.{20,} Answer: .{12,}", parts["Objection"]), "no objection with its answer"),
            ("Seen", re.search(r"\d\.\d", parts["Seen"]), "no version"),
            ("Seen", re.search(r"[Nn]ot (?:seen|tried)", parts["Seen"]), "not a word on where it was not seen"),
            ("Basis", re.match(r"Required by the text|This suite's policy", parts["Basis"]), "neither text nor policy"),
        ]
    return [f"{name}: {what}" for name, holds, what in checks if not holds]


@pytest.mark.parametrize("page", PAGES, ids=[p.stem for p in PAGES])
def test_no_finding_lacks_a_part(page: Path) -> None:
    found = findings(page.read_text(encoding="utf-8"))
    wrong = {title: lacks for title, text in found.items() if (lacks := problems(title, text))}
    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=[p.stem for p in PAGES])
def test_findings_are_numbered_from_1(page: Path) -> None:
    numbers = [int(h[1]) for h in SECTION.finditer(page.read_text(encoding="utf-8")) if h[1]]
    assert numbers == list(range(1, len(numbers) + 1))


COMPLETE = """\
Wrong.

**Text.** SPV_NV_something: "It must be right, always
and everywhere."

**Objection.** Nobody needs this in practice. Answer: somebody does, here.

**Seen.** Driver 1.2. Not seen on 1.3.

**Basis.** Required by the text.
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("", "", []),
        ("Wrong.", "**Wrong.** More.", []),
        ("**Objection.**", "Objection:", ["has the parts ['Text', 'Seen', 'Basis'], not"]),
        ("SPV_NV_something: ", "", ["Text: no document"]),
        ('"', "", ["Text: no quotation"]),
        (" Answer: somebody does, here.", "", ["Objection: no objection with its answer"]),
        ("Nobody needs this in practice. ", "", ["Objection: no objection with its answer"]),
        (" Not seen on 1.3.", "", ["Seen: not a word on where it was not seen"]),
        ("Driver 1.2. Not seen on 1.3.", "Not tried.", ["Seen: no version"]),
        ("Required by the text", "Obvious", ["Basis: neither text nor policy"]),
        ("Required by the text", "This suite's policy: it is inexact", []),
    ],
)
def test_what_lacks_is_said(old: str, new: str, says: list[str]) -> None:
    found = problems("title", COMPLETE.replace(old, new) if old else COMPLETE)
    assert len(found) == len(says)
    assert all(f.startswith(s) for f, s in zip(found, says, strict=True))


def test_what_is_withdrawn_needs_the_sentence_alone() -> None:
    text = COMPLETE[: COMPLETE.index("**Objection.**")]
    assert problems("Withdrawn: a title", text) == []
    assert problems("Withdrawn: a title", "Wrong.\n") != []
    assert problems("Withdrawn: a title", COMPLETE) != []


def test_sections_without_a_number_are_no_findings() -> None:
    page = f"# A page\n\nIntroduction.\n\n## 1. First\n\n{COMPLETE}\n## Slow pipelines\n\nText.\n"
    assert list(findings(page)) == ["First"]
    assert list(findings(f"# A page\n\n{COMPLETE}")) == ["A page"]
