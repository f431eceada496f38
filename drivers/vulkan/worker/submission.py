"""What command buffers of a run have in common: copies, barriers, and submitting them."""

from __future__ import annotations

import time
from typing import Any, TypeAlias

import vulkan as vk

from . import queues
from .device import LogicalDevice

#: VK_PIPELINE_STAGE_2_CONVERT_COOPERATIVE_VECTOR_MATRIX_BIT_NV and the accesses of that stage (VK-056).
CONVERT = 1 << 44
_TRANSFERS = vk.VK_ACCESS_TRANSFER_READ_BIT | vk.VK_ACCESS_TRANSFER_WRITE_BIT

#: Command buffers and their queues, in order.
Recorded: TypeAlias = "list[tuple[queues.Channel, Any]]"

_READ, _WRITE = vk.VK_ACCESS_MEMORY_READ_BIT, vk.VK_ACCESS_MEMORY_WRITE_BIT
_FULL_MEMORY = {"srcAccessMask": _WRITE, "dstAccessMask": _READ | _WRITE}


class Hung(Exception):
    """The device did not finish in time. It cannot be used any more."""


def copy(commands: Any, source: Any, target: Any, regions: list[tuple[int, int]]) -> None:
    """Copy bytes between buffers, from and to the same offsets."""
    copies = [{"srcOffset": start, "dstOffset": start, "size": size} for start, size in regions]
    vk.lib.vkCmdCopyBuffer(commands, source, target, len(copies), vk.ffi.new("VkBufferCopy[]", copies))


def barrier(commands: Any, before: int, after: int) -> None:
    """All memory written by `before` is visible to `after`. Only the stage of conversions needs synchronization2."""
    if CONVERT in (before, after):
        read_write = {stage: _TRANSFERS if stage == CONVERT else _READ | _WRITE for stage in (before, after)}
        wide = vk.ffi.new(
            "VkMemoryBarrier2 *",
            {
                "sType": vk.VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                "srcStageMask": before,
                "srcAccessMask": read_write[before],
                "dstStageMask": after,
                "dstAccessMask": read_write[after],
            },
        )
        s_type = vk.VK_STRUCTURE_TYPE_DEPENDENCY_INFO
        info = {"sType": s_type, "memoryBarrierCount": 1, "pMemoryBarriers": wide}
        vk.lib.vkCmdPipelineBarrier2(commands, vk.ffi.new("VkDependencyInfo *", info))
        return
    narrow = vk.ffi.new("VkMemoryBarrier *", {"sType": vk.VK_STRUCTURE_TYPE_MEMORY_BARRIER, **_FULL_MEMORY})
    vk.lib.vkCmdPipelineBarrier(commands, before, after, 0, 1, narrow, 0, vk.ffi.NULL, 0, vk.ffi.NULL)


def submit(device: LogicalDevice, timeout: float, deadline: float, recorded: Recorded) -> None:
    """Submit and wait until the `deadline` of time.monotonic(), `timeout` after the run began. Raises Hung."""
    queues.submit(device.handle, recorded, device.semaphores, device.fence)
    try:
        left = max(0.0, deadline - time.monotonic())
        vk.vkWaitForFences(device.handle, 1, [device.fence], vk.VK_TRUE, int(left * 1e9))
    except vk.VkTimeout:
        raise Hung(f"the device did not finish within {timeout:g} s of vkQueueSubmit") from None
    vk.vkResetFences(device.handle, 1, [device.fence])
