"""One case on one driver: from a job to a verdict. Everything that a driver may do leads to a verdict."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cts.base.errors import CtsError, HarnessTrouble, OutputClosed, calls_of, described
from cts.base.heartbeat import heartbeat
from cts.base.printable import said
from cts.case.model import Case, initial_memory
from cts.case.oracle.expectation import Expectation
from cts.case.stages import Stage
from cts.device.capabilities import Capabilities
from cts.device.driver import Driver, Job, Outcome, SeparateDriver, Status
from cts.judging.compare import Divergence, compare
from cts.judging.events import CaseJudged, CasesStarted, Emit, ignore
from cts.judging.known.baseline import NO_BASELINE, Baseline
from cts.judging.known.quarantine import NO_RULES, Quarantine
from cts.judging.verdict import Verdict
from cts.plugins.wire import outcome_of
from cts.spirv.lowering import OfCase

_log = logging.getLogger("cts")

#: What ends a command wherever it happens. All else that a driver raises, an exit included, is an outcome of its case.
OUR_ENDS = (KeyboardInterrupt, OutputClosed)
_ENDINGS = {
    Status.CRASH: Verdict.CRASH,
    Status.TIMEOUT: Verdict.TIMEOUT,
    Status.DEVICE_LOST: Verdict.DEVICE_LOST,
    Status.UNSUPPORTED: Verdict.UNSUPPORTED,
    Status.ERROR: Verdict.ERROR,
    Status.SET_ASIDE: Verdict.NOT_RUN,
}


@dataclass(frozen=True)
class ResumeState:
    """The known results of a driver in an interrupted run, by the content hash of cases.

    `passed` holds the driver's remarks on cases that passed, `failed` the verdicts of the others, and `died` how often
    the run ended while the driver had a case, if the driver may have caused it.
    """

    passed: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, Verdict] = field(default_factory=dict)
    died: Mapping[str, int] = field(default_factory=dict)


NO_RESUME_STATE = ResumeState()

#: A case with which the run has died so often is not run again: once may be anything that ends a process.
MAX_RUN_DEATHS = 2


@dataclass(frozen=True, eq=False)
class OpenDriver:
    """A driver in use.

    `spec` is the string it was chosen by, `quarantine` and `baseline` have the rules that concern it, and `resumed` the
    results that need not run again. `emit` gets an event before cases are given to the driver.

    `narrowed` is the spec of a driver with fewer transforms, if that one shows a finding; `listed` are the baseline's
    rules for all drivers: other rules may concern the narrowed driver. `identity` is the device and version that the
    driver reports, "" if it reports nothing. It may set a case aside after `patience` seconds.
    """

    spec: str
    driver: Driver
    capabilities: Capabilities
    quarantine: Quarantine = NO_RULES
    resumed: ResumeState = NO_RESUME_STATE
    baseline: Baseline = NO_BASELINE
    emit: Emit = ignore
    narrowed: str = ""
    listed: Baseline = NO_BASELINE
    identity: str = ""
    patience: float | None = None

    @property
    def own_process(self) -> bool:
        """Whether the driver is in a process of its own, whose end is seen: the run's end says nothing about it."""
        return isinstance(self.driver, SeparateDriver) and self.driver.own_process

    @property
    def restarts(self) -> int:
        """How often the driver's own process was started again."""
        return self.driver.restarts if isinstance(self.driver, SeparateDriver) else 0

    def close(self) -> None:
        """Close the driver. That it cannot be closed is a notice, and ends nothing."""
        try:
            self.driver.close()
        except OUR_ENDS:
            raise
        except BaseException as e:  # noqa: BLE001 - whatever a driver raises
            _log.warning("%s", does_not_close(self, e))

    def starting(self, cases: Sequence[Case]) -> None:
        """Announce cases that the driver is about to get."""
        heartbeat.started(self.spec, [c.name or c.content_hash for c in cases])
        if self.emit is not ignore:  # a content hash takes longer than some drivers
            self.emit(CasesStarted(self.spec, tuple(c.content_hash for c in cases)))


