"""Findings are run again, to find flaky ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.case.model import Case
from cts.case.oracle.expectation import Expectation
from cts.judging.judge import Attempt, OpenDriver, judge, repeatedly_killed_run
from cts.judging.verdict import Verdict

#: How often a finding is run again: once separates most flaky cases, and each further run delays a hang again.
RERUNS = 1


def rerun_findings(
    driver: OpenDriver,
    case: Case,
    expectation: Expectation | None,
    attempt: Attempt,
    reruns: int,
    time_is_up: Deadline = NO_DEADLINE,
) -> Attempt:
    """A finding after `reruns` more runs: `flaky`, and never a pass, if one of them ends differently.

    No run is started after `time_is_up`.
    """
    if not attempt.verdict.is_finding or attempt.verdict is Verdict.FLAKY or expectation is None or not reruns:
        return attempt
    if repeatedly_killed_run(driver, case):
        return attempt
    others = [judge(driver, case, expectation).verdict for _ in range(reruns) if not time_is_up()]
    # That it could not be run says nothing of the case.
    others = [verdict for verdict in others if verdict is not Verdict.ERROR or attempt.verdict is Verdict.ERROR]
    runs = Counter([attempt.verdict, *others])
    if len(runs) == 1:
        return replace(attempt, runs=runs)
    other = next(v for v in others if v is not attempt.verdict)
    detail = f"{attempt.verdict.value} at first, {other.value} when it was run again"
    if reruns > 1:
        detail += f" ({', '.join(f'{n} {v.value}' for v, n in runs.items())})"
    return replace(attempt, verdict=Verdict.FLAKY, detail=f"{detail}; {attempt.detail}".rstrip("; "), runs=runs)
