"""Plain words: phrases that readers stumble over are in no page, message, docstring or comment; sentences are short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_pages import BLOCK

TREE = Path(__file__).resolve().parents[2]
#: Findings and decisions quote others at length; facts are statements of specifications.
QUOTING = ("docs/findings/", "docs/decisions/", "docs/facts.md", "CHANGELOG.md")
PAGES = [
    str(path.relative_to(TREE))
    for path in sorted([*TREE.glob("*.md"), *TREE.glob("docs/**/*.md"), TREE / "bench/README.md"])
    if not str(path.relative_to(TREE)).startswith(QUOTING)
]
ROOMS = ("cts", "drivers", "generators", "reference", "bench", ".ci")
CODE = [p for room in ROOMS for p in (TREE / room).rglob("*.py")]

#: What not to write, and what to write instead.
PHRASES = {
    r"\bgives? on\b": "passes",
    r"\bbrings?\b": "returns, has, causes",
    r"\b(?:holds?|held) .{0,40}\bagainst\b": "checks against",
    r"\bis come to\b": "is reached",
    r"\bwithout a word\b": "silently",
    r"\b(?:are|is) made less\b": "are reduced, is reduced",
    r"\band the like\b": "name the things",
    r"\bin the place of\b": "instead of",
    r"\bspeaks? for\b": "names, suggests",
    r"\bfor lack of\b": "because the driver lacks",
    r"(?:^|[.:;] )What (?:is|are|differs|does|a|the)\b(?![^.]*\?)": "name the thing",
    r"(?:^|\. )Where (?:it|there|a|an|the|no|that|this|both|one)\b": "if, when",
}

#: The most words of a sentence in a page.
LONGEST = 40


def prose(text: str) -> str:
    """A page without code, tables, quotations, links' targets and headings, a paragraph in a line."""
    text = BLOCK.sub("\n\n", text)
    text = re.sub(r"^(?:\||>|#|!\[).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(?:- |\d+\. )", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"`[^`\n]*`", "`x`", text)
    return re.sub(r"(?<!\n)\n(?!\n)[ ]*", " ", text)


def sentences(text: str) -> list[str]:
    """The sentences of prose."""
    return [
        s.strip() for line in prose(text).splitlines() for s in re.split(r"(?<=[.?!:;])\s+(?=[A-Z`\[(])|\n", line) if s
    ]


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_in_plain_words(name: str) -> None:
    text = prose((TREE / name).read_text(encoding="utf-8"))
    found = {m[0]: right for phrase, right in PHRASES.items() for m in re.finditer(phrase, text, re.MULTILINE)}
    assert found == {}


@pytest.mark.parametrize("name", PAGES)
def test_sentences_are_short(name: str) -> None:
    long = [s for s in sentences((TREE / name).read_text(encoding="utf-8")) if len(s.split()) > LONGEST]
    assert long == []


@pytest.mark.parametrize("phrase", list(PHRASES)[:7])
def test_code_is_in_plain_words(phrase: str) -> None:
    found = [
        f"{path.relative_to(TREE)}: {match[0]}"
        for path in CODE
        for match in re.finditer(phrase, path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert found == []


def test_what_is_not_plain_is_seen() -> None:
    assert sentences("One two. Three\nfour.\n\n- five `a. B` six\n") == ["One two.", "Three four.", "five `x` six"]
    assert re.search(list(PHRASES)[2], "holds the features against 80 statements")
