"""Findings as bundles: a folder for each, which can be used without this suite."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import BadInput, HarnessTrouble
from cts.base.heartbeat import heartbeat
from cts.case.oracle.expectation import Oracle
from cts.findings.explain.model import Explanation
from cts.findings.reduction.minimize import Minimized, minimize, renamed
from cts.findings.reduction.progress import Budget
from cts.judging.events import CauseReduced, DriverOpened, Event, Finding, Result, RunFinished
from cts.judging.finding import finding
from cts.judging.judge import OpenDriver
from cts.judging.known.quarantine import NO_RULES, Quarantine
from cts.judging.reduction_record import Stopped
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.archive import write_folder
from cts.running.opening import open_driver
from cts.running.store.files import file_name
from cts.showing.export.bundle import bundle
from cts.showing.export.subject import Subject, compiled, explanation, seen_on

#: How long the case of a finding is minimised, in seconds.
SECONDS = 20.0


class Bundles:
    """Consumes events. A finding is minimised, for `seconds`, and explained on a driver of its own, if time is left.

    Generated cases are minimised when they are found, but not those that a quarantine runs last. In a run that goes on,
    a thread writes each as soon as its case is reduced as far as can be: the run's own thread gives processes tasks.

    `written` are the folders, `troubles` what kept others from being written. Raises HarnessTrouble where the folder
    cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        quarantine: Quarantine = NO_RULES,
        seconds: float = SECONDS,
        time_is_up: Deadline = NO_DEADLINE,
    ) -> None:
        self._time_is_up = time_is_up
        self.folder = folder
        self.quarantine = quarantine
        self.seconds = seconds
        self.written: list[Path] = []
        self.troubles: list[HarnessTrouble] = []
        self._described: dict[str, DriverOpened] = {}
        self._open: dict[str, OpenDriver] = {}
        self._thread = ThreadPoolExecutor(1, "bundles")
        #: The names of bundles that the thread has, and what it has not finished.
        self._begun: set[str] = set()
        self._writing: list[Future[None]] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, DriverOpened):
            self._described[event.driver] = event
        result = event.result if isinstance(event, CauseReduced) else event
        if isinstance(result, Result) and result.verdict.is_finding and result.finding is not None:
            name = f"{file_name(result.finding.case.name)}.{file_name(result.driver)}"
            if isinstance(event, CauseReduced) and result.finding.reduced and name not in self._begun:
                self._begun.add(name)
                self._writing.append(self._thread.submit(self._write, result, name))
            elif isinstance(event, Result):
                self._finish()
                if name not in self._begun:
                    self._write(result, name)
        if isinstance(event, RunFinished):
            self._finish()

    def _finish(self) -> None:
        """Wait for the bundles that the thread writes: drivers are for one thread at a time."""
        while self._writing:
            self._writing.pop(0).result()

    def _write(self, result: Result, name: str) -> None:
        try:
            files = bundle(self._subject(result))
        except HarnessTrouble as e:
            self.troubles.append(e)
            return
        write_folder(files, self.folder / name)
        self.written.append(self.folder / name)

    def close(self) -> None:
        """Begin no more bundles, and close the drivers that explained."""
        self._thread.shutdown(cancel_futures=True)
        while self._open:
            self._open.popitem()[1].close()

    def _subject(self, result: Result) -> Subject:
        assert result.finding is not None
        described, oracle, spec = self._described[result.driver], registry.oracle(), result.shown_on
        if spec not in self._open:
            self._open[spec] = open_driver(spec, self.quarantine)
        driver = self._open[spec]
        reported, detail, original = result.finding, result.detail, None
        smaller = self._smaller(result, driver, oracle)
        if smaller is not None:
            original, detail = reported.case, smaller.attempt.detail
            reported = _finding(smaller, oracle)
        seen_here = seen_on(driver, spec, result.verdict, detail, reported)
        explained: Explanation | str = "no time was left for an explanation: `cts explain` finds one"
        if not self._time_is_up():
            before = original or reported.found
            explained = explanation(reported.case, driver, oracle, result.verdict, before, reduced=reported.reduced)
        size = described.capabilities["subgroup_size"]
        texts = compiled(driver, reported.case, size)
        return Subject(reported.case, oracle.expect(reported.case), size, seen_here, explained, original, texts)

    def _smaller(self, result: Result, driver: OpenDriver, oracle: Oracle) -> Minimized | None:
        """A smaller case that ends as the finding does. Raises KeyboardInterrupt."""
        assert result.finding is not None
        case = result.finding.case
        if (
            not self.seconds
            or self._time_is_up()
            or result.generated
            or result.verdict is Verdict.FLAKY
            or driver.quarantine.last(case)
        ):
            return None
        try:
            heartbeat.doing = f"making {case.name} smaller on {driver.spec}, for its bundle"
            budget = Budget(seconds=min(self.seconds, self._time_is_up.left))
            smaller = minimize(case, driver, oracle, budget)
        except BadInput:
            # It does not end the same way again, and is shown as it was found.
            return None
        if smaller.reduction.stopped is Stopped.INTERRUPTED:
            raise KeyboardInterrupt
        return smaller if smaller.verdict is result.verdict and smaller.reduction.steps else None


def _finding(minimized: Minimized, oracle: Oracle) -> Finding:
    case = renamed(minimized)
    return finding(case, minimized.attempt, oracle.expect(case), oracle)
