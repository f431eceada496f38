"""The compute shaders of the RTX Neural Shading SDK, with buffers in the place of textures and of texel buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from public_modules.made import Made, Sources, Tools
from public_modules.slang import compile_all

#: What the shaders take from the framework beside them: names of registers.
HELPERS = """
#define REGISTER_SRV(n, s) register(t##n, space##s)
#define REGISTER_UAV(n, s) register(u##n, space##s)
#define REGISTER_SAMPLER(n, s) register(s##n, space##s)
#define DECLARE_CBUFFER(type, name, n, s) ConstantBuffer<type> name : register(b##n, space##s)
"""

#: The shifts by which its host code separates registers.
SHIFTS = ["-fvk-t-shift", "0", "0", "-fvk-s-shift", "128", "0", "-fvk-b-shift", "256", "0", "-fvk-u-shift", "384", "0"]


def without_textures(text: str) -> str:
    """A shader whose textures are buffers by rows."""
    names = re.findall(r"\b(?:RW)?Texture2D<float4>\s+(\w+)", text)
    width = "gConst.resolution.x" if "gConst.resolution" in text else "gConst.imageWidth"
    text = re.sub(r"\b(RW)?(?:Texture2D|Buffer)<", r"\1StructuredBuffer<", text)
    for name in names:
        text = re.sub(rf"\b{name}\[([\w.]+)\]", rf"{name}[\1.y * {width} + \1.x]", text)
    return text


def modules(sources: Sources, tools: Tools) -> Iterator[Made]:
    """The shaders that `shaders.cfg` of each sample lists as compute shaders."""
    with sources.folder("samples", "src") as folder:
        helpers = folder / "donut/shaders/binding_helpers.hlsli"
        helpers.parent.mkdir(parents=True)
        helpers.write_text(HELPERS, encoding="utf-8")
        for path in (*folder.rglob("*.slang"), *folder.rglob("*.hlsli")):
            path.write_text(without_textures(path.read_text(encoding="latin-1")), encoding="latin-1")
        include = [folder, folder / "src/NeuralShading_Shaders", folder / "src/Utils", folder / "src"]
        calls: dict[str, list[str]] = {}
        for listed in sorted(folder.rglob("shaders.cfg")):
            for line in listed.read_text(encoding="utf-8").splitlines():
                match = re.match(r"(?:src/)?(\S+\.slang) .*-E (\w+) .*-T cs", line)
                if match:
                    source = next(folder.rglob(Path(match[1]).name))
                    options = [word for path in (source.parent, *include) for word in ("-I", str(path))]
                    defined = re.findall(r"-D ?(\w+=\w+)", line)
                    calls["_".join([source.stem, *defined]).replace("=", "")] = [
                        str(source), "-target", "spirv", "-entry", match[2], "-stage", "compute", *options, *SHIFTS,
                        *(f"-D{word}" for word in defined),
                    ]  # fmt: skip
        yield from compile_all(tools.slang, calls)
