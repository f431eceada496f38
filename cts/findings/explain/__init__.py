"""From a divergence to the instruction that made it, the elements that show it, and the facts that it breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import NamedTuple

import numpy as np
from msgspec import structs

from cts.base.errors import BadInput
from cts.case.model import Case, MatrixStoreTensor
from cts.case.oracle.expectation import Expectation, Oracle
from cts.case.oracle.trace import TraceStep
from cts.features.deviations import parse_deviation
from cts.findings.explain.crashes import shortest
from cts.findings.explain.elements import (
    ElementIndex,
    correct_result,
    describe_elements,
    requested_elements,
    skipped_by_addressing,
    trace_of,
    worst_elements,
)
from cts.findings.explain.in_code import code_leads
from cts.findings.explain.in_memory import untouched
from cts.findings.explain.locate import locate
from cts.findings.explain.model import KEPT, AsIf, Element, Explanation, Leaving, Suspect, general
from cts.findings.explain.other_contents import other_contents
from cts.findings.explain.picture import picture
from cts.findings.explain.ranking import (
    LISTED,
    Evidence,
    agreed,
    prioritised,
    said_by,
    suspects,
    together,
)
from cts.findings.explain.results import Result
from cts.findings.explain.search import STORES, Located
from cts.findings.explain.tried import Tried, expected, explaining
from cts.findings.explain.verdict_facts import classes_of, facts_of_verdict, undefined_quotient
from cts.findings.learning.models import alike, model_at, models, simplest
from cts.judging.compare import Bytes
from cts.judging.finding import mismatches
from cts.judging.judge import Attempt, OpenDriver, judge, refusal
from cts.judging.verdict import Verdict
from cts.plugins import registry

#: Deviations that are tried for a reader: some seconds of the oracle, on top of the runs of the driver.
DEVIATIONS = 300

__all__ = ["AsIf", "Element", "Explanation", "Suspect", "explain"]


def explain(
    case: Case,
    driver: OpenDriver,
    oracle: Oracle | None = None,
    elements: Sequence[tuple[int, int]] = (),
    found: Case | None = None,
    *,
    reduced: bool = True,
    deviations: int = 0,
) -> Explanation:
    """Explain what a valid case shows on a driver: for a failure or a crash, where it begins.

    `elements` are the rows and columns to describe; by default those of `worst_elements`. `found` is the case before
    its reduction: it, and the case with other contents, decide between several possible causes. The parts of a case
    that is `reduced` as far as possible are evidence for their facts. So many `deviations` are tried, each of which
    takes a run of the oracle. The driver runs the case and, if it does not show
    its intermediate results, versions of the case that store them. Raises BadInput if the driver cannot run the case,
    or `elements` are outside the result.
    """
    oracle = oracle or registry.oracle()
    refused = refusal(driver, case)
    if refused is not None:
        what = f"{driver.spec} does not run the case: {refused.detail}"
        raise BadInput("not-explained", what, case.name, "a driver that can run it")
    expectation = oracle.expect(case)
    attempt = judge(driver, case, expectation)
    plain = Explanation(case.name, case.content_hash, driver.spec, attempt.verdict, attempt.detail)
    if attempt.verdict in (Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT):
        plain = structs.replace(plain, code=code_leads(case, driver, expectation))
    if attempt.verdict is Verdict.FAIL:
        return _of_failure(plain, case, driver, oracle, expectation, attempt, elements, found, reduced, deviations)
    if attempt.verdict in (Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST):
        return ranked(shortest(plain, case, driver, oracle, attempt), case, oracle, expectation, reduced=reduced)
    return plain


def _of_failure(
    plain: Explanation,
    case: Case,
    driver: OpenDriver,
    oracle: Oracle,
    expectation: Expectation,
    attempt: Attempt,
    wanted: Sequence[tuple[int, int]],
    found: Case | None,
    reduced: bool,
    deviations: int,
) -> Explanation:
    located = locate(case, driver, oracle, expectation, attempt)
    explanation = structs.replace(plain, how=located.how, notes=located.notes)
    if located.index is not None:
        explanation = structs.replace(explanation, instruction=located.index, op=_op(case, located))
    elif located.trace is not None and located.trace.conversion is not None:
        explanation = structs.replace(explanation, op=f"conversions[{located.trace.conversion}]")
    steps = () if located.trace is None else located.trace.steps
    result = located.result
    if result is None:
        facts = facts_of_verdict(attempt.divergence)
        return ranked(explanation, case, oracle, expectation, steps, verdict=facts, reduced=reduced)
    assert attempt.outcome is not None
    reached = oracle.reached(case, result.index)
    places = requested_elements(result, wanted) if wanted else worst_elements(result, reached)
    failure = _failure_seen(case, oracle, attempt, located, result, reduced=reduced)
    among = {general(t.as_if.what) for t in failure.tried}
    others = [] if wanted else list(_elsewhere(_op(case, located), case, found, driver, oracle, among))
    fitting = agreed(failure.tried, [other.tried for other in others])
    as_if = tuple(t.as_if for t in _fitting(failure, others, fitting))[:LISTED]
    instance = int(np.argwhere(result.wrong)[0][0]) if result.wrong.any() else 0
    lines, scale = picture(result, reached, untouched(case, located, reached), instance)
    suspected = _suspects(
        said_by(together(failure.suspects, [o.suspects for o in others]), fitting, [o.tried for o in others])
    )
    if not result.wrong.any() and isinstance(case.program[result.index], MatrixStoreTensor):
        suspected = prioritised(skipped_by_addressing(reached), suspected)
    return structs.replace(
        explanation,
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
        classes=classes_of(case, expectation, result),
        leaves=_leaving(failure, others, located, fitting, deviations),
    )


def _leaving(
    failure: _Seen, others: Sequence[_Seen], located: Located, tried: Sequence[Tried], most: int
) -> tuple[Leaving, ...]:
    """Deviations that leave the memory of the case, and of the others, if any leaves both.

    Those that explain the result are among them, but for other numbers, which may fit by chance. Where it is known
    which instruction is wrong first, those of its kind, and of layouts and views that it may have.
    """
    if not most:
        return ()
    own = [model_at(failure.case, t.place, t.deed) for t in tried if t.deed is not None and not t.of_number]
    own = alike(own, failure.case, failure.memory)
    apart = [one for one in own if one.text.endswith("=apart)")]
    fitting = apart or simplest((*own, *models(failure.case, failure.memory, most)))
    for other in others:
        fitting = alike(fitting, other.case, other.memory) or fitting
    op, states = _op(failure.case, located), ("TensorLayout", "TensorView")
    fitting = [one for one in fitting if one.kind == op or one.kind.startswith(states)] or fitting
    return tuple(Leaving(wrong.text, wrong.words) for wrong in (parse_deviation(m.text) for m in fitting[:LISTED]))


class _Seen(NamedTuple):
    """Evidence in a failing case about its cause: changes under which its values are right, and suspects."""

    case: Case
    memory: Mapping[str, Bytes]
    tried: tuple[Tried, ...]
    suspects: tuple[Evidence, ...]


def _failure_seen(
    case: Case,
    oracle: Oracle,
    attempt: Attempt,
    located: Located,
    result: Result,
    among: Set[str] | None = None,
    *,
    reduced: bool,
) -> _Seen:
    assert attempt.outcome is not None
    tried = explaining(case, oracle, result, result.index, attempt.outcome.memory, among)
    # Where each element by itself is right, the others fit because they say nothing of equal ones.
    tried = tuple(t for t in tried if t.deed is not None and t.deed.how == "apart") or tried
    steps = () if located.trace is None else located.trace.steps
    own = steps_of(case, oracle, result)
    facts = (*facts_of_verdict(attempt.divergence), *undefined_quotient(case, result))
    ranked_facts = suspects(case, located.index, tried, result, own, steps, verdict=facts, reduced=reduced)
    return _Seen(case, attempt.outcome.memory, tried, ranked_facts)


def _elsewhere(
    op: str, case: Case, found: Case | None, driver: OpenDriver, oracle: Oracle, among: Set[str]
) -> Iterator[_Seen]:
    """The same of other cases that fail in an instruction of this name: with other contents, and as it was found.

    Of these only changes that make values right in the case itself are tried: a cause explains all.
    """
    for other in (*other_contents(case), *([] if found is None else [found])):
        expectation = expected(other, oracle)
        if expectation is None or refusal(driver, other) is not None:
            continue
        attempt = judge(driver, other, expectation)
        if attempt.verdict is not Verdict.FAIL:
            continue
        located = locate(other, driver, oracle, expectation, attempt)
        if located.result is not None and _op(other, located) == op:
            yield _failure_seen(other, oracle, attempt, located, located.result, among, reduced=False)


def _op(case: Case, located: Located) -> str:
    return "" if located.index is None else type(case.program[located.index]).__name__


def _fitting(seen: _Seen, others: Sequence[_Seen], tried: Sequence[Tried]) -> Sequence[Tried]:
    """The changes that fit with other contents, too; if none does, the changes that fit the case."""
    same = [{t.as_if.what for t in o.tried if t.as_if.exact} for o in others if o.case.program == seen.case.program]
    fitting = [t for t in tried if all(t.as_if.what in fit for fit in same)]
    return fitting or tried


def _suspects(suspected: Iterable[Evidence]) -> tuple[Suspect, ...]:
    return tuple(Suspect(s.fact, s.why) for s in suspected)


def _values(result: Result, instance: int) -> tuple[tuple[int, int, int], ...]:
    """The wrong elements of an instance with their actual values."""
    places = np.argwhere(result.wrong[instance])[:KEPT]
    bits = result.actual[instance][tuple(places.T)]
    return tuple((int(row), int(col), int(b)) for (row, col), b in zip(places.tolist(), bits.tolist(), strict=True))


def _wrong_memory(case: Case, attempt: Attempt) -> tuple[tuple[str, int, int], ...]:
    """The wrong elements of buffers with their actual values, without guards."""
    assert attempt.divergence is not None
    groups = (g for g in attempt.divergence.groups if not g.guard)
    listed = (m for g in groups for m in mismatches(case, g, KEPT))
    kept = islice(listed, KEPT)
    return tuple((m.buffer, m.element, m.bits) for m in kept if m.element is not None and m.bits is not None)


def ranked(
    known: Explanation,
    case: Case,
    oracle: Oracle,
    expectation: Expectation,
    steps: Sequence[TraceStep] = (),
    *,
    verdict: Sequence[Suspect] = (),
    reduced: bool,
) -> Explanation:
    """An explanation without wrong elements, with the facts of its instruction."""
    index = known.instruction
    result = None if index is None else correct_result(case, expectation, index)
    own = steps_of(case, oracle, result)
    suspected = suspects(case, index, (), result, own, steps, verdict=verdict, reduced=reduced)
    return structs.replace(known, facts=tuple(s.fact for s in suspected), suspects=_suspects(suspected))


def steps_of(case: Case, oracle: Oracle, result: Result | None) -> Callable[[ElementIndex], Sequence[TraceStep]]:
    """The function from an element to the steps of the result's own instruction."""
    reached = None if result is None else oracle.reached(case, result.index)

    def steps(place: ElementIndex) -> Sequence[TraceStep]:
        assert result is not None
        return trace_of(case, oracle, result, reached, place, depth=1).steps

    return steps
