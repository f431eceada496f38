"""What rays meet: one triangle or one box, in acceleration structures of two levels."""

from __future__ import annotations

import struct
from typing import Any

import vulkan as vk

from .blocks import Block
from .commands import check, command

#: VkBufferUsageFlagBits: input of builds, memory of acceleration structures, storage buffers for scratch.
_INPUT, _STORAGE, _SCRATCH = 0x80000, 0x100000, 0x20

#: VkAccelerationStructureTypeKHR and VkGeometryTypeKHR.
_TOP, _BOTTOM = 0, 1
_TRIANGLES, _BOXES, _INSTANCES = 0, 1, 2

#: VkIndexType, of which the `vulkan` package (1.3.275) has a wrong number.
_NO_INDICES = 1000165000

#: VkGeometryFlagBitsKHR.
_OPAQUE, _ONE_ANY_HIT = 1, 2

#: Acceleration structures start at multiples of 256, scratch memory at those of at most that.
_ALIGNMENT = 256

#: Around the z axis, in the plane z = 0; the box is from z = 0 to 1.
_CORNERS = (-1, -1, 0, 1, -1, 0, 0, 1, 0)
_BOX = (-1, -1, 0, 1, 1, 1)

#: Where in the input the instance begins.
_INSTANCE = 256
_IDENTITY = (1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)

#: VkPipelineStageFlagBits.
_BUILD, _TRACE = 0x2000000, 0x200000


class Scene:
    """A triangle, or a box where `boxes`; `opaque` ones are not given to any-hit shaders, others once for a ray.

    `address` is that of the top acceleration structure, which is built when a run begins.
    """

    def __init__(self, device: Any, physical: Any, *, boxes: bool, opaque: bool) -> None:
        self._device = device
        self._structures: list[Any] = []
        self._blocks: list[Block] = []
        self._kept: list[Any] = []
        self._build = command(device, "vkCmdBuildAccelerationStructuresKHR")
        try:
            block = self._block(physical, _INPUT, 2 * _INSTANCE, host=True)
            corners = struct.pack(f"<{len(_BOX)}f", *_BOX) if boxes else struct.pack(f"<{len(_CORNERS)}f", *_CORNERS)
            block.view[: len(corners)] = corners
            kind = _BOXES if boxes else _TRIANGLES
            data = _boxes(block.address) if boxes else _triangles(block.address)
            flags = _OPAQUE if opaque else _ONE_ANY_HIT
            self._bottom, address = self._level(physical, _BOTTOM, _geometry(kind, data, flags))
            instance = struct.pack("<12fIIQ", *_IDENTITY, 0xFF << 24, 0, address)
            block.view[_INSTANCE : _INSTANCE + len(instance)] = instance
            data = {"instances": {"sType": 1000150004, "data": {"deviceAddress": block.address + _INSTANCE}}}
            self._top, self.address = self._level(physical, _TOP, _geometry(_INSTANCES, data, 0))
        except BaseException:
            self.close()
            raise

    def build(self, commands: Any) -> None:
        """Record that both levels are built, and what makes rays see them."""
        ranges = vk.ffi.new("VkAccelerationStructureBuildRangeInfoKHR *", {"primitiveCount": 1})
        for level, following in ((self._bottom, _BUILD), (self._top, _TRACE)):
            self._build(commands, 1, level, vk.ffi.new("VkAccelerationStructureBuildRangeInfoKHR *[]", [ranges]))
            accesses = {"srcAccessMask": vk.VK_ACCESS_MEMORY_WRITE_BIT, "dstAccessMask": vk.VK_ACCESS_MEMORY_READ_BIT}
            barrier = vk.ffi.new("VkMemoryBarrier *", {"sType": vk.VK_STRUCTURE_TYPE_MEMORY_BARRIER, **accesses})
            vk.lib.vkCmdPipelineBarrier(commands, _BUILD, following, 0, 1, barrier, 0, vk.ffi.NULL, 0, vk.ffi.NULL)

    def close(self) -> None:
        destroy = command(self._device, "vkDestroyAccelerationStructureKHR")
        for structure in self._structures:
            destroy(self._device, structure, vk.ffi.NULL)
        for block in self._blocks:
            block.close()
        self._structures, self._blocks = [], []

    def _block(self, physical: Any, usage: int, size: int, *, host: bool) -> Block:
        self._blocks.append(Block(self._device, physical, usage, size, host=host))
        return self._blocks[-1]

    def _level(self, physical: Any, type_: int, geometry: Any) -> tuple[Any, int]:
        """What builds an acceleration structure of one primitive, and the structure's address."""
        info = vk.ffi.new("VkAccelerationStructureBuildGeometryInfoKHR *")
        info.sType = vk.VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR
        info.type, info.geometryCount, info.pGeometries = type_, 1, geometry
        sizes = vk.ffi.new("VkAccelerationStructureBuildSizesInfoKHR *", {"sType": 1000150020})
        count = vk.ffi.new("uint32_t *", 1)
        command(self._device, "vkGetAccelerationStructureBuildSizesKHR")(self._device, 1, info, count, sizes)
        size = -(-sizes.accelerationStructureSize // _ALIGNMENT) * _ALIGNMENT
        scratch = sizes.buildScratchSize + _ALIGNMENT
        block = self._block(physical, _STORAGE | _SCRATCH, size + scratch, host=False)
        wanted = {"sType": 1000150017, "buffer": block.buffer, "size": size, "type": type_}
        structure = vk.ffi.new("VkAccelerationStructureKHR *")
        create = vk.ffi.new("VkAccelerationStructureCreateInfoKHR *", wanted)
        check(command(self._device, "vkCreateAccelerationStructureKHR")(self._device, create, vk.ffi.NULL, structure))
        self._structures.append(structure[0])
        info.dstAccelerationStructure = structure[0]
        info.scratchData.deviceAddress = -(-(block.address + size) // _ALIGNMENT) * _ALIGNMENT
        asked = {"sType": 1000150002, "accelerationStructure": structure[0]}
        asked = vk.ffi.new("VkAccelerationStructureDeviceAddressInfoKHR *", asked)
        address = command(self._device, "vkGetAccelerationStructureDeviceAddressKHR")(self._device, asked)
        self._kept.append(geometry)  # a structure of C does not keep what it points to
        return info, int(address)


def _geometry(kind: int, data: dict[str, Any], flags: int) -> Any:
    return vk.ffi.new(
        "VkAccelerationStructureGeometryKHR *",
        {"sType": 1000150006, "geometryType": kind, "geometry": data, "flags": flags},
    )


def _triangles(address: int) -> dict[str, Any]:
    members = {"vertexFormat": vk.VK_FORMAT_R32G32B32_SFLOAT, "vertexStride": 12, "maxVertex": 2}
    no_indices = {"indexType": _NO_INDICES}
    return {"triangles": {"sType": 1000150005, "vertexData": {"deviceAddress": address}, **members, **no_indices}}


def _boxes(address: int) -> dict[str, Any]:
    return {"aabbs": {"sType": 1000150003, "data": {"deviceAddress": address}, "stride": 24}}
