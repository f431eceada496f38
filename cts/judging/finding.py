"""From a failed attempt to the finding that every report shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from cts.base.errors import described
from cts.case.model import Case, VectorInstruction, initial_bits
from cts.case.oracle import trace as traces
from cts.case.oracle.expectation import Expectation, Freedom, Oracle, Trace
from cts.judging.compare import Differing, Divergence, ulps
from cts.judging.events import BufferCount, Finding, Mismatch
from cts.judging.guesses import ElementsWritten, Guess, PartlyWritten, guesses
from cts.judging.judge import Attempt
from cts.judging.left import packed
from cts.judging.policy import policy_of
from cts.judging.sentences import value_text

#: Differing elements listed one by one: a whole 16x16 matrix.
LISTED = 256


def finding(
    case: Case,
    attempt: Attempt,
    expectation: Expectation | None = None,
    oracle: Oracle | None = None,
    most: int = LISTED,
) -> Finding:
    """The finding of a case that did not pass: up to `most` mismatches and steps, if the attempt has a divergence."""
    divergence, outcome = attempt.divergence, attempt.outcome
    if divergence is None or outcome is None or expectation is None or oracle is None:
        return Finding(case)
    writer, steps = _trace(case, divergence, oracle)
    return Finding(
        case,
        _counts(divergence),
        tuple(m for g in divergence.groups for m in mismatches(case, g, most))[:most],
        tuple(
            _standing(
                case, oracle, divergence, guesses(case, expectation, divergence, outcome.memory, outcome.matrices)
            )
        ),
        writer,
        steps,
        policy=policy_of(case, divergence),
        left=packed(expectation, outcome.memory),
    )


def _standing(case: Case, oracle: Oracle, divergence: Divergence, guessed: Iterable[Guess]) -> Iterator[Guess]:
    """The guesses that the oracle does not contradict: none of elements that no store may write and one does."""
    before = {name: initial_bits(buffer) for name, buffer in case.buffers.items()}
    for guess in guessed:
        if not isinstance(guess, ElementsWritten | PartlyWritten):
            yield guess
            continue
        stray = [
            int(offset)
            for g in divergence.groups
            if g.buffer == guess.buffer and not g.guard and g.component is case.buffers[g.buffer].type
            for offset in g.offsets[g.lo == before[g.buffer][g.offsets // g.component.size]]
        ]
        # The first, middle and last ones stand for all: each takes a trace.
        looked_at = {stray[n] for n in (0, len(stray) // 2, -1)} if stray else set()
        if not any(_written(case, oracle, guess.buffer, offset) for offset in looked_at):
            yield guess


def _written(case: Case, oracle: Oracle, buffer: str, offset: int) -> bool:
    """Whether an instruction or a conversion writes a byte, as far as the oracle can tell."""
    try:
        trace = oracle.trace(case, buffer, offset, depth=0)
    except Exception:  # noqa: BLE001 - the finding must be shown even if explaining it fails
        return True
    return trace.instruction is not None or trace.conversion is not None


def _counts(divergence: Divergence) -> tuple[BufferCount, ...]:
    """One count for each buffer's contents and each guard; intervals of several types are added up."""
    sums: dict[tuple[str, bool], list[int]] = {}
    for g in divergence.groups:
        entry = sums.setdefault((g.buffer, g.guard), [0, 0])
        entry[0] += len(g)
        entry[1] = max(entry[1], g.total)
    return tuple(BufferCount(buffer, guard, differing, total) for (buffer, guard), (differing, total) in sums.items())


def mismatches(case: Case, group: Differing, most: int) -> list[Mismatch]:
    """The first `most` differing elements, with values as text."""
    buffer = case.buffers[group.buffer]
    distance = ulps(group.component, group.actual[:most], group.lo[:most], group.hi[:most])
    listed = []
    for i in range(min(most, len(group))):
        offset = int(group.offsets[i])
        element, coordinates = None, None
        if not group.guard:
            element = offset // buffer.type.size
            coordinates = tuple(int(c) for c in np.unravel_index(element // buffer.components, buffer.shape))
            if buffer.components > 1:
                coordinates = (*coordinates, element % buffer.components)
        listed.append(
            Mismatch(
                group.buffer,
                group.guard,
                group.component.value,
                offset,
                element,
                coordinates,
                _expected(group, i),
                value_text(group.component, int(group.actual[i])),
                # Within its interval, an element breaks the rule, or is the other zero.
                int(distance[i]) or -1,
                int(group.actual[i]),
            )
        )
    return listed


def _expected(group: Differing, i: int) -> str:
    lo, hi, flags = int(group.lo[i]), int(group.hi[i]), Freedom(int(group.flags[i]))
    text = value_text(group.component, lo)
    if lo != hi:
        text = f"{text} to {value_text(group.component, hi)}"
    if group.rule:
        text = f"{text}, {group.rule}"
    if flags & Freedom.NAN:
        text += " or NaN"
    if flags & Freedom.EITHER_ZERO:
        text += " or either zero"
    return text


def _trace(case: Case, divergence: Divergence, oracle: Oracle) -> tuple[traces.Writer, tuple[traces.TraceStep, ...]]:
    """The writer of the first mismatch, and the steps to its expected value."""
    first = divergence.groups[0]
    offset = int(first.offsets[0])
    try:
        trace = oracle.trace(case, first.buffer, offset)
    except Exception as e:  # noqa: BLE001 - the finding must be shown even if explaining it fails
        return traces.WriterUnknown(offset, described(e)), ()
    return _writer(case, trace), trace.steps


def _writer(case: Case, trace: Trace) -> traces.Writer:
    if trace.conversion is not None:
        assert trace.row is not None and trace.col is not None, "a conversion writes elements"
        return traces.WrittenByConversion(trace.conversion, trace.row, trace.col)
    if trace.instruction is None:
        return traces.WrittenByNone()
    op = case.program[trace.instruction]
    assert trace.col is not None, "an instruction stores elements"
    vector = isinstance(op, VectorInstruction)
    name = getattr(op, "vector" if vector else "matrix")
    place = traces.ElementPlace(name, None if vector else trace.row, trace.col, trace.instance)
    return traces.WrittenByInstruction(trace.instruction, type(op).__name__, place)
