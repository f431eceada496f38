"""Failures of a run by suspected cause: the instruction they begin with, the fact it breaks, and the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cts.judging.events import Result
from cts.judging.guesses import WrongBeforeStore
from cts.oracle.trace import StepKind, WrittenByInstruction
from cts.store.diff import Change, diff
from cts.store.run import Run
from cts.verdict import Verdict

if TYPE_CHECKING:
    from cts.explain import Explanation

#: How the cause is known that no driver has shown.
GUESSED = "guessed from the address of the first wrong element"

#: Steps with which the steps of an instruction begin.
_BEGINNINGS = (StepKind.INSTRUCTION, StepKind.STORES_BYTES, StepKind.STORES_NOTHING)


@dataclass(frozen=True)
class Cause:
    """What failures may have in common. `instruction` and `fact` are empty where nothing speaks for one."""

    driver: str
    verdict: Verdict
    instruction: str
    fact: str


@dataclass(frozen=True)
class Failure:
    """A failure that is `new`, `known` (by a baseline or an earlier run) or `changed`, and how its cause is known."""

    result: Result
    status: str
    how: str


@dataclass(frozen=True)
class Group:
    """Failures of one suspected cause."""

    cause: Cause
    failures: tuple[Failure, ...]

    @property
    def new(self) -> int:
        """How many of them nobody knows of."""
        return sum(f.status != "known" for f in self.failures)


@dataclass(frozen=True)
class Triage:
    """The groups, those with the most new failures first; what an earlier run had that now passes or did not run."""

    groups: tuple[Group, ...]
    fixed: tuple[Result, ...]
    gone: tuple[Result, ...]


def triage(run: Run, against: Run | None, explanations: Mapping[tuple[str, str], Explanation]) -> Triage:
    """Group the failures of a run, errors included; `against` is an earlier one."""
    changes = diff(against, run) if against is not None else []
    before = {id(d.after): d.change for d in changes if d.after is not None}
    groups: dict[Cause, list[Failure]] = {}
    for result in run.findings():
        explanation = explanations.get((result.driver, result.finding.case.content_hash)) if result.finding else None
        cause, how = _cause(result, explanation)
        groups.setdefault(cause, []).append(Failure(result, _status(result, before.get(id(result))), how))
    ranked = [Group(cause, tuple(failures)) for cause, failures in groups.items()]
    ranked.sort(key=lambda g: (-g.new, -len(g.failures)))
    fixed = tuple(d.result for d in changes if d.change is Change.FIXED)
    gone = tuple(d.result for d in changes if d.change is Change.GONE)
    return Triage(tuple(ranked), fixed, gone)


def _status(result: Result, change: Change | None) -> str:
    if result.known or change is Change.SAME:
        return "known"
    return "changed" if change is Change.CHANGED else "new"


def _cause(result: Result, explanation: Explanation | None) -> tuple[Cause, str]:
    if explanation is not None and (explanation.op or explanation.facts):
        fact = explanation.facts[0] if explanation.facts else ""
        return Cause(result.driver, result.verdict, explanation.op, fact), explanation.how
    instruction, fact = _guess(result)
    return Cause(result.driver, result.verdict, instruction, fact), GUESSED if instruction else ""


def _guess(result: Result) -> tuple[str, str]:
    """The instruction and the fact that the finding itself speaks for.

    Where the matrix is wrong before it is stored, that is the instruction which the address leads to after
    the store; of its facts, the first one that the case says it is about.
    """
    finding = result.finding
    if finding is None:
        return "", ""
    parts: list[tuple[str, list[str]]] = []
    for step in finding.steps:
        if step.kind in _BEGINNINGS:
            parts.append((str(step.names["op"]), []))
        if parts:
            parts[-1][1].append(step.fact)
    if not parts:
        return (finding.writer.op if isinstance(finding.writer, WrittenByInstruction) else ""), ""
    before_the_store = len(parts) > 1 and any(isinstance(g, WrongBeforeStore) for g in finding.guesses)
    instruction, facts = parts[1 if before_the_store else 0]
    return instruction, _most_likely(facts, finding.case.covers)


def _most_likely(facts: Sequence[str], covers: Sequence[str]) -> str:
    return next((f for f in facts if f in covers), facts[0] if len(set(facts)) == 1 else "")
