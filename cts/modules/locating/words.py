"""What is known of a difference's origin, in words."""

from __future__ import annotations

from collections.abc import Iterator

from cts.modules.locating.locate import Located, Operand


def lines(located: Located) -> Iterator[str]:
    """The lines of a report."""
    if not located.instruction:
        yield from located.said
        return
    if not located.expected:
        yield f"wrong: {located.instruction}"
        yield from (f"  {said}" for said in located.said)
        return
    turn = f", after {located.turn} earlier executions" if located.turn else ""
    component = f", {located.component}" if located.component else ""
    yield f"first difference: {located.instruction}"
    ends = f"expected {located.expected}, actual {located.actual}"
    if located.kind == "way":
        ends = f"it goes to {located.actual} instead of {located.expected}"
    yield f"  invocation {located.invocation}{turn}{component}: {ends}"
    if located.operands:
        yield f"  operands: {', '.join(map(_operand, located.operands))}"
    yield from (f"  {said}" for said in located.said)
    if located.invocations > 1:
        yield f"  {located.invocations} of the invocations that were looked at differ here first"


def _operand(operand: Operand) -> str:
    actual = f" (actual {operand.actual})" if operand.actual else ""
    return f"{operand.name} = {operand.expected}{actual}"
