"""Plain words: phrases that readers stumble over are in no page, message, docstring or comment; sentences are short."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
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

#: Marks of sentences that follow another language's grammar. Each is right somewhere: their number may only fall.
MARKS = [
    # nouns made of "what" and "that", and pronouns without a noun
    r"\bwhat (?:is|was|it|a|the|of) .*\bwhat\b",
    r"\ball (?:else|that\b.*\bmay be)\b",
    r"\bas like\b",
    r"\bthere (?:are|is) such\b",
    # "of which" and its like
    r"^\w+ of which\b",
    r"\bof which\b.*\bthat\b",
    r"\bwith which\b.*\bwith\b",
    r"\bof (?:its|their) own\b.*\bof\b",
    # "none" and "so many" instead of a noun or a number
    r"\b(?:is|that are) none\b",
    r"\bnone of (?:one|its)\b",
    r"\bno (?:longer|more) of\b",
    r"\bso many (?:before|behind)\b|\bso many\b.*\bso many\b",
    # verbs that say nothing of who does what
    r"\b(?:is|was|are) said\b|\bsays of\b",
    r"\b(?:tells|told)\b",
    r"\bcome (?:by|to)\b",
    r"\b(?:gives|given|hands?) on\b",
    r"\bhave to do with\b",
    r"\bmade of it\b",
    # joints
    r"\bwhere that is\b",
    r"\bby that\b",
    r"\bas it is\b",
    r"\bof before\b",
    r"\botherwise than\b",
    r"\bin the end\b",
]

#: How many sentences of docstrings and comments have such a mark, and how many of pages: lower these when one goes.
MARKED_IN_CODE, MARKED_IN_PAGES = 16, 0

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


def clauses(text: str) -> list[str]:
    """The sentences of a docstring or comment, divided at colons and semicolons, too."""
    return re.split(r"(?<=[.:;])\s+", " ".join(text.split()))


def spoken(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module with their lines; comments on adjacent lines are one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text
    comment: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if comment and token.start[0] != last + 1:
            yield last, " ".join(comment)
            comment = []
        last = token.start[0]
        comment.append(token.string.lstrip("#: "))
    if comment:
        yield last, " ".join(comment)


def marked(text: str) -> list[str]:
    """The sentences of a text that have a mark."""
    return [s for s in clauses(text) if any(re.search(mark, s) for mark in MARKS)]


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


def test_ever_fewer_sentences_of_code_follow_another_grammar() -> None:
    found = [
        f"{path.relative_to(TREE)}:{line}: {sentence}"
        for path in CODE
        for line, text in spoken(path.read_text(encoding="utf-8"))
        for sentence in marked(text)
    ]
    assert len(found) <= MARKED_IN_CODE, "\n".join(found)


def test_ever_fewer_sentences_of_pages_follow_another_grammar() -> None:
    found = [
        f"{name}: {sentence}"
        for name in PAGES
        for line in prose((TREE / name).read_text(encoding="utf-8")).splitlines()
        for sentence in marked(line)
    ]
    assert len(found) <= MARKED_IN_PAGES, "\n".join(found)


def test_what_is_not_plain_is_seen() -> None:
    source = '"""Raises for what is none."""\nX = 1  # as\n# it is\n\nY = 2  # it\n'
    assert [(line, marked(text)) for line, text in spoken(source)] == [
        (1, ["Raises for what is none."]),
        (3, ["as it is"]),
        (5, []),
    ]
    assert marked("One: the case. It is said here; the second part is plain.") == ["It is said here;"]
    assert sentences("One two. Three\nfour.\n\n- five `a. B` six\n") == ["One two.", "Three four.", "five `x` six"]
    assert re.search(list(PHRASES)[2], "holds the features against 80 statements")
