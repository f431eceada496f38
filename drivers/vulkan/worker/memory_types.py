"""Which of a device's memory types to use."""

from __future__ import annotations

from typing import Any, NamedTuple

# VkMemoryPropertyFlagBits.
DEVICE_LOCAL, VISIBLE, COHERENT, CACHED = 1, 2, 4, 8


class MemoryChoice(NamedTuple):
    """Memory type indices: where modules work, and, if that is not the same, where the host reads and writes."""

    host: int
    device: int | None


def choose_memory(properties: Any, allowed: int, wish: str) -> MemoryChoice:
    """Which memory types to use, among those that `allowed` has a bit for: not all can hold buffers.

    The host's is coherent, which Vulkan guarantees to exist, and cached where possible: reading from
    memory that is not can be a hundred times slower. "auto" works in it directly only when it is also
    the device's own.
    """
    types = properties.memoryTypes
    flags = {i: types[i].propertyFlags for i in range(properties.memoryTypeCount) if allowed >> i & 1}
    reachable = [i for i, f in flags.items() if f & VISIBLE and f & COHERENT]
    host = max(reachable, key=lambda i: (bool(flags[i] & CACHED), bool(flags[i] & DEVICE_LOCAL), -i))
    if wish == "host" or (wish == "auto" and flags[host] & DEVICE_LOCAL):
        return MemoryChoice(host, None)
    local = [i for i, f in flags.items() if f & DEVICE_LOCAL]
    return MemoryChoice(host, min(local, key=lambda i: (bool(flags[i] & VISIBLE), i)))
