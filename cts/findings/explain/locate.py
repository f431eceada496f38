"""The first instruction whose result differs: as a driver shows it, by storing every result, or from memory alone."""

from __future__ import annotations

from collections.abc import Sequence

from cts.case.model import BlockStart, Case, Constant, Load, Return, ScalarType, encode, references, types_of
from cts.case.oracle.expectation import Expectation, Oracle
from cts.findings.explain import model
from cts.findings.explain.in_memory import in_memory
from cts.findings.explain.instrument import BEFORE, Instrumented, Point, instrumented, points
from cts.findings.explain.results import Result, definitions, first_wrong, shown
from cts.findings.explain.search import Located, Search, refused
from cts.judging.judge import Attempt, OpenDriver, judge
from cts.judging.verdict import Verdict


def locate(case: Case, driver: OpenDriver, oracle: Oracle, expectation: Expectation, attempt: Attempt) -> Located:
    """Find the place where a failing attempt goes wrong first."""
    assert attempt.outcome is not None and attempt.divergence is not None
    results = shown(case, expectation, attempt.outcome.matrices)
    search = Search(case, driver, oracle, {r.name: r for r in results})
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
    return in_memory(search, expectation, attempt.divergence, attempt.outcome.memory, how)


def _at_the_end_only(case: Case, first: Result | None) -> bool:
    """Whether the results that a driver shows at the end may not tell which instruction is wrong first.

    This is so with loops and conditions; if a wrong result is used more than once, so that a use may have changed it;
    and if it is made of scalars, which are not shown.
    """
    if any(isinstance(i, BlockStart) for i in case.program):
        return True
    if first is None:
        return False
    types = types_of(case)
    scalars = any(isinstance(types.get(name), ScalarType) for name in references(case.program[first.index]))
    return scalars or sum(first.name in references(i) for i in case.program) > 1


def _instrumented(search: Search) -> Located | bool:
    """Locate with every result stored, or one at a time if storing all makes the bug disappear.

    If no stored result is wrong, returns whether the bug was there and every result was right.
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
    search.shy = not persists
    if search.shy:
        search.notes.append("it disappears as well whichever one of them is stored")
    return False


def _believed(search: Search, first: Result, results: Sequence[Result]) -> bool:
    """Whether the stored value is evidence of a wrong result, and not of a wrong store.

    It is not if the driver shows a right result, or if no wrong element was stored at all, though nothing leads past
    the store. A driver shows the last iteration of loops, so that iteration is compared.
    """
    if first.block is None and not any(isinstance(i, Return) for i in search.case.program):
        before = encode(first.component, [BEFORE])[0]
        if (first.actual[first.wrong] == before).all():
            if _never_stored(search, first, results):
                return True
            search.notes.append(f"{first.name!r} is not stored where it is wrong: the store is wrong")
            return False
    shown = search.shown.get(first.name)
    if shown is None or shown.wrong.any() or first.block is not None:
        return True
    last = max((r for r in results if r.name == first.name and r.after == first.after), key=lambda r: r.iterations)
    if not last.wrong.any():
        return True
    search.notes.append(f"{first.name!r} is wrong only where it is stored: the store is wrong")
    return False


def _never_stored(search: Search, first: Result, results: Sequence[Result]) -> bool:
    """Whether no store of a computed result is done, though stores of the results before it are: it is undefined."""
    before = encode(first.component, [BEFORE])[0]
    instruction = search.case.program[first.index]
    others = [r for r in results if r.index < first.index and r.component is first.component]
    none = bool(first.wrong.all() and (first.actual == before).all())
    if not none or not others or isinstance(instruction, Constant | Load):
        return False
    kind = type(instruction).__name__
    search.notes.append(
        f"no store of {first.name!r} is done, though {others[-1].name!r} is stored: "
        f"the driver takes the result of program[{first.index}] {kind} for undefined"
    )
    return True


def _valid(search: Search, point: Point) -> bool:
    """Whether a store of the result breaks no rule and asks for nothing that the driver lacks."""
    case = instrumented(search.case, [point]).case
    why = refused(search, case)
    if why:
        search.notes.append(f"{point.name!r} is not stored: {why}")
    return not why


def _run(search: Search, chosen: Sequence[Point]) -> tuple[list[Result], bool]:
    """The stored results, and whether the buffers of the case itself are wrong as well."""
    try:
        storing: Instrumented = instrumented(search.case, chosen)
    except ValueError as e:
        search.notes.append(str(e))
        return [], False
    why = refused(search, storing.case)
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
