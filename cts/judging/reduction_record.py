"""The record of a reduction, as plain data: which pass took each step, and why it stopped."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Stopped(Enum):
    """Why a reduction stopped. All but the first leave the smallest case found so far."""

    #: No pass has a candidate that is still interesting.
    COMPLETE = "complete"
    #: The driver ran as many cases as the budget allows.
    RUN_LIMIT = "run-limit"
    #: The seconds of the budget are over.
    TIME_LIMIT = "time-limit"
    #: Ctrl-C.
    INTERRUPTED = "interrupted"


class Step(Struct, frozen=True):
    """A candidate that became the case: by which pass, after how many runs in all, and the size it has."""

    by: str
    runs: int
    size: tuple[int, int, int]


class Tried(Struct, frozen=True):
    """The counts of one pass: candidates that were run, and candidates that became the case."""

    run: int
    taken: int


class Reduction(Struct, frozen=True):
    """How a case became smaller.

    `before` and `after` are sizes: instructions, extents, length (`cost.size`). `runs` counts all runs on the
    driver, including repeated ones. `flaky` counts smaller cases that were not taken because they ended like the
    original only once. `passes` has every pass with a candidate that was run, in the order of the list.
    """

    stopped: Stopped
    before: tuple[int, int, int]
    after: tuple[int, int, int]
    runs: int
    flaky: int = 0
    steps: tuple[Step, ...] = ()
    passes: dict[str, Tried] = {}
