"""The tables of docs/undefined.md are those of the rules."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from cts.case.oracle.expectation import ViolationKind
from cts.reference.validity.basis import Basis, bases
from tests.docs.quotations import DOCS

PAGE = DOCS / "undefined.md"
BEGIN = "<!-- tables -->\n"

HEADINGS = {
    ViolationKind.UNDEFINED: "## Undefined",
    ViolationKind.UNCLEAR: "## Unclear",
    ViolationKind.LIMIT: "## Limits of the oracle",
}


def tables() -> str:
    """What the page has to have behind the mark."""
    return "\n".join(line for kind in ViolationKind for line in table(kind))


def table(kind: ViolationKind) -> Iterator[str]:
    yield from ("", HEADINGS[kind], "", "| rule | cases | why |", "| --- | --- | --- |")
    for basis in bases().values():
        if basis.kind is kind:
            yield f"| {basis.rule} | {cell(basis.what)} | {cell(' '.join(reasons(basis)))} |"


def reasons(basis: Basis) -> Iterator[str]:
    for document, quoted in groupby(basis.text, lambda q: q.document):
        for section, texts in groupby(quoted, lambda q: q.section):
            yield f"{document}, {section}: {' '.join(quote(q.text) for q in texts)}"
    if basis.question:
        yield basis.question
    for reading in basis.readings:
        yield f"*{reading}*"
    if basis.wider:
        yield f"**Refused, too:** {basis.wider}"


def quote(text: str) -> str:
    if text.endswith(";") or text.startswith("//"):
        return f"`{text}`"
    return '"' + text.replace("*", r"\*").replace("<", r"\<") + '"'


def cell(text: str) -> str:
    return text.replace("|", r"\|")


def test_the_tables_are_those_of_the_rules() -> None:
    page = PAGE.read_text(encoding="utf-8")
    right = f"{page.partition(BEGIN)[0]}{BEGIN}{tables()}\n"
    assert page == right, f"write this behind the mark:\n{tables()}"


def test_every_rule_is_in_one_table() -> None:
    rows = [line.split("|")[1].strip() for line in tables().splitlines() if line.startswith("| ")]
    assert sorted(r for r in rows if r not in ("rule", "---")) == sorted(bases())
