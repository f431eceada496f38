"""The driver's sentences about compiled code of a failing case."""

from __future__ import annotations

from cts.base.heartbeat import heartbeat
from cts.case.model import Case
from cts.case.oracle.expectation import Expectation
from cts.device.leading import LeadingDriver
from cts.judging.judge import OpenDriver, attempt_of, job_for
from cts.judging.verdict import Verdict


def code_leads(case: Case, driver: OpenDriver, expectation: Expectation) -> tuple[str, ...]:
    """Sentences that name lines of the compiled code; () from drivers that have none, and where nothing is sure."""
    if not isinstance(driver.driver, LeadingDriver):
        return ()

    heartbeat.doing = f"looking for the wrong line of the code of {case.name} on {driver.spec}"
    return driver.driver.leads(
        job_for(driver, case),
        lambda outcome: attempt_of(case, expectation, outcome, 0.0).verdict is Verdict.PASS,
    )
