"""Judgements of rules for readers: a table on the terminal, Markdown and JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cts.judging.verdict import Verdict
from cts.modules.validation.judging import Judgement
from cts.modules.validation.rules import Rule
from cts.modules.validation.shaders import ShaderRule
from cts.modules.validation.tools import Answer, Kind

#: Judgements of each tool, by its label, in the order of the rules.
Table = Mapping[str, Sequence[Judgement]]

_NOTHING = Answer(Kind.UNSUPPORTED)


def cell(judgement: Judgement) -> str:
    """The verdict in a table: `pass*` where the rejection is about something else."""
    return f"{judgement.verdict.value}{'*' if judgement.other else ''}"


def table_lines(table: Table) -> Iterator[str]:
    """A line for each rule, a column for each tool, and a line of counts for each tool."""
    labels = list(table)
    width = max((len(j.rule.name) for j in table[labels[0]]), default=4)
    yield "  ".join([f"{'rule':<{width}}", *labels])
    for row in zip(*table.values(), strict=True):
        cells = (f"{cell(j):<{len(label)}}" for j, label in zip(row, labels, strict=True))
        yield "  ".join([f"{row[0].rule.name:<{width}}", *cells]).rstrip()
    yield ""
    for label, judgements in table.items():
        yield f"{label}: {counts(judgements)}"


def counts(judgements: Sequence[Judgement]) -> str:
    """How often each verdict is given: "120 pass (3 for another reason), 20 fail"."""
    parts = []
    for verdict in Verdict:
        number = sum(j.verdict is verdict for j in judgements)
        if number:
            others = sum(j.other for j in judgements) if verdict is Verdict.PASS else 0
            parts.append(f"{number} {verdict.value}{f' ({others} for another reason)' if others else ''}")
    return ", ".join(parts)


def finding_lines(judgement: Judgement) -> Iterator[str]:
    """A finding in full: the sentence, the difference between the modules, what the tool said."""
    rule = judgement.rule
    yield f"{judgement.verdict.value.upper()} {rule.name}: {judgement.reason}"
    yield f"  {rule.source}, {rule.of}{''.join(f', {fact}' for fact in rule.facts)}:"
    yield f'  "{rule.text}"'
    for line in difference(rule):
        yield f"    {line}"


def difference(rule: Rule | ShaderRule) -> list[str]:
    """The lines of the twin (-) that the module which breaks the rule has not, and those that it has instead (+)."""
    twin, broken = rule.lines()
    lines = difflib.unified_diff(twin, broken, n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def markdown(table: Table) -> Iterator[str]:
    """The table in Markdown, with the source of each rule, and the findings below."""
    labels = list(table)
    yield f"| rule | source | {' | '.join(labels)} |"
    yield f"| --- | --- |{' --- |' * len(labels)}"
    for row in zip(*table.values(), strict=True):
        rule = row[0].rule
        yield f"| {rule.name} | {rule.source}, {rule.of} | {' | '.join(map(cell, row))} |"
    yield ""
    yield from (f"- {label}: {counts(judgements)}" for label, judgements in table.items())
    for label, judgements in table.items():
        for judgement in judgements:
            if judgement.verdict.is_finding:
                yield f"\n## {judgement.rule.name}, {label}\n"
                yield f'{judgement.reason}. {judgement.rule.source}, {judgement.rule.of}: "{judgement.rule.text}"\n'
                yield "```diff"
                yield from difference(judgement.rule)
                yield "```"


def document(table: Table) -> dict[str, Any]:
    """Everything as plain data for JSON."""
    first = next(iter(table.values()), ())
    return {
        "tools": list(table),
        "rules": [
            {
                "rule": j.rule.name,
                "source": j.rule.source,
                "of": j.rule.of,
                "text": j.rule.text,
                "facts": j.rule.facts,
                "base": j.rule.base,
                "difference": difference(j.rule),
                "results": {
                    label: {
                        "verdict": js[n].verdict.value,
                        "reason": js[n].reason,
                        "other": js[n].other,
                        "message": (js[n].broken or js[n].twin or _NOTHING).text,
                    }
                    for label, js in table.items()
                },
            }
            for n, j in enumerate(first)
        ],
    }


def files_of(rule: Rule | ShaderRule) -> dict[str, bytes]:
    """The modules of a rule as files, by name: words, and the lines that they are made of; of GLSL the shaders."""
    if isinstance(rule, ShaderRule):
        return {f"{rule.name}.twin.comp": rule.twin.encode(), f"{rule.name}.comp": rule.broken.encode()}
    out: dict[str, bytes] = {}
    for name, words, lines in zip((f"{rule.name}.twin", rule.name), rule.modules(), rule.lines(), strict=True):
        out[f"{name}.spv"] = words.tobytes()
        out[f"{name}.spvasm"] = ("\n".join(lines) + "\n").encode()
    return out
