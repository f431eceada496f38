"""The shaders of ggml's Vulkan backend without matrices, and the constants that its host gives them.

Names and definitions are read from the calls of `string_to_spv` in vulkan-shaders-gen.cpp, constants from those of
`ggml_vk_create_pipeline` in ggml-vulkan.cpp. Of the loops over types there, `_LOOPS` are done for `_TYPES`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from cts.showing.export.glsl.compiler import Workplace, workplace
from public_modules.made import Made, Sources, Tools

_FOLDER = "src/ggml-vulkan"
_BASE = {"FLOAT_TYPE": "float", "FLOAT_TYPEV2": "vec2", "FLOAT_TYPEV4": "vec4"}
_CALL = re.compile(
    r'^\s*string_to_spv\("(\w+)",\s*"(\w+)\.comp",\s*(merge_maps\(base_dict, )?\{(.*)\}\)?\);', re.MULTILINE
)
_DEFINITION = re.compile(r'\{"(\w+)"\s*,\s*"([^"]*)"\}')
_PIPELINE = re.compile(r'ggml_vk_create_pipeline\(device, [^;]*?"(\w+)",\s*(\w+)_len[^;]*?\},\s*\{([^{}]*)\},\s*\d+')

#: Numbers of a subgroup of AMD's and what follows from it in the host's code.
_NAMES = {"device->subgroup_size": 64, "wg_size_subgroup": 64, "wg_size_subgroup16": 64, "subgroup_size": 64}

_TYPES = (
    "q4_0",
    "q5_1",
    "q8_0",
    "q2_k",
    "q3_k",
    "q4_k",
    "q6_k",
    "iq1_s",
    "iq2_xs",
    "iq3_s",
    "iq4_nl",
    "iq4_xs",
    "mxfp4",
)
_OWN = re.compile(r"q\d_k|iq[123]_\w+")


class Shader(NamedTuple):
    """A shader as the generator compiles it: the module's name, the file, and definitions."""

    name: str
    file: str
    definitions: dict[str, str]


def shaders(generator: str) -> Iterator[Shader]:
    """The shaders of calls with plain names, then those of the loops over types."""
    for name, file, based, given in _CALL.findall(generator):
        if "mul_mm" not in file and "flash" not in file and "_dot2" not in name:
            yield Shader(name, file, (_BASE if based else {}) | dict(_DEFINITION.findall(given)))
    for t in _TYPES:
        data = {f"DATA_A_{t.upper()}": "1"}
        own = f"mul_mat_vec_{t}" if _OWN.fullmatch(t) else "mul_mat_vec"
        wide = {"B_TYPE": "float", "B_TYPEV2": "vec2", "B_TYPEV4": "vec4", "D_TYPE": "float"}
        yield Shader(f"mul_mat_vec_{t}_f32_f32", own, _BASE | data | wide)
        yield Shader(f"mul_mat_vec_{t}_f32_f32_subgroup", own, _BASE | data | wide | {"USE_SUBGROUP_ADD": "1"})
        yield Shader(f"dequant_{t}", f"dequant_{t}", _BASE | data | {"D_TYPE": "float16_t"})
        rows = {"TEMP_TYPE": "FLOAT_TYPE", "B_TYPE": "int", "D_TYPE": "float"}
        yield Shader(f"get_rows_{t}_f32", "get_rows_quant", _BASE | data | rows)
    for t in ("q4_0", "q5_1", "q8_0", "iq4_nl"):
        data = {f"DATA_A_{t.upper()}": "1", "D_TYPE": "float", "FLOAT_TYPE": "float"}
        yield Shader(f"cpy_f32_{t}", "copy_to_quant", data | {"S_TYPE": "float"})
        yield Shader(f"cpy_{t}_f32", "copy_from_quant", data)
    for operation in ("add", "sub", "mul", "div"):
        for t in ("float", "float16_t"):
            types = dict.fromkeys(("A_TYPE", "B_TYPE", "D_TYPE"), t)
            given = types | {"FLOAT_TYPE": "float", "ADD_RMS": "0"}
            yield Shader(f"{operation}_{t}", operation, given)


def constants(sources: Sources) -> dict[str, list[int]]:
    """By module the specialisation constants of the first pipeline that the host makes of it."""
    found: dict[str, list[int]] = {}
    for _, module, given in _PIPELINE.findall(sources.text(f"{_FOLDER}/ggml-vulkan.cpp")):
        values = [_number(piece.strip()) for piece in given.split(",") if piece.strip()]
        if None not in values:
            found.setdefault(module, [v for v in values if v is not None])
    return found


def given_to(name: str, found: dict[str, list[int]]) -> list[int]:
    """The constants of a module: those of the host, or of the loops over types in it."""
    if name.startswith("mul_mat_vec_") and name not in found:
        return [64, 2, 1]  # lanes, rows of an invocation, columns
    return found.get(name, [])


def _number(text: str) -> int | None:
    return _NAMES.get(text, int(text) if re.fullmatch(r"\d+", text) else None)


def modules(sources: Sources, tools: Tools) -> Iterator[Made]:
    """Every shader, compiled as the generator does with glslang in place of glslc."""
    wanted = list(
        {s.name: s for s in shaders(sources.text(f"{_FOLDER}/vulkan-shaders/vulkan-shaders-gen.cpp"))}.values()
    )
    with sources.folder(f"{_FOLDER}/vulkan-shaders") as folder, workplace(tools.glslang) as place:
        shutil.copytree(folder / _FOLDER / "vulkan-shaders", place.folder, dirs_exist_ok=True)
        with ThreadPoolExecutor(2) as pool:
            yield from pool.map(lambda shader: _compiled(place, shader), wanted)


def _compiled(place: Workplace, shader: Shader) -> Made:
    source, target = place.folder / f"{shader.file}.comp", place.folder / f"{shader.name}.spv"
    if not source.exists():
        return Made(shader.name, None, f"no file {source.name}")
    options = ["--quiet", "-V", "--target-env", "vulkan1.2", "-P#extension GL_GOOGLE_include_directive : require"]
    plain = "bf16" in shader.name or "rope" in shader.name
    options += [] if plain else ["-O"]
    options += [f"-D{name}={value}" for name, value in shader.definitions.items()]
    made = place.compile(source, target, options)
    if made.words is None:
        lines = [line for line in made.message.splitlines() if "ERROR" in line] or [made.message]
        return Made(shader.name, None, Path(lines[0]).name)
    return Made(shader.name, made.words.tobytes())
