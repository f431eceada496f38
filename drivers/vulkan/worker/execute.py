"""One run: lay the parameter sets out in memory, convert and dispatch once for each, and fetch what changed."""

from __future__ import annotations

import itertools
import struct
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import vulkan as vk

from .convert import Converter, Matrix, Side
from .device import LogicalDevice
from .memory import ALIGNMENT
from .pipeline import DESCRIPTOR_TYPES, Pipeline
from .protocol import Address, Conversion, Memory, Place, Run
from .submission import CONVERT, Hung, barrier, copy, submit

#: What opaque memory holds where it is not zero: finite in every floating-point type, as padding must be (CV-039).
_POISON = 0xA5

#: Kinds of descriptors whose offsets are given when they are bound.
_DYNAMIC = ("storage-dynamic", "uniform-dynamic")

#: What a run does on the device, one after the other: a conversion, or the dispatches.
_Step: TypeAlias = "Conversion | None"

#: Bytes between buffers from which on they are copied apart.
_GAP = 1 << 20

class _Placed(NamedTuple):
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


def execute(pipeline: Pipeline, run: Run) -> tuple[tuple[bytes | None, ...], ...]:
    """All parameter sets of a run in one submission; per set and buffer the memory after it, None where unchanged.

    Conversions on the host split the submission. Raises Hung, vulkan's VkError, and what convert.Converter does.
    """
    device = pipeline.device
    deadline = time.monotonic() + run.timeout
    opaque = tuple(_opaque(device, run))
    sets, end = _place([parameters.buffers + opaque for parameters in run.sets])
    device.arena.reserve(end)
    view, base = device.arena.view, device.arena.address
    before = [[_initial(buffer, placed, base) for buffer in placed] for placed in sets]
    for placed, contents in zip(sets, before, strict=True):
        for buffer, data in zip(placed, contents, strict=True):
            view[buffer.offset : buffer.offset + len(data)] = data
    descriptors = _Descriptors(pipeline, run, sets)
    try:
        for on_host, steps in itertools.groupby(_steps(run), lambda step: step is not None and step.host):
            if on_host:
                _convert_on_host(device, sets, [step for step in steps if step is not None])
            else:
                submit(device, run.timeout, deadline, _record(pipeline, run, sets, descriptors, list(steps)))
    except Hung:
        raise  # the device still uses the descriptors: the worker ends with them
    except BaseException:
        descriptors.close()
        raise
    descriptors.close()
    kept = len(run.sets[0].buffers) if run.sets else 0
    return tuple(
        tuple(_changed(view, buffer, data) for buffer, data in zip(placed[:kept], contents, strict=False))
        for placed, contents in zip(sets, before, strict=True)
    )


def _opaque(device: LogicalDevice, run: Run) -> Iterator[Memory]:
    """Memory of the sizes that the device says."""
    for o in run.opaque:
        size = o.offset + device.converter.required(Matrix(o.component, o.layout, o.rows, o.cols))
        yield Memory(bytes(size) if o.zero else bytes([_POISON]) * size, 0, size)


def _steps(run: Run) -> list[_Step]:
    before = [c for c in run.conversions if not c.after]
    return [*before, None, *(c for c in run.conversions if c.after)]


def _place(sets: list[tuple[Memory, ...]]) -> tuple[list[list[_Placed]], int]:
    """Buffers one after the other, aligned so that every window is; and the end of the last.

    A window that begins before its memory begins in that of other buffers, or in memory that none has.
    """
    end, placed = 0, []
    for memories in sets:
        places = []
        for memory in memories:
            end = max(end, -memory.start)
            end += -(end + memory.start) % ALIGNMENT
            places.append(_Placed(end, memory))
            end += len(memory.data)
        placed.append(places)
    return placed, max(end, ALIGNMENT)


def _initial(buffer: _Placed, placed: list[_Placed], base: int) -> bytes:
    """A buffer's contents, with device addresses filled in."""
    return _patch(buffer.memory.data, buffer.memory.addresses, placed, base)


def _patch(data: bytes, addresses: tuple[Address, ...], placed: list[_Placed], base: int) -> bytes:
    if not addresses:
        return data
    if not base:
        raise ValueError("the run has device addresses, but the feature bufferDeviceAddress is not enabled")
    patched = bytearray(data)
    for address in addresses:
        struct.pack_into("<Q", patched, address.at, base + placed[address.buffer].window + address.offset)
    return bytes(patched)


def _changed(view: memoryview, buffer: _Placed, before: bytes) -> bytes | None:
    """The memory after the run, or None. An address that was filled in and is still there counts as unchanged."""
    after = view[buffer.offset : buffer.offset + len(before)]
    if after == before:
        return None
    restored = bytearray(after)
    for address in buffer.memory.addresses:
        place = slice(address.at, address.at + 8)
        if restored[place] == before[place]:
            restored[place] = buffer.memory.data[place]
    return bytes(restored)


