"""An explanation as text for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cts.findings.explain.model import FEW, Element, Explanation
from cts.findings.explain.picture import LEGEND
from cts.judging.sentences import class_text, step_text
from cts.judging.verdict import Verdict

#: The colours of a picture's characters.
COLOURS = {
    "U": "bold magenta",
    "X": "bold red",
    "C": "bold yellow",
    "K": "bold blue",
    "O": "bold cyan",
    "c": "yellow",
    "k": "blue",
    "o": "cyan",
    ".": "green",
}

_FACT_WIDTH = 7

#: Steps shown of one element; `--json` has all.
STEPS = 40

#: The place of an instruction, which a deviation of all instructions of a kind does not have.
_OF_PROGRAM = re.compile(r"program\[\d+\] ")

#: Facts shown with the evidence for them.
SUSPECTS = 8


def lines(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """Lines and their style: empty, `head` or `picture`."""
    x = explanation
    yield f"{x.verdict.value.upper()} {x.driver} {x.case}", "head"
    if x.verdict is Verdict.PASS:
        yield "there is nothing to explain: all memory is as the specification allows", ""
        return
    if x.detail:
        yield from ((line, "") for line in x.detail.splitlines())
    yield "", ""
    yield from ((line, "") for line in _location_lines(x))
    yield from ((f"in the compiled code: {lead}", "") for lead in x.code)
    yield from ((f"note: {note}", "") for note in x.notes)
    if x.picture:
        yield "", ""
        yield from _picture(x)
    for element in x.elements:
        yield "", ""
        yield from ((line, "") for line in _element(x, element))
    if x.leaves:
        yield "", ""
        yield f"all memory is as {'this' if len(x.leaves) == 1 else 'each of these'} would leave it:", ""
        for leaving in x.leaves:
            yield f"  {leaving.words}: {leaving.text}", ""
    listed = {leaving.words for leaving in x.leaves}
    mistakes = [change for change in x.as_if if _OF_PROGRAM.sub("", change.what) not in listed]
    if mistakes:
        yield "", ""
        weak = f" (weak: {x.wrong} wrong of {x.total} elements)" if x.wrong < FEW else ""
        yield f"the actual values match {'this mistake' if len(mistakes) == 1 else 'each of these mistakes'}{weak}:", ""
        for change in mistakes:
            extent = "" if change.exact else f" ({change.given} of {change.wrong} wrong elements)"
            yield f"  {change.what}{extent}: {', '.join(change.facts)}", ""
    if x.suspects:
        yield "", ""
        yield "facts, the most likely broken first:", ""
        for suspect in x.suspects[:SUSPECTS]:
            yield f"  {suspect.fact:<{_FACT_WIDTH}} {suspect.why}", ""
        remaining = x.suspects[SUSPECTS:]
        if remaining:
            yield f"  and {', '.join(s.fact for s in remaining)}", ""


def _location_lines(x: Explanation) -> Iterator[str]:
    if x.instruction is None:
        yield f"the wrong bytes were written by a {x.op}" if x.op else "the first wrong instruction is unknown"
        return
    iterations = "".join(f", iteration {t}" for t in x.iterations)
    yield f"first instruction whose result differs: program[{x.instruction}] {x.op}{iterations} ({x.how})"
    if x.result:
        yield f"{x.wrong} of {x.total} elements of {x.result!r} are wrong there"
    for number_class in x.classes:
        yield class_text(number_class.kind, number_class.count, number_class.wrong, repr(x.result))


def _picture(x: Explanation) -> Iterator[tuple[str, str]]:
    high, wide = x.scale
    part = f", a character for {high} x {wide} elements" if x.scale != (1, 1) else ""
    yield f"{x.result!r}, {x.picture_of}{part}:", ""
    for line in x.picture:
        yield f"  {line}", "picture"
    used = {c for line in x.picture for c in line}
    yield "  " + ", ".join(f"{c} {meaning}" for c, meaning in LEGEND.items() if c in used), ""


def _element(x: Explanation, e: Element) -> Iterator[str]:
    state = "right" if e.right else "wrong"
    reached = f", {e.reached}" if e.reached and e.reached != "memory" else ""
    yield f"element ({e.row}, {e.col}) of {x.result!r}, instance {e.instance}: {state}{reached}"
    yield f"  expected {e.expected}"
    yield f"  actual   {e.actual}"
    if e.read_instead:
        yield f"  which is the value of {e.read_instead}"
    if e.steps:
        yield "  how the expected value gets there:"
        yield from (f"    {s.fact:<{_FACT_WIDTH}} {step_text(s)}" for s in e.steps[:STEPS])
        if len(e.steps) > STEPS:
            yield f"    and {len(e.steps) - STEPS} more steps"
