"""Instructions that are one call in GLSL, as their structs declare it."""

from __future__ import annotations

import re
from typing import Any

from cts.case.model import Instruction, VectorInstruction, VectorLoad, VectorStore, VectorType, constant_of
from cts.case.model.fields import Held, held
from cts.showing.export.glsl.callbacks import callback
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.memory import memory_place, place_of
from cts.showing.export.glsl.shader import Declared, Shader
from cts.showing.export.glsl.type_constants import declared_type, derived_type, type_constant


@write_instruction.register
def by_form(instruction: Instruction, shader: Shader) -> None:
    """A call that gives the result, or one that writes it to a variable, which begins as what the instruction passes.

    The function `type` is the constructor of the result's type.
    """
    if isinstance(instruction, VectorLoad | VectorStore) and _by_components(instruction, shader):
        return
    kind, name = type(instruction).__name__, getattr(instruction, "id", None)
    call = re.fullmatch(r"(\w+)\((.+)\)", instruction.glsl)
    if call is None:
        raise NotImplementedError(f"no GLSL of {kind}: see docs/adding-an-instruction.md")
    function, arguments = call[1], call[2].split(", ")
    if function.startswith("coopMat"):
        shader.extensions.add("GL_NV_cooperative_matrix2")
    type_ = None if name is None else _result_type(instruction, shader)
    fields = [argument for argument in arguments if argument != "id"]
    # Specialization constants stand in the order of SPIR-V's operands.
    order = [word.rstrip("?") for word in (instruction.form or " ".join(fields)).split()]
    texts = {word: _texts(instruction, shader, word) for word in order}
    passed = [text for field in fields for text in texts[field]]
    if name is None or type_ is None:
        shader.line(f"{function}({', '.join(passed)});")
    elif len(fields) == len(arguments):
        function = type_.name if function == "type" else function
        shader.define(name, type_, f"{function}({', '.join(passed)})")
    else:
        before = shader.results[getattr(instruction, instruction.typed_as)] if instruction.typed_as else None
        result = shader.define(name, type_, before)
        shader.line(f"{function}({', '.join((result, *passed))});")


def _by_components(instruction: VectorLoad | VectorStore, shader: Shader) -> bool:
    """An ordinary vector loaded or stored component by component: elements of the buffer, or parts of them."""
    declared = (
        shader.composite(instruction.vector).declared if isinstance(instruction, VectorStore) else instruction.type
    )
    assert isinstance(declared, VectorType)
    if not declared.ordinary:
        return False
    buffer, length = shader.case.buffers[instruction.buffer], constant_of(declared.length)
    if isinstance(instruction, VectorStore):
        vector = shader.results[instruction.vector]
    else:
        vector = shader.define(instruction.id, declared_type(shader, declared))
    array, offset = memory_place(shader, instruction.buffer, "offset", instruction.offset)
    first = shader.names.fresh("first")
    shader.line(f"const uint {first} = ({offset}) / {buffer.element_size}u;")
    assert isinstance(length, int)
    for n in range(length):
        index, part = divmod(n, buffer.components)
        place = f"{array}[{first} + {index}u]" + (f"[{part}]" if buffer.components > 1 else "")
        if isinstance(instruction, VectorStore):
            shader.line(f"{place} = {shader.cast(buffer.type, declared.component, f'{vector}[{n}]')};")
        else:
            shader.line(f"{vector}[{n}] = {shader.cast(declared.component, buffer.type, place)};")
    return True


def _result_type(instruction: Instruction, shader: Shader) -> Declared:
    """The type of the operand that is passed, the declared one, or the one that follows from the matrix."""
    if instruction.typed_as:
        return shader.declared[getattr(instruction, instruction.typed_as)]
    declared = getattr(instruction, "type", None)
    if declared is not None:
        return declared_type(shader, declared)
    return derived_type(shader, instruction, getattr(instruction, (instruction.form or "").split()[0]))


def _texts(instruction: Instruction, shader: Shader, word: str) -> list[str]:
    """The arguments that a field holds; those of fields that alternate."""
    together = [_of_field(instruction, shader, field) for field in word.split("/")]
    return [text for texts in zip(*together, strict=True) for text in texts]


def _of_field(instruction: Instruction, shader: Shader, field: str) -> list[str]:
    value: Any = getattr(instruction, field)
    if value is None:
        return []
    match held(type(instruction), field):
        case Held.RESULT | Held.LAYOUT:
            return [shader.results[value]]
        case Held.OPERAND if isinstance(value, tuple):
            return shader.operands(field, value)
        case Held.OPERAND:
            return [shader.operand(field, value)]
        case Held.ENUM | Held.TRUTH | Held.INTEGER:
            return [type_constant(shader, value, field)]
        case Held.FUNCTION:
            return [callback(shader, value)]
        case Held.MEMORY if isinstance(instruction, VectorInstruction):
            return [*memory_place(shader, value, "offset", getattr(instruction, "offset"))]  # noqa: B009
        case Held.MEMORY:
            return [place_of(shader, instruction)]  # type: ignore[arg-type]
        case other:
            raise NotImplementedError(f"no call of GLSL has {field}, which holds {other}")
