"""Opening drivers, and their descriptions as events."""

from __future__ import annotations

from typing import Any

import msgspec

from cts.base.errors import BadInput, HarnessTrouble
from cts.base.printable import said
from cts.device.driver import NamedDriver
from cts.judging.events import DriverOpened, NotValidated
from cts.judging.judge import OUR_ENDS, OpenDriver, trouble
from cts.judging.known.baseline import NO_BASELINE, Baseline
from cts.judging.known.quarantine import NO_RULES, Quarantine
from cts.plugins import registry
from cts.running.boot import boot
from cts.spirv import tools
from cts.spirv.subprocess_tools import NOT_VALIDATED, REMEDY


def open_driver(spec: str, quarantine: Quarantine = NO_RULES, baseline: Baseline = NO_BASELINE) -> OpenDriver:
    """A driver ready for use. Raises BadInput if the spec is wrong, HarnessTrouble if the driver fails."""
    try:
        driver = registry.driver(spec)
        identity = said(driver.identity()) if isinstance(driver, NamedDriver) else ""
        names = (spec, identity) if identity else (spec,)
        capabilities = driver.capabilities()
        return OpenDriver(
            spec,
            driver,
            capabilities,
            quarantine.for_driver(*names, stage=capabilities.stage),
            baseline=baseline.for_driver(*names, stage=capabilities.stage),
            listed=baseline,
            identity=identity,
        )
    except (BadInput, HarnessTrouble):
        raise
    except OUR_ENDS:
        raise
    except BaseException as e:
        raise trouble("driver-failed", f"driver {spec!r} does not start", e) from e


def not_validated() -> NotValidated | None:
    """The event of a run in which nothing can validate the modules that its drivers get; else None."""
    return None if tools.can_validate() else NotValidated(NOT_VALIDATED, REMEDY)


def described(driver: OpenDriver) -> DriverOpened:
    """A driver's description of itself, as data that can be written."""
    capabilities = msgspec.json.decode(msgspec.json.encode(driver.capabilities))
    return DriverOpened(driver.spec, driver.identity, _ordered(capabilities), driver.own_process, boot())


def _ordered(value: Any) -> Any:
    """Data with every list in one order, which sets have of their own in each process."""
    if isinstance(value, dict):
        return {name: _ordered(item) for name, item in value.items()}
    return sorted(map(_ordered, value), key=repr) if isinstance(value, list) else value
