"""Trials of the function and the command that convert matrices: raw calls and what they leave, none of it judged.

Trials and what comes of them are plain data, as cts/device/trials.py of the suite describes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import vulkan as vk

from .convert import OPTIMAL, HostCopy, Matrix, Side
from .device import LogicalDevice
from .memory import ALIGNMENT
from .submission import CONVERT, Recorded, barrier, copy, submit

GUARD = 256
PATTERN = 0xA5

#: Seconds that a submission may take.
_TIMEOUT = 10.0

#: Told of each call before it is made, in words.
Announce = Callable[[str], None]


def run_trial(device: LogicalDevice, trial: dict[str, Any], announce: Announce) -> dict[str, Any]:
    """What comes of a trial. Raises Hung, convert.Unsupported and vulkan's VkError."""
    return _Trial(device, trial, announce).run()


class _Trial:
    """The memory of a trial: `_blocks` are bytes with their guards, copied to where a step needs them."""

    def __init__(self, device: LogicalDevice, trial: dict[str, Any], announce: Announce) -> None:
        self._device = device
        self._trial = trial
        self._announce = announce
        self._matrices = [_matrix(block["form"]) for block in trial["blocks"]]
        self._shifts = [block["shift"] for block in trial["blocks"]]
        self._blocks: list[bytearray] = []

    def run(self) -> dict[str, Any]:
        required = {}
        for number, (block, matrix) in enumerate(zip(self._trial["blocks"], self._matrices, strict=True)):
            window = matrix.stride * (matrix.cols if matrix.layout == 1 else matrix.rows)
            if matrix.layout in OPTIMAL:
                self._announce(f"vkConvertCooperativeVectorMatrixNV asked for the size of {matrix}")
                required[number] = self._device.converter.call(Side(matrix, 0, 0), Side(matrix, 0, 0))
                if required[number][0] != 0:
                    return {"required": required}
                window = required[number][1]
            contents = block["contents"] or b""
            memory = bytearray([PATTERN]) * (window + 2 * GUARD)
            memory[GUARD : GUARD + len(contents)] = contents
            self._blocks.append(memory)
        return {"required": required, "answers": [*self._answers()]}

    def _answers(self) -> Iterator[dict[str, Any]]:
        for step in self._trial["steps"]:
            results: list[tuple[int, int]] = []
            if step["do"] == "copy":
                self._copy(step["source"], step["destination"])
            elif step["do"] == "ask":
                results = [self._ask(step)]
            elif step["by"] == "function":
                results = [self._by_function(pair) for pair in step["pairs"]]
            else:
                self._by_command(step)
            yield {
                "results": [result for result, _ in results],
                "sizes": [size for _, size in results],
                "blocks": [bytes(block) for block in self._blocks],
            }

    def _copy(self, source: int, destination: int) -> None:
        """As much as both windows hold: a device may have given two sizes for one form."""
        end = min(len(self._blocks[source]), len(self._blocks[destination])) - GUARD
        self._blocks[destination][GUARD:end] = self._blocks[source][GUARD:end]

    def _ask(self, step: dict[str, Any]) -> tuple[int, int]:
        source, destination = _matrix(step["source"]), _matrix(step["destination"])
        self._announce(f"vkConvertCooperativeVectorMatrixNV asked for the size of {destination} from {source}")
        size = source.stride * max(source.rows, source.cols)
        copy = HostCopy(bytes([PATTERN]) * size) if step["source_given"] else None
        side = Side(source, copy.address, size) if copy else Side(source, 0, 0)
        return self._device.converter.call(side, Side(destination, 0, step["before"]))

    def _by_function(self, pair: dict[str, int]) -> tuple[int, int]:
        numbers = pair["source"], pair["destination"]
        copies = [HostCopy(bytes(self._blocks[n]), self._shifts[n]) for n in numbers]
        source, destination = (self._side(n, c.address) for n, c in zip(numbers, copies, strict=True))
        destination = destination._replace(size=destination.size + pair["extra"])
        self._announce(f"vkConvertCooperativeVectorMatrixNV of {source.matrix} to {destination.matrix}")
        result = self._device.converter.call(source, destination)
        for number, copied in zip(numbers, copies, strict=True):
            self._blocks[number][:] = copied.view
        return result

    def _side(self, number: int, address: int) -> Side:
        """A block of which a copy begins at an address."""
        return Side(self._matrices[number], address + GUARD, len(self._blocks[number]) - 2 * GUARD)

    def _by_command(self, step: dict[str, Any]) -> None:
        arena = self._device.arena
        starts, end = [], 0
        for block in self._blocks:
            starts.append(end)
            end += -(-len(block) // ALIGNMENT) * ALIGNMENT
        arena.reserve(end)
        pairs = []
        for pair in step["pairs"]:
            source, destination = (
                self._side(n, arena.address + starts[n]) for n in (pair["source"], pair["destination"])
            )
            pairs.append((source, destination._replace(size=destination.size + pair["extra"])))
        self._announce(
            f"vkCmdConvertCooperativeVectorMatrixNV of {', '.join(f'{s.matrix} to {d.matrix}' for s, d in pairs)}"
        )
        recorded = self._record(pairs, end, secondary=step["secondary"])
        for _ in range(step["times"]):
            for start, block in zip(starts, self._blocks, strict=True):
                arena.view[start : start + len(block)] = bytes(block)
            submit(self._device, _TIMEOUT, time.monotonic() + _TIMEOUT, recorded)
        for start, block in zip(starts, self._blocks, strict=True):
            block[:] = arena.view[start : start + len(block)]

    def _record(self, pairs: list[tuple[Side, Side]], size: int, *, secondary: bool) -> Recorded:
        """A command buffer with conversions in it, directly or in a secondary one, that may be submitted again."""
        device, arena, channel = self._device, self._device.arena, self._device.channels[0]
        channel.reset()
        inner: Any = None
        if secondary:
            inner = channel.begin_secondary()
            device.converter.record(inner, pairs)
            vk.vkEndCommandBuffer(inner)
        commands = channel.begin(once=False)
        if arena.staging is not None:
            copy(commands, arena.staging, arena.buffer, [(0, size)])
            barrier(commands, vk.VK_PIPELINE_STAGE_TRANSFER_BIT, CONVERT)
        if inner is not None:
            vk.lib.vkCmdExecuteCommands(commands, 1, vk.ffi.new("VkCommandBuffer[]", [inner]))
        else:
            device.converter.record(commands, pairs)
        stage = CONVERT
        if arena.staging is not None:
            barrier(commands, stage, vk.VK_PIPELINE_STAGE_TRANSFER_BIT)
            copy(commands, arena.buffer, arena.staging, [(0, size)])
            stage = vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        barrier(commands, stage, vk.VK_PIPELINE_STAGE_HOST_BIT)
        vk.vkEndCommandBuffer(commands)
        return [(channel, commands)]


def _matrix(form: dict[str, int]) -> Matrix:
    return Matrix(form["component"], form["layout"], form["rows"], form["cols"], form["stride"])
