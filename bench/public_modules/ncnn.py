"""The shaders of ncnn that have cooperative matrices.

They are text without types, for which src/gpu.cpp has definitions by options; those of float16 storage and float32
arithmetic are taken from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from cts.showing.export.glsl.compiler import compiled
from public_modules.made import Made, Sources, Tools

#: Options of ncnn that hold; all others do not.
OPTIONS = (
    "fp16_storage", "fp16_packed", "fp16_uniform", "int8_storage", "int8_packed", "int8_uniform", "int8_arithmetic",
)  # fmt: skip

#: What the shaders ask for themselves, if at all, behind conditions.
EXTENSIONS = (
    "GL_EXT_shader_16bit_storage", "GL_EXT_shader_8bit_storage", "GL_EXT_shader_explicit_arithmetic_types",
    "GL_EXT_shader_explicit_arithmetic_types_float16", "GL_EXT_shader_explicit_arithmetic_types_int8",
)  # fmt: skip

SHADERS = "src/layer/vulkan/shader"


def definitions(source: str) -> list[tuple[str, str]]:
    """The macros that gpu.cpp defines under OPTIONS: its conditions nest, one brace to a line."""
    lines = source.splitlines()
    first = next(n for n, line in enumerate(lines) if 'custom_defines.append("sfp"' in line) - 6
    found: list[tuple[str, str]] = []
    active, taken, following = [True], {0: False}, True
    for line in map(str.strip, lines[first : first + 900]):
        if match := re.match(r"(else )?if \((.*)\)$", line):
            before = taken.get(len(active), False) if match[1] else False
            following = _holds(match[2]) and not before
            taken[len(active)] = before or following
        elif line == "else":
            following = not taken.get(len(active), False)
        elif line.startswith("{"):
            active.append(active[-1] and following)
            following = True
        elif line.startswith("}") and len(active) > 1:
            active.pop()
        elif active[-1] and (match := re.match(r'custom_defines\.append\("(.*?)", "(.*)"\);', line)):
            found.append((match[1], match[2].replace('\\"', '"').replace("\\\\", "\\")))
    return found


def _holds(condition: str) -> bool:
    """Whether a condition of options holds: terms of && and ||, each with or without a !."""

    def term(text: str) -> bool:
        name = text.strip().removeprefix("!").removeprefix("opt.use_")
        return (name in OPTIONS or name.startswith("support_")) is not text.strip().startswith("!")

    return any(all(term(t) for t in part.split("&&")) for part in condition.split("||"))


def written(shader: str, activation: str, macros: list[tuple[str, str]]) -> str:
    """A shader with its includes and with the macros that it needs."""
    text = re.sub(r"#extension GL_GOOGLE_include_directive.*\n|#include .*\n", "", shader)
    head, version, rest = text.partition("#version 450\n")
    said = [f"#extension {name}: require" for name in EXTENSIONS]
    said += [f"#define ncnn_{name} 1" for name in (*OPTIONS, "VK_KHR_cooperative_matrix", "subgroup_basic")]
    said += [f"#define {name} {value}" for name, value in macros]
    return "\n".join([head + version, *said, activation.replace("#version 450", ""), rest])


def modules(sources: Sources, tools: Tools) -> Iterator[Made]:
    """Every shader that multiplies matrices."""
    macros = definitions(sources.text("src/gpu.cpp"))
    activation = sources.text(f"{SHADERS}/vulkan_activation.comp")
    shaders = {
        Path(name).stem: written(shader, activation, macros)
        for name in sources.names(SHADERS)
        if name.endswith("_cm.comp") and "coopMatMulAdd" in (shader := sources.text(name))
    }
    for name, made in zip(shaders, compiled(tools.glslang, shaders.values(), 2), strict=True):
        yield Made(name, None if made.words is None else made.words.tobytes(), made.message)
