"""Quotations of pages, and the whole sentences of docs/quotations.yaml that they are held to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cts.base.plain_yaml import parse

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILE = DOCS / "quotations.yaml"

#: What stands for words that are left out within a sentence.
GAP = "[...]"

#: Fewer words, but in the part of a finding that has its text, are a term and no quotation.
WORDS = 4

_CODE = re.compile(r"^```.*?^```|``?[^`]+``?", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r'"([^"]+)"')
_SOURCES = re.compile(r"^## Sources\n\n((?:.+\n)+)", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """Kept sentences of one section, in the order of the text, each as plain text."""

    source: str
    name: str
    sentences: tuple[str, ...]

    def runs(self) -> Iterator[str]:
        """Each sentence, and each run of sentences that follow one another here."""
        for first in range(len(self.sentences)):
            for last in range(first, len(self.sentences)):
                yield " ".join(self.sentences[first : last + 1])


def plain(text: str) -> str:
    """A text without markup, apostrophes and line ends."""
    return " ".join(re.sub(r"[*_`'\\]", "", text).split())


@cache
def kept() -> tuple[Section, ...]:
    """The sections of the file."""
    found = []
    for entry in _file()["documents"]:
        source = f"{entry['document']}{' ' if entry['revision'][0].isdigit() else ', '}{entry['revision']}"
        for name, sentences in entry["sections"].items():
            texts = tuple(plain(s if isinstance(s, str) else s["item"]) for s in sentences)
            found.append(Section(source, name, texts))
    return tuple(found)


def sentences() -> list[tuple[str, bool]]:
    """Every kept text as it is in the file, with whether it is an item, which need not end with a full stop."""
    found = [s for entry in _file()["documents"] for texts in entry["sections"].values() for s in texts]
    return [(s, False) if isinstance(s, str) else (s["item"], True) for s in found]


@cache
def messages() -> tuple[str, ...]:
    """Words of programs, which are no specification's."""
    return tuple(map(plain, _file()["messages"]))


@cache
def _file() -> dict:  # type: ignore[type-arg]
    return parse(FILE.read_text(encoding="utf-8"), str(FILE))  # type: ignore[no-any-return]


def quotations(text: str) -> list[str]:
    """What a text has in quotation marks, outside of code."""
    paragraphs = _CODE.sub("", text).split("\n\n")
    return [quoted for p in paragraphs for quoted in _QUOTED.findall(" ".join(p.split()))]


def whole(quoted: str, sections: tuple[Section, ...] | None = None) -> Section | None:
    """The section that has a quotation as whole sentences; words may be left out within them."""
    pattern = re.compile(".+?".join(re.escape(plain(part)) for part in quoted.split(GAP)))
    for section in kept() if sections is None else sections:
        if any(pattern.fullmatch(run) for run in section.runs()):
            return section
    return None


def part(quoted: str, sections: tuple[Section, ...] | None = None) -> Section | None:
    """The section with a sentence that has these words."""
    words = plain(quoted)
    for section in kept() if sections is None else sections:
        if any(words in sentence for sentence in section.sentences):
            return section
    return None


def trouble(quoted: str, sections: tuple[Section, ...] | None = None) -> str:
    """What is wrong with a quotation as whole sentences, or nothing."""
    if quoted.startswith(GAP) or quoted.endswith((GAP, "...", "…", ",")):
        return "is broken off"
    if whole(quoted, sections):
        return ""
    longer = part(quoted, sections)
    if longer is None:
        return f"is no sentence of {FILE.name}"
    sentence = next(s for s in longer.sentences if plain(quoted) in s)
    if sentence.startswith(plain(quoted)):
        return f"ends before its sentence does: ...{sentence[len(plain(quoted)) :]}"
    return f"is a part of a sentence: {sentence}"


def named_sources(page: str) -> str:
    """The list of sources at the end of a page."""
    found = _SOURCES.search(page)
    return found[1] if found else ""


def sources(found: list[Section]) -> str:
    """The list of sources that a page with quotations of these sections must have."""
    lines = []
    for source in dict.fromkeys(s.source for s in kept()):
        names = [s.name for s in kept() if s.source == source and s in found]
        if names:
            lines.append(f"- {source}: {'; '.join(names)}.\n")
    return "".join(lines)
