"""Logical devices: one per set of enabled features and arrangement of queues, made when a module first needs it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property
from typing import Any, NamedTuple

import vulkan as vk

from .convert import Converter
from .extensions import Chain
from .instance import Instance
from .memory import Arena
from .protocol import Queues
from .queue_families import families
from .queues import Channel
from .tables import DEPENDENCIES, FEATURES

#: The most open devices; further ones close the longest unused: a device can take hundreds of megabytes in a driver.
MAX_DEVICES = 8


class Home(NamedTuple):
    """What makes pipelines share a logical device."""

    features: frozenset[str]
    queues: Queues = "one"


class LogicalDevice:
    """A VkDevice with exactly the given features, its queues, its memory and its pipelines' home."""

    def __init__(self, instance: Instance, index: int, home: Home, memory: str) -> None:
        features = home.features
        self.features = features
        self.physical = instance.physical[index]
        used = families(instance.queue_families(index), home.queues)
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
                pQueueCreateInfos=[
                    vk.VkDeviceQueueCreateInfo(queueFamilyIndex=f, pQueuePriorities=[1.0] * used.count(f))
                    for f in dict.fromkeys(used)
                ],
                ppEnabledExtensionNames=sorted(wanted),
                pEnabledFeatures=core,
            ),
            None,
        )
        self.channels = tuple(Channel(self.handle, f, used[:i].count(f)) for i, f in enumerate(used))
        self.fence = vk.vkCreateFence(self.handle, vk.VkFenceCreateInfo(), None)
        #: Between command buffers on several queues; made as they are needed.
        self.semaphores: list[Any] = []
        self.owned_together = home.queues != "exclusive"
        types = vk.vkGetPhysicalDeviceMemoryProperties(self.physical)
        several = tuple(dict.fromkeys(used)) if len(set(used)) > 1 else ()
        self.arena = Arena(
            self.handle,
            types,
            memory,
            addressable="bufferDeviceAddress" in features,
            shared=several if home.queues == "concurrent" else (),
            staging=several,
        )
        self._cache_lock = threading.Lock()
        self._cache: Any = None

    @cached_property
    def converter(self) -> Converter:
        """The conversion commands. Raises convert.Unsupported."""
        return Converter(self.handle)

    @property
    def cache(self) -> Any:
        """A VkPipelineCache that all pipelines of the device may use, from any thread."""
        with self._cache_lock:
            if self._cache is None:
                self._cache = vk.vkCreatePipelineCache(self.handle, vk.VkPipelineCacheCreateInfo(), None)
            return self._cache

    def close(self) -> None:
        """Destroy the device. Its pipelines must be gone, and nothing may run."""
        self.arena.close()
        vk.vkDestroyFence(self.handle, self.fence, None)
        if self._cache is not None:
            vk.vkDestroyPipelineCache(self.handle, self._cache, None)
        for semaphore in self.semaphores:
            vk.vkDestroySemaphore(self.handle, semaphore, None)
        for channel in self.channels:
            channel.close()
        vk.vkDestroyDevice(self.handle, None)


class Devices:
    """The logical devices of one physical device. Safe to use from several threads."""

    def __init__(self, instance: Instance, index: int, memory: str) -> None:
        self._instance = instance
        self._index = index
        self._memory = memory
        self._lock = threading.Lock()
        self._devices: OrderedDict[Home, LogicalDevice] = OrderedDict()

    def get(self, home: Home) -> LogicalDevice:
        """The device with these features and queues."""
        with self._lock:
            device = self._devices.get(home)
            if device is None:
                device = self._devices[home] = LogicalDevice(self._instance, self._index, home, self._memory)
            self._devices.move_to_end(home)
            return device

    def take_remarks(self) -> tuple[str, ...]:
        """What the driver has said to this thread since the last call."""
        return self._instance.take_remarks()

    def surplus(self) -> list[Home]:
        """Which devices are beyond the limit: close them when they are idle."""
        with self._lock:
            return list(self._devices)[: max(0, len(self._devices) - MAX_DEVICES)]

    def close(self, home: Home) -> None:
        """Destroy a device whose pipelines are gone."""
        with self._lock:
            self._devices.pop(home).close()
