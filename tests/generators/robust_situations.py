"""What goes outside of buffers in cases with robustness: the rows on that in docs/generators.md."""

from __future__ import annotations

from cts import model as m
from cts.reference.addressing.coordinates import Status
from cts.reference.execution.program import evaluate


def robust_situations(case: m.Case) -> set[str]:
    """Every such situation that occurs in the case."""
    if case.robustness is None:
        return set()
    found = {case.robustness.value}
    for access in evaluate(case).outside:
        op, outside = "store" if access.store else "load", access.status == Status.OUTSIDE
        found.add(f"{op} {'wholly' if outside.all() else 'partly'} outside, {case.robustness.value}")
        rows = outside.any(axis=-1) & ~outside.all(axis=-1)
        if rows.any():
            found.add(f"{op} whose rows are partly outside")
        if case.buffers[access.buffer].size % 16:
            found.add(f"{op} outside, of 16 bytes with the end in them")
    if any(isinstance(i, m.TensorInstruction) for i in case.program):
        found.add("robust beside tensor instructions")
    return found
