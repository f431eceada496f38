"""The table of functions that write GLSL: one per instruction, registered by the module it belongs to."""

from __future__ import annotations

from functools import singledispatch

from cts.case.model import Instruction
from cts.showing.export.glsl.shader import Shader


@singledispatch
def write_instruction(instruction: Instruction, shader: Shader) -> None:
    """Write the statements that one instruction of a case stands for."""
    raise NotImplementedError(f"no GLSL of {type(instruction).__name__}: see docs/adding-an-instruction.md")
