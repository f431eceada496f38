"""The whole shader: head comment, extensions, and sections in the order in which they are needed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from cts.case.model import Case, FloatControls, WorkgroupSizeMode
from cts.showing.export.cannot import CannotExpress
from cts.showing.export.glsl import memory
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.shader import Shader
from cts.spirv.grammar import grammar
from cts.spirv.lower import lower

#: How glslang is called on it, for the head of the shader.
COMMAND = "glslang -V --target-env vulkan1.3 -o shader.spv shader.comp"


def glsl(case: Case, subgroup_size: int) -> str:
    """The shader of a well-formed case as GLSL, with the interface of the suite's own module.

    The same bindings, SpecIds, push constants and parameter words, so that the data of a job (see
    `cts.spirv.lower.bind`) run either. Raises CannotExpress for what GLSL cannot express, and
    HarnessTrouble where the case has no module (see `cts.spirv.lower.lower`).
    """
    if case.float_controls is FloatControls.FastMathNone:
        what = "float_controls FastMathNone (SPV_KHR_float_controls2): its precise is NoContraction"
        raise CannotExpress(f"GLSL cannot express {what}", "float_controls")
    local_size = case.dispatch.local_size(subgroup_size)
    shader = Shader(case, lower(case, subgroup_size), math.prod(local_size))
    size = _local_size(shader, local_size)
    memory.declare(shader)
    memory.copy_in(shader)
    for shader.at, instruction in enumerate(case.program):
        write_instruction(instruction, shader)
    memory.copy_out(shader)
    modes = list(_modes(case))
    if modes:
        shader.extensions.add("GL_EXT_spirv_intrinsics")
    functions = [text for _, text in shader.functions.values()]
    sections = (
        [*_head(shader), *(f"#extension {e} : require" for e in sorted(shader.extensions))],
        [size, *modes],
        shader.spec_constants,
        shader.buffer_lines,
        shader.type_lines,
        *([text] for text in functions),
        ["void main() {", *shader.body, "}"],
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _local_size(shader: Shader, extents: tuple[int, int, int]) -> str:
    """The declaration of the workgroup's size, by SpecIds where the case gives it by specialization constants.

    GLSL cannot say which execution mode has it: glslang takes LocalSizeId for SpecIds in SPIR-V 1.6.
    """
    by = shader.case.dispatch.size_by
    if by.specialized:
        parts = [f"local_size_{axis}_id = {n}" for axis, n in zip("xyz", shader.lowered.size_constants, strict=True)]
    else:
        parts = [f"local_size_{axis} = {n}" for axis, n in zip("xyz", extents, strict=True) if n > 1 or axis == "x"]
    if by not in (WorkgroupSizeMode.LocalSize, WorkgroupSizeMode.SpecLocalSizeId):
        shader.notes.append(f"the workgroup's size is not given by {by.value}")
    return f"layout({', '.join(parts)}) in;"


def _modes(case: Case) -> Iterator[str]:
    """The float execution modes, which have no words of their own in GLSL."""
    for width, listed in case.float_modes.items():
        for mode in listed:
            number, capability = (grammar().value(kind, mode.value) for kind in ("ExecutionMode", "Capability"))
            yield f"spirv_execution_mode(capabilities = [{capability}], {number}, {width.bits});  // {mode.value}"


def _head(shader: Shader) -> list[str]:
    """The version, and in comments what the shader is of; texts of the case cannot end a comment."""
    texts = [_one_line(shader.case.name), _one_line(shader.case.description)]
    if shader.notes:
        texts.append(f"Written differently from the module: {'; '.join(shader.notes)}.")
    texts.append(COMMAND)
    lines = [line for text in texts for line in textwrap.wrap(text, 110)]
    return ["#version 460", "#pragma use_vulkan_memory_model", *(f"// {line}" for line in lines)]


def _one_line(text: str) -> str:
    """Without what would go on in the next line: control characters, and backslashes."""
    return "".join(c if c.isprintable() and c.isascii() and c != "\\" else " " for c in text)
