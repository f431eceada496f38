"""What the conditions of a baseline and a quarantine do to a run: how precise they are, and what they hide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cts.judging.known.baseline import PRECISE
from cts.running.store.run import Run

#: The fewest cases whose share of failures is judged: with 30 the 95 % interval of 90 % is about 20 points wide.
ENOUGH = 30


@dataclass
class Entry:
    """An entry on a driver: cases that ran, those of them that failed as it lists, and those that it left out.

    One that is `computed` says what its bug leaves in memory, so that it excuses no other failure.
    """

    driver: str
    text: str
    ran: int = 0
    failed: int = 0
    left_out: int = 0
    computed: bool = False

    @property
    def verdict(self) -> str:
        """What is to be said of it: "too wide", "dead", "few" where that cannot be said yet, "" where it is precise."""
        if not self.ran:
            return "" if self.left_out else "dead"
        if self.computed:
            return "computed"
        if self.ran < ENOUGH:
            return "few"
        return "" if self.failed >= PRECISE * self.ran else "too wide"


@dataclass
class Area:
    """Generated cases of an area on a driver: those that ran, that match an entry, and that were left out by one."""

    driver: str
    area: str
    ran: int = 0
    matching: int = 0
    left_out: int = 0
    failed: int = 0

    @property
    def blind(self) -> float:
        """The share of the cases that ran whose failure would count as known."""
        return self.matching / self.ran if self.ran else 0.0

    @property
    def out(self) -> float:
        """The share of all cases that did not run."""
        return self.left_out / (self.ran + self.left_out) if self.left_out else 0.0


@dataclass
class Audit:
    """Entries with a condition, and areas, each on each driver."""

    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    areas: dict[tuple[str, str], Area] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """All of it as text, for each driver."""
        for driver in dict.fromkeys(driver for driver, _ in (*self.areas, *self.entries)):
            areas = [area for area in self.areas.values() if area.driver == driver]
            whole = Area(driver, "", *(sum(getattr(a, n) for a in areas) for n in ("ran", "matching", "left_out")))
            yield f"{driver}: {whole.ran:,} generated cases ran"
            if areas:
                yield f"blind: {whole.blind:.1%} of them match an entry; {whole.out:.1%} were left out"
                left_by_deviations = sum(e.failed for e in self.entries.values() if e.driver == driver and e.computed)
                failures = sum(a.failed for a in areas)
                if failures:
                    share = f"{min(left_by_deviations, failures):,} of {failures:,}"
                    yield f"computed: {share} failures are what a deviation leaves"
            for area in sorted(areas, key=lambda one: -one.blind):
                if area.matching or area.left_out:
                    yield f"  {area.area:<20} {area.blind:6.1%} blind, {area.out:6.1%} left out"
            yield f"  {'ran':>6} {'failed':>13} {'left out':>9}  entry"
            entries = [entry for entry in self.entries.values() if entry.driver == driver]
            for entry in sorted(entries, key=lambda one: (-one.ran, -one.left_out)):
                failed = f"{entry.failed:,} ({entry.failed / entry.ran:.0%})" if entry.ran else ""
                verdict = f"{entry.verdict}: " if entry.verdict else ""
                yield f"  {entry.ran:>6,} {failed:>13} {entry.left_out:>9,}  {verdict}{entry.text}"

    @property
    def wide(self) -> list[Entry]:
        """Entries that are too wide."""
        return [entry for entry in self.entries.values() if entry.verdict == "too wide"]


def audited(run: Run) -> Audit:
    """What the entries with a condition that concern the run's drivers have done to its generated cases.

    Where it has none, as with `--known N`, to those that it was given: they say nothing of areas.
    """
    from cts.judging.known.baseline import Baseline
    from cts.running.usage import describe

    audit = Audit()
    never = [rule for rule in run.manifest.quarantine if rule.when == "never"] if run.examples else []
    rules = Baseline((*run.manifest.baseline, *never))
    for opened in run.manifest.drivers:
        names = (opened.driver, opened.identity) if opened.identity else (opened.driver,)
        entries_of_driver = Baseline(run.manifest.baseline).for_driver(*names, stage=opened.stage).rules
        for rule in rules.for_driver(*names, stage=opened.stage).rules:
            if rule.match.condition is not None:
                text = describe(rule)
                audit.entries[opened.driver, text] = Entry(opened.driver, text, computed=bool(rule.leaves))
        for case_judged in () if run.examples else run.judged:
            for rule in (
                entries_of_driver[place] for place in case_judged.entries if case_judged.driver == opened.driver
            ):
                if rule.match.condition is not None:
                    entry = audit.entries[opened.driver, describe(rule)]
                    entry.ran += 1
                    entry.failed += case_judged.verdict.value in rule.verdicts and not rule.leaves
    for judged in run.examples:
        area = audit.areas.setdefault((judged.driver, judged.area), Area(judged.driver, judged.area))
        area.ran += sum(judged.verdicts.values())
        area.matching += judged.matching
        area.failed += judged.verdicts.get("fail", 0)
        left_out = [n for _, _, n in judged.entries.values()]
        area.left_out += min(sum(left_out), sum(judged.not_run.values()))
        for text, (ran, failed, out) in judged.entries.items():
            entry = audit.entries.setdefault((judged.driver, text), Entry(judged.driver, text))
            entry.ran, entry.failed, entry.left_out = entry.ran + ran, entry.failed + failed, entry.left_out + out
    return audit
