"""An optional protocol of drivers that look into the code of their compiler; see `cts.device.driver`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from cts.device.driver import Driver, Job, Outcome


@runtime_checkable
class LeadingDriver(Driver, Protocol):
    """Optional: a driver that finds what is wrong in the code that its compiler makes of a case."""

    def leads(self, job: Job, is_right: Callable[[Outcome], bool]) -> tuple[str, ...]:
        """Sentences that name lines of the code; () where nothing is sure. `is_right` judges an outcome of the job.

        It may run the case often, for some seconds. As `run`, it must not raise.
        """
        ...
