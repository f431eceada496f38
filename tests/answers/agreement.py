"""Whether the oracle agrees with answer sheets."""

from __future__ import annotations

from cts.case.model.resolve import resolve
from cts.features.coverage.answers import AnswerSheet, RefusalSheet, Sheet
from cts.judging.compare import Divergence, compare
from cts.plugins import registry

#: So many elements that differ are shown of each buffer.
SHOWN = 8


def disagreements(sheet: Sheet) -> list[str]:
    """What the oracle does not agree with, a line or more each."""
    return list(_refusals(sheet) if isinstance(sheet, RefusalSheet) else _judgements(sheet))


def _judgements(sheet: AnswerSheet) -> list[str]:
    oracle = registry.oracle()
    if violations := oracle.violations(sheet.case):
        return [f"the case breaks {violations[0]}"]
    expectation = oracle.expect(sheet.case)
    right = [compare(sheet.case, expectation, memory) for memory in sheet.right]
    wrong = [compare(sheet.case, expectation, memory) for memory in sheet.wrong]
    return [
        *(f"right answer {n} fails:\n{_shown(found)}" for n, found in enumerate(right) if found is not None),
        *(f"wrong answer {n} passes" for n, found in enumerate(wrong) if found is None),
    ]


def _refusals(sheet: RefusalSheet) -> list[str]:
    oracle = registry.oracle()
    _, problems = resolve(sheet.refused)
    # Problems of bodies and blocks cite a fact in their text.
    broken = [p.rule or p.what for p in problems] or [v.rule for v in oracle.violations(sheet.refused)]
    found = []
    if not broken or sheet.cites not in broken[0]:
        found.append(f"the refused case breaks {broken or 'no rule'}, not {sheet.cites}")
    if violations := oracle.violations(sheet.accepted):
        found.append(f"the accepted case breaks {violations[0]}")
    else:
        oracle.expect(sheet.accepted)
    return found


def _shown(divergence: Divergence) -> str:
    """The first elements that differ, in hexadecimal."""
    return "\n".join(
        f"  {group.buffer} byte {offset}: {have:#x}, allowed {low:#x} to {high:#x}"
        for group in divergence.groups
        for offset, have, low, high in list(zip(group.offsets, group.actual, group.lo, group.hi, strict=True))[:SHOWN]
    )
