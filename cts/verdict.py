"""Verdicts: a closed enum."""

from __future__ import annotations

import enum


class Verdict(enum.Enum):
    """The outcome of one case on one driver."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    CRASH = "crash"
    TIMEOUT = "timeout"
    DEVICE_LOST = "device-lost"
    UNSUPPORTED = "unsupported"
    FLAKY = "flaky"
    ERROR = "error"
    NOT_RUN = "not-run"

    @property
    def is_finding(self) -> bool:
        """True if the driver is at fault, or may be."""
        return self in (Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST, Verdict.FLAKY)
