"""Valid cases that differ from a finding in one step of the reducer: one thing less of each kind of thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from cts.case.model import Case
from cts.findings.reduction.passes import PASSES

#: The most candidates of one pass of the reducer: further candidates of a pass are similar to the first ones, and 40
#: neighbours shall come from at least ten passes.
OF_A_PASS = 4


def neighbours(case: Case, valid: Callable[[Case], bool]) -> Iterator[Case]:
    """One of each pass, then the next of each, as long as there are some; each case once."""
    hashes = {case.content_hash}
    waiting = [_valid((c.case for c in reduction.candidates(case)), hashes, valid) for reduction in PASSES]
    while waiting:
        left = []
        for candidates in waiting:
            if (neighbour := next(candidates, None)) is not None:
                yield neighbour
                left.append(candidates)
        waiting = left


def _valid(candidates: Iterator[Case], seen: set[str], valid: Callable[[Case], bool]) -> Iterator[Case]:
    def fresh() -> Iterator[Case]:
        for candidate in candidates:
            if candidate.content_hash not in seen:
                seen.add(candidate.content_hash)
                if valid(candidate):
                    yield candidate

    return islice(fresh(), OF_A_PASS)
