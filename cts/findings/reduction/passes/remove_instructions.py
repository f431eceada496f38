"""One instruction less; what used its result uses one of its operands instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cts.case.model import Case, references, renamed
from cts.findings.reduction.candidates import Program, remove_unused


def propose(case: Case, i: int) -> Iterator[Case]:
    for program in _without(case, i):
        yield remove_unused(case, program)


def _without(case: Case, i: int) -> Iterator[Program]:
    """Programs without instruction `i`; its users refer to one of its operands instead, whose type may be another."""
    instruction: Any = case.program[i]
    before, after = case.program[:i], case.program[i + 1 :]
    name = getattr(instruction, "id", None)
    if name is None:
        yield before + after
        return
    fields = instruction.stands_for
    values = () if fields is None else (getattr(instruction, field) for field in fields)
    named = (name for value in values for name in (value if isinstance(value, tuple) else (value,)))
    sources = references(instruction) if fields is None else named
    for source in dict.fromkeys(sources):
        yield before + tuple(renamed(later, name, source) for later in after)
