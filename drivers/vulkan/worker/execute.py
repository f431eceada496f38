"""One run: lay the parameter sets out in memory, convert and dispatch once for each, and fetch what changed."""

from __future__ import annotations

import itertools
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import vulkan as vk

from .convert import Converter, Matrix, Side, Unsupported
from .descriptor_sets import Descriptors
from .device import LogicalDevice
from .memory import ALIGNMENT, Placed
from .pipeline import Pipeline
from .protocol import Address, Conversion, Memory, Place, Run
from .queues import Channel, Trail
from .submission import CONVERT, Hung, barrier, copy, submit

#: What opaque memory holds where it is not zero: finite in every floating-point type, as padding must be (CV-039).
_POISON = 0xA5

#: What a run does on the device, one after the other: a conversion, or the dispatches.
_Step: TypeAlias = "Conversion | None"

#: Bytes between buffers from which on they are copied apart.
_GAP = 1 << 20


def execute(pipeline: Pipeline, run: Run) -> tuple[tuple[bytes | None, ...], ...]:
    """All parameter sets of a run in one submission; per set and buffer the memory after it, None where unchanged.

    Conversions on the host split the submission. Raises Hung, vulkan's VkError, and what convert.Converter does.
    """
    device = pipeline.device
    deadline = time.monotonic() + run.timeout
    opaque = tuple(_opaque(device, run))
    sets, end = _place([parameters.buffers + opaque for parameters in run.sets])
    device.arena.reserve(end + (2 * ALIGNMENT if run.submitting.indirect is not None else 0))
    view, base = device.arena.view, device.arena.address
    before = [[_initial(buffer, placed, base) for buffer in placed] for placed in sets]
    for placed, contents in zip(sets, before, strict=True):
        for buffer, data in zip(placed, contents, strict=True):
            view[buffer.offset : buffer.offset + len(data)] = data
    descriptors = Descriptors(pipeline, run, sets)
    try:
        for on_host, steps in itertools.groupby(_steps(run), lambda step: step is not None and step.host):
            if on_host:
                _convert_on_host(device, sets, [step for step in steps if step is not None])
            else:
                recorded = _record(pipeline, run, sets, descriptors, list(steps))
                if run.submitting.again:
                    saved = [(start, bytes(view[start : start + size])) for start, size in _regions(sets)]
                    submit(device, run.timeout, deadline, recorded)
                    for start, data in saved:
                        view[start : start + len(data)] = data
                submit(device, run.timeout, deadline, recorded)
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
    """Memory of the sizes that the device says. Raises convert.Unsupported where matrices in it overlap."""
    for o in run.opaque:
        size = 0
        for matrix in (o, *o.beside):
            if matrix.offset < size:
                what = f"an opaque matrix at byte {matrix.offset} of memory in which the one before it ends at byte"
                raise Unsupported(f"{what} {size}")
            needed = Matrix(matrix.component, matrix.layout, matrix.rows, matrix.cols)
            size = matrix.offset + device.converter.required(needed)
        yield Memory(bytes(size) if o.zero else bytes([_POISON]) * size, 0, size)


def _steps(run: Run) -> list[_Step]:
    before = [c for c in run.conversions if not c.after]
    return [*before, None, *(c for c in run.conversions if c.after)]


def _place(sets: list[tuple[Memory, ...]]) -> tuple[list[list[Placed]], int]:
    """Buffers one after the other, aligned so that every window is; and the end of the last.

    A window that begins before its memory begins in that of other buffers, or in memory that none has.
    """
    end, placed = 0, []
    for memories in sets:
        places = []
        for memory in memories:
            end = max(end, -memory.start)
            end += -(end + memory.start) % ALIGNMENT
            places.append(Placed(end, memory))
            end += len(memory.data)
        placed.append(places)
    return placed, max(end, ALIGNMENT)


def _initial(buffer: Placed, placed: list[Placed], base: int) -> bytes:
    """A buffer's contents, with device addresses filled in."""
    return _patch(buffer.memory.data, buffer.memory.addresses, placed, base)


def _patch(data: bytes, addresses: tuple[Address, ...], placed: list[Placed], base: int) -> bytes:
    if not addresses:
        return data
    if not base:
        raise ValueError("the run has device addresses, but the feature bufferDeviceAddress is not enabled")
    patched = bytearray(data)
    for address in addresses:
        struct.pack_into("<Q", patched, address.at, base + placed[address.buffer].window + address.offset)
    return bytes(patched)


def _changed(view: memoryview, buffer: Placed, before: bytes) -> bytes | None:
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


def _sides(converter: Converter, placed: list[Placed], base: int, c: Conversion) -> tuple[Side, Side]:
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


def _convert_on_host(device: LogicalDevice, sets: list[list[Placed]], conversions: list[Conversion]) -> None:
    view = device.arena.view
    for c in conversions:
        for placed in sets:
            source, destination = _sides(device.converter, placed, 0, c)
            data = bytes(view[source.address : source.address + source.size])
            target = slice(destination.address, destination.address + destination.size)
            view[target] = device.converter.on_host(source.matrix, destination.matrix, data, bytes(view[target]))


