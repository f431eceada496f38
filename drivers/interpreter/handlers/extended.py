"""OpExtInst: instructions of GLSL.std.450 by their names. Sets without semantics never get here."""

from __future__ import annotations

from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Unsupported
from cts.drivers.interpreter.registry import Step, lookup, step
from cts.drivers.interpreter.vectors.opcodes import check_on_vectors
from cts.spirv.grammar import extended_instructions

GLSL = "GLSL.std.450"


@step("OpExtInst")
def extended(c: Compiler, i: Instruction) -> Step:
    set_, number = c.module.imports.get(i.id(0), "an unknown set"), i.number(1)
    if set_ != GLSL:
        raise Unsupported(f"instruction {number} of {set_}")
    name = extended_instructions(GLSL).get(number, str(number))
    inner = i.held(2, name, i.opcode)
    check_on_vectors(c.declared, inner)
    handlers = lookup(name)
    if (make := handlers.glsl_step.get(name)) is not None:
        return make(c, inner)
    if (make_pure := handlers.glsl_pure.get(name)) is not None:
        return c.pure_step(inner, make_pure)
    raise Unsupported(f"instruction {name} of {set_}")
