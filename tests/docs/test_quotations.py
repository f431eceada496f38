"""Pages quote whole sentences, of a document, a revision and a section that are named.

A sentence that a page breaks off may go on with "but". So every quotation in the text that a finding rests on, and in
what decides which values are allowed, is whole sentences of docs/quotations.yaml; elsewhere they are parts of these.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cts.modules.validation.rules import rules
from tests.docs.quotations import (
    DOCS,
    WORDS,
    Section,
    kept,
    messages,
    named_sources,
    part,
    plain,
    quotations,
    sentences,
    sources,
    trouble,
    whole,
)
from tests.docs.test_findings import PAGES, PART

#: A page whose quotations are those of rules, each with its source before it.
OF_RULES = DOCS / "findings" / "spirv-val-2026.4-accepts.md"
VALUES = DOCS / "decisions" / "values-with-freedom.md"
HELD = [*(p for p in PAGES if p != OF_RULES), VALUES]

_DECIDES = re.compile(r"^## What decides\n(.*?)(?=^\*\*Why)", re.MULTILINE | re.DOTALL)
_OF_A_RULE = re.compile(r'((?:[\w ,.]+, )?[\w ,.-]+): "([^"]+)"')


def parts_of(path: Path) -> tuple[str, str]:
    """The text that a page rests on, and the rest of it."""
    page = path.read_text(encoding="utf-8")
    if path == VALUES:
        found = _DECIDES.search(page)
        assert found is not None
        return found[1], page.replace(found[1], "")
    texts = [m for m in PART.finditer(page + "\n") if m[1] == "Text"]
    rest = page
    for text in texts:
        rest = rest.replace(text[0].rstrip("\n"), "")
    return "\n\n".join(text[2] for text in texts), rest


@pytest.mark.parametrize("path", HELD, ids=[p.stem for p in HELD])
def test_what_a_page_rests_on_are_whole_sentences(path: Path) -> None:
    text, _ = parts_of(path)
    assert quotations(text)
    of_programs = {q for q in quotations(text) if plain(q) in messages()}
    wrong = {q: why for q in quotations(text) if q not in of_programs and (why := trouble(q))}
    assert wrong == {}


@pytest.mark.parametrize("path", [*HELD, OF_RULES], ids=[p.stem for p in [*HELD, OF_RULES]])
def test_other_quotations_are_parts_of_kept_sentences(path: Path) -> None:
    _, rest = parts_of(path)
    long = [q for q in quotations(rest) if len(q.split()) >= WORDS]
    of_rules = tuple(Section(r.source, r.of, (plain(r.text),)) for r in rules()) if path == OF_RULES else ()
    found = {q: bool(part(q) or part(q, of_rules) or any(plain(q) in m for m in messages())) for q in long}
    assert [q for q, known in found.items() if not known] == []


@pytest.mark.parametrize("path", HELD, ids=[p.stem for p in HELD])
def test_a_page_names_document_revision_and_section(path: Path) -> None:
    text, rest = parts_of(path)
    found = [whole(q) for q in quotations(text)]
    found += [whole(q) or part(q) for q in quotations(rest) if len(q.split()) >= WORDS]
    assert named_sources(path.read_text(encoding="utf-8")) == sources([s for s in found if s])


def test_quotations_of_rules_are_theirs() -> None:
    """Each has its rule's source and section before it; a source that is the same as before is not repeated."""
    text, _ = parts_of(OF_RULES)
    texts = {plain(rule.text): rule for rule in rules()}
    assert [q for q in quotations(text) if plain(q) not in texts] == []
    for lead, quoted in _OF_A_RULE.findall(" ".join(text.split())):
        same = [r for r in rules() if plain(r.text) == plain(quoted)]
        assert any(lead.strip(" ,").endswith(r.of) for r in same), (lead, quoted)


def test_kept_sentences_are_whole() -> None:
    """What is not an item ends with a full stop, and begins as a sentence or a name does; none is there twice."""
    texts = [text for text, _ in sentences()]
    assert [text for text, is_item in sentences() if not is_item and not text.rstrip("')").endswith(".")] == []
    assert [text for text in texts if text.endswith(("...", "…", ","))] == []
    assert len(set(texts)) == len(texts)
    assert all(section.source and section.name for section in kept())


KEPT = (Section("A 1.0", "First", ("It must be right, but not always.", "It may be late.", "x = 1;")),)


@pytest.mark.parametrize(
    ("quoted", "says"),
    [
        ("It must be right, but not always.", ""),
        ("It must be right, but not always. It may be late.", ""),
        ("It must be [...] always.", ""),
        ("It *may* be late.", ""),
        ("x = 1;", ""),
        ("It must be right", "ends before its sentence does: ..., but not always."),
        ("It must be right,", "is broken off"),
        ("It must be right...", "is broken off"),
        ("It must be right [...]", "is broken off"),
        ("[...] not always.", "is broken off"),
        ("right, but not always.", "is a part of a sentence: It must be right, but not always."),
        ("It must be late.", "is no sentence of quotations.yaml"),
    ],
)
def test_what_is_wrong_with_a_quotation_is_said(quoted: str, says: str) -> None:
    assert trouble(quoted, KEPT) == says


def test_code_is_no_quotation() -> None:
    assert quotations('He says "yes\nor no".\n\n```\n"code"\n```\n\n`"code"` and "no".\n') == ["yes or no", "no"]
