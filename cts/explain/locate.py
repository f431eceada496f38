"""The first instruction whose result differs: as a driver shows it, by storing every result, or from memory alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cts.errors import BadInput
from cts.explain import model
from cts.explain.converted import wrongly_converted
from cts.explain.instrument import BEFORE, Instrumented, Point, instrumented, points
from cts.explain.results import Result, definitions, first_wrong, shown
from cts.judging.compare import Differing, Divergence
from cts.judging.judge import Attempt, OpenDriver, judge
from cts.model import (
    GUARD_BYTES,
    Accumulation,
    AnyInstruction,
    BlockEnd,
    BlockStart,
    Case,
    Load,
    MatrixShape,
    Pointer,
    Return,
    ScalarType,
    Store,
    VectorAtomicAdd,
    VectorMatrixMul,
    VectorReduceSumAccumulate,
    VectorShape,
    encode,
    initial_bits,
    references,
    types_of,
)
from cts.oracle.expectation import Expectation, Oracle, Reach, Reached, Trace
from cts.verdict import Verdict

#: What writes memory, and what reads it.
STORES = (Store, VectorReduceSumAccumulate, VectorAtomicAdd)
_LOADS = (Load, VectorMatrixMul)


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
    """`shown` are the results that the driver shows of the case itself, by name."""

    case: Case
    driver: OpenDriver
    oracle: Oracle
    shown: dict[str, Result]
    notes: list[str] = field(default_factory=list)

    def located(self, how: str, result: Result) -> Located:
        instruction = self.case.program[result.index]
        if isinstance(instruction, VectorMatrixMul):
            trace = wrongly_converted(self.case, self.driver, self.oracle, instruction.matrix)
            if trace is not None:
                self.notes.append(f"{instruction.matrix!r} is wrong already where it is converted back")
                return Located(None, model.INSTRUMENTED, None, tuple(self.notes), trace)
        return Located(result.index, how, result, tuple(self.notes))

    def stored(self, result: Result) -> Located:
        """The instruction that the first wrong one of the stored results points to."""
        name = f"{result.name!r}, of program[{result.index}],"
        if result.block is not None:
            kind = type(self.case.program[result.block]).__name__
            self.notes.append(f"{name} is come to, or not, otherwise than the {kind} of program[{result.block}] says")
            return Located(result.block, model.INSTRUMENTED, result, tuple(self.notes))
        if result.after is not None:
            kind = type(self.case.program[result.after]).__name__
            self.notes.append(f"{name} is right at first and wrong behind program[{result.after}], which only reads it")
            return Located(result.after, model.INSTRUMENTED, result, tuple(self.notes))
        return self.located(model.INSTRUMENTED, result)


def locate(case: Case, driver: OpenDriver, oracle: Oracle, expectation: Expectation, attempt: Attempt) -> Located:
    """Where a failing attempt goes wrong first."""
    assert attempt.outcome is not None and attempt.divergence is not None
    results = shown(case, expectation, attempt.outcome.matrices)
    search = _Search(case, driver, oracle, {r.name: r for r in results})
    first = first_wrong(results)
    complete = len(results) == sum(1 for _ in definitions(case))
    how = model.SHOWN if complete else model.MEMORY
    if not complete or _at_the_end_only(case, first):
        every_right = _instrumented(search)
        if isinstance(every_right, Located):
            return every_right
        if first is not None:
            search.notes.append("the driver shows results as they are in the end")
        elif every_right:
            how = model.INSTRUMENTED
    if first is not None:
        return search.located(model.SHOWN, first)
    return _in_memory(search, expectation, attempt.divergence, attempt.outcome.memory, how)


def _at_the_end_only(case: Case, first: Result | None) -> bool:
    """Whether what a driver shows in the end may not tell which instruction is the first.

    There are loops and conditions; or what is wrong is used more than once, so that a use may have
    changed it; or it is made of scalars, which are not shown.
    """
    if any(isinstance(i, BlockStart) for i in case.program):
        return True
    if first is None:
        return False
    types = types_of(case)
    scalars = any(isinstance(types.get(name), ScalarType) for name in references(case.program[first.index]))
    return scalars or sum(first.name in references(i) for i in case.program) > 1


def _instrumented(search: _Search) -> Located | bool:
    """With every result stored, or one at a time where that makes the bug disappear.

    Where nothing is wrong then, whether the bug was there and every result was right.
    """
    every, left = points(search.case)
    search.notes += left
    chosen = [p for p in every if _valid(search, p)]
    if not chosen:
        return False
    results, fails = _run(search, chosen)
    first = first_wrong(results)
    if first is not None and _believed(search, first, results):
        return search.stored(first)
    if fails or first is not None:
        return fails and first is None
    search.notes.append("the bug disappears when every intermediate result is stored: each was stored alone")
    persists = 0
    for point in chosen:
        results, fails = _run(search, [point])
        first = first_wrong(results)
        persists += fails
        if first is not None and _believed(search, first, results):
            return search.stored(first)
    if not persists:
        search.notes.append("it disappears as well whichever one of them is stored")
    return False


def _believed(search: _Search, first: Result, results: Sequence[Result]) -> bool:
    """Whether a wrong result that was stored may be what was computed: not where the driver shows a right one.

    Nor where all that is wrong was not stored at all, though nothing leads past the store. A driver shows the last
    iteration of loops, so that is compared.
    """
    if first.block is None and not any(isinstance(i, Return) for i in search.case.program):
        before = encode(first.component, [BEFORE])[0]
        if (first.actual[first.wrong] == before).all():
            search.notes.append(f"{first.name!r} is not stored where it is wrong: the store is wrong")
            return False
    known = search.shown.get(first.name)
    if known is None or known.wrong.any() or first.block is not None:
        return True
    last = max((r for r in results if r.name == first.name and r.after == first.after), key=lambda r: r.iterations)
    if not last.wrong.any():
        return True
    search.notes.append(f"{first.name!r} is wrong only where it is stored: the store is wrong")
    return False


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
        storing: Instrumented = instrumented(search.case, chosen)
    except ValueError as e:
        search.notes.append(str(e))
        return [], False
    why = _refused(search, storing.case)
    if why:
        search.notes.append(f"{len(chosen)} results cannot be stored at once: {why}")
        return [], False
    expectation = search.oracle.expect(storing.case)
    attempt = judge(search.driver, storing.case, expectation)
    if attempt.verdict not in (Verdict.PASS, Verdict.FAIL) or attempt.outcome is None:
        search.notes.append(f"{attempt.verdict.value} where {len(chosen)} results are stored: {attempt.detail}")
        return [], False
    groups = () if attempt.divergence is None else attempt.divergence.groups
    fails = any(g.buffer in search.case.buffers for g in groups)
    return storing.results(expectation, attempt.outcome.memory), fails


def _in_memory(
    search: _Search, expectation: Expectation, divergence: Divergence, memory: dict[str, Any], how: str
) -> Located:
    """The store that memory points to, as every intermediate result is right or unknown."""
    first = divergence.groups[0]
    offset = int(first.offsets[0])
    trace = search.oracle.trace(search.case, first.buffer, offset, detail=True, depth=0)
    index = trace.instruction
    if trace.conversion is not None:
        return _converted(search, trace)
    if index is None:
        index = _nearest(search, first, offset, STORES)
        if index is None and (passed := _passed_over(search, first.buffer)) is not None:
            block, store = passed
            search.notes.append(
                f"no instruction may write byte {offset} of {first.buffer!r}: program[{store}] "
                f"({type(search.case.program[store]).__name__}) would, but for program[{block}]"
            )
            return Located(block, how, None, tuple(search.notes), trace)
        if index is None:
            index = _nearest(search, first, offset, _LOADS)
        if index is None:
            search.notes.append(f"no instruction touches {first.buffer!r}, where byte {offset} differs")
            return Located(None, "", None, tuple(search.notes), trace)
        search.notes.append(
            f"no instruction may write byte {offset} of {first.buffer!r}: "
            f"program[{index}] ({type(search.case.program[index]).__name__}) comes nearest to it"
        )
    result = _stored(search, expectation, divergence, memory, index)
    around = _around(search.case, index)
    if result is not None and around is not None and _not_done(search.case, result, search.oracle):
        kind = type(search.case.program[around]).__name__
        search.notes.append(f"program[{index}] stores nothing, within the {kind} of program[{around}]")
        return Located(around, how, None, tuple(search.notes), trace)
    if how == model.MEMORY:
        search.notes.append("no intermediate result could be seen to differ: what was stored is assumed to be right")
    known = None if result is None else search.shown.get(result.name)
    if result is not None and known is not None and _as_shown(search.case.program[index], result, known):
        search.notes.append(f"program[{index}] stores {result.name!r} as the driver shows it")
        return Located(known.index, how, replace(known, wrong=result.wrong), tuple(search.notes), trace)
    return Located(index, how, result, tuple(search.notes), trace)


def _around(case: Case, index: int) -> int | None:
    """The innermost block around an instruction."""
    opened: list[int] = []
    for n, instruction in enumerate(case.program[:index]):
        if isinstance(instruction, BlockStart):
            opened.append(n)
        elif isinstance(instruction, BlockEnd):
            opened.pop()
    return opened[-1] if opened else None


def _not_done(case: Case, result: Result, oracle: Oracle) -> bool:
    """Whether all that a store should have written is as it was before."""
    reached = oracle.reached(case, result.index)
    same = untouched(case, Located(result.index, "", result), reached)
    if reached is None or same is None or not result.wrong.any():
        return False
    return bool(same[reached.status == Reach.MEMORY].all())


def _as_shown(store: AnyInstruction, stored: Result, known: Result) -> bool:
    """Whether a store put in memory what the driver shows, so that its operand was wrong: equal within its freedom."""
    if not isinstance(store, Store) or not stored.wrong.any() or known.actual.shape != stored.wrong.shape:
        return False
    return bool((known.actual[stored.wrong] == stored.actual[stored.wrong]).all())


def _converted(search: _Search, trace: Trace) -> Located:
    """A conversion wrote what is wrong: the conversion is, or what accumulates into the matrix that it reads."""
    assert trace.conversion is not None
    source = search.case.conversions[trace.conversion].source.of
    adding = [
        n
        for n, i in enumerate(search.case.program)
        if isinstance(i, Accumulation) and getattr(i, "matrix", None) == source
    ]
    if not adding:
        return Located(None, model.MEMORY, None, tuple(search.notes), trace)
    search.notes.append(f"conversions[{trace.conversion}] wrote what is wrong: it, or what was added to {source!r}")
    return Located(adding[-1], model.MEMORY, None, tuple(search.notes), trace)


def _nearest(search: _Search, first: Differing, offset: int, kinds: tuple[type, ...]) -> int | None:
    """The store to, or load from, a buffer that comes nearest to a byte."""
    distances = []
    for n, instruction in enumerate(search.case.program):
        reached = search.oracle.reached(search.case, n) if isinstance(instruction, kinds) else None
        if reached is not None and reached.buffer == first.buffer:
            addresses = reached.byte[reached.status == Reach.MEMORY]
            distances.append((int(np.abs(addresses - offset).min()) if addresses.size else 1 << 40, n))
    return min(distances)[1] if distances else None


def _passed_over(search: _Search, buffer: str) -> tuple[int, int] | None:
    """The block around the first store to a buffer that is not reached, and that store."""
    roots = {name: name for name in search.case.buffers}
    opened: list[int] = []
    for n, instruction in enumerate(search.case.program):
        if isinstance(instruction, BlockStart):
            opened.append(n)
        elif isinstance(instruction, BlockEnd):
            opened.pop()
        elif isinstance(instruction, Pointer):
            roots[instruction.id] = roots.get(instruction.buffer, "")
        elif isinstance(instruction, STORES) and opened and roots.get(instruction.buffer) == buffer:
            passed = search.oracle.reached(search.case, n) is None
            if passed:
                return opened[-1], n
    return None


def _stored(
    search: _Search, expectation: Expectation, divergence: Divergence, memory: dict[str, Any], index: int
) -> Result | None:
    """The matrix of a store as memory has it."""
    reached = search.oracle.reached(search.case, index)
    instruction = search.case.program[index]
    name = getattr(instruction, "matrix", getattr(instruction, "vector", None))
    if reached is None or not isinstance(instruction, STORES) or name not in expectation.matrices:
        return None
    shape = types_of(search.case)[name]
    assert isinstance(shape, (MatrixShape, VectorShape))
    component = shape.component
    allowed = expectation.buffers[reached.buffer].exact
    actual = memory[reached.buffer][GUARD_BYTES:-GUARD_BYTES]
    in_memory = reached.status == Reach.MEMORY
    places = np.where(in_memory, reached.byte, 0)[..., None] + np.arange(component.size)
    wanted, have = (np.ascontiguousarray(a[places]).view(component.bits_dtype)[..., 0] for a in (allowed, actual))
    differing = np.zeros(allowed.shape, bool)
    for group in divergence.groups:
        if group.buffer == reached.buffer and not group.guard:
            differing[(group.offsets[:, None] + np.arange(group.component.size)).ravel()] = True
    wrong = differing[places].any(axis=-1) & in_memory
    return Result(index, str(name), component, wanted, np.where(in_memory, have, wanted), wrong)


def untouched(case: Case, located: Located, reached: Reached | None) -> Any:
    """Which elements of a located result still hold what was there before; None where that cannot be said."""
    result = located.result
    assert result is not None
    if located.how == model.INSTRUMENTED and not isinstance(case.program[result.index], STORES):
        return result.actual == encode(result.component, [BEFORE])[0]
    if reached is None or not isinstance(case.program[result.index], STORES):
        return None
    contents = initial_bits(case.buffers[reached.buffer]).view(np.uint8)
    places = np.where(reached.status == Reach.MEMORY, reached.byte, 0)[..., None] + np.arange(result.component.size)
    before = np.ascontiguousarray(contents[places]).view(result.component.bits_dtype)[..., 0]
    return result.actual == before
