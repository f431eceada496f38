"""Pipelines: created once per module, specialization and features, in threads of their own."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import vulkan as vk

from . import executables, shaders
from .device import Devices, Home, LogicalDevice
from .launch import COMPUTE, Launch, Shader
from .making import make
from .protocol import Making, Queues, Run
from .shader_objects import ShaderObject
from .stages import shader_module, stage

#: The most pipelines that are kept; further ones destroy the longest unused. Reruns and parameter sets use recent
#: pipelines again. Round number.
MAX_PIPELINES = 256

#: Vulkan's names of the kinds of descriptors.
DESCRIPTOR_TYPES = {
    "storage": vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    "uniform": vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
    "storage-dynamic": vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
    "uniform-dynamic": vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
}


class Slot(NamedTuple):
    """A binding of a set: what its descriptors are, how many, and whether some of them stay unbound."""

    set: int
    binding: int
    kind: str
    length: int
    partial: bool


class Key(NamedTuple):
    """What makes two runs share a pipeline: everything but memory, workgroups and dynamic values."""

    module: bytes
    entry: str
    specialization: tuple[tuple[int, bytes], ...]
    subgroup_size: int | None
    full_subgroups: bool
    features: frozenset[str]
    bindings: tuple[Slot, ...]
    push_bytes: int
    making: Making
    dispatch_base: bool
    queues: Queues
    staged: shaders.StagedKey | None = None
    statistics: bool = False
    listing: bool = False

    @property
    def home(self) -> Home:
        """The logical device that it is made on."""
        return Home(self.features, self.queues)

    @property
    def shader(self) -> Shader:
        """The stage of its module."""
        return COMPUTE if self.staged is None else shaders.SHADERS[self.staged.stage]


def key(run: Run) -> Key:
    """The identity of the pipeline that a run needs."""
    return Key(
        run.module,
        run.entry,
        tuple(sorted(run.specialization.items())),
        run.subgroup_size,
        run.full_subgroups,
        frozenset(run.features),
        _slots(run),
        len(run.sets[0].push_constants) if run.sets else 0,
        run.making,
        bool(run.submitting.parts),
        run.submitting.queues,
        shaders.StagedKey(run.staged.stage, tuple(sorted(run.staged.companions.items()))) if run.staged else None,
        run.statistics,
        run.listing,
    )


def _slots(run: Run) -> tuple[Slot, ...]:
    bound = Counter((b.set, b.binding, b.kind, b.count) for b in run.bindings)
    return tuple(sorted(Slot(*place, bound[place] < place[3]) for place in bound))


class Pipeline:
    """A VkPipeline, or a shader object, with its layouts. Destroying it needs its device still there."""

    def __init__(self, device: LogicalDevice, key: Key) -> None:
        self.device = device
        self.layout: Any = None
        self.handle: Any = None
        self.shader = key.shader
        self.launch: Launch | None = None
        #: The driver's statistics of its executables, if the request asks for them.
        self.statistics: dict[str, float] = {}
        self.listing: dict[str, str] = {}
        #: How long it took to make.
        self.seconds = 0.0
        self._shader: ShaderObject | None = None
        self.set_layouts: list[Any] = []
        started = time.perf_counter()
        try:
            self._create(key)
        except BaseException:
            self.close()
            raise
        self.seconds = time.perf_counter() - started

    def _create(self, key: Key) -> None:
        device = self.device.handle
        flag = key.shader.flag
        for number in range(1 + max((slot.set for slot in key.bindings), default=-1)):
            slots = [slot for slot in key.bindings if slot.set == number]
            bindings = [
                vk.VkDescriptorSetLayoutBinding(
                    binding=slot.binding,
                    descriptorType=DESCRIPTOR_TYPES[slot.kind],
                    descriptorCount=slot.length,
                    stageFlags=flag,
                )
                for slot in slots
            ]
            partial = vk.VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT
            flags = vk.VkDescriptorSetLayoutBindingFlagsCreateInfo(
                bindingCount=len(slots), pBindingFlags=[partial if slot.partial else 0 for slot in slots]
            )
            info = vk.VkDescriptorSetLayoutCreateInfo(
                pNext=flags if any(slot.partial for slot in slots) else None,
                bindingCount=len(bindings),
                pBindings=bindings,
            )
            self.set_layouts.append(vk.vkCreateDescriptorSetLayout(device, info, None))
        push = [vk.VkPushConstantRange(stageFlags=flag, offset=0, size=key.push_bytes)]
        ranges = push if key.push_bytes else []
        self.layout = vk.vkCreatePipelineLayout(
            device,
            vk.VkPipelineLayoutCreateInfo(
                setLayoutCount=len(self.set_layouts),
                pSetLayouts=self.set_layouts,
                pushConstantRangeCount=len(ranges),
                pPushConstantRanges=ranges,
            ),
            None,
        )
        if key.staged is not None:
            with shader_module(device, key.module) as module:
                self.handle, self.launch = shaders.make(self.device, key.staged, stage(key, module), self.layout)
        elif key.making.kind == "pipeline":
            self.handle = make(self.device, key, self.layout)
            if key.statistics:
                self.statistics = executables.statistics(device, self.handle)
            if key.listing:
                self.listing = executables.listing(device, self.handle)
        else:
            self._shader = ShaderObject(self.device, key, self.set_layouts, ranges)

    @property
    def point(self) -> int:
        """The VkPipelineBindPoint."""
        return 1 if self.launch is None else self.launch.point

    def bind(self, commands: Any) -> None:
        """Record that what follows uses it."""
        if self._shader is not None:
            self._shader.bind(commands)
        else:
            vk.lib.vkCmdBindPipeline(commands, self.point, self.handle)

    def close(self) -> None:
        device = self.device.handle
        if self.launch is not None:
            self.launch.close()
        if self.handle is not None:
            vk.vkDestroyPipeline(device, self.handle, None)
        if self._shader is not None:
            self._shader.close()
        if self.layout is not None:
            vk.vkDestroyPipelineLayout(device, self.layout, None)
        for layout in self.set_layouts:
            vk.vkDestroyDescriptorSetLayout(device, layout, None)


@dataclass
class _Entry:
    """A pipeline, perhaps still to come, and how many runs are waiting for it or using it."""

    future: Future[Pipeline]
    users: int = 0


class Pipelines:
    """The cache. Creation runs in `threads` threads; each wanted pipeline is created once."""

    def __init__(self, devices: Devices, threads: int) -> None:
        self._devices = devices
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="pipeline")
        self._lock = threading.Lock()
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()

    def request(self, key: Key, started: Callable[[], None]) -> tuple[Future[Pipeline], bool]:
        """The pipeline, perhaps not ready yet, and whether it was there or requested before.

        `started` is called when a thread begins to create it. It stays until `release`.
        """
        with self._lock:
            entry = self._entries.get(key)
            is_cached = entry is not None
            if entry is None:
                entry = self._entries[key] = _Entry(self._pool.submit(self._create, key, started))
            self._entries.move_to_end(key)
            entry.users += 1
            return entry.future, is_cached

    def _create(self, key: Key, started: Callable[[], None]) -> Pipeline:
        started()
        self._devices.take_remarks()
        try:
            return Pipeline(self._devices.get(key.home), key)
        except vk.VkError as e:
            for remark in self._devices.take_remarks():
                e.add_note(remark)
            raise

    def release(self, key: Key) -> None:
        """The run is over. Destroys what is beyond the limits; nothing may run meanwhile."""
        with self._lock:
            entry = self._entries[key]
            entry.users -= 1
            idle = [k for k, e in self._entries.items() if not e.users]
            surplus = idle[: max(0, len(self._entries) - MAX_PIPELINES)]
            if not entry.users and entry.future.exception() is not None:
                surplus.append(key)
            for old in dict.fromkeys(surplus):
                self._destroy(old)
            for home in self._devices.surplus():
                keys = [k for k in self._entries if k.home == home]
                if not any(self._entries[k].users for k in keys):
                    for old in keys:
                        self._destroy(old)
                    self._devices.close(home)

    def _destroy(self, key: Key) -> None:
        future = self._entries.pop(key).future
        if future.exception() is None:
            future.result().close()
