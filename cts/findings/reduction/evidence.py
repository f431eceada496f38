"""Evidence of a bug in a failing case, beyond the failure itself, which a reduction must keep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cts.case import model
from cts.case.oracle.expectation import Expectation
from cts.judging.compare import Bits, Differing, Divergence
from cts.judging.guesses import NumbersOfAClass, RightBeforeStore, WrongBeforeStore, guesses
from cts.judging.judge import Attempt


class Evidence(NamedTuple):
    """Evidence in the elements that differ; more is better in each field.

    `sourced`: each element holds the value of exactly one element of a buffer that counts, which is then the element
    that was read instead, as nothing is computed. `apart`: the initial content of each element differs from its
    expected value. `written`: it also differs from the actual value, so that only an unwritten element looks
    unwritten. `counting`: the number of loads that read a buffer that counts.
    """

    sourced: bool
    apart: bool
    written: bool
    counting: int


def evidence(case: model.Case, divergence: Divergence) -> Evidence:
    """The evidence in a divergence."""
    groups = [g for g in divergence.groups if not g.guard]
    whole = bool(groups) and len(groups) == len(divergence.groups)
    return Evidence(
        whole
        and not any(isinstance(i, (model.Computation, model.Accumulation)) for i in case.program)
        and all(_sourced(case, g) for g in groups),
        whole and all(_differs(case, g, g.lo) for g in groups),
        whole and all(_differs(case, g, g.actual) for g in groups),
        _counting(case),
    )


def tells(case: model.Case, attempt: Attempt, expectation: Expectation) -> bool:
    """Whether guesses describe a failure, apart from whether a matrix is wrong before it is stored."""
    if attempt.divergence is None or attempt.outcome is None:
        return False
    guessed = guesses(case, expectation, attempt.divergence, attempt.outcome.memory, attempt.outcome.matrices)
    return any(not isinstance(guess, WrongBeforeStore | RightBeforeStore | NumbersOfAClass) for guess in guessed)


def is_sized(case: model.Case) -> bool:
    """Whether every tensor load and store has a layout whose dimensions were set, none of them to 0."""
    sized: dict[str, bool] = {}
    for i in case.program:
        if isinstance(i, model.TensorLayoutSetDimension):
            sized[i.id] = all(model.base_of(d) != 0 or model.factors_of(d).any_set for d in i.dims)
        elif isinstance(i, model.LayoutInstruction):
            sized[i.id] = isinstance(i, model.Setter) and sized[i.of]
        elif isinstance(i, model.TensorInstruction) and not sized[i.layout]:
            return False
    return True


def is_weaker(one: Evidence, other: Evidence) -> bool:
    """Whether `one` shows less than `other` in any field."""
    return any(a < b for a, b in zip(one, other, strict=True))


def _sourced(case: model.Case, group: Differing) -> bool:
    values = np.unique(group.actual)
    for name, buffer in case.buffers.items():
        if buffer.type is group.component and buffer.elements > 1 and _counts(case, name):
            contents, times = np.unique(model.initial_bits(buffer), return_counts=True)
            if np.isin(values, contents[times == 1]).all():
                return True
    return False


def _differs(case: model.Case, group: Differing, values: Bits) -> bool:
    """Whether every element's value from before differs from all `values`; both zeros are one value."""
    buffer = case.buffers[group.buffer]
    if group.component is not buffer.type:
        return False
    before = model.initial_bits(buffer)[group.offsets // buffer.type.size]
    zeros = model.encode(buffer.type, [0, -0.0 if buffer.type.is_float else 0])
    same = (before == values) | (np.isin(before, zeros) & np.isin(values, zeros))
    return not same.any()


def _counts(case: model.Case, name: str) -> bool:
    data = case.buffers[name].data
    return data.iota is not None or data.counter is not None


def _counting(case: model.Case) -> int:
    roots = {name: name for name in case.buffers}
    for instruction in case.program:
        if isinstance(instruction, model.Pointer):
            roots[instruction.id] = roots.get(instruction.buffer, "")
    read = [roots.get(i.buffer, "") for i in case.program if isinstance(i, model.Load)]
    return sum(name in case.buffers and _counts(case, name) for name in read)
