"""Several cases on several drivers: the oracle answers once per case, and drivers that can take many at once do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import described
from cts.base.heartbeat import heartbeat
from cts.case.model import Case
from cts.case.oracle.expectation import Expectation
from cts.device.driver import BatchDriver, Job
from cts.judging import judge as judging
from cts.judging.events import ignore
from cts.judging.verdict import Verdict

#: Cases that a driver with `run_many` gets at a time: enough to keep all workers of a device busy, and few enough that
#: an interruption loses little. Round number.
BLOCK = 64

OnJudged = Callable[[judging.OpenDriver, Case, judging.Attempt], None]


@dataclass(frozen=True, eq=False)
class Judged:
    """One case on several drivers, with the attempts in the drivers' order.

    There is no expectation if no driver can run the case or the oracle failed; the attempt is then the same object for
    all drivers.
    """

    case: Case
    expectation: Expectation | None
    attempts: tuple[judging.Attempt, ...]


def block_size(drivers: Sequence[judging.OpenDriver]) -> int:
    """How many cases to judge at a time: one if no driver gains by more."""
    return BLOCK if any(isinstance(d.driver, BatchDriver) for d in drivers) else 1


def judge_all(
    cases: Sequence[Case],
    drivers: Sequence[judging.OpenDriver],
    expect: Callable[[Case], Expectation],
    on_judged: OnJudged = ignore,
    time_is_up: Deadline = NO_DEADLINE,
) -> list[Judged]:
    """Every case on every driver.

    An exception of `expect` is the verdict `error` of its case, and cases that
    are not started before `time_is_up` are not run.

    `on_judged` is called with each case that has run, immediately after its judgement. It is not called with a refused
    case, or with a case that was judged before the run was resumed.
    """
    answers: dict[int, Expectation | judging.Attempt] = {}

    def answer(index: int) -> Expectation | judging.Attempt:
        if index not in answers:
            try:
                answers[index] = expect(cases[index])
            except Exception as e:  # noqa: BLE001 - our own bug: shown as ERROR with its case
                answers[index] = judging.Attempt(Verdict.ERROR, f"the oracle raises {described(e)}")
        return answers[index]

    columns = [_on_driver(driver, cases, answer, on_judged, time_is_up) for driver in drivers]
    judged = []
    for i, case in enumerate(cases):
        answered = answers.get(i)
        expectation = answered if isinstance(answered, Expectation) else None
        judged.append(Judged(case, expectation, tuple(column[i] for column in columns)))
    return judged


def judge_many(
    driver: judging.OpenDriver,
    questions: Sequence[tuple[Case, Expectation]],
    on_judged: OnJudged = ignore,
    time_is_up: Deadline = NO_DEADLINE,
) -> list[judging.Attempt]:
    """The attempts at cases that the driver supports, several in flight if it can; NOT_RUN for cases not started.

    If a driver breaks off, the cases that have no outcome yet are run one by one. One that is an ERROR then is to
    blame; else the last one that the driver was given.
    """
    attempts: list[judging.Attempt] = []
    broken: BaseException | None = None
    taken = 0
    if len(questions) > 1 and isinstance(driver.driver, BatchDriver):
        driver.starting([case for case, _ in questions])
        start = time.perf_counter()

        def jobs() -> Iterator[Job]:
            nonlocal taken
            for case, _ in questions:
                if time_is_up():
                    return
                taken += 1
                yield judging.job_for(driver, case)

        try:
            for outcome in driver.driver.run_many(jobs()):
                if len(attempts) == taken:
                    raise ValueError(f"the driver returned more outcomes than the {taken} cases that it was given")
                heartbeat.returned()
                case, expectation = questions[len(attempts)]
                attempt = judging.attempt_of(case, expectation, outcome, time.perf_counter() - start)
                attempts.append(_judged(driver, case, attempt, on_judged))
                start = time.perf_counter()
            if len(attempts) < taken:
                raise ValueError(f"the driver returned {len(attempts)} outcomes of {taken} cases")
        except judging.OUR_ENDS:
            raise
        except BaseException as e:  # noqa: BLE001 - whatever a driver raises is its outcome
            broken = e
            taken = min(max(taken, len(attempts) + 1), len(questions))
            del attempts[taken - 1 :]
    owed = taken - len(attempts)
    for case, expectation in questions[len(attempts) :]:
        why = time_is_up()
        attempt = judging.Attempt(Verdict.NOT_RUN, why) if why else judging.judge(driver, case, expectation)
        broken = None if attempt.verdict is Verdict.ERROR else broken
        if broken is not None and (why or len(attempts) == taken - 1):
            none = f"{owed} cases were under way when this happened, and none does it alone: " if owed > 1 else ""
            attempt, broken = judging.Attempt(Verdict.ERROR, f"{none}{described(broken)}"), None
        attempts.append(attempt if attempt.verdict is Verdict.NOT_RUN else _judged(driver, case, attempt, on_judged))
    return attempts


def _judged(driver: judging.OpenDriver, case: Case, attempt: judging.Attempt, on_judged: OnJudged) -> judging.Attempt:
    if attempt.set_aside:
        return attempt
    attempt = judging.compared_with_resumed(driver, case, attempt)
    on_judged(driver, case, attempt)
    return attempt


def _on_driver(
    driver: judging.OpenDriver,
    cases: Sequence[Case],
    answer: Callable[[int], Expectation | judging.Attempt],
    on_judged: OnJudged,
    time_is_up: Deadline,
) -> list[judging.Attempt]:
    attempts: dict[int, judging.Attempt] = {}
    together: dict[int, tuple[Case, Expectation]] = {}
    alone: dict[int, tuple[Case, Expectation]] = {}
    for i, case in enumerate(cases):
        refused = judging.refusal(driver, case) or judging.known_result(driver, case)
        if refused is None and (why := time_is_up()):
            refused = judging.Attempt(Verdict.NOT_RUN, why)
        answered = answer(i) if refused is None else refused
        if isinstance(answered, judging.Attempt):
            attempts[i] = answered
        else:
            # What the quarantine does not leave out, it wants alone.
            (alone if driver.quarantine.find(case) or judging.killed_run(driver, case) else together)[i] = (
                case,
                answered,
            )
    attempts.update(zip(together, judge_many(driver, list(together.values()), on_judged, time_is_up), strict=True))
    for i, (case, expectation) in alone.items():
        if why := time_is_up():
            attempts[i] = judging.Attempt(Verdict.NOT_RUN, why)
            continue
        attempts[i] = _judged(driver, case, judging.judge(driver, case, expectation), on_judged)
    return [attempts[i] for i in range(len(cases))]
