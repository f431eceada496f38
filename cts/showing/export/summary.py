"""The summary at the head of a bundle: which instruction, which element, what was read instead, which facts."""

from __future__ import annotations

from typing import NamedTuple

from cts.features.coverage.facts import text_of
from cts.findings.explain.model import Explanation

#: Facts whose text is shown.
SHOWN = 6


class Summary(NamedTuple):
    """Pairs of label and Markdown; facts with their text, the most likely broken first; IDs of the others."""

    lines: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    others: tuple[str, ...]


def summary(x: Explanation) -> Summary:
    """What an explanation comes to."""
    lines = [("Instruction", _instruction(x))]
    wrong = next((e for e in x.elements if not e.right), None)
    if wrong is not None:
        element = f"({wrong.row}, {wrong.col}) of `{x.result}`, instance {wrong.instance}"
        lines.append(("Wrong element", f"{element}: expected {wrong.expected}, actual {wrong.actual}"))
    instead = next((e for e in x.elements if e.read_instead), None)
    if instead is not None:
        where = "" if instead is wrong else f", at ({instead.row}, {instead.col})"
        lines.append(("Read instead", f"{instead.read_instead}{where}"))
    exact = next((a for a in x.as_if if a.exact), None)
    if exact is not None:
        lines.append(("As if", exact.what))
    facts = tuple((fact, text_of(fact)) for fact in x.facts[:SHOWN])
    return Summary(tuple(lines), facts, x.facts[SHOWN:])


def _instruction(x: Explanation) -> str:
    if x.instruction is None:
        return f"a {x.op}" if x.op else "could not be found out"
    iterations = "".join(f", iteration {t}" for t in x.iterations)
    wrong = f"; {x.wrong} of {x.total} elements of `{x.result}` are wrong there" if x.result else ""
    return f"`program[{x.instruction}]`, {x.op}{iterations} ({x.how}){wrong}"
