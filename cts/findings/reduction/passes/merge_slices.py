"""A slice of a slice as one slice (TA-016)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import Case, TensorLayoutSlice
from cts.findings.reduction.candidates import with_instruction


def propose(case: Case) -> Iterator[Case]:
    for i, second in enumerate(case.program):
        if not isinstance(second, TensorLayoutSlice):
            continue
        first = next((j for j in case.program if getattr(j, "id", None) == second.of), None)
        if isinstance(first, TensorLayoutSlice) and _plain(first.offset + second.offset):
            offset: Any = tuple(a + b for a, b in zip(first.offset, second.offset, strict=True))  # type: ignore[operator]
            yield with_instruction(case, i, structs.replace(second, of=first.of, offset=offset))


def _plain(offsets: tuple[Any, ...]) -> bool:
    return all(isinstance(o, int) for o in offsets)
