"""Which entries of a baseline a run has met, and which it could have met in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

from cts import corpus
from cts.baseline import Baseline
from cts.events import Result, Unused
from cts.judge import Attempt, OpenDriver
from cts.model import Case
from cts.quarantine import Rule

#: A driver, the place of an entry, cases that it matches and that ran, and those of them that failed as listed.
Count = tuple[str, int, int, int]


class Met:
    """Counts, by driver and entry, of cases that ran and of those that failed as listed.

    Where cases run in several processes, each has its own, and what they have `taken` is `given` to one of them.
    """

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

    def taken(self, rules: Sequence[Rule]) -> list[Count]:
        """The counts so far, as plain data with entries by their place in `rules`; they are 0 afterwards."""
        counts = [(spec, rules.index(rule), n, self._failed[spec, rule]) for (spec, rule), n in self._ran.items()]
        self._ran.clear()
        self._failed.clear()
        return counts

    def given(self, counts: Iterable[Count], rules: Sequence[Rule]) -> None:
        """Add counts that were taken elsewhere."""
        for spec, place, ran, failed in counts:
            self._ran[spec, rules[place]] += ran
            self._failed[spec, rules[place]] += failed

    def result(self, result: Result) -> None:
        """A result, whose case may be one that was shrunk or ran before the run was resumed."""
        if result.generated and result.examples:
            self._areas.add((result.driver, result.area))
        if result.known or result.known_examples or result.unexpected:
            self._results.append(result)

    def unused(self, spec: str, baseline: Baseline, names: Set[str]) -> Iterator[Unused]:
        """The entries that were not needed on a driver though their cases ran.

        `baseline` has those that concern the driver, `names` are those of the corpus that were to run.
        """
        if not baseline.rules:
            return
        whole = names >= {e.name for e in corpus.entries()}
        for rule in baseline.rules:
            if self._failed[spec, rule] or self._told(spec, rule):
                continue
            ran = self._ran[spec, rule]
            if ran:
                why = f"{ran} cases that it matches ran, and none was {' or '.join(rule.verdicts)}"
            elif (area := _area(rule)) is not None:
                why = f"the generated cases of {area} ran without it"
                if (spec, area) not in self._areas:
                    continue
            elif whole and rule.match.cases is not None:
                why = "no case of the corpus is one that it matches and that the driver can run"
            else:
                continue
            yield Unused(spec, describe(rule), why)

    def _told(self, spec: str, rule: Rule) -> bool:
        for r in self._results:
            if r.driver != spec:
                continue
            if rule.text in (r.unexpected, *r.known_examples):
                return True
            found = r.finding
            if r.known and found is not None and r.verdict.value in rule.verdicts and rule.match.of(found.case):
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
