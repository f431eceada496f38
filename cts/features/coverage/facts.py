"""The text of the facts that code, cases and traces cite by ID: the tables of docs/facts.md, which is shipped."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources

_ROW = re.compile(r"^\| ([A-Z]{2}-\d{2,3}b?) \| (C?) ?\| (.+) \|$", re.MULTILINE)


@lru_cache(maxsize=1)
def facts() -> dict[str, str]:
    """Each fact by its ID, in Markdown."""
    return {fact: text.replace(r"\|", "|") for fact, _, text in _rows()}


@lru_cache(maxsize=1)
def marked_testable() -> frozenset[str]:
    """The facts that cases can show: those marked C."""
    return frozenset(fact for fact, mark, _ in _rows() if mark)


def _rows() -> list[tuple[str, str, str]]:
    """ID, mark and text of each fact."""
    return _ROW.findall(resources.files("cts.docs").joinpath("facts.md").read_text(encoding="utf-8"))


def text_of(fact: str) -> str:
    """What a fact says; empty where the table does not have it."""
    return facts().get(fact, "")
