"""Pipelines whose module under test is no compute shader, and how their invocations are started.

What goes with the module - a vertex shader for a fragment shader, a ray generation shader for all that rays lead to -
comes with the run, as SPIR-V. The numbers of the invocations are those of docs/stages.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import vulkan as vk

from ..launch import COMPUTE, Launch, Shader
from .graphics import Draws
from .rays import Traces

#: By the names of the protocol.
SHADERS = {
    "vertex": Shader(0x1, 0x8),
    "tessellation_control": Shader(0x2, 0x10),
    "tessellation_evaluation": Shader(0x4, 0x20),
    "geometry": Shader(0x8, 0x40),
    "fragment": Shader(0x10, 0x80),
    "compute": COMPUTE,
    "task": Shader(0x40, 0x80000),
    "mesh": Shader(0x80, 0x100000),
    "ray_generation": Shader(0x100, 0x200000),
    "any_hit": Shader(0x200, 0x200000),
    "closest_hit": Shader(0x400, 0x200000),
    "miss": Shader(0x800, 0x200000),
    "intersection": Shader(0x1000, 0x200000),
    "callable": Shader(0x2000, 0x200000),
}

#: VkShaderStageFlagBits of ray tracing shaders.
_RAYS = 0x3F00


class StagedKey(NamedTuple):
    """What makes pipelines of one module differ: its stage, and the modules that go with it, by stage."""

    stage: str
    companions: tuple[tuple[str, bytes], ...]


def make(device: Any, key: StagedKey, stage: Any, layout: Any) -> tuple[Any, Launch]:
    """The pipeline, and what starts it. `device` is a LogicalDevice; `stage` creates that of the module under test.

    Raises vulkan's VkError.
    """
    shader = SHADERS[key.stage]
    with _stages(device.handle, key.companions) as others:
        infos = {key.stage: stage} | others
        if shader.flag & _RAYS:
            traces = Traces(device, key.stage, shader, infos, layout)
            return traces.pipeline, traces
        draws = Draws(device.handle, key.stage, shader, infos, layout)
        return draws.pipeline, draws


@contextmanager
def _stages(device: Any, modules: Sequence[tuple[str, bytes]]) -> Iterator[dict[str, Any]]:
    """VkPipelineShaderStageCreateInfo of modules, which are gone afterwards."""
    made: list[Any] = []
    infos: dict[str, Any] = {}
    try:
        for name, words in modules:
            made.append(
                vk.vkCreateShaderModule(device, vk.VkShaderModuleCreateInfo(codeSize=len(words), pCode=words), None)
            )
            infos[name] = vk.VkPipelineShaderStageCreateInfo(stage=SHADERS[name].flag, module=made[-1], pName="main")
        yield infos
    finally:
        for module in made:
            vk.vkDestroyShaderModule(device, module, None)
