"""What ends a dispatch: code that cannot be run, and code that does what hardware gives no meaning."""

from __future__ import annotations

import time
from collections.abc import Iterable

from cts.device.driver import Status


class Problem(Exception):
    """What ends a run. `where` is the line of the listing, "" if no line is at fault."""

    status = Status.ERROR
    code = "machine"

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{what}, at {where}" if where else what)
        self.what = what
        self.where = where


class Unsupported(Problem):
    """Code that this executor does not know, such as an instruction, which is named.

    `every` names all that is lacking, each once and without its place.
    """

    status = Status.UNSUPPORTED
    code = "unsupported"

    def __init__(self, what: str, where: str = "", every: tuple[str, ...] = ()) -> None:
        super().__init__(what, where)
        self.every = every or (what,)


def together(problems: Iterable[Unsupported]) -> Unsupported:
    """One problem of several: what is lacking more than once is named once, at its first place."""
    first: dict[str, str] = {}
    for problem in problems:
        for what in problem.every:
            first.setdefault(what, str(problem) if problem.every == (what,) else what)
    return Unsupported("; ".join(first.values()), every=tuple(first))


class Wrong(Problem):
    """The compiled code does what no hardware gives a meaning: it is a finding of its own."""

    status = Status.CRASH
    code = "machine-code"


class OutOfSteps(Problem):
    """More instructions than a dispatch may execute."""

    status = Status.TIMEOUT
    code = "steps"


def check_limits(left: int, deadline: float) -> None:
    """Raise OutOfSteps if no instructions are left, or the clock (time.monotonic) is past the deadline."""
    if left <= 0:
        raise OutOfSteps("more instructions than max_steps allows")
    if time.monotonic() > deadline:
        raise OutOfSteps("the dispatch takes longer than its time")
