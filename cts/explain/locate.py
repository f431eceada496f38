"""The first instruction whose result differs: as a driver shows it, by storing every result, or from memory alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cts.compare import Differing, Divergence
from cts.errors import BadInput
from cts.expectation import Expectation, Oracle, Reach, Reached, Trace
from cts.explain import model
from cts.explain.instrument import BEFORE, Instrumented, Point, instrumented, points
from cts.explain.results import Result, definitions, first_wrong, shown
from cts.judge import Attempt, OpenDriver, judge
from cts.model import (
    GUARD_BYTES,
    Case,
    Loop,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixShape,
    MatrixStore,
    MatrixStoreTensor,
    VectorLoad,
    VectorMatrixMul,
    VectorReduceSumAccumulate,
    VectorShape,
    VectorStore,
    encode,
    initial_bits,
    types_of,
)
from cts.verdict import Verdict

_STORES = (MatrixStore, MatrixStoreTensor, VectorStore, VectorReduceSumAccumulate)
_LOADS = (MatrixLoad, MatrixLoadTensor, VectorLoad, VectorMatrixMul)


@dataclass(frozen=True, eq=False)
class Located:
    """Where a divergence begins; `how` is empty and `index` None where that is not known.

    `result` is what the instruction gave, or the matrix of a store as memory has it. `trace` is that of
    a byte which no store of a known place explains.
    """

    index: int | None = None
    how: str = ""
    result: Result | None = None
    notes: tuple[str, ...] = ()
    trace: Trace | None = None


@dataclass(eq=False)
class _Search:
    case: Case
    driver: OpenDriver
    oracle: Oracle
    notes: list[str] = field(default_factory=list)

    def found(self, how: str, result: Result) -> Located:
        return Located(result.index, how, result, tuple(self.notes))


def locate(case: Case, driver: OpenDriver, oracle: Oracle, expectation: Expectation, attempt: Attempt) -> Located:
    """Where a failing attempt goes wrong first."""
    assert attempt.outcome is not None and attempt.divergence is not None
    search = _Search(case, driver, oracle)
    results = shown(case, expectation, attempt.outcome.matrices)
    first = first_wrong(results)
    complete = len(results) == sum(1 for _ in definitions(case))
    loops = any(isinstance(i, Loop) for i in case.program)
    if first is not None and not loops:
        return search.found(model.SHOWN, first)
    if loops or not complete:
        # A driver shows the last turn of loops only.
        found = _instrumented(search)
        if found is not None:
            return found
        if first is not None:
            search.notes.append("of loops, the driver shows the last turn only")
            return search.found(model.SHOWN, first)
    how = model.SHOWN if complete else model.MEMORY
    return _in_memory(search, expectation, attempt.divergence, attempt.outcome.memory, how)


def _instrumented(search: _Search) -> Located | None:
    """With every result stored, or one at a time where that makes the bug disappear; None where nothing is wrong."""
    every, left = points(search.case)
    search.notes += left
    chosen = [p for p in every if _valid(search, p)]
    if not chosen:
        return None
    results, fails = _run(search, chosen)
    first = first_wrong(results)
    if first is not None:
        return search.found(model.INSTRUMENTED, first)
    if fails:
        return None
    search.notes.append("the bug disappears when every intermediate result is stored: each was stored alone")
    persists = 0
    for point in chosen:
        results, fails = _run(search, [point])
        first = first_wrong(results)
        persists += fails
        if first is not None:
            return search.found(model.INSTRUMENTED, first)
    if not persists:
        search.notes.append("it disappears as well whichever one of them is stored")
    return None


def _valid(search: _Search, point: Point) -> bool:
    """Whether a store of the result breaks no rule and asks for nothing that the driver lacks."""
    case = instrumented(search.case, [point]).case
    why = _refused(search, case)
    if why:
        search.notes.append(f"{point.name!r} is not stored: {why}")
    return not why


def _refused(search: _Search, case: Case) -> str:
    try:
        violations = search.oracle.violations(case)
    except BadInput as e:
        return e.what
    if violations:
        return f"that would break {violations[0].rule}: {violations[0].what}"
    return "; ".join(search.driver.capabilities.missing(case))


def _run(search: _Search, chosen: Sequence[Point]) -> tuple[list[Result], bool]:
    """What was stored, and whether the buffers of the case itself are wrong as well."""
    try:
        made: Instrumented = instrumented(search.case, chosen)
    except ValueError as e:
        search.notes.append(str(e))
        return [], False
    why = _refused(search, made.case)
    if why:
        search.notes.append(f"{len(chosen)} results cannot be stored at once: {why}")
        return [], False
    expectation = search.oracle.expect(made.case)
    attempt = judge(search.driver, made.case, expectation)
    if attempt.verdict not in (Verdict.PASS, Verdict.FAIL) or attempt.outcome is None:
        search.notes.append(f"{attempt.verdict.value} where {len(chosen)} results are stored: {attempt.detail}")
        return [], False
    groups = () if attempt.divergence is None else attempt.divergence.groups
    fails = any(g.buffer in search.case.buffers for g in groups)
    return made.results(expectation, attempt.outcome.memory), fails


def _in_memory(
    search: _Search, expectation: Expectation, divergence: Divergence, memory: dict[str, Any], how: str
) -> Located:
    """The store that memory speaks of, as every intermediate result is right or unknown."""
    first = divergence.groups[0]
    offset = int(first.offsets[0])
    trace = search.oracle.trace(search.case, first.buffer, offset, detail=True, depth=0)
    index = trace.instruction
    if index is None and trace.row is not None:
        search.notes.append("a conversion of a matrix wrote what is wrong, or what it converted is wrong")
        return Located(None, how, None, tuple(search.notes), trace)
    if index is None:
        index = _nearest(search, first, offset)
        if index is None:
            search.notes.append(f"no instruction touches {first.buffer!r}, where byte {offset} differs")
            return Located(None, "", None, tuple(search.notes), trace)
        search.notes.append(
            f"no instruction may write byte {offset} of {first.buffer!r}: "
            f"program[{index}] ({type(search.case.program[index]).__name__}) comes nearest to it"
        )
        how = how or model.MEMORY
    if how == model.MEMORY:
        search.notes.append("no intermediate result could be seen to differ: what was stored is assumed to be right")
    return Located(index, how, _stored(search, expectation, divergence, memory, index), tuple(search.notes), trace)


def _nearest(search: _Search, first: Differing, offset: int) -> int | None:
    """The store to a buffer that comes nearest to a byte; where there is none, such a load."""
    for kinds in (_STORES, _LOADS):
        distances = []
        for n, instruction in enumerate(search.case.program):
            reached = search.oracle.reached(search.case, n) if isinstance(instruction, kinds) else None
            if reached is not None and reached.buffer == first.buffer:
                met = reached.byte[reached.status == Reach.MEMORY]
                distances.append((int(np.abs(met - offset).min()) if met.size else 1 << 40, n))
        if distances:
            return min(distances)[1]
    return None


def _stored(
    search: _Search, expectation: Expectation, divergence: Divergence, memory: dict[str, Any], index: int
) -> Result | None:
    """The matrix of a store as memory has it."""
    reached = search.oracle.reached(search.case, index)
    instruction = search.case.program[index]
    name = getattr(instruction, "matrix", getattr(instruction, "vector", None))
    if reached is None or not isinstance(instruction, _STORES) or name not in expectation.matrices:
        return None
    shape = types_of(search.case)[name]
    assert isinstance(shape, (MatrixShape, VectorShape))
    component = shape.component
    allowed = expectation.buffers[reached.buffer].exact
    actual = memory[reached.buffer][GUARD_BYTES:-GUARD_BYTES]
    met = reached.status == Reach.MEMORY
    at = np.where(met, reached.byte, 0)[..., None] + np.arange(component.size)
    wanted, have = (np.ascontiguousarray(a[at]).view(component.bits_dtype)[..., 0] for a in (allowed, actual))
    differing = np.zeros(allowed.shape, bool)
    for group in divergence.groups:
        if group.buffer == reached.buffer and not group.guard:
            differing[(group.offsets[:, None] + np.arange(group.component.size)).ravel()] = True
    wrong = differing[at].any(axis=-1) & met
    return Result(index, str(name), component, wanted, np.where(met, have, wanted), wrong)


def untouched(case: Case, located: Located, reached: Reached | None) -> Any:
    """Which elements of a located result still hold what was there before; None where that cannot be said."""
    result = located.result
    assert result is not None
    if located.how == model.INSTRUMENTED and not isinstance(case.program[result.index], _STORES):
        return result.actual == encode(result.component, [BEFORE])[0]
    if reached is None or not isinstance(case.program[result.index], _STORES):
        return None
    contents = initial_bits(case.buffers[reached.buffer]).view(np.uint8)
    at = np.where(reached.status == Reach.MEMORY, reached.byte, 0)[..., None] + np.arange(result.component.size)
    before = np.ascontiguousarray(contents[at]).view(result.component.bits_dtype)[..., 0]
    return result.actual == before
