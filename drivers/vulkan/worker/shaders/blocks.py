"""Memory of its own for a pipeline: a buffer with a device address, and a view of it where the host writes it."""

from __future__ import annotations

from typing import Any

import vulkan as vk

from ..memory import ALLOCATE_DEVICE_ADDRESS, USAGE_SHADER_DEVICE_ADDRESS, device_address
from ..memory_types import choose_memory


class Block:
    """`size` bytes with device address `address`; `view` is what the host sees, empty unless it is to write them.

    The device must have the feature bufferDeviceAddress. Raises vulkan's VkError.
    """

    def __init__(self, device: Any, physical: Any, usage: int, size: int, *, host: bool) -> None:
        self._device = device
        self._memory: Any = None
        info = vk.VkBufferCreateInfo(size=size, usage=usage | USAGE_SHADER_DEVICE_ADDRESS)
        self.buffer = vk.vkCreateBuffer(device, info, None)
        try:
            required = vk.vkGetBufferMemoryRequirements(device, self.buffer)
            choice = choose_memory(
                vk.vkGetPhysicalDeviceMemoryProperties(physical), required.memoryTypeBits, "host" if host else "staged"
            )
            flags = vk.VkMemoryAllocateFlagsInfo(flags=ALLOCATE_DEVICE_ADDRESS)
            kind = choice.host if choice.device is None else choice.device
            allocation = vk.VkMemoryAllocateInfo(pNext=flags, allocationSize=required.size, memoryTypeIndex=kind)
            self._memory = vk.vkAllocateMemory(device, allocation, None)
            vk.vkBindBufferMemory(device, self.buffer, self._memory, 0)
            self.address = device_address(device, self.buffer)
            self.view = memoryview(vk.vkMapMemory(device, self._memory, 0, size, 0) if host else b"")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.view = memoryview(b"")
        vk.vkDestroyBuffer(self._device, self.buffer, None)
        if self._memory is not None:
            vk.vkFreeMemory(self._device, self._memory, None)
