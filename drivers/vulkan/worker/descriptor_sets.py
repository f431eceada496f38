"""Descriptor sets of a run."""

from __future__ import annotations

from typing import Any

import vulkan as vk

from .memory import Placed
from .pipeline import DESCRIPTOR_TYPES, Pipeline
from .protocol import Run

#: Kinds of descriptors whose offsets are given when they are bound.
_DYNAMIC = ("storage-dynamic", "uniform-dynamic")


class Descriptors:
    """Descriptor sets of every parameter set, freed together."""

    def __init__(self, pipeline: Pipeline, run: Run, sets: list[list[Placed]]) -> None:
        self._device = pipeline.device.handle
        self._pool: Any = None
        self._dynamic = _dynamic(run)
        per_set = len(pipeline.set_layouts)
        self.per_set = per_set
        self.handles: Any = None
        if not per_set:
            return
        ffi, lib = vk.ffi, vk.lib
        count = per_set * len(sets)
        declared = {(b.set, b.binding): b for b in run.bindings}.values()
        needed = {kind: sum(b.count for b in declared if b.kind == kind) for kind in DESCRIPTOR_TYPES}
        sizes = [
            vk.VkDescriptorPoolSize(type=type_, descriptorCount=max(1, needed[kind] * len(sets)))
            for kind, type_ in DESCRIPTOR_TYPES.items()
        ]
        self._pool = vk.vkCreateDescriptorPool(
            self._device, vk.VkDescriptorPoolCreateInfo(maxSets=count, poolSizeCount=len(sizes), pPoolSizes=sizes), None
        )
        layouts = ffi.new("VkDescriptorSetLayout[]", pipeline.set_layouts * len(sets))
        self.handles = ffi.new("VkDescriptorSet[]", count)
        allocation = ffi.new("VkDescriptorSetAllocateInfo *")
        allocation.sType = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO
        allocation.descriptorPool, allocation.descriptorSetCount, allocation.pSetLayouts = self._pool, count, layouts
        result = lib.vkAllocateDescriptorSets(self._device, allocation, self.handles)
        if result != vk.VK_SUCCESS:
            self.close()
            raise vk.exception_codes[result]
        total = len(run.bindings) * len(sets)
        infos, writes = ffi.new("VkDescriptorBufferInfo[]", total), ffi.new("VkWriteDescriptorSet[]", total)
        arena, n = pipeline.device.arena.buffer, 0
        for index, placed in enumerate(sets):
            for binding in run.bindings:
                buffer, info, write = placed[binding.buffer], infos[n], writes[n]
                info.buffer, info.offset, info.range = arena, buffer.window, buffer.memory.size
                if binding.kind in _DYNAMIC:
                    info.offset = sets[0][binding.buffer].origin
                write.sType = vk.VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET
                write.dstSet, write.dstBinding = self.handles[index * per_set + binding.set], binding.binding
                write.dstArrayElement, write.descriptorCount = binding.index, 1
                write.descriptorType = DESCRIPTOR_TYPES[binding.kind]
                write.pBufferInfo = infos + n
                n += 1
        lib.vkUpdateDescriptorSets(self._device, total, writes, 0, ffi.NULL)

    def offsets(self, first: list[Placed], placed: list[Placed]) -> list[int]:
        """What to bind the descriptors of a parameter set with: the way from where they are written to its windows."""
        return [0 if n is None else placed[n].window - first[n].origin for n in self._dynamic]

    def close(self) -> None:
        if self._pool is not None:
            vk.vkDestroyDescriptorPool(self._device, self._pool, None)
            self._pool = None


def _dynamic(run: Run) -> list[int | None]:
    """The buffer of each dynamic descriptor, by set, binding and index; None where none is bound."""
    bound = {(b.set, b.binding, b.index): b.buffer for b in run.bindings}
    places = sorted({(b.set, b.binding, b.count) for b in run.bindings if b.kind in _DYNAMIC})
    return [bound.get((set_, binding, index)) for set_, binding, count in places for index in range(count)]
