"""From a divergence to the instruction that made it, the elements that show it, and the facts that it breaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
from msgspec import structs

from cts.errors import BadInput
from cts.explain.crashes import shortest
from cts.explain.elements import (
    ElementIndex,
    correct_result,
    describe_elements,
    requested_elements,
    skipped_by_addressing,
    trace_of,
    worst_elements,
)
from cts.explain.locate import STORES, locate, untouched
from cts.explain.model import KEPT, AsIf, Element, Explanation, Suspect
from cts.explain.picture import picture
from cts.explain.ranking import explaining, prioritised, suspects
from cts.explain.results import Result
from cts.judging.finding import mismatches
from cts.judging.judge import Attempt, OpenDriver, judge, refusal
from cts.model import Case, MatrixStoreTensor
from cts.oracle.expectation import Expectation, Oracle
from cts.oracle.trace import TraceStep
from cts.plugins import registry
from cts.verdict import Verdict

__all__ = ["AsIf", "Element", "Explanation", "Suspect", "explain"]


def explain(
    case: Case, driver: OpenDriver, oracle: Oracle | None = None, elements: Sequence[tuple[int, int]] = ()
) -> Explanation:
    """What a valid case shows of a driver: of a failure or a crash, where it begins.

    `elements` are the rows and columns to describe; without them, those of `worst_elements`. The driver runs the case,
    and where it does not show its intermediate results versions of it that store them. Raises BadInput
    where the driver cannot run the case, or `elements` are outside the result.
    """
    oracle = oracle or registry.oracle()
    refused = refusal(driver, case)
    if refused is not None:
        what = f"{driver.spec} does not run the case: {refused.detail}"
        raise BadInput("not-explained", what, case.name, "a driver that can run it")
    expectation = oracle.expect(case)
    attempt = judge(driver, case, expectation)
    plain = Explanation(case.name, case.content_hash, driver.spec, attempt.verdict, attempt.detail)
    if attempt.verdict is Verdict.FAIL:
        return _of_failure(plain, case, driver, oracle, expectation, attempt, elements)
    if attempt.verdict in (Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST):
        return ranked(shortest(plain, case, driver, oracle, attempt), case, oracle, expectation)
    return plain


def _of_failure(
    plain: Explanation,
    case: Case,
    driver: OpenDriver,
    oracle: Oracle,
    expectation: Expectation,
    attempt: Attempt,
    wanted: Sequence[tuple[int, int]],
) -> Explanation:
    located = locate(case, driver, oracle, expectation, attempt)
    known = structs.replace(plain, how=located.how, notes=located.notes)
    if located.index is not None:
        known = structs.replace(known, instruction=located.index, op=type(case.program[located.index]).__name__)
    elif located.trace is not None and located.trace.conversion is not None:
        known = structs.replace(known, op=f"conversions[{located.trace.conversion}]")
    steps = () if located.trace is None else located.trace.steps
    result = located.result
    if result is None:
        return ranked(known, case, oracle, expectation, steps)
    assert attempt.outcome is not None
    reached = oracle.reached(case, result.index)
    places = requested_elements(result, wanted) if wanted else worst_elements(result, reached)
    as_if = explaining(case, oracle, result, result.index, attempt.outcome.memory)
    instance = int(np.argwhere(result.wrong)[0][0]) if result.wrong.any() else 0
    lines, scale = picture(result, reached, untouched(case, located, reached), instance)
    suspected = suspects(case, located.index, as_if, result, steps_of(case, oracle, result), steps)
    if not result.wrong.any() and isinstance(case.program[result.index], MatrixStoreTensor):
        suspected = prioritised(skipped_by_addressing(reached), suspected)
    return structs.replace(
        known,
        result=result.name,
        iterations=result.iterations,
        wrong=int(result.wrong.sum()),
        total=result.wrong.size,
        elements=tuple(describe_elements(case, oracle, expectation, located, places)),
        facts=tuple(s.fact for s in suspected),
        suspects=suspected,
        as_if=as_if,
        picture=lines,
        picture_of=f"instance {instance} of {len(result.wrong)}",
        scale=scale,
        instance=instance,
        values=_values(result, instance),
        stored=_wrong_memory(case, attempt) if isinstance(case.program[result.index], STORES) else (),
    )


def _values(result: Result, instance: int) -> tuple[tuple[int, int, int], ...]:
    """The wrong elements of an instance with what they are."""
    places = np.argwhere(result.wrong[instance])[:KEPT]
    bits = result.actual[instance][tuple(places.T)]
    return tuple((int(row), int(col), int(b)) for (row, col), b in zip(places.tolist(), bits.tolist(), strict=True))


def _wrong_memory(case: Case, attempt: Attempt) -> tuple[tuple[str, int, int], ...]:
    """The wrong elements of buffers with what they are, without those of guards."""
    assert attempt.divergence is not None
    groups = (g for g in attempt.divergence.groups if not g.guard)
    listed = (m for g in groups for m in mismatches(case, g, KEPT))
    kept = islice(listed, KEPT)
    return tuple((m.buffer, m.element, m.bits) for m in kept if m.element is not None and m.bits is not None)


def ranked(
    known: Explanation, case: Case, oracle: Oracle, expectation: Expectation, steps: Sequence[TraceStep] = ()
) -> Explanation:
    """An explanation without wrong elements, with the facts of its instruction."""
    index = known.instruction
    result = None if index is None else correct_result(case, expectation, index)
    suspected = suspects(case, index, (), result, steps_of(case, oracle, result), steps)
    return structs.replace(known, facts=tuple(s.fact for s in suspected), suspects=suspected)


def steps_of(case: Case, oracle: Oracle, result: Result | None) -> Callable[[ElementIndex], Sequence[TraceStep]]:
    """The function from an element to the steps of the result's own instruction."""
    reached = None if result is None else oracle.reached(case, result.index)

    def steps(place: ElementIndex) -> Sequence[TraceStep]:
        assert result is not None
        return trace_of(case, oracle, result, reached, place, depth=1).steps

    return steps
