"""Every operand of every instruction is a literal that is the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case
from cts.findings.reduction.literals import literal


def propose(case: Case) -> Iterator[Case]:
    yield structs.replace(case, program=tuple(literal(i) for i in case.program))
