"""Everything that ends a run early, and the status that each leads to."""

from __future__ import annotations

from typing import ClassVar

from cts.device.driver import Status


class Problem(Exception):
    """Ends a run with `status`. `where` names the instruction, `lane` is the lane that executed it, once known."""

    status: ClassVar[Status] = Status.ERROR
    code: ClassVar[str] = "error"

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.lane: int | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class Malformed(Problem):
    """The words are not a module, or break a rule that execution relies on."""

    code = "malformed"


class Misuse(Problem):
    """The module did at run time what leaves its behaviour undefined, and this was detected."""

    code = "misuse"


class Race(Misuse):
    """Two invocations access the same memory, at least one of them writes, and nothing orders them."""

    code = "race"


class Uninitialised(Misuse):
    """A read of what was never written."""

    code = "uninitialised"


class Internal(Problem):
    """A bug of the interpreter, with the instruction it was executing."""

    code = "internal"


class Unsupported(Problem):
    """The module needs what this interpreter does not implement."""

    status = Status.UNSUPPORTED
    code = "unsupported"


class OutOfMemory(Problem):
    """The module needs more memory than allowed."""

    status = Status.UNSUPPORTED
    code = "out-of-memory"


class OutOfBounds(Problem):
    """An access outside what it may access. `index` is the first wrong address's place along the first axis.

    `beyond` is the name of the memory, and how many bytes it would have to have.
    """

    status = Status.CRASH
    code = "out-of-bounds"

    def __init__(self, what: str, index: int | None = None, beyond: tuple[str, int] | None = None) -> None:
        super().__init__(what)
        self.index = index
        self.beyond = beyond


class RunAway(Problem):
    """The module executed more instructions than allowed."""

    status = Status.TIMEOUT
    code = "too-many-steps"