def _record(
    pipeline: Pipeline, run: Run, sets: list[list[Placed]], descriptors: Descriptors, steps: list[_Step]
) -> list[tuple[Channel, Any]]:
    """The command buffers, with these steps recorded in them, and their queues."""
    device, how = pipeline.device, run.submitting
    arena, stage = device.arena, vk.VK_PIPELINE_STAGE_HOST_BIT
    # Where nothing is copied in, the first step is the first command: it is on the other queue.
    first = 1 if len(device.channels) > 1 and arena.staging is None else 0
    transferred = None if device.owned_together else arena.buffer
    trail = Trail(device.channels, first=first, again=how.again, transferred=transferred)
    if arena.staging is not None:
        copy(trail.commands, arena.staging, arena.buffer, _regions(sets))
        stage = vk.VK_PIPELINE_STAGE_TRANSFER_BIT

    def between(before: int, after: int) -> None:
        """What follows sees what was written."""
        if trail.alternates:
            trail.hand_over()
        else:
            barrier(trail.commands, before, after)

    for step in steps:
        following = pipeline.shader.synchronised if step is None else CONVERT
        # Host writes are visible to a submission without a barrier.
        if stage != vk.VK_PIPELINE_STAGE_HOST_BIT:
            between(stage, following)
        if step is None:
            recorded = _Recorded(pipeline, run, sets, descriptors)
            recorded.prepare(trail.commands)
            for repeated in range(run.times):
                if repeated:
                    between(following, following)
                recorded.dispatch(trail)
        else:
            converter = device.converter
            sides = [_sides(converter, placed, arena.address, step) for placed in sets]
            converter.record(trail.commands, sides)
        stage = following
    if arena.staging is not None:
        between(stage, vk.VK_PIPELINE_STAGE_TRANSFER_BIT)
        copy(trail.commands, arena.buffer, arena.staging, _regions(sets))
        stage = vk.VK_PIPELINE_STAGE_TRANSFER_BIT
    barrier(trail.commands, stage, vk.VK_PIPELINE_STAGE_HOST_BIT)
    return trail.finish()


@dataclass(frozen=True)
class _Recorded:
    """The dispatches of a run as `protocol.Submitting` wants them recorded."""

    pipeline: Pipeline
    run: Run
    sets: list[list[Placed]]
    descriptors: Descriptors

    def prepare(self, commands: Any) -> None:
        """Write the counts of workgroups where dispatches find them."""
        if self.run.submitting.indirect is None:
            return
        counts = vk.ffi.new("uint32_t[3]", self.run.workgroups)
        vk.lib.vkCmdUpdateBuffer(commands, self.pipeline.device.arena.buffer, self._counts_at, 12, counts)
        barrier(commands, vk.VK_PIPELINE_STAGE_TRANSFER_BIT, vk.VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT)

    def dispatch(self, trail: Trail) -> None:
        """One dispatch, draw or trace for each parameter set; they do not depend on each other."""
        if not self.run.submitting.secondary:
            self._record(trail.commands)
            return
        secondary = trail.channel.begin_secondary()
        self._record(secondary)
        vk.vkEndCommandBuffer(secondary)
        vk.lib.vkCmdExecuteCommands(trail.commands, 1, vk.ffi.new("VkCommandBuffer[]", [secondary]))

    @property
    def _counts_at(self) -> int:
        """Where in the arena the counts of an indirect dispatch lie: behind all buffers."""
        end = max((b.offset + len(b.memory.data) for placed in self.sets for b in placed), default=0)
        return end + -end % ALIGNMENT + (self.run.submitting.indirect or 0)

    def _record(self, commands: Any) -> None:
        ffi, lib, launch = vk.ffi, vk.lib, self.pipeline.launch
        pipeline, descriptors, sets = self.pipeline, self.descriptors, self.sets
        base, per_set = pipeline.device.arena.address, descriptors.per_set
        pipeline.bind(commands)
        if launch is not None:
            launch.begin(commands, self.run)
        for index, (placed, parameters) in enumerate(zip(sets, self.run.sets, strict=True)):
            if per_set:
                handles, offsets = descriptors.handles + index * per_set, descriptors.offsets(sets[0], placed)
                numbers = ffi.new("uint32_t[]", offsets)
                lib.vkCmdBindDescriptorSets(
                    commands, pipeline.point, pipeline.layout, 0, per_set, handles, len(offsets), numbers
                )
            if parameters.push_constants:
                data = _patch(parameters.push_constants, parameters.push_addresses, placed, base)
                flag, content = pipeline.shader.flag, ffi.from_buffer(data)
                lib.vkCmdPushConstants(commands, pipeline.layout, flag, 0, len(data), content)
            if launch is not None:
                launch.start(commands, self.run)
            else:
                self._workgroups(commands)
        if launch is not None:
            launch.end(commands)

    def _workgroups(self, commands: Any) -> None:
        how = self.run.submitting
        if how.indirect is not None:
            vk.lib.vkCmdDispatchIndirect(commands, self.pipeline.device.arena.buffer, self._counts_at)
        elif how.parts:
            for first, count in how.parts:
                vk.lib.vkCmdDispatchBase(commands, *first, *count)
        else:
            vk.lib.vkCmdDispatch(commands, *self.run.workgroups)


def _regions(sets: list[list[Placed]]) -> list[tuple[int, int]]:
    """Where memory lies in the arena, as offsets and sizes: in one piece, unless there are large gaps."""
    regions = [(0, 0)]
    for buffer in itertools.chain.from_iterable(sets):
        start, size = regions[-1]
        if buffer.offset - (start + size) > _GAP:
            regions.append((buffer.offset, len(buffer.memory.data)))
        else:
            regions[-1] = start, buffer.offset + len(buffer.memory.data) - start
    return [(start, size) for start, size in regions if size] or [(0, ALIGNMENT)]
