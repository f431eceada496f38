"""Atomic additions to elements of buffers (CV-040, CV-041, CV-042)."""

from __future__ import annotations

from cts.case.model import VectorAtomicAdd, VectorShape
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.memory import array_of
from cts.showing.export.glsl.shader import Shader


@write_instruction.register
def vector_atomic_add(instruction: VectorAtomicAdd, shader: Shader) -> None:
    """CV-040: Relaxed is no storage class and no bit of the semantics."""
    i, shape = instruction, shader.composite(instruction.vector)
    assert isinstance(shape, VectorShape)
    adds = shape.component.descriptor.atomic_add
    assert adds is not None, "resolve knows what is added to"
    if adds.extension:
        shader.extensions.add(adds.extension)
    array, vector, first = array_of(shader, i.buffer), shader.results[i.vector], shader.names.fresh(f"{i.buffer}_at")
    shader.line(f"const uint {first} = uint({shader.operand('offset', i.offset)}) / {shape.component.size}u;")
    for n in range(shape.length):
        place = f"{array}[{first} + {n}u]"
        shader.line(f"atomicAdd({place}, {vector}[{n}], gl_Scope{i.scope.value}, 0, gl_SemanticsRelaxed);")
