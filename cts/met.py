"""Which entries of a baseline a run has met, and which it could have met in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set

from cts import corpus
from cts.events import Result, Unused
from cts.judge import Attempt, OpenDriver
from cts.model import Case
from cts.quarantine import Rule


class Met:
    """Counts, by driver and entry, of cases that ran and of those that failed as listed."""

    def __init__(self) -> None:
        self._ran: Counter[tuple[str, Rule]] = Counter()
        self._failed: Counter[tuple[str, Rule]] = Counter()
        self._results: list[Result] = []
        self._areas: set[tuple[str, str]] = set()

    def add(self, driver: OpenDriver, case: Case, attempt: Attempt) -> None:
        """A case that has run."""
        for rule in driver.baseline.rules:
            if rule.match.of(case):
                self._ran[driver.spec, rule] += 1
                self._failed[driver.spec, rule] += attempt.verdict.value in rule.verdicts

    def result(self, result: Result) -> None:
        """A result, whose case may be one that was shrunk or ran before the run was resumed."""
        if result.generated and result.examples:
            self._areas.add((result.driver, result.area))
        if result.known or result.known_examples or result.unexpected:
            self._results.append(result)

    def unused(self, driver: OpenDriver, names: Set[str]) -> Iterator[Unused]:
        """The entries that were not needed on a driver though their cases ran; `names` are those of the corpus."""
        if not driver.baseline.rules:
            return
        whole = names >= {e.name for e in corpus.entries()}
        for rule in driver.baseline.rules:
            if self._failed[driver.spec, rule] or self._told(driver.spec, rule):
                continue
            ran = self._ran[driver.spec, rule]
            if ran:
                why = f"{ran} cases that it matches ran, and none was {' or '.join(rule.verdicts)}"
            elif (area := _area(rule)) is not None:
                why = f"the generated cases of {area} ran without it"
                if (driver.spec, area) not in self._areas:
                    continue
            elif whole and rule.match.cases is not None:
                why = "no case of the corpus is one that it matches and that the driver can run"
            else:
                continue
            yield Unused(driver.spec, describe(rule), why)

    def _told(self, spec: str, rule: Rule) -> bool:
        for r in self._results:
            if r.driver != spec:
                continue
            if rule.text in (r.unexpected, *r.known_examples):
                return True
            if r.known and r.finding is not None and rule.match.of(r.finding.case):
                return True
        return False


def describe(rule: Rule) -> str:
    """An entry in one line: what it matches, and its reason."""
    cases = rule.match.cases
    parts = [cases] if isinstance(cases, str) else list(cases or ())
    parts += [f"condition {rule.match.condition}"] if rule.match.condition else []
    return f"{', '.join(parts)}: {rule.text}"


def _area(rule: Rule) -> str | None:
    """The area of an entry for a shrunk case, `generated.AREA.HASH`, or None."""
    cases = rule.match.cases
    parts = cases.split(".") if isinstance(cases, str) else []
    return parts[1] if len(parts) == 3 and parts[0] == "generated" else None
