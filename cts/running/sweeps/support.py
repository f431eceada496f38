"""Whether a driver can run a template, which is asked before any of its parameter sets is drawn."""

from __future__ import annotations

from cts.case.model import Case
from cts.device.asked import AskedDriver
from cts.judging.judge import OpenDriver, job_for


def lacks(driver: OpenDriver, template: Case) -> str:
    """What a driver lacks for a template, which it is asked before any set is drawn; "" if it can run it."""
    if missing := driver.capabilities.missing(template):
        return "; ".join(missing)
    if isinstance(driver.driver, AskedDriver):
        return driver.driver.lacks_module(job_for(driver, template).module())
    return ""
