"""The table of lowering functions: one per instruction, registered by the module it belongs to."""

from __future__ import annotations

from functools import singledispatch

from cts.case.model import Instruction
from cts.spirv.lower.context import Lowering


@singledispatch
def lower_instruction(instruction: Instruction, lowering: Lowering) -> None:
    """Emit what one instruction of a case stands for."""
    raise NotImplementedError(f"no lowering of {type(instruction).__name__}: see docs/adding-an-instruction.md")
