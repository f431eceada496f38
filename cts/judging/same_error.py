"""A run whose cases all end in one and the same error: what is wrong concerns the machine, and no case."""

from __future__ import annotations

from cts.base.errors import HarnessTrouble
from cts.judging.events import CaseJudged, Event
from cts.judging.verdict import Verdict

#: So many of the first cases, of all drivers together. More than a driver gets at a time, so that one that breaks off
#: once is not taken for one that never works.
FIRST = 100

#: Verdicts of cases that did not run.
_SILENT = (Verdict.UNSUPPORTED, Verdict.NOT_RUN)


class SameError:
    """Consumes the events of a run, and says once if its first cases all ended in the same error."""

    def __init__(self) -> None:
        self._detail = ""
        self._count: int | None = 0

    def __call__(self, event: Event) -> HarnessTrouble | None:
        """The trouble with the machine, when it is sure."""
        if self._count is None or not isinstance(event, CaseJudged) or event.verdict in _SILENT:
            return None
        self._detail = self._detail or event.detail
        if event.verdict is not Verdict.ERROR or event.detail != self._detail:
            self._count = None
            return None
        self._count += 1
        if self._count < FIRST:
            return None
        self._count = None
        what = f"the first {FIRST} cases all end in the same error: {self._detail}"
        return HarnessTrouble("no-case-judged", what, event.driver, "what that error asks for; then run this again")
