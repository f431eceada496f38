"""Memory of a logical device: one growing arena, in which the buffers of a run lie side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

import vulkan as vk

from .memory_types import choose_memory
from .protocol import Memory

#: Windows of buffers start at multiples of this, the largest offset alignment a device may ask for.
ALIGNMENT = 256
#: The smallest arena, in bytes: most cases need less, so that an arena rarely grows.
_SMALLEST = 1 << 20

#: From here on, in bytes, an arena grows by as much.
_LARGE = 1 << 28

_TRANSFERS = vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT

# Bits that the `vulkan` package lacks: VkBufferUsageFlagBits, VkMemoryAllocateFlagBits.
USAGE_SHADER_DEVICE_ADDRESS, ALLOCATE_DEVICE_ADDRESS = 0x20000, 0x2


class _Block(NamedTuple):
    buffer: Any
    memory: Any


class Placed(NamedTuple):
    """A buffer's place in the arena."""

    offset: int
    memory: Memory

    @property
    def window(self) -> int:
        """Where what the module sees begins."""
        return self.offset + self.memory.start

    @property
    def origin(self) -> int:
        """Where a descriptor with a dynamic offset begins: ahead of the window, where there is memory."""
        return min(self.offset, self.window)


class Arena:
    """A buffer on the device with a view of it, or of its staging buffer, for the host.

    `buffer` is what descriptors refer to, `address` its device address (0 where not addressable),
    `view` its bytes as the host sees them, and `staging` the buffer to copy from and to, or None.
    """

    def __init__(
        self,
        device: Any,
        properties: Any,
        wish: str,
        *,
        addressable: bool,
        shared: tuple[int, ...] = (),
        staging: tuple[int, ...] = (),
    ) -> None:
        """`shared` are the families of queues that own the buffer together, `staging` those that own the other one."""
        self._device = device
        self._addressable = addressable
        self._shared, self._shared_staging = shared, staging
        self._usage = (
            vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT
            | _TRANSFERS
        )
        if addressable:
            self._usage |= USAGE_SHADER_DEVICE_ADDRESS
        probe = self._buffer(self._usage, ALIGNMENT, shared)
        allowed = vk.vkGetBufferMemoryRequirements(device, probe).memoryTypeBits
        vk.vkDestroyBuffer(device, probe, None)
        self._choice = choose_memory(properties, allowed, wish)
        self._buffers: list[Any] = []
        self._memories: list[Any] = []
        self.capacity = 0
        self.buffer: Any = None
        self.staging: Any = None
        self.address = 0
        self.view: memoryview = memoryview(b"")

    def reserve(self, size: int) -> None:
        """Make the arena hold at least `size` bytes. What it held is lost when it grows; nothing may run."""
        if size <= self.capacity:
            return
        self.close()
        try:
            self._grow(_capacity(size))
        except BaseException:
            self.close()
            raise

    def _grow(self, capacity: int) -> None:
        if self._choice.device is None:
            work = host = self._allocate(self._usage, self._choice.host, capacity, self._shared)
        else:
            work = self._allocate(self._usage, self._choice.device, capacity, self._shared)
            host = self._allocate(_TRANSFERS, self._choice.host, capacity, self._shared_staging)
            self.staging = host.buffer
        self.buffer = work.buffer
        if self._addressable:
            self.address = device_address(self._device, work.buffer)
        self.view = memoryview(vk.vkMapMemory(self._device, host.memory, 0, capacity, 0))
        self.capacity = capacity

    def _allocate(self, usage: int, kind: int, size: int, shared: tuple[int, ...]) -> _Block:
        buffer = self._buffer(usage, size, shared)
        self._buffers.append(buffer)
        required = vk.vkGetBufferMemoryRequirements(self._device, buffer)
        addressable = usage & USAGE_SHADER_DEVICE_ADDRESS
        flags = vk.VkMemoryAllocateFlagsInfo(flags=ALLOCATE_DEVICE_ADDRESS) if addressable else None
        memory = vk.vkAllocateMemory(
            self._device, vk.VkMemoryAllocateInfo(pNext=flags, allocationSize=required.size, memoryTypeIndex=kind), None
        )
        self._memories.append(memory)
        vk.vkBindBufferMemory(self._device, buffer, memory, 0)
        return _Block(buffer, memory)

    def _buffer(self, usage: int, size: int, shared: tuple[int, ...]) -> Any:
        mode = vk.VK_SHARING_MODE_CONCURRENT if shared else vk.VK_SHARING_MODE_EXCLUSIVE
        info = vk.VkBufferCreateInfo(
            size=size, usage=usage, sharingMode=mode, queueFamilyIndexCount=len(shared), pQueueFamilyIndices=shared
        )
        return vk.vkCreateBuffer(self._device, info, None)

    def close(self) -> None:
        """Give the memory back."""
        self.view = memoryview(b"")
        self.buffer = self.staging = None
        self.capacity = self.address = 0
        for buffer in self._buffers:
            vk.vkDestroyBuffer(self._device, buffer, None)
        for memory in self._memories:
            vk.vkFreeMemory(self._device, memory, None)
        self._buffers.clear()
        self._memories.clear()


def _capacity(size: int) -> int:
    """The size of an arena for `size` bytes: a power of two; above _LARGE a multiple of _LARGE, to waste less."""
    if size > _LARGE:
        return -(-size // _LARGE) * _LARGE
    return max(_SMALLEST, 1 << (size - 1).bit_length())


def device_address(device: Any, buffer: Any) -> int:
    """The result of vkGetBufferDeviceAddress, for which the package's wrapper returns its argument."""
    s_type = vk.VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO
    info = vk.ffi.new("VkBufferDeviceAddressInfo *", {"sType": s_type, "buffer": buffer})
    return int(vk.lib.vkGetBufferDeviceAddress(device, info))
