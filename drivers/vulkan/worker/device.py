"""Logical devices: one per set of enabled features, made when a module first needs it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property

import vulkan as vk

from .convert import Converter
from .extensions import Chain
from .instance import Instance
from .memory import Arena
from .tables import DEPENDENCIES, FEATURES

#: More are closed, the longest unused first: a device can take hundreds of megabytes in a driver.
MAX_DEVICES = 8


class LogicalDevice:
    """A VkDevice with exactly the given features, its queue, its memory and its pipelines' home."""

    def __init__(self, instance: Instance, index: int, features: frozenset[str], memory: str) -> None:
        self.features = features
        self.physical = instance.physical[index]
        family = instance.queue_family(index)
        tables = [t for t in FEATURES[1:] if features & set(t.members)]
        chain = Chain(tables)
        chain.enable(features - set(FEATURES[0].members))
        core = vk.VkPhysicalDeviceFeatures(**dict.fromkeys(features & set(FEATURES[0].members), 1))
        wanted = {t.extension for t in tables if t.extension}
        wanted |= {dependency for e in wanted for dependency in DEPENDENCIES.get(e, ())}
        self.handle = vk.vkCreateDevice(
            self.physical,
            vk.VkDeviceCreateInfo(
                pNext=chain.head,
                pQueueCreateInfos=[vk.VkDeviceQueueCreateInfo(queueFamilyIndex=family, pQueuePriorities=[1.0])],
                ppEnabledExtensionNames=sorted(wanted),
                pEnabledFeatures=core,
            ),
            None,
        )
        self.queue = vk.vkGetDeviceQueue(self.handle, family, 0)
        self.pool = vk.vkCreateCommandPool(self.handle, vk.VkCommandPoolCreateInfo(queueFamilyIndex=family), None)
        allocation = vk.VkCommandBufferAllocateInfo(
            commandPool=self.pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
        )
        self.commands = vk.vkAllocateCommandBuffers(self.handle, allocation)[0]
        self.fence = vk.vkCreateFence(self.handle, vk.VkFenceCreateInfo(), None)
        types = vk.vkGetPhysicalDeviceMemoryProperties(self.physical)
        self.arena = Arena(self.handle, types, memory, addressable="bufferDeviceAddress" in features)

    @cached_property
    def converter(self) -> Converter:
        """The conversion commands. Raises convert.Unsupported."""
        return Converter(self.handle)

    def close(self) -> None:
        """Destroy the device. Its pipelines must be gone, and nothing may run."""
        self.arena.close()
        vk.vkDestroyFence(self.handle, self.fence, None)
        vk.vkDestroyCommandPool(self.handle, self.pool, None)
        vk.vkDestroyDevice(self.handle, None)


class Devices:
    """The logical devices of one physical device. Safe to use from several threads."""

    def __init__(self, instance: Instance, index: int, memory: str) -> None:
        self._instance = instance
        self._index = index
        self._memory = memory
        self._lock = threading.Lock()
        self._devices: OrderedDict[frozenset[str], LogicalDevice] = OrderedDict()

    def get(self, features: frozenset[str]) -> LogicalDevice:
        """The device with these features."""
        with self._lock:
            device = self._devices.get(features)
            if device is None:
                device = self._devices[features] = LogicalDevice(self._instance, self._index, features, self._memory)
            self._devices.move_to_end(features)
            return device

    def take_remarks(self) -> tuple[str, ...]:
        """What the driver has said to this thread since the last call."""
        return self._instance.take_remarks()

    def surplus(self) -> list[frozenset[str]]:
        """Which devices are beyond the limit: close them when they are idle."""
        with self._lock:
            return list(self._devices)[: max(0, len(self._devices) - MAX_DEVICES)]

    def close(self, features: frozenset[str]) -> None:
        """Destroy a device whose pipelines are gone."""
        with self._lock:
            self._devices.pop(features).close()
