"""Answer sheets: the oracle allows the right answers and no wrong one, and refuses what the facts forbid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cts.features.coverage.answers import Sheet, answer_files, load_sheets
from cts.features.coverage.facts import marked_testable
from tests.answers.agreement import disagreements

FILES = answer_files()


def _sheets() -> Iterator[object]:
    """Each sheet as a parameter that is called FACT, the second of a fact FACT-2."""
    seen: Counter[str] = Counter()
    for path in FILES:
        for sheet in load_sheets(path).sheets:
            seen[sheet.fact] += 1
            number = seen[sheet.fact]
            yield pytest.param(sheet, id=sheet.fact if number == 1 else f"{sheet.fact}-{number}")


@pytest.mark.family("sheet", _sheets, parts=8)
def test_the_oracle_agrees_with_the_sheet(sheet: Sheet) -> None:
    assert disagreements(sheet) == [], f"{sheet.where}: {sheet.why}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_testable_fact_of_a_group_has_a_sheet_or_a_reason(path: Path) -> None:
    file = load_sheets(path)
    answered = {sheet.fact for sheet in file.sheets}
    assert not answered & file.without.keys()
    assert answered | file.without.keys() == {f for f in marked_testable() if f.startswith(f"{path.stem}-")}
