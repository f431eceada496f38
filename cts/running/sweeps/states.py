"""What became of parameter sets: a byte for each."""

from __future__ import annotations

import enum

import numpy as np
import numpy.typing as npt

from cts.judging.verdict import Verdict


class State(enum.IntEnum):
    """What became of a set. A driver decides from CRASH on that it did not run to its end."""

    PENDING = 0
    PASS = 1
    FAIL = 2
    EXCLUDED = 3
    NOT_RUN = 4
    UNSUPPORTED = 5
    CRASH = 6
    TIMEOUT = 7
    DEVICE_LOST = 8
    ERROR = 9


States = npt.NDArray[np.uint8]

#: The text of many states that are all UNSUPPORTED.
UNSUPPORTED = "*"


#: Of states that are a verdict.
VERDICTS = {
    State.PASS: Verdict.PASS,
    State.FAIL: Verdict.FAIL,
    State.CRASH: Verdict.CRASH,
    State.TIMEOUT: Verdict.TIMEOUT,
    State.DEVICE_LOST: Verdict.DEVICE_LOST,
    State.ERROR: Verdict.ERROR,
}


_JUDGED = [int(state) for state in VERDICTS]


_WRONG = [int(state) for state in VERDICTS if state is not State.PASS]


def have_verdict(states: States) -> npt.NDArray[np.bool_]:
    """Which sets have a verdict."""
    return np.isin(states, _JUDGED)


def wrong(states: States) -> npt.NDArray[np.bool_]:
    """Which sets have a verdict other than pass."""
    return np.isin(states, _WRONG)