@dataclass(frozen=True, eq=False)
class Attempt:
    """The result of a run of a case; `seconds` is the driver's time. The detail of PASS is the driver's remark.

    `runs` counts verdicts if the case was run again because it did not pass. `missing` are the capabilities that the
    driver lacks for an unsupported case.
    """

    verdict: Verdict
    detail: str = ""
    outcome: Outcome | None = None
    divergence: Divergence | None = None
    seconds: float = 0.0
    runs: Mapping[Verdict, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.detail:
            object.__setattr__(self, "detail", said(self.detail))

    @property
    def kind(self) -> tuple[Verdict, str]:
        """The verdict and the fault code, which must stay the same while the case or its transforms are reduced."""
        fault = None if self.outcome is None else self.outcome.fault
        return self.verdict, "" if fault is None else fault.code

    @property
    def set_aside(self) -> bool:
        """Whether the driver gave up the case for now."""
        return self.outcome is not None and self.outcome.status is Status.SET_ASIDE

    @property
    def lacks(self) -> tuple[str, ...]:
        """Why a case is unsupported, empty for other cases; in the driver's own words if it refused the case itself."""
        if self.verdict is not Verdict.UNSUPPORTED:
            return ()
        return self.missing or (self.detail,)


def unsupported(driver: OpenDriver, case: Case) -> Attempt | None:
    """The verdict `unsupported` with missing capabilities; None if the driver declares everything the case needs."""
    missing = driver.capabilities.missing(case)
    return Attempt(Verdict.UNSUPPORTED, "; ".join(missing), missing=tuple(missing)) if missing else None


def refusal(driver: OpenDriver, case: Case) -> Attempt | None:
    """The verdict of a case that is not given to the driver: `unsupported`, or `not-run` by its quarantine; or None."""
    refused = unsupported(driver, case)
    rule = driver.quarantine.find(case) if refused is None else None
    if rule is not None and rule.when == "never":
        return Attempt(Verdict.NOT_RUN, f"quarantine: {rule.reason}")
    return refused


def known_result(driver: OpenDriver, case: Case) -> Attempt | None:
    """The verdict of a case that passed before the run was resumed, or that repeatedly killed it; or None."""
    remark = driver.resumed.passed.get(case.content_hash) if driver.resumed.passed else None
    if remark is not None:
        return Attempt(Verdict.PASS, remark)
    if repeatedly_killed_run(driver, case):
        return Attempt(Verdict.CRASH, ended_with(driver, driver.resumed.died[case.content_hash]))
    return None


def ended_with(driver: OpenDriver, times: int) -> str:
    """The detail of a case with which the run has ended so many `times` while the driver had it."""
    ended = "the machine was started anew" if driver.own_process else "the run ended"
    return f"{ended} {'twice' if times == 2 else f'{times} times'} while this case ran"


def killed_run(driver: OpenDriver, case: Case) -> bool:
    """Whether the run has died while the driver had this case, so that it now runs alone."""
    return bool(driver.resumed.died) and case.content_hash in driver.resumed.died


def repeatedly_killed_run(driver: OpenDriver, case: Case) -> bool:
    """Whether the run has died with this case so often that it is not run again."""
    return killed_run(driver, case) and driver.resumed.died[case.content_hash] >= MAX_RUN_DEATHS


def excluded_from_shrinking(driver: OpenDriver, case: Case) -> bool:
    """Whether shrinking avoids a case: a quarantine leaves it for last, or the run dies with it."""
    return driver.quarantine.last(case) or repeatedly_killed_run(driver, case)


def compared_with_resumed(driver: OpenDriver, case: Case, attempt: Attempt) -> Attempt:
    """The attempt, or `flaky` if the case did not pass before the run was interrupted and passes now."""
    before = driver.resumed.failed.get(case.content_hash) if driver.resumed.failed else None
    if before is None or attempt.verdict is not Verdict.PASS:
        return attempt
    return replace(attempt, verdict=Verdict.FLAKY, detail=f"{before.value} at first, pass when the run was resumed")


def judge(driver: OpenDriver, case: Case, expectation: Expectation) -> Attempt:
    """Run a case that the driver supports and compare all its memory with what is allowed."""
    driver.starting((case,))
    start = time.perf_counter()
    try:
        outcome = driver.driver.run(job_for(driver, case))
    except OUR_ENDS:
        raise
    except BaseException as e:  # noqa: BLE001 - whatever a driver raises is its outcome
        return Attempt(Verdict.ERROR, described(e), seconds=time.perf_counter() - start)
    finally:
        heartbeat.returned()
    return attempt_of(case, expectation, outcome, time.perf_counter() - start)


def attempt_of(case: Case, expectation: Expectation, outcome: Outcome, seconds: float) -> Attempt:
    """The attempt with a driver's outcome; ERROR if the outcome cannot be compared."""
    try:
        outcome = outcome_of(outcome)
        return _verdict(case, expectation, outcome, sum(outcome.seconds.values()) if outcome.seconds else seconds)
    except Exception as e:  # noqa: BLE001 - a driver may return anything
        return Attempt(Verdict.ERROR, described(e), seconds=seconds)


def judged_event(driver: OpenDriver, area: str, case: Case, attempt: Attempt, *, keep: bool = False) -> CaseJudged:
    """The event of a judged case; includes the case if it did not pass and is to be kept."""
    kept = case if keep and attempt.verdict is not Verdict.PASS else None
    entries = driver.baseline.matching(case)
    return CaseJudged(driver.spec, area, case.content_hash, attempt.verdict, attempt.detail, kept, entries)


def job_for(driver: OpenDriver, case: Case) -> Job:
    """The job of a case for a driver."""
    listed = driver.capabilities
    one = job(case, listed.subgroup_size, listed.stage, maintenance1=listed.maintenance1)
    return one if driver.patience is None else replace(one, patience=driver.patience)


def job(case: Case, subgroup_size: int, stage: Stage = Stage.COMPUTE, *, maintenance1: bool = False) -> Job:
    """The job of a case, with memory of its own."""
    memory = initial_memory(case)
    return Job(case, memory, OfCase(case, memory, subgroup_size, stage, maintenance1))


def does_not_close(driver: OpenDriver, error: BaseException) -> HarnessTrouble:
    """The event for a driver that cannot be closed."""
    return trouble("driver-close", f"driver {driver.spec!r} does not close", error)


def trouble(code: str, what: str, error: BaseException) -> HarnessTrouble:
    """A driver's or our own exception as an error of one screen: its message, and the innermost place."""
    if isinstance(error, CtsError):
        return HarnessTrouble(code, f"{what}: {error.what}", error.where, error.remedy)
    where = next(iter(calls_of(error)), "")
    return HarnessTrouble(code, f"{what}: {type(error).__name__}: {error}", where, "what the message asks for")


def _verdict(case: Case, expectation: Expectation, outcome: Outcome, seconds: float) -> Attempt:
    if outcome.only_made:
        return Attempt(Verdict.PASS, outcome.remarks, outcome, None, seconds)
    if outcome.status is Status.DONE:
        divergence = compare(case, expectation, outcome.memory)
        verdict = Verdict.FAIL if divergence else Verdict.PASS
        return Attempt(verdict, outcome.remarks, outcome, divergence, seconds)
    if outcome.status is Status.UNSUPPORTED and not outcome.detail:
        return Attempt(
            Verdict.ERROR, "the driver says `unsupported` without naming what it lacks", outcome, None, seconds
        )
    return Attempt(_ENDINGS[outcome.status], outcome.remarks or "the driver gave no detail", outcome, None, seconds)