class _Descriptors:
    """Descriptor sets of every parameter set, freed together."""

    def __init__(self, pipeline: Pipeline, run: Run, sets: list[list[_Placed]]) -> None:
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
            self._device,
            vk.VkDescriptorPoolCreateInfo(maxSets=count, poolSizeCount=len(sizes), pPoolSizes=sizes),
            None,
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

    def offsets(self, first: list[_Placed], placed: list[_Placed]) -> list[int]:
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


def _sides(converter: Converter, placed: list[_Placed], base: int, c: Conversion) -> tuple[Side, Side]:
    """Source and destination of a conversion in one parameter set; addresses are `base` plus places in the arena."""

    def matrix(place: Place) -> Matrix:
        return Matrix(place.component, place.layout, c.rows, c.cols, place.stride)

    def address(place: Place) -> int:
        return base + placed[place.buffer].window + place.offset

    def room(place: Place) -> int:
        return placed[place.buffer].memory.size - place.offset

    source, destination = matrix(c.source), matrix(c.destination)
    return (
        Side(source, address(c.source), converter.source_size(source, room(c.source))),
        Side(destination, address(c.destination), converter.destination_size(destination, room(c.destination))),
    )


def _convert_on_host(device: LogicalDevice, sets: list[list[_Placed]], conversions: list[Conversion]) -> None:
    view = device.arena.view
    for c in conversions:
        for placed in sets:
            source, destination = _sides(device.converter, placed, 0, c)
            data = bytes(view[source.address : source.address + source.size])
            target = slice(destination.address, destination.address + destination.size)
            view[target] = device.converter.on_host(source.matrix, destination.matrix, data, bytes(view[target]))


def _record(
    pipeline: Pipeline, run: Run, sets: list[list[_Placed]], descriptors: _Descriptors, steps: list[_Step]
) -> Any:
    """The command buffer, with these steps recorded in it."""
    device = pipeline.device
    commands, arena, stage = device.commands, device.arena, vk.VK_PIPELINE_STAGE_HOST_BIT
    vk.vkResetCommandPool(device.handle, device.pool, 0)
    vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo(flags=vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT))
    if arena.staging is not None:
        copy(commands, arena.staging, arena.buffer, _regions(sets))
        stage = vk.VK_PIPELINE_STAGE_TRANSFER_BIT
    for step in steps:
        following = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT if step is None else CONVERT
        # What the host has written is visible to a submission as it is.
        if stage != vk.VK_PIPELINE_STAGE_HOST_BIT:
            barrier(commands, stage, following)
        if step is None:
            for repeated in range(run.times):
                if repeated:
                    barrier(commands, following, following)
                _dispatch(pipeline, run, sets, descriptors)
        else:
            converter = device.converter
            converter.record(commands, [_sides(converter, placed, arena.address, step) for placed in sets])
        stage = following
    if arena.staging is not None:
        barrier(commands, stage, vk.VK_PIPELINE_STAGE_TRANSFER_BIT)
        copy(commands, arena.buffer, arena.staging, _regions(sets))
        stage = vk.VK_PIPELINE_STAGE_TRANSFER_BIT
    barrier(commands, stage, vk.VK_PIPELINE_STAGE_HOST_BIT)
    vk.vkEndCommandBuffer(commands)
    return commands


def _dispatch(pipeline: Pipeline, run: Run, sets: list[list[_Placed]], descriptors: _Descriptors) -> None:
    """One dispatch for each parameter set; they do not depend on each other."""
    ffi, lib, point = vk.ffi, vk.lib, vk.VK_PIPELINE_BIND_POINT_COMPUTE
    commands, base, per_set = pipeline.device.commands, pipeline.device.arena.address, descriptors.per_set
    lib.vkCmdBindPipeline(commands, point, pipeline.handle)
    for index, (placed, parameters) in enumerate(zip(sets, run.sets, strict=True)):
        if per_set:
            handles, offsets = descriptors.handles + index * per_set, descriptors.offsets(sets[0], placed)
            lib.vkCmdBindDescriptorSets(
                commands, point, pipeline.layout, 0, per_set, handles, len(offsets), ffi.new("uint32_t[]", offsets)
            )
        if parameters.push_constants:
            data = _patch(parameters.push_constants, parameters.push_addresses, placed, base)
            lib.vkCmdPushConstants(
                commands, pipeline.layout, vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, len(data), ffi.from_buffer(data)
            )
        lib.vkCmdDispatch(commands, *run.workgroups)


def _regions(sets: list[list[_Placed]]) -> list[tuple[int, int]]:
    """Where memory lies in the arena, as offsets and sizes: in one piece, unless there are large gaps."""
    regions = [(0, 0)]
    for buffer in itertools.chain.from_iterable(sets):
        start, size = regions[-1]
        if buffer.offset - (start + size) > _GAP:
            regions.append((buffer.offset, len(buffer.memory.data)))
        else:
            regions[-1] = start, buffer.offset + len(buffer.memory.data) - start
    return [(start, size) for start, size in regions if size] or [(0, ALIGNMENT)]
