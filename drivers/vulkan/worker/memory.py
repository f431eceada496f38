"""Memory of a logical device: one growing arena, in which the buffers of a run lie side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

import vulkan as vk

#: Windows of buffers start at multiples of this, the largest offset alignment a device may ask for.
ALIGNMENT = 256
_SMALLEST = 1 << 20

# Bits that the `vulkan` package lacks: VkBufferUsageFlagBits, VkMemoryAllocateFlagBits.
_USAGE_SHADER_DEVICE_ADDRESS, _ALLOCATE_DEVICE_ADDRESS = 0x20000, 0x2

# VkMemoryPropertyFlagBits.
_DEVICE_LOCAL, _VISIBLE, _COHERENT, _CACHED = 1, 2, 4, 8


class MemoryChoice(NamedTuple):
    """Memory type indices: where modules work, and, if that is not the same, where the host reads and writes."""

    host: int
    device: int | None


def choose_memory(properties: Any, wish: str) -> MemoryChoice:
    """Which memory types to use.

    The host's is coherent, which Vulkan guarantees to exist, and cached where possible: reading from
    memory that is not can be a hundred times slower. "auto" works in it directly only when it is also
    the device's own.
    """
    flags = [properties.memoryTypes[i].propertyFlags for i in range(properties.memoryTypeCount)]
    reachable = [i for i, f in enumerate(flags) if f & _VISIBLE and f & _COHERENT]
    host = max(reachable, key=lambda i: (bool(flags[i] & _CACHED), bool(flags[i] & _DEVICE_LOCAL), -i))
    if wish == "host" or (wish == "auto" and flags[host] & _DEVICE_LOCAL):
        return MemoryChoice(host, None)
    local = [i for i, f in enumerate(flags) if f & _DEVICE_LOCAL]
    return MemoryChoice(host, min(local, key=lambda i: (bool(flags[i] & _VISIBLE), i)))


class _Block(NamedTuple):
    buffer: Any
    memory: Any


class Arena:
    """A buffer on the device with a view of it, or of its staging buffer, for the host.

    `buffer` is what descriptors refer to, `address` its device address (0 where not addressable),
    `view` its bytes as the host sees them, and `staging` the buffer to copy from and to, or None.
    """

    def __init__(self, device: Any, choice: MemoryChoice, *, addressable: bool) -> None:
        self._device = device
        self._choice = choice
        self._addressable = addressable
        self._blocks: list[_Block] = []
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
        self.capacity = max(_SMALLEST, 1 << (size - 1).bit_length())
        usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        if self._addressable:
            usage |= _USAGE_SHADER_DEVICE_ADDRESS
        transfers = vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        if self._choice.device is None:
            work = host = self._allocate(usage, self._choice.host)
        else:
            work = self._allocate(usage | transfers, self._choice.device)
            host = self._allocate(transfers, self._choice.host)
            self.staging = host.buffer
        self.buffer = work.buffer
        if self._addressable:
            self.address = _address(self._device, work.buffer)
        self.view = memoryview(vk.vkMapMemory(self._device, host.memory, 0, self.capacity, 0))

    def _allocate(self, usage: int, kind: int) -> _Block:
        buffer = vk.vkCreateBuffer(
            self._device,
            vk.VkBufferCreateInfo(size=self.capacity, usage=usage, sharingMode=vk.VK_SHARING_MODE_EXCLUSIVE),
            None,
        )
        required = vk.vkGetBufferMemoryRequirements(self._device, buffer)
        if not required.memoryTypeBits >> kind & 1:
            raise RuntimeError(
                f"memory type {kind} cannot hold storage buffers (types {required.memoryTypeBits:#x} can)"
            )
        addressable = usage & _USAGE_SHADER_DEVICE_ADDRESS
        flags = vk.VkMemoryAllocateFlagsInfo(flags=_ALLOCATE_DEVICE_ADDRESS) if addressable else None
        memory = vk.vkAllocateMemory(
            self._device,
            vk.VkMemoryAllocateInfo(pNext=flags, allocationSize=required.size, memoryTypeIndex=kind),
            None,
        )
        self._blocks.append(_Block(buffer, memory))
        vk.vkBindBufferMemory(self._device, buffer, memory, 0)
        return self._blocks[-1]

    def close(self) -> None:
        """Give the memory back."""
        self.view = memoryview(b"")
        self.buffer = self.staging = None
        self.capacity = self.address = 0
        for buffer, memory in self._blocks:
            vk.vkDestroyBuffer(self._device, buffer, None)
            vk.vkFreeMemory(self._device, memory, None)
        self._blocks.clear()


def _address(device: Any, buffer: Any) -> int:
    """The result of vkGetBufferDeviceAddress, for which the package's wrapper returns its argument."""
    s_type = vk.VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO
    info = vk.ffi.new("VkBufferDeviceAddressInfo *", {"sType": s_type, "buffer": buffer})
    return int(vk.lib.vkGetBufferDeviceAddress(device, info))
