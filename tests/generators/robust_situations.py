"""What goes outside of buffers in cases with robustness, and far into them: the rows on that in docs/generators.md."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case import model as m
from cts.reference.addressing.coordinates import Status
from cts.reference.execution.program import evaluate


def robust_situations(case: m.Case) -> set[str]:
    """Every such situation that occurs in the case."""
    return {*_far(case), *_robust(case)}


def _far(case: m.Case) -> Iterator[str]:
    """Where contents begin late, and what accesses them beyond 2 GiB."""
    late = {name for name, buffer in case.buffers.items() if buffer.begins_at}
    if late:
        yield "late contents"
    for step, access in evaluate(case).accesses if late else ():
        if access.buffer in late:
            buffer = case.buffers[access.buffer]
            offsets = access.byte + buffer.begins_at
            if (offsets >= 1 << 31).any():
                op = type(case.program[step.index]).__name__
                yield f"{op} beyond 2 GiB, {buffer.storage.value}"
                if buffer.begins_at > 3 << 30:
                    yield "up to 4 GiB"
                elif (offsets < 1 << 31).any():
                    yield "across 2 GiB"


def _robust(case: m.Case) -> Iterator[str]:
    if case.robustness is None:
        return
    yield case.robustness.value
    for access in evaluate(case).outside:
        op, outside = "store" if access.store else "load", access.status == Status.OUTSIDE
        yield f"{op} {'wholly' if outside.all() else 'partly'} outside, {case.robustness.value}"
        rows = outside.any(axis=-1) & ~outside.all(axis=-1)
        if rows.any():
            yield f"{op} whose rows are partly outside"
        if case.buffers[access.buffer].size % 16:
            yield f"{op} outside, of 16 bytes with the end in them"
    if any(isinstance(i, m.TensorInstruction) for i in case.program):
        yield "robust beside tensor instructions"
