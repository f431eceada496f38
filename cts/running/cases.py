"""Case files on drivers: a result for each case on each driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import BadInput
from cts.case.model import Case
from cts.case.oracle.expectation import Oracle
from cts.findings.reduction.narrowing import narrowed
from cts.judging.batch import Judged, OnJudged, judge_all
from cts.judging.effects import known
from cts.judging.events import Emit, Result, ignore, problem
from cts.judging.judge import Attempt, OpenDriver, judged_event, trouble
from cts.judging.reruns import RERUNS, rerun_findings
from cts.running.corpus import Entry, read
from cts.running.deadline import patience
from cts.running.results import of_case


def run_entry(
    entry: Entry, case: Case, drivers: Sequence[OpenDriver], oracle: Oracle, reruns: int = RERUNS
) -> list[Result]:
    """Run one case on several drivers; the oracle answers once, and only if some driver can run the case."""
    return next(run_entries([(entry, case)], drivers, oracle, reruns=reruns))


def run_entries(
    block: Sequence[tuple[Entry, Case]],
    drivers: Sequence[OpenDriver],
    oracle: Oracle,
    emit: Emit = ignore,
    reruns: int = RERUNS,
    time_is_up: Deadline = NO_DEADLINE,
    seconds: float | None = None,
    set_aside: Callable[[Entry, str], None] = ignore,
) -> Iterator[list[Result]]:
    """A list of results for each case, one by driver; drivers that can take many cases at once get all of them.

    `emit` gets an event of each case that has run, immediately after its judgement. A finding is run `reruns` times
    more. After so many `seconds` a driver may set a case aside: there is no result then, and `set_aside` is called
    with the case and the driver's spec.
    """
    areas = {id(case): entry.area for entry, case in block}

    def tell(driver: OpenDriver, case: Case, attempt: Attempt) -> None:
        emit(judged_event(driver, areas[id(case)], case, attempt))

    on_judged: OnJudged = ignore if emit is ignore else tell
    hasty = [replace(driver, patience=seconds) for driver in drivers]
    judged = judge_all([case for _, case in block], hasty, oracle.expect, on_judged, time_is_up)
    for (entry, _), judged_case in zip(block, judged, strict=True):
        again = [
            rerun_findings(driver, judged_case.case, judged_case.expectation, attempt, reruns, time_is_up)
            for driver, attempt in zip(drivers, judged_case.attempts, strict=True)
        ]
        yield [
            _result(driver, entry, attempt, judged_case, oracle, time_is_up)
            for driver, attempt in zip(drivers, again, strict=True)
            if not attempt.set_aside
        ]
        for driver, attempt in zip(drivers, again, strict=True):
            if attempt.set_aside:
                set_aside(entry, driver.spec)


def _result(
    driver: OpenDriver, entry: Entry, attempt: Attempt, judged: Judged, oracle: Oracle, time_is_up: Deadline
) -> Result:
    """The result of a case on a driver; a new finding keeps only the transforms that it needs."""
    if known(driver, judged.case, attempt) is None:
        driver, attempt = narrowed(driver, judged.case, attempt, judged.expectation, time_is_up)
    return of_case(driver, entry, attempt, judged, oracle)


def run_cases(
    entries: Sequence[tuple[Entry, Sequence[OpenDriver]]],
    oracle: Oracle,
    emit: Emit,
    reruns: int,
    size: int,
    *,
    last: bool = False,
    time_is_up: Deadline = NO_DEADLINE,
) -> tuple[list[int], list[tuple[Entry, str]]]:
    """Run each case on its drivers and `emit` the results.

    Returns the places of cases that are left for last, and the cases that were set aside for lack of patience, each
    with the spec of its driver.

    Consecutive cases for the same drivers run in blocks of `size`. With `last` nothing is left. A file that cannot be
    read or judged is emitted as a problem.
    """
    for_last: list[int] = []
    set_aside: list[tuple[Entry, str]] = []
    block: list[tuple[Entry, Case]] = []
    of_block: Sequence[OpenDriver] = ()

    def flush() -> None:
        def slow(entry: Entry, spec: str) -> None:
            set_aside.append((entry, spec))

        for results in run_entries(
            block, of_block, oracle, emit, reruns, time_is_up, patience(time_is_up, last=last), slow
        ):
            for result in results:
                emit(result)
        block.clear()

    for place, (entry, drivers) in enumerate(entries):
        try:
            case = read(entry, oracle)
        except BadInput as e:
            emit(problem(e))
            continue
        except Exception as e:  # noqa: BLE001 - the oracle's own bug: the other cases still run
            emit(problem(trouble("oracle-failed", f"the oracle cannot judge {entry.path}", e)))
            continue
        if not last and any(d.quarantine.last(case) for d in drivers):
            for_last.append(place)
            continue
        if [d.spec for d in drivers] != [d.spec for d in of_block] or len(block) == size:
            flush()
            of_block = drivers
        block.append((entry, case))
    flush()
    return for_last, set_aside
