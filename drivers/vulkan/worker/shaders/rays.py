"""Traces: each invocation's ray leads to one invocation of the shader under test, or a call does."""

from __future__ import annotations

import struct
from typing import Any

import vulkan as vk

from ..launch import Shader
from ..protocol import Run
from .blocks import Block
from .commands import check, command
from .scene import Scene

#: VkBufferUsageFlagBits of tables of shaders.
_TABLE = 0x400

#: VkRayTracingShaderGroupTypeKHR.
_GENERAL, _TRIANGLES, _PROCEDURAL = 0, 1, 2

#: VkStructureType; the `vulkan` package (1.3.275) has wrong numbers of these, and of the bind point.
_PIPELINE_INFO, _GROUP_INFO = 1000150015, 1000150016

_UNUSED = 0xFFFFFFFF

#: The address of the acceleration structure, which the record of a ray generation shader ends with.
_RECORD_BYTES = 8

#: Stages that have one group each; and the members of the group that the other stages share.
_GENERAL_STAGES = ("ray_generation", "miss", "callable")
_HITS = {"closest_hit": "closestHitShader", "any_hit": "anyHitShader", "intersection": "intersectionShader"}

#: The regions of the table, in the order of vkCmdTraceRaysKHR.
_REGIONS = ("ray_generation", "miss", "hit", "callable")


class Traces:
    """A ray tracing pipeline with the table of its shaders, and what its rays meet."""

    point = 1000165000

    def __init__(self, device: Any, stage: str, shader: Shader, infos: dict[str, Any], layout: Any) -> None:
        self.shader = shader
        self.pipeline: Any = None
        self._device = device.handle
        self._scene: Scene | None = None
        self._table: Block | None = None
        try:
            self._scene = Scene(
                device.handle, device.physical, boxes=stage == "intersection", opaque=stage != "any_hit"
            )
            groups = _groups(list(infos))
            self.pipeline = _pipeline(device.handle, list(infos.values()), list(groups.values()), layout)
            self._regions = self._fill(device.physical, list(groups), self._scene.address)
        except BaseException:
            if self.pipeline is not None:
                vk.vkDestroyPipeline(self._device, self.pipeline, None)
            self.close()
            raise

    def begin(self, commands: Any, run: Run) -> None:
        assert self._scene is not None
        self._scene.build(commands)

    def start(self, commands: Any, run: Run) -> None:
        assert run.staged is not None
        regions = [self._regions + i for i in range(4)]
        command(self._device, "vkCmdTraceRaysKHR")(commands, *regions, run.staged.invocations, 1, 1)

    def end(self, commands: Any) -> None:
        """Nothing."""

    def close(self) -> None:
        for owned in (self._scene, self._table):
            if owned is not None:
                owned.close()
        self._scene = self._table = None

    def _fill(self, physical: Any, groups: list[str], structure: int) -> Any:
        """Write the table, one record for each group, and return the four regions that a trace is given."""
        limits = _limits(physical)
        handles = vk.ffi.new("char[]", limits.shaderGroupHandleSize * len(groups))
        get = command(self._device, "vkGetRayTracingShaderGroupHandlesKHR")
        check(get(self._device, self.pipeline, 0, len(groups), len(handles), handles))
        base, size = limits.shaderGroupBaseAlignment, limits.shaderGroupHandleSize
        stride = _up(size + _RECORD_BYTES, limits.shaderGroupHandleAlignment)
        step = _up(stride, base)
        self._table = Block(self._device, physical, _TABLE, base + step * len(groups), host=True)
        start = -self._table.address % base
        regions = vk.ffi.new("VkStridedDeviceAddressRegionKHR[4]")
        for i, group in enumerate(groups):
            place = start + step * i
            record = bytes(vk.ffi.buffer(handles + size * i, size)) + struct.pack("<Q", structure)
            self._table.view[place : place + len(record)] = record
            region = regions[_REGIONS.index(group)]
            region.deviceAddress, region.stride, region.size = self._table.address + place, stride, stride
        return regions


def _up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


def _limits(physical: Any) -> Any:
    """VkPhysicalDeviceRayTracingPipelinePropertiesKHR."""
    limits = vk.ffi.new("VkPhysicalDeviceRayTracingPipelinePropertiesKHR *", {"sType": 1000347001})
    head = vk.ffi.new("VkPhysicalDeviceProperties2 *", {"sType": 1000059001, "pNext": limits})
    vk.lib.vkGetPhysicalDeviceProperties2(physical, head)
    return limits


def _groups(stages: list[str]) -> dict[str, dict[str, int]]:
    """The shader groups by the region of the table that they are in; a hit group has all shaders of hits."""
    unused = dict.fromkeys(("generalShader", "closestHitShader", "anyHitShader", "intersectionShader"), _UNUSED)
    groups = {
        stage: unused | {"type": _GENERAL, "generalShader": stages.index(stage)}
        for stage in _GENERAL_STAGES
        if stage in stages
    }
    hits = {member: stages.index(stage) for stage, member in _HITS.items() if stage in stages}
    if hits:
        groups["hit"] = unused | {"type": _PROCEDURAL if "intersection" in stages else _TRIANGLES} | hits
    return groups


def _pipeline(device: Any, stages: list[Any], groups: list[dict[str, int]], layout: Any) -> Any:
    """Raises vulkan's VkError."""
    ffi = vk.ffi
    infos = ffi.new("VkPipelineShaderStageCreateInfo[]", len(stages))
    for i, stage in enumerate(stages):
        infos[i] = stage
    s_type = {"sType": _GROUP_INFO}
    described = ffi.new("VkRayTracingShaderGroupCreateInfoKHR[]", [s_type | group for group in groups])
    info = ffi.new("VkRayTracingPipelineCreateInfoKHR *")
    info.sType = _PIPELINE_INFO
    info.stageCount, info.pStages, info.groupCount, info.pGroups = len(stages), infos, len(groups), described
    info.maxPipelineRayRecursionDepth, info.layout, info.basePipelineIndex = 1, layout, -1
    made = ffi.new("VkPipeline *")
    create = command(device, "vkCreateRayTracingPipelinesKHR")
    check(create(device, ffi.NULL, ffi.NULL, 1, info, ffi.NULL, made))
    return made[0]
