"""Drivers are opened."""

from __future__ import annotations

from cts.driver import NamedDriver
from cts.errors import BadInput, HarnessTrouble
from cts.judging.judge import DRIVER_FAILURES, OpenDriver, trouble
from cts.known.baseline import NO_BASELINE, Baseline
from cts.known.quarantine import NO_RULES, Quarantine
from cts.plugins import registry


def open_driver(spec: str, quarantine: Quarantine = NO_RULES, baseline: Baseline = NO_BASELINE) -> OpenDriver:
    """A driver ready for use. Raises BadInput for a spec that is wrong, HarnessTrouble where the driver fails."""
    try:
        driver = registry.driver(spec)
        names = (spec, driver.identity()) if isinstance(driver, NamedDriver) else (spec,)
        capabilities = driver.capabilities()
        return OpenDriver(
            spec,
            driver,
            capabilities,
            quarantine.for_driver(*names, stage=capabilities.stage),
            baseline=baseline.for_driver(*names, stage=capabilities.stage),
            listed=baseline,
        )
    except (BadInput, HarnessTrouble):
        raise
    except DRIVER_FAILURES as e:
        raise trouble("driver-failed", f"driver {spec!r} does not start", e) from e
