"""A pointer's offset is added to those of the instructions behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import Case, Pointer, renamed
from cts.findings.reduction.candidates import remove_unused


def propose(case: Case) -> Iterator[Case]:
    for instruction in case.program:
        match instruction:
            case Pointer(id=name, buffer=buffer, offset=int() as start):
                program = tuple(_moved(j, name, start) for j in case.program)
                yield remove_unused(case, tuple(renamed(j, name, buffer) for j in program))
            case _:
                pass


def _moved(i: Any, pointer: str, start: int) -> Any:
    if getattr(i, "buffer", None) == pointer and isinstance(i.offset, int):
        return structs.replace(i, offset=i.offset + start)
    return i
