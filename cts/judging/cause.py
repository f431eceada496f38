"""The cause that a finding itself suggests: a guess, without asking a driver."""

from __future__ import annotations

from collections.abc import Sequence

from cts.case.oracle.trace import StepKind, WrittenByInstruction
from cts.judging.events import Finding
from cts.judging.guesses import RightBeforeStore, WrongBeforeStore
from cts.judging.judge import Attempt

#: Steps with which the steps of an instruction begin.
_BEGINNINGS = (StepKind.INSTRUCTION, StepKind.STORES_BYTES, StepKind.STORES_NOTHING)


def suspected(attempt: Attempt, finding: Finding | None) -> str:
    """The suspected cause of a failure: its verdict, and the instruction and fact that its first wrong byte leads to.

    If the driver shows no values between loads and stores, the instruction and fact are those that the first wrong byte
    comes from. Without a finding: the verdict and the first line of the driver's message.
    """
    if finding is None or not finding.counts:
        return f"{attempt.verdict.value}: {attempt.detail.partition(chr(10))[0]}"
    named = " ".join(filter(None, named_by(finding)))
    return f"{attempt.verdict.value}: {named or _unexplained(finding)}"


def _unexplained(finding: Finding) -> str:
    parts = _parts(finding)
    stored = parts[1][0] if len(parts) > 1 else parts[0][0] if parts else ""
    return f"unexplained, of what {stored} gives" if stored else "unexplained"


def named_by(finding: Finding) -> tuple[str, str]:
    """The instruction and the fact that a finding itself suggests; empty if it suggests none.

    If the matrix is wrong before it is stored, the instruction is the one that the address leads to after the store; if
    the matrix is right, the store. The fact is the first of the instruction's facts that the case is about. If the
    driver does not show the matrix, only instructions that write memory by themselves are suggested.
    """
    parts = _parts(finding)
    if not parts:
        return (finding.writer.op if isinstance(finding.writer, WrittenByInstruction) else ""), ""
    wrong, right = (any(isinstance(g, kind) for g in finding.guesses) for kind in (WrongBeforeStore, RightBeforeStore))
    if len(parts) > 1 and not wrong and not right:
        return "", ""
    instruction, facts = parts[1 if len(parts) > 1 and wrong else 0]
    return instruction, _most_likely(facts, finding.case.covers)


def _parts(finding: Finding) -> list[tuple[str, list[str]]]:
    """The instructions that the first wrong byte comes through, the store first, and the facts of each."""
    parts: list[tuple[str, list[str]]] = []
    for step in finding.steps:
        if step.kind in _BEGINNINGS:
            parts.append((str(step.names["op"]), []))
        if parts:
            parts[-1][1].append(step.fact)
    return parts


def _most_likely(facts: Sequence[str], covers: Sequence[str]) -> str:
    return next((f for f in facts if f in covers), facts[0] if len(set(facts)) == 1 else "")
