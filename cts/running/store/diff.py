"""Differences between two runs: which failures are new, fixed, changed or the same."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from cts.judging.events import Result
from cts.judging.verdict import Verdict
from cts.running.store.run import Run


class Change(enum.Enum):
    """What became of a case or an area from one run to another."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    FIXED = "fixed"
    GONE = "gone"


@dataclass(frozen=True)
class Difference:
    """One case or area that fails in one of two runs. `before` or `after` is None where a run has it not."""

    change: Change
    before: Result | None
    after: Result | None

    @property
    def result(self) -> Result:
        """The later result that there is."""
        result = self.after or self.before
        assert result is not None, "one of the two has failed"
        return result


def diff(before: Run, after: Run) -> list[Difference]:
    """The failures of two runs, side by side: new ones first, then by driver and name.

    Cases are the same by driver and name. Where each run has one driver, it may be another: another
    device, or another version of it.
    """
    first, second = _pairing(before, after)
    for key, result in first.items():
        area = second.get((key[0], f"generated.{result.area}"))
        if result.cause and key not in second and area is not None and not area.known_examples:
            second[key] = area  # its cases ran, and none failed by any cause
    differences = [
        Difference(change, first.get(key), second.get(key))
        for key in dict.fromkeys((*second, *first))
        if (change := _change(first.get(key), second.get(key))) is not None
    ]
    order = list(Change)
    return sorted(differences, key=lambda d: (order.index(d.change), d.result.driver, d.result.name))


@dataclass(frozen=True)
class Shift:
    """A number that compilers tell, summed over the corpus cases that both runs have it of, where it has changed.

    `most` is the case in which it has changed most, with both numbers.
    """

    driver: str
    name: str
    cases: int
    before: float
    after: float
    most: str
    most_before: float
    most_after: float


def shifts(before: Run, after: Run) -> list[Shift]:
    """What compilers tell of the corpus cases that two runs share, by driver and name, where it is not the same."""
    first, second = _pairing(before, after)
    pairs: dict[tuple[str, str], list[tuple[float, float, str]]] = {}
    for key in first.keys() & second.keys():
        old, new = first[key], second[key]
        for name in old.statistics.keys() & new.statistics.keys():
            pairs.setdefault((new.driver, name), []).append((old.statistics[name], new.statistics[name], new.name))
    changes = []
    for (driver, name), numbers in sorted(pairs.items()):
        if any(a != b for a, b, _ in numbers):
            a, b, whose = max(numbers, key=lambda n: (abs(n[1] - n[0]), n[2]))
            changes.append(
                Shift(driver, name, len(numbers), sum(n[0] for n in numbers), sum(n[1] for n in numbers), whose, a, b)
            )
    return changes


def fails(result: Result | None) -> bool:
    """Whether there is a result that is neither pass nor left out."""
    return result is not None and (result.verdict.is_finding or result.verdict is Verdict.ERROR)


def _change(before: Result | None, after: Result | None) -> Change | None:
    if fails(after):
        if not fails(before):
            return Change.NEW
        return Change.SAME if _likeness(before) == _likeness(after) else Change.CHANGED
    if not fails(before):
        return None
    return Change.FIXED if after is not None and after.verdict is Verdict.PASS else Change.GONE


def _likeness(result: Result | None) -> object:
    """What two results have in common that are the same failure: verdict, case, and how much differs."""
    assert result is not None
    finding = result.finding
    if finding is None:
        return result.verdict, None
    first = tuple((m.buffer, m.guard, m.offset, m.expected, m.actual) for m in finding.listed[:1])
    return result.verdict, (finding.case.content_hash, finding.counts, first)


def _pairing(before: Run, after: Run) -> tuple[dict[tuple[str, str], Result], dict[tuple[str, str], Result]]:
    first, second = _by_key(before), _by_key(after)
    if len(drivers := _drivers(before)) == len(others := _drivers(after)) == 1 and drivers != others:
        return _without_driver(first), _without_driver(second)
    return first, second


def _by_key(run: Run) -> dict[tuple[str, str], Result]:
    return {(r.driver, r.name): r for r in run.results}


def _without_driver(results: Mapping[tuple[str, str], Result]) -> dict[tuple[str, str], Result]:
    return {("", name): result for (_, name), result in results.items()}


def _drivers(run: Run) -> set[str]:
    return {r.driver for r in run.results}
