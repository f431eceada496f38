"""Everything that ends a run early, and the status that each ends in."""

from __future__ import annotations

from typing import ClassVar

from cts.driver import Status


class Problem(Exception):
    """Ends a run with `status`. `where` names the instruction, once it is known."""

    status: ClassVar[Status] = Status.ERROR

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class Malformed(Problem):
    """The words are not a module, or break a rule that execution relies on."""


class Misuse(Problem):
    """The module did at run time what leaves its behaviour undefined, and we noticed."""


class Internal(Problem):
    """A bug of the interpreter, with the instruction it was executing."""


class Unsupported(Problem):
    """The module needs what this interpreter does not implement."""

    status = Status.UNSUPPORTED


class OutOfBounds(Problem):
    """An access outside every allocation."""

    status = Status.CRASH


class RunAway(Problem):
    """The module executed more blocks than allowed."""

    status = Status.TIMEOUT
