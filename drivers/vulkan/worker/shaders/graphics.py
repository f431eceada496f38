"""Draws without attachments: what shaders of the graphics pipeline do is seen in the buffers that they write."""

from __future__ import annotations

from typing import Any

import vulkan as vk

from ..launch import Shader
from ..protocol import Run
from .commands import command

#: VkPrimitiveTopology.
_POINTS, _TRIANGLE_STRIP, _PATCHES = 0, 4, 10

_MESHES = ("task", "mesh")

#: Two triangles that are a rectangle.
_CORNERS = 4

#: VkDynamicState.
_VIEWPORT, _SCISSOR = 0, 1


class Draws:
    """A graphics pipeline. Only that of a fragment shader rasterises, and none has attachments.

    Vertex, tessellation and geometry shaders get a point or patch of one vertex for each invocation, fragment shaders a
    rectangle of two triangles, task and mesh shaders workgroups.
    """

    point = 0

    def __init__(self, device: Any, stage: str, shader: Shader, infos: dict[str, Any], layout: Any) -> None:
        self.shader = shader
        self._device = device
        self._stage = stage
        self.pipeline = _pipeline(device, stage, infos, layout)

    def begin(self, commands: Any, run: Run) -> None:
        assert run.staged is not None
        extent = {"width": run.staged.extent[0], "height": run.staged.extent[1]}
        if self._stage != "fragment":
            extent = {"width": 1, "height": 1}
        ffi, lib = vk.ffi, vk.lib
        area = {"offset": {"x": 0, "y": 0}, "extent": extent}
        info = {"sType": vk.VK_STRUCTURE_TYPE_RENDERING_INFO, "renderArea": area, "layerCount": 1}
        viewport = {"x": 0, "y": 0, **extent, "minDepth": 0, "maxDepth": 1}
        lib.vkCmdSetViewport(commands, 0, 1, ffi.new("VkViewport *", viewport))
        lib.vkCmdSetScissor(commands, 0, 1, ffi.new("VkRect2D *", area))
        lib.vkCmdBeginRendering(commands, ffi.new("VkRenderingInfo *", info))

    def start(self, commands: Any, run: Run) -> None:
        assert run.staged is not None
        if self._stage in _MESHES:
            command(self._device, "vkCmdDrawMeshTasksEXT")(commands, *run.workgroups)
        else:
            vk.lib.vkCmdDraw(commands, _CORNERS if self._stage == "fragment" else run.staged.invocations, 1, 0, 0)

    def end(self, commands: Any) -> None:
        vk.lib.vkCmdEndRendering(commands)

    def close(self) -> None:
        """Nothing."""


def _pipeline(device: Any, stage: str, infos: dict[str, Any], layout: Any) -> Any:
    """Raises vulkan's VkError."""
    patches = "tessellation_control" in infos
    topology = _TRIANGLE_STRIP if stage == "fragment" else _PATCHES if patches else _POINTS
    meshes = bool(set(infos) & set(_MESHES))
    stages = list(infos.values())
    vertices = vk.VkPipelineVertexInputStateCreateInfo()
    assembly = vk.VkPipelineInputAssemblyStateCreateInfo(topology=topology)
    tessellation = vk.VkPipelineTessellationStateCreateInfo(patchControlPoints=1)
    viewports = vk.VkPipelineViewportStateCreateInfo(viewportCount=1, scissorCount=1)
    rasterisation = vk.VkPipelineRasterizationStateCreateInfo(
        rasterizerDiscardEnable=stage != "fragment",
        polygonMode=vk.VK_POLYGON_MODE_FILL,
        cullMode=vk.VK_CULL_MODE_NONE,
        lineWidth=1.0,
    )
    samples = vk.VkPipelineMultisampleStateCreateInfo(rasterizationSamples=vk.VK_SAMPLE_COUNT_1_BIT)
    dynamic = [_VIEWPORT, _SCISSOR]
    info = vk.VkGraphicsPipelineCreateInfo(
        pNext=vk.VkPipelineRenderingCreateInfo(),
        stageCount=len(stages),
        pStages=stages,
        pVertexInputState=None if meshes else vertices,
        pInputAssemblyState=None if meshes else assembly,
        pTessellationState=tessellation if patches else None,
        pViewportState=viewports,
        pRasterizationState=rasterisation,
        pMultisampleState=samples,
        pDynamicState=vk.VkPipelineDynamicStateCreateInfo(dynamicStateCount=len(dynamic), pDynamicStates=dynamic),
        layout=layout,
    )
    return vk.vkCreateGraphicsPipelines(device, vk.VK_NULL_HANDLE, 1, [info], None)[0]
