"""Verdicts, a closed enum, and the exit status that follows from them."""

from __future__ import annotations

import enum
from collections.abc import Iterable

#: Exit statuses of commands.
CLEAN, FINDINGS, BAD_INPUT, TROUBLE = 0, 1, 2, 3

#: That of a run that Ctrl-C has ended, as of any program: 128 and the number of the signal.
INTERRUPTED = 130


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


def exit_status(
    verdicts: Iterable[Verdict], *, rejected: bool = False, troubled: bool = False, unexpected: bool = False
) -> int:
    """The highest status that applies to what was seen, known failures left out.

    >>> exit_status([Verdict.PASS, Verdict.FAIL])
    1
    """
    distinct = set(verdicts)
    if troubled or Verdict.ERROR in distinct:
        return TROUBLE
    if rejected:
        return BAD_INPUT
    return FINDINGS if unexpected or any(v.is_finding for v in distinct) else CLEAN
