"""Which entries of a baseline a run has used, and which matched no failure though their cases ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cts.judging.events import CaseJudged, DriverOpened, Event, Result, Unused
from cts.judging.known.baseline import NO_BASELINE, TOLERATED, Baseline
from cts.judging.known.quarantine import Rule
from cts.running import corpus

#: A driver, and the place of an entry among those of the baseline that concern it.
_Entry = tuple[str, int]


class BaselineUsage:
    """Consumes the events of all processes of a run, and finds baseline entries that were not needed."""

    def __init__(self, baseline: Baseline = NO_BASELINE) -> None:
        self._baseline = baseline
        self._of_driver: dict[str, tuple[Rule, ...]] = {}
        #: How many cases ran that an entry matches.
        self._ran: Counter[_Entry] = Counter()
        self._failed: set[_Entry] = set()
        self._results: list[Result] = []
        self._areas: set[tuple[str, str]] = set()
        self._cases: dict[str, set[str]] = {}

    def __call__(self, event: Event) -> None:
        if not self._baseline.rules:
            return
        match event:
            case DriverOpened():
                names = (event.driver, event.identity) if event.identity else (event.driver,)
                self._of_driver[event.driver] = self._baseline.for_driver(*names, stage=event.stage).rules
            case CaseJudged():
                self._judged(event)
            case Result():
                self._result(event)
            case _:
                pass

    def _judged(self, judged: CaseJudged) -> None:
        for place in judged.entries:
            entry = judged.driver, place
            self._ran[entry] += 1
            if judged.verdict.value in self._of_driver[judged.driver][place].verdicts:
                self._failed.add(entry)

    def _result(self, result: Result) -> None:
        """Note a result, whose case may be one that was shrunk."""
        if not result.generated:
            self._cases.setdefault(result.driver, set()).add(result.name)
        elif result.examples:
            self._areas.add((result.driver, result.area))
        if result.known or result.known_examples or result.unexpected:
            self._results.append(result)

    def unused(self) -> Iterator[Unused]:
        """The entries that were not needed on a driver, in the order in which drivers were opened."""
        every = {e.name for e in corpus.entries()} if self._baseline.rules else set()
        for driver, rules in self._of_driver.items():
            whole = self._cases.get(driver, set()) >= every
            for place, rule in enumerate(rules):
                entry = driver, place
                if rule == TOLERATED or entry in self._failed or self._is_used(driver, rule):
                    continue
                if ran := self._ran[entry]:
                    why = f"{ran} cases that it matches ran, and the verdict of none was {' or '.join(rule.verdicts)}"
                elif (area := _area(rule)) is not None:
                    why = f"the generated cases of {area} ran without it"
                    if (driver, area) not in self._areas:
                        continue
                elif whole and rule.match.cases is not None:
                    why = "no case of the corpus is one that it matches and that the driver can run"
                else:
                    continue
                yield Unused(driver, describe(rule), why)

    def _is_used(self, driver: str, rule: Rule) -> bool:
        """Whether a result on the driver is known, or passes unexpectedly, by an entry."""
        for r in self._results:
            if r.driver != driver:
                continue
            if rule.text in (r.unexpected, *r.known_examples):
                return True
            finding = r.finding
            if (
                r.known
                and finding is not None
                and r.verdict.value in rule.verdicts
                and rule.match.matches_case(finding.case)
            ):
                return True
        return False


def describe(rule: Rule) -> str:
    """An entry in one line: what it matches, and its reason."""
    cases = rule.match.cases
    parts = [cases] if isinstance(cases, str) else list(cases or ())
    parts += [f"condition {rule.match.condition}"] if rule.match.condition else []
    parts += [f"in {' and '.join(rule.match.stages)}"] if rule.match.stages else []
    return f"{', '.join(parts)}: {rule.text}"


def _area(rule: Rule) -> str | None:
    """The area of an entry for a shrunk case, `generated.AREA.HASH`, or None."""
    cases = rule.match.cases
    parts = cases.split(".") if isinstance(cases, str) else []
    return parts[1] if len(parts) == 3 and parts[0] == "generated" else None
