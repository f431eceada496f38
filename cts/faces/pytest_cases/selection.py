"""What `-k` finds of cases as items, and what a session says if it finds none."""

from __future__ import annotations

from typing import Any

import pytest


def named(item: pytest.Item, case: str) -> pytest.Item:
    """The item, which `-k` finds by the name that reports print for its case or area, and JUnit has as a property."""
    item.extra_keyword_matches.add(case)
    item.user_properties.append(("cts_case", case))
    return item


class Selection:
    """A plugin: if `-k` or `-m` leaves nothing of a session, the session says which names there are."""

    def __init__(self) -> None:
        self._deselected = 0
        self._selected = False

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Count what is left out."""
        self._deselected += len(items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note whether anything is left."""
        self._selected = bool(session.items)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what would be selected."""
        if self._deselected and not self._selected:
            names = "-k takes parts of names as reports print them, of a generated case only generated.AREA"
            terminalreporter.write_line(f"cts: none of {self._deselected} items is selected: {names}", yellow=True)
