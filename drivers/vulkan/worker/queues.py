"""The queues of a logical device, and how work goes from one to the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import vulkan as vk

_READ_WRITE = vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT
_ALL = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT

#: VK_WHOLE_SIZE.
_WHOLE = 0xFFFFFFFFFFFFFFFF


class Channel:
    """A queue with a pool of command buffers. Those that were begun are used again after `reset`."""

    def __init__(self, device: Any, family: int, index: int) -> None:
        self.family = family
        self.queue = vk.vkGetDeviceQueue(device, family, index)
        self._device = device
        self._pool = vk.vkCreateCommandPool(device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=family), None)
        self._buffers: dict[int, list[Any]] = {}
        self._used = {vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY: 0, vk.VK_COMMAND_BUFFER_LEVEL_SECONDARY: 0}

    def reset(self) -> None:
        """All command buffers are free again; none may be pending."""
        vk.vkResetCommandPool(self._device, self._pool, 0)
        self._used = dict.fromkeys(self._used, 0)

    def begin(self, *, once: bool = True) -> Any:
        """A primary command buffer, begun; not `once`: it may be submitted again."""
        commands = self._take(vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY)
        flags = vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT if once else 0
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo(flags=flags))
        return commands

    def begin_secondary(self) -> Any:
        """A secondary command buffer, begun."""
        commands = self._take(vk.VK_COMMAND_BUFFER_LEVEL_SECONDARY)
        inherited = vk.VkCommandBufferInheritanceInfo()
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo(pInheritanceInfo=inherited))
        return commands

    def _take(self, level: int) -> Any:
        free, used = self._buffers.setdefault(level, []), self._used[level]
        if used == len(free):
            allocation = vk.VkCommandBufferAllocateInfo(commandPool=self._pool, level=level, commandBufferCount=1)
            free.append(vk.vkAllocateCommandBuffers(self._device, allocation)[0])
        self._used[level] += 1
        return free[used]

    def close(self) -> None:
        vk.vkDestroyCommandPool(self._device, self._pool, None)


class Trail:
    """Command buffers that run one after the other: all of it on one queue, or each on the other one of two.

    `commands` is the one that is being recorded. `transferred` is a buffer that families of queues do not own together.
    """

    def __init__(self, channels: Sequence[Channel], *, first: int, again: bool, transferred: Any) -> None:
        self._channels, self._again, self._transferred = channels, again, transferred
        for channel in channels:
            channel.reset()
        self._first = self._at = first
        self.commands = self.channel.begin(once=not again)
        self.recorded: list[tuple[Channel, Any]] = []

    @property
    def channel(self) -> Channel:
        """The queue for which `commands` are recorded."""
        return self._channels[self._at]

    @property
    def alternates(self) -> bool:
        """Whether there is another queue."""
        return len(self._channels) > 1

    def hand_over(self) -> None:
        """What follows is recorded for the other queue, which sees all that was written before."""
        releasing, acquiring = self.channel, self._channels[1 - self._at]
        self._transfer(releasing, acquiring, _READ_WRITE, 0)
        self._end()
        self._at = 1 - self._at
        self.commands = self.channel.begin(once=not self._again)
        self._transfer(releasing, acquiring, 0, _READ_WRITE)

    def finish(self) -> list[tuple[Channel, Any]]:
        """The command buffers and their queues, in order. The first queue has got everything back."""
        if self._at != self._first:
            self.hand_over()
        self._end()
        return self.recorded

    def _end(self) -> None:
        vk.vkEndCommandBuffer(self.commands)
        self.recorded.append((self.channel, self.commands))

    def _transfer(self, releasing: Channel, acquiring: Channel, before: int, after: int) -> None:
        """Half of a transfer of ownership; the semaphore between the queues makes memory visible."""
        if self._transferred is None or releasing.family == acquiring.family:
            return
        barrier = {
            "sType": vk.VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
            "srcAccessMask": before,
            "dstAccessMask": after,
            "srcQueueFamilyIndex": releasing.family,
            "dstQueueFamilyIndex": acquiring.family,
            "buffer": self._transferred,
            "size": _WHOLE,
        }
        barriers = vk.ffi.new("VkBufferMemoryBarrier[]", [barrier])
        vk.lib.vkCmdPipelineBarrier(self.commands, _ALL, _ALL, 0, 0, vk.ffi.NULL, 1, barriers, 0, vk.ffi.NULL)


def submit(device: Any, recorded: Sequence[tuple[Channel, Any]], semaphores: list[Any], fence: Any) -> None:
    """Submit command buffers that wait for each other; `semaphores` becomes as long as is needed."""
    while len(semaphores) < len(recorded) - 1:
        semaphores.append(vk.vkCreateSemaphore(device, vk.VkSemaphoreCreateInfo(), None))
    for i, (channel, commands) in enumerate(recorded):
        waits = semaphores[i - 1 : i] if i else []
        last = i == len(recorded) - 1
        info = vk.VkSubmitInfo(
            pWaitSemaphores=waits,
            pWaitDstStageMask=[_ALL] * len(waits),
            pCommandBuffers=[commands],
            pSignalSemaphores=[] if last else semaphores[i : i + 1],
        )
        vk.vkQueueSubmit(channel.queue, 1, [info], fence if last else vk.VK_NULL_HANDLE)
