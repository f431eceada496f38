"""One failure, or one case, as plain data for the templates: headline, picture, program, steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import structs

from cts.case.model import dumps_case
from cts.features.coverage.facts import text_of
from cts.findings.pictures import Limits, Scene, scene_of_explanation, scene_of_finding
from cts.findings.pictures.svg import legend, panels
from cts.judging.sentences import guess_text
from cts.showing.report.failure import place

if TYPE_CHECKING:
    from cts.case.model import Case
    from cts.case.oracle.expectation import Oracle
    from cts.findings.explain import Explanation
    from cts.judging.events import Finding

#: Wrong elements listed for a failure.
SHOWN = 24

#: Steps of an element.
STEPS = 40

#: The panels of a picture that a reader compares.
COMPARED = ("expected", "actual")

#: Facts named beside the most likely one, and guesses.
ALSO = 5


@dataclass
class Pictures:
    """Draws pictures until they have taken `most` characters, and counts those that are left out."""

    oracle: Oracle
    limits: Limits
    most: int
    spent: int = 0
    left_out: int = 0

    def picture_of(self, finding: Finding, explanation: Explanation | None) -> dict[str, Any] | None:
        """The picture of a finding; None if it cannot be drawn, or if the page has no room for it."""
        if self.spent >= self.most:
            self.left_out += 1
            return None
        scene = scene_of_finding(finding, explanation, self.oracle, self.limits)
        shown = None if scene is None else figure(scene, self.limits)
        self.spent += 0 if shown is None else sum(len(svg) for row in shown["rows"] for _, svg in row)
        return shown


@dataclass
class Cited:
    """The facts that a page names, for the section that has their texts."""

    ids: dict[str, None] = field(default_factory=dict)

    def add(self, *facts: str) -> None:
        """Record facts; an ID that is not in the table is ignored."""
        self.ids |= dict.fromkeys(f for f in facts if text_of(f))

    def texts(self) -> list[tuple[str, str]]:
        """Each cited fact with its text, sorted."""
        return [(fact, text_of(fact)) for fact in sorted(self.ids)]


def figure(scene: Scene, limits: Limits) -> dict[str, Any]:
    """A picture for the template: panels and legend as SVG, which has escaped all it was given.

    `rows` are the panels by name; expected and actual elements are always beside each other.
    """
    named = list(zip((grid.key for grid in scene.grids), panels(scene, limits), strict=True))
    compared = [panel for panel in named if panel[0] in COMPARED]
    return {
        "title": scene.title,
        "description": scene.description,
        "rows": [[panel] for panel in named if panel not in compared] + [compared] * bool(compared),
        "legend": legend(scene),
        "notes": scene.notes,
    }


def headline(explanation: Explanation | None, finding: Finding | None) -> dict[str, Any]:
    """What failed in one look: the instruction, how many elements, the first of them, and as if what."""
    fields: dict[str, Any] = {"index": None, "op": "", "count": "", "element": None, "as_if": "", "fact": "", "how": ""}
    if explanation is not None:
        x = explanation
        fields |= {"index": x.instruction, "op": x.op, "how": x.how, "fact": x.facts[0] if x.facts else ""}
        if x.total:
            fields["count"] = f"{x.wrong} of {x.total} elements of {x.result}"
        wrong = next((e for e in x.elements if not e.right), None)
        if wrong is not None:
            at = f"{x.result}({wrong.row}, {wrong.col})"
            fields["element"] = (at, wrong.expected, wrong.actual, wrong.read_instead)
        fields["as_if"] = as_if(x)
    if finding is not None:
        if not fields["count"] and finding.counts:
            count = finding.counts[0]
            noun = "guard bytes around" if count.guard else "elements of"
            fields["count"] = f"{count.differing} of {count.total} {noun} {count.buffer}"
        if fields["element"] is None and finding.listed:
            first = finding.listed[0]
            fields["element"] = (place(first), first.expected, first.actual, "")
    return fields


def as_if(explanation: Explanation) -> str:
    """The deviation that leaves the memory, or the change under which the actual values would be right.

    Of a change also how many of them are, if not all.
    """
    if explanation.leaves:
        return explanation.leaves[0].words
    if not explanation.as_if:
        return ""
    best = explanation.as_if[0]
    if best.exact:
        return best.what
    extent = f"{best.given} of {best.wrong} wrong elements"
    return f"{best.what} ({extent if best.given < best.wrong else 'all wrong elements, but not all others'})"


def program(case: Case, guilty: int | None) -> list[tuple[int, str, bool]]:
    """The instructions as the case file has them: number, text, and whether it is the guilty one."""
    text = dumps_case(case)
    lines = re.findall(r"^  - (.*)$", text[text.rindex("\nprogram:") :], re.MULTILINE)
    return [(n, line, n == guilty) for n, line in enumerate(lines)]


def details(explanation: Explanation | None, finding: Finding, cited: Cited) -> dict[str, Any]:
    """Everything else of a failure that is shown at length."""
    listed = [(place(m), m.expected, m.actual) for m in finding.listed[:SHOWN]]
    facts: Sequence[str] = explanation.facts if explanation is not None else ()
    cited.add(*facts[: ALSO + 1], *(s.fact for s in finding.steps))
    elements = [e for e in explanation.elements if not e.right][:1] if explanation is not None else []
    elements = [structs.replace(e, steps=e.steps[:STEPS]) for e in elements]
    cited.add(*(s.fact for e in elements for s in e.steps))
    return {
        "listed": listed,
        "left": finding.differing - len(listed),
        "also": list(facts[1 : ALSO + 1]),
        "elements": elements,
        "result_of": explanation.result if explanation is not None else "",
        "changes": [a.what for a in explanation.as_if[1 : ALSO + 1]] if explanation is not None else [],
        "guesses": [guess_text(g) for g in finding.guesses[:ALSO]],
        "steps": () if elements else finding.steps[:STEPS],
        "writer": finding.writer,
        "policy": finding.policy,
        "program": program(finding.case, explanation.instruction if explanation is not None else None),
    }


def marked(text: str) -> Iterator[tuple[str, bool]]:
    """The text of a fact in parts: those between backticks are code."""
    for n, part in enumerate(text.split("`")):
        if part:
            yield part, n % 2 == 1


def explained(case: Case, explanation: Explanation, oracle: Oracle) -> dict[str, Any] | None:
    """The picture of an explained failure for a page of its own."""
    limits = Limits()
    scene = scene_of_explanation(case, explanation, oracle, limits)
    return None if scene is None else figure(scene, limits)
