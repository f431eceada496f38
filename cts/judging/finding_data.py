"""A finding as data, as events and files have it."""

from __future__ import annotations

from msgspec import Struct

from cts.case.model import Case
from cts.case.oracle.trace import TraceStep, Writer
from cts.judging.guesses import Guess
from cts.judging.reduction_record import Reduction, Stopped
from cts.judging.verdict import Verdict


class Mismatch(Struct, frozen=True):
    """One element that is wrong.

    `offset` is the byte offset from the start of the buffer's contents, `element` the index of the
    component and `coordinates` its place in the buffer's shape (None in guard bytes). `expected`
    shows the allowed value or interval, `ulp` the distance from it (-1 if a NaN is involved). `bits` are the
    actual value's bits; None in runs of older suites.
    """

    buffer: str
    guard: bool
    component: str
    offset: int
    element: int | None
    coordinates: tuple[int, ...] | None
    expected: str
    actual: str
    ulp: int
    bits: int | None = None


class BufferCount(Struct, frozen=True):
    """How many elements of a buffer's contents, or bytes of its guards, differ out of how many."""

    buffer: str
    guard: bool
    differing: int
    total: int


class Finding(Struct, frozen=True):
    """Everything a person needs to know about a case that did not pass.

    `listed` holds the first differing elements; `writer` is the instruction that stores the first of them, and `steps`
    are the steps to its expected value, from the store back. `policy` names the policy of this suite that the failure
    rests on, if no specification decides. A generated case is `shrunk` unless a quarantine leaves it for last, or the
    run dies with it; `reduction` says which pass of the reducer took which step, None if the case was not reduced.
    `found` is the case before its reduction; None if that is the same. `driver` is the spec of a driver that shows the
    failure with fewer transforms than the tested driver, "" if no such driver is known. `left` is the memory that the
    driver left (`left.unpacked`), if that is not too much.
    """

    case: Case
    counts: tuple[BufferCount, ...] = ()
    listed: tuple[Mismatch, ...] = ()
    guesses: tuple[Guess, ...] = ()
    writer: Writer | None = None
    steps: tuple[TraceStep, ...] = ()
    shrunk: bool = True
    policy: str = ""
    reduction: Reduction | None = None
    found: Case | None = None
    driver: str = ""
    left: bytes = b""

    @property
    def reduced(self) -> bool:
        """Whether the case is as small as the reducer makes it, or somebody wrote it."""
        return self.reduction is None or self.reduction.stopped is Stopped.COMPLETE

    @property
    def differing(self) -> int:
        return sum(c.differing for c in self.counts)


class Cause(Struct, frozen=True):
    """Sets of a universe that do not pass on a driver, and have that in common.

    `region` are conditions that hold of these and of no set that passes; `smallest` says the values of the smallest of
    them, which is the case of the result of that `name`. `constness` has the verdicts of that case with its operands
    delivered as literals and as specialization constants. `known` is why a baseline lists it.
    """

    name: str
    region: str
    sets: int
    verdict: Verdict
    smallest: str
    constness: dict[str, str] = {}
    known: str = ""
