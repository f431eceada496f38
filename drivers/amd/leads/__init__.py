"""Leads: which line of compiled code is wrong, found by running it beside other code of the same module.

The other code is what ACO makes without its optimisations. Both come from the same NIR, so that the other code has
almost every value of a register, too, in the same wave and for the same lanes. An instruction is a *cut* if memory is
right once it leaves what an instruction of the other code leaves: this is tried, not guessed. From a cut the search
goes back through operands that differ. Waits, lanes and registers have searches of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from cts.drivers.amd.leads.lead import Lead, lead
from cts.drivers.amd.leads.search import Ran, Search
from cts.drivers.amd.leads.tracing import Forced, Traced
from cts.drivers.amd.leads.values import Trace
from cts.drivers.amd.machine import Program
from cts.drivers.amd.runs import Used, dispatched, memory_of
from cts.drivers.machine.problems import Problem
from cts.drivers.vulkan.worker.protocol import Run

__all__ = ["Code", "Lead", "found_beside"]

#: Seconds of a search, and of each run in it; instructions of a run.
SECONDS, OF_RUN, STEPS = 10, 5, 2_000_000


class Code(NamedTuple):
    """A program, and how it is run."""

    run: Run
    program: Program
    used: Used


def found_beside(bad: Code, good: Code, is_right: Callable[[tuple[bytes | None, ...]], bool]) -> Lead | None:
    """The lead of code that leaves wrong memory beside code that leaves right one; None if nothing is sure."""
    right = _ran(good, Forced(), is_right, keeps=True)
    wrong = _ran(bad, Forced(), is_right, keeps=True)
    if wrong.right or not right.right:
        return None
    search = Search(
        lambda forced, keeps: _ran(bad, forced, is_right, keeps=keeps),
        Trace(bad.program, wrong.dispatch.results),
        Trace(good.program, right.dispatch.results),
        time.monotonic() + SECONDS,
    )
    return lead(search, wrong, right)


def _ran(code: Code, forced: Forced, is_right: Callable[[tuple[bytes | None, ...]], bool], *, keeps: bool) -> Ran:
    parameters = code.run.sets[0]
    memory = memory_of(code.run, parameters)
    dispatch = Traced(code.program, memory, STEPS, time.monotonic() + OF_RUN).begin(forced, keeps=keeps)
    try:
        return Ran(dispatch, is_right(dispatched(code.run, parameters, code.used, dispatch)))
    except Problem as problem:
        return Ran(dispatch, False, problem)
