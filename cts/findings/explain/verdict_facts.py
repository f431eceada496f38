"""Facts that the verdict itself names, and classes of wrong numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cts.case.model import Arithmetic, Case, MatrixArithmetic, MatrixConvert, encode
from cts.case.model.instructions import defined_ids
from cts.case.oracle.expectation import Expectation
from cts.findings.explain.instrument import BEFORE
from cts.findings.explain.model import Suspect
from cts.findings.explain.model_values import Values
from cts.findings.explain.results import Result
from cts.findings.explain.simplifier import Simplifier
from cts.judging.compare import Divergence
from cts.judging.number_classes import OfAClass, certain, classes

_FACT = re.compile(r"\b[A-Z]{2}-\d{3}\b")


def facts_of_verdict(divergence: Divergence | None) -> tuple[Suspect, ...]:
    """The facts of the rules that elements break beside their own intervals (NU-019, CM-021, CM-023)."""
    counts: dict[str, int] = {}
    for group in () if divergence is None else divergence.groups:
        for fact in _FACT.findall(group.rule):
            counts[fact] = counts.get(fact, 0) + len(group)
    rules = {fact: g.rule for g in (() if divergence is None else divergence.groups) for fact in _FACT.findall(g.rule)}
    return tuple(Suspect(fact, f"{count} elements differ: {rules[fact]}") for fact, count in counts.items())


def undefined_quotient(case: Case, result: Result) -> Iterator[Suspect]:
    """The fact about a division by a constant 0 whose result was never stored: a driver takes it for undefined."""
    instruction = case.program[result.index]
    if not isinstance(instruction, MatrixArithmetic) or instruction.operation is not Arithmetic.FDiv:
        return
    simplifier = Simplifier(case, result.index)
    if simplifier.constant(instruction.b or "") == 0 and (result.actual == encode(result.component, [BEFORE])[0]).all():
        yield Suspect("NU-022", f"{simplifier.here} is by a constant 0, and its result was never stored")


def classes_of(case: Case, expectation: Expectation, result: Result) -> tuple[OfAClass, ...]:
    """The classes of numbers to which most wrong elements of a result belong, if each has one allowed value."""
    wrong = result.wrong
    if not wrong.any() or (result.actual[wrong] == encode(result.component, [BEFORE])[0]).all():
        return ()
    sure, spread = np.ones(int(wrong.sum()), bool), result.spread
    if spread is not None:
        lo, hi, flags = (np.broadcast_to(a, wrong.shape)[wrong] for a in (spread.lo, spread.hi, spread.flags))
        sure = certain(result.component, lo, hi, flags)
    exact = _exact(case, expectation, result)
    return tuple(classes(result.component, result.actual[wrong], result.expected[wrong], sure, exact))


def _exact(case: Case, expectation: Expectation, result: Result) -> npt.NDArray[np.float64] | None:
    """The numbers of which an instruction's rounding makes its wrong elements; None if they are not known."""
    names = [name for ids in defined_ids(case.program) for name in ids]
    if result.iterations or result.name not in names or not result.component.is_float:
        return None
    values = Values(case, expectation, np.arange(len(result.wrong)))
    exact = None
    match case.program[result.index]:
        case MatrixConvert(matrix=source):
            exact = values.numbers(source)
        case MatrixArithmetic(operation=operation, a=a, b=b) if operation in _EXACT:
            first, second = values.numbers(a), values.numbers(b)
            if first is not None and second is not None:
                with np.errstate(all="ignore"):
                    exact = _EXACT[operation](first, second)
        case _:
            return None
    if exact is None or exact.shape[1:] != result.wrong.shape[1:]:
        return None
    return np.broadcast_to(exact, result.wrong.shape)[result.wrong].astype(np.float64)


#: Operations whose exact results float64 holds, nearly always.
_EXACT = {Arithmetic.FAdd: np.add, Arithmetic.FSub: np.subtract, Arithmetic.FMul: np.multiply}
