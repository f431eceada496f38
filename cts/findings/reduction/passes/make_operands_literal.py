"""One operand of an instruction is a literal that is the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case
from cts.findings.reduction.candidates import with_instruction
from cts.findings.reduction.literals import literal


def propose(case: Case, i: int) -> Iterator[Case]:
    instruction = case.program[i]
    for field in instruction.__struct_fields__:
        value = getattr(instruction, field)
        plain = literal(value)
        if plain != value:
            yield with_instruction(case, i, structs.replace(instruction, **{field: plain}))
