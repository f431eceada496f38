"""What explains the actual values of a result: deviations of instructions, changed cases, models of arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput
from cts.case.model import Case, types_of
from cts.case.oracle.expectation import Expectation, Freedom, Oracle
from cts.findings.explain.arithmetic import fitting
from cts.findings.explain.change import Change
from cts.findings.explain.changes import changes
from cts.findings.explain.float_environment import gives_fast_math, of_freedoms
from cts.findings.explain.instrument import Instrumented, instrumented, points
from cts.findings.explain.model import FEW, AsIf, general
from cts.findings.explain.results import Mask, Result
from cts.findings.learning.deed import Deed
from cts.judging.compare import compare
from cts.judging.deviations import leaves

#: The most changes that are tried: of cases with large buffers fewer, for so many bytes in all.
MOST, LEAST = 400, 24
BYTES = 1 << 30


class Tried(NamedTuple):
    """A change under which values are right, how many were tried before it, and what `Change` says of it."""

    as_if: AsIf
    of_number: bool
    before: int
    simplified: bool = False
    deed: Deed | None = None
    place: int = 0


def explaining(
    case: Case,
    oracle: Oracle,
    result: Result,
    index: int,
    memory: dict[str, npt.NDArray[np.uint8]],
    among: Set[str] | None = None,
) -> tuple[Tried, ...]:
    """Changes of the case that make the actual values right, changes that explain all elements first.

    For a result within a loop and for a store, memory is compared instead. `among`: changes with these words alone,
    without what belongs to one case.
    """
    own = oracle.expect(case)
    free = _free(own)
    in_memory = bool(result.iterations) or result.name not in _defined(case, index)
    storing = None if in_memory else _storing(case, result)
    wrong = int(result.wrong.sum())
    size = sum(buffer.elements * buffer.components * buffer.type.size for buffer in case.buffers.values())
    most = min(MOST, max(LEAST, BYTES // max(size, 1)))

    def leaves_memory(change: Change) -> bool:
        if change.deed is not None:
            return leaves(case, change.deviations, memory)
        expectation = expected(change.case, oracle)
        # A comparison without differences proves nothing if more elements may be anything than before.
        if expectation is None or set(change.case.buffers) != set(memory) or _free(expectation) > free:
            return False
        return compare(change.case, expectation, memory) is None

    def fits(change: Change, before: int) -> Iterator[Tried]:
        if among is not None and general(change.what) not in among:
            return
        if storing is None:
            righted, exact = (wrong, True) if leaves_memory(change) else (0, False)
        else:
            of = storing if change.deed is not None else _storing(change.case, result)
            expectation = None
            if of is not None:
                deviates = change.deed is not None
                expectation = oracle.leaves(of.case, change.deviations) if deviates else expected(of.case, oracle)
            if of is None or expectation is None:
                return
            righted, exact = _made_right(of.judged(expectation, result.actual), result)
        if righted:
            as_if = AsIf(change.what, change.facts, righted, wrong, exact)
            yield Tried(as_if, change.of_number, before, change.simplified, change.deed, change.place)

    explanations = [t for n, change in enumerate(islice(changes(case, index), most)) for t in fits(change, n)]
    best = [t for t in explanations if t.as_if.exact]
    simplified = [t for t in best if t.simplified]
    if wrong >= FEW and simplified:
        # All else are other ways to the same few roundings and zeros.
        best = simplified
    elif not in_memory:
        models = fitting(case, own, result)
        best += [Tried(a, many, MOST) for a, many in models if among is None or general(a.what) in among]
    if not simplified or gives_fast_math(case):
        best += [t for change in of_freedoms(case, index) for t in fits(change, MOST) if t.as_if.exact]
    if not best:
        best = sorted((t for t in explanations if 2 * t.as_if.given > wrong), key=lambda t: -t.as_if.given)[:1]
    return tuple(sorted(best, key=lambda t: t.of_number))


def _free(expectation: Expectation) -> int:
    """How many elements of memory may be anything."""
    groups = (i for allowed in expectation.buffers.values() for i in allowed.intervals)
    return sum(int(((g.flags & np.uint8(Freedom.ANY)) != 0).sum()) for g in groups)


def _defined(case: Case, index: int) -> set[str]:
    instruction = case.program[index]
    names = {getattr(instruction, "id", "")}
    names |= {m.id for m in getattr(instruction, "merge", ())}
    return names


def expected(case: Case, oracle: Oracle) -> Expectation | None:
    """The expectation of a case; None if the case is not valid."""
    try:
        types_of(case)
        return None if oracle.violations(case) else oracle.expect(case)
    except (BadInput, ValueError):
        return None


def _made_right(other: Result, result: Result) -> tuple[int, bool]:
    """How many wrong elements are right where `other` is expected, and whether all elements are."""
    # Elements that may be anything are no evidence.
    wrong = other.wrong | _anything(other)
    righted = int((result.wrong & ~wrong).sum())
    return righted, bool(righted == result.wrong.sum() and not (wrong & ~result.wrong & ~_anything(result)).any())


def _storing(case: Case, result: Result) -> Instrumented | None:
    """A case that stores a result, too, so that it is judged as memory is; None if it cannot."""
    try:
        point = next((p for p in points(case)[0] if p.name == result.name and not p.kept), None)
    except (BadInput, ValueError):
        return None  # a changed case that is not well-formed
    if point is None or point.loops or point.block is not None:
        return None
    storing = instrumented(case, [point])
    slots = storing.slots[0]
    return storing if result.actual.shape == (slots.instances, slots.rows, slots.cols) else None


def _anything(result: Result) -> Mask:
    """The elements that may have any value."""
    if result.spread is None:
        return np.zeros(result.wrong.shape, bool)
    anything: Mask = (result.spread.flags & np.uint8(Freedom.ANY)) != 0
    return anything
