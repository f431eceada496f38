"""Answer sheets: the oracle allows the right answers and no wrong one, and refuses what the facts forbid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cts.coverage.answers import AnswerSheet, RefusalSheet, Sheet, answer_files, load_sheets
from cts.coverage.facts import marked_testable
from cts.judging.compare import Divergence, compare
from cts.model.resolve import resolve
from cts.plugins import registry

FILES = answer_files()


def _sheets() -> Iterator[object]:
    """Each sheet as a parameter that is called FACT, the second of a fact FACT-2."""
    seen: dict[str, int] = {}
    for path in FILES:
        for sheet in load_sheets(path).sheets:
            number = seen[sheet.fact] = seen.get(sheet.fact, 0) + 1
            yield pytest.param(sheet, id=sheet.fact if number == 1 else f"{sheet.fact}-{number}")


@pytest.mark.parametrize("sheet", list(_sheets()))
def test_the_oracle_agrees_with_the_sheet(sheet: Sheet) -> None:
    if isinstance(sheet, RefusalSheet):
        _refuses(sheet)
    else:
        _judges(sheet)


def _judges(sheet: AnswerSheet) -> None:
    oracle = registry.oracle()
    assert oracle.violations(sheet.case) == [], sheet.where
    expectation = oracle.expect(sheet.case)
    for number, memory in enumerate(sheet.right):
        divergence = compare(sheet.case, expectation, memory)
        assert divergence is None, f"{sheet.where}: right answer {number} fails:\n{_shown(divergence)}"
    for number, memory in enumerate(sheet.wrong):
        assert compare(sheet.case, expectation, memory) is not None, f"{sheet.where}: wrong answer {number} passes"


def _shown(divergence: Divergence) -> str:
    """The first elements that differ, in hexadecimal."""
    return "\n".join(
        f"{group.buffer} byte {offset}: {have:#x} for {low:#x} to {high:#x}"
        for group in divergence.groups
        for offset, have, low, high in list(zip(group.offsets, group.actual, group.lo, group.hi, strict=True))[:8]
    )


def _refuses(sheet: RefusalSheet) -> None:
    oracle = registry.oracle()
    _, problems = resolve(sheet.refused)
    # Problems of bodies and blocks cite a fact in their text.
    broken = [p.rule or p.what for p in problems] or [v.rule for v in oracle.violations(sheet.refused)]
    assert broken and sheet.cites in broken[0], f"{sheet.where}: the refused case breaks {broken or 'no rule'}"
    assert oracle.violations(sheet.accepted) == [], sheet.where
    oracle.expect(sheet.accepted)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_testable_fact_of_a_group_has_a_sheet_or_a_reason(path: Path) -> None:
    file = load_sheets(path)
    answered = {sheet.fact for sheet in file.sheets}
    assert not answered & file.without.keys()
    assert answered | file.without.keys() == {f for f in marked_testable() if f.startswith(f"{path.stem}-")}
