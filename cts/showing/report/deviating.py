"""The deviations that explain failures of a run, from the memory that its findings keep: no driver runs again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from cts.base.errors import BadInput
from cts.features.deviations import Wrong
from cts.findings.learning.shared import Budget, Failing, deviations_of
from cts.judging.events import Result
from cts.judging.left import unpacked
from cts.judging.verdict import Verdict
from cts.plugins import registry

#: Models that are tried for the failures of a run: a few seconds of the oracle, at its end.
TRIED = 600

#: Failures of a driver that are looked at, the first ones: the others are grouped otherwise.
MOST = 64

#: A failure by its driver and its case.
Key = tuple[str, str]


def key_of(result: Result) -> Key | None:
    """The driver that shows a failure, and the hash of its case; None without a case."""
    return None if result.finding is None else (result.shown_on, result.finding.case.content_hash)


def deviations(findings: Iterable[Result], tried: int = TRIED) -> dict[Key, Wrong]:
    """What a driver does wrong in the cases that fail, for those that a deviation explains."""
    by_driver: dict[str, dict[Key, Failing]] = defaultdict(dict)
    for result in findings:
        key, failures = key_of(result), by_driver[result.shown_on]
        failing = _failing(result) if len(failures) < MOST else None
        if key is not None and failing is not None:
            failures[key] = failing
    explained: dict[Key, Wrong] = {}
    budget = Budget(tried)
    for failures in filter(None, by_driver.values()):
        found = deviations_of(list(failures.values()), budget)
        explained |= {key: wrong for key, wrong in zip(failures, found, strict=True) if wrong is not None}
    return explained


def _failing(result: Result) -> Failing | None:
    if result.finding is None or result.verdict is not Verdict.FAIL or not result.finding.left:
        return None
    try:
        memory = unpacked(registry.oracle().expect(result.finding.case), result.finding.left)
    except BadInput:  # of an earlier version, whose rules were others
        return None
    return None if memory is None else Failing(result.finding.case, memory)
