"""What ends a dispatch: code that cannot be run, and code that does what hardware gives no meaning."""

from __future__ import annotations

from cts.device.driver import Status


class Problem(Exception):
    """What ends a run. `where` is the line of the listing, "" if no line is at fault."""

    status = Status.ERROR
    code = "amd"

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{what}, at {where}" if where else what)
        self.what = what
        self.where = where


class Unsupported(Problem):
    """Code that this executor does not know, such as an instruction, which is named."""

    status = Status.UNSUPPORTED
    code = "unsupported"


class Wrong(Problem):
    """The compiled code does what no hardware gives a meaning: it is a finding of its own."""

    status = Status.CRASH
    code = "machine-code"


class OutOfSteps(Problem):
    """More instructions than a dispatch may execute."""

    status = Status.TIMEOUT
    code = "steps"
