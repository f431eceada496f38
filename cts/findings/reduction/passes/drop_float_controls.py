"""No requirements on the arithmetic of the module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import AnyInstruction, Case, FloatControls


def propose(case: Case) -> Iterator[Case]:
    if case.float_controls is not FloatControls.Undecorated:
        program = tuple(_without_fast_math(i) for i in case.program)
        yield structs.replace(case, float_controls=FloatControls.Undecorated, fast_math={}, program=program)


def _without_fast_math(instruction: AnyInstruction) -> Any:
    """Only modules with defaults have exceptions from them (NU-048)."""
    return structs.replace(instruction, fast_math=None) if hasattr(instruction, "fast_math") else instruction
