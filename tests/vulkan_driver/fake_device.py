"""A Vulkan of Python functions that records command buffers, runs them when submitted, and converts matrices.

Its optimal layouts keep the elements backwards, after 64 bytes that it does not use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import cffi
import numpy as np
import numpy.typing as npt

BASE = 0x4000_0000_0000
TRANSFER, COMPUTE, HOST, CONVERT = 0x1000, 0x800, 0x4000, 1 << 44
TYPES = {0: np.float16, 1: np.float32, 3: np.int8}
OPTIMAL = (2, 3)
DEVICE_BUFFER, HOST_BUFFER = 11, 12
LEAD = 64

_CONSTANTS = {
    "VK_PIPELINE_STAGE_TRANSFER_BIT": TRANSFER,
    "VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT": COMPUTE,
    "VK_PIPELINE_STAGE_HOST_BIT": HOST,
    "VK_ACCESS_TRANSFER_READ_BIT": 0x800,
    "VK_ACCESS_TRANSFER_WRITE_BIT": 0x1000,
    "VK_ACCESS_MEMORY_READ_BIT": 0x8000,
    "VK_ACCESS_MEMORY_WRITE_BIT": 0x10000,
    "VK_STRUCTURE_TYPE_MEMORY_BARRIER": 46,
    "VK_STRUCTURE_TYPE_MEMORY_BARRIER_2": 1000314000,
    "VK_STRUCTURE_TYPE_DEPENDENCY_INFO": 1000314003,
    "VK_PIPELINE_STAGE_ALL_COMMANDS_BIT": 0x10000,
    "VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT": 0x2,
    "VK_COMMAND_BUFFER_LEVEL_SECONDARY": 1,
    "VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT": 1,
}

_DECLARATIONS = """
typedef struct { uint32_t sType; void *pNext; uint32_t srcAccessMask, dstAccessMask; } VkMemoryBarrier;
typedef struct {
    uint32_t sType; void *pNext; uint64_t srcStageMask, srcAccessMask, dstStageMask, dstAccessMask;
} VkMemoryBarrier2;
typedef struct {
    uint32_t sType; void *pNext; uint32_t dependencyFlags;
    uint32_t memoryBarrierCount; const VkMemoryBarrier2 *pMemoryBarriers;
    uint32_t bufferMemoryBarrierCount; void *pBufferMemoryBarriers;
    uint32_t imageMemoryBarrierCount; void *pImageMemoryBarriers;
} VkDependencyInfo;
typedef struct {
    uint32_t sType; void *pNext; uint32_t srcAccessMask, dstAccessMask, srcQueueFamilyIndex, dstQueueFamilyIndex;
    uint64_t buffer, offset, size;
} VkBufferMemoryBarrier;
typedef uint64_t VkCommandBuffer;
typedef struct { uint64_t srcOffset, dstOffset, size; } VkBufferCopy;
typedef struct {
    uint32_t sType; void *pNext;
    uint64_t srcSize, source; uint64_t *size; uint64_t destination;
    uint32_t srcType, dstType, rows, cols, srcLayout; uint64_t srcStride; uint32_t dstLayout; uint64_t dstStride;
} Info;
"""


class FakeDevice:
    """The device behind a pipeline of `execute`. `kernel` is what a dispatch does to device memory.

    `log` has the commands of each submission; `memory` is the device's own, `host` what the host sees. `channels` has
    the family of each queue.
    """

    channels: tuple[int, ...] = (0,)
    owned_together = True

    def __init__(self, *, staged: bool, kernel: Callable[[memoryview, bytes], None]) -> None:
        self.ffi = cffi.FFI()
        self.ffi.cdef(_DECLARATIONS)
        for name in ("Features", "Vulkan11Features", "Vulkan12Features", "Vulkan13Features"):
            self.ffi.cdef(f"typedef struct {{ uint32_t a{name}; }} VkPhysicalDevice{name};")
        self.memory = memoryview(bytearray(1 << 20))
        self.host = memoryview(bytearray(1 << 20)) if staged else self.memory
        self.kernel = kernel
        self.recorded: dict[int, list[tuple[Any, ...]]] = {}
        self.log: list[list[tuple[Any, ...]]] = []
        self.asked: list[tuple[int, ...]] = []
        self.result = 0
        self._push = b""
        self._staged = staged
        self.commands = {
            "vkConvertCooperativeVectorMatrixNV": self.ffi.callback("int32_t(void *, Info *)", self._on_host),
            "vkCmdConvertCooperativeVectorMatrixNV": self.ffi.callback(
                "void(void *, uint32_t, Info *)", self._convert_command
            ),
        }

    def package(self) -> ModuleType:
        """What the worker imports as `vulkan`."""
        module = ModuleType("vulkan")
        null = self.ffi.NULL
        lib = SimpleNamespace(
            vkGetDeviceProcAddr=lambda _, name: self.commands.get(name.decode(), null),
            vkCmdPipelineBarrier=self._barrier,
            vkCmdExecuteCommands=lambda c, count, handles: self._note(c, "execute", *list(handles)),
            vkCmdPipelineBarrier2=self._barrier2,
            vkCmdCopyBuffer=lambda c, source, target, count, regions: self._note(
                c, "copy", source, target, regions[0].size
            ),
            vkCmdBindPipeline=lambda c, *_: self._note(c, "bind"),
            vkCmdPushConstants=lambda c, layout, stage, at, size, data: self._note(
                c, "push", bytes(self.ffi.buffer(data, size))
            ),
            vkCmdDispatch=lambda c, *workgroups: self._note(c, "dispatch", *workgroups),
        )
        vars(module).update(
            {"ffi": self.ffi, "lib": lib, "exception_codes": {-1: MemoryError, -2: MemoryError}, "__getattr__": _other}
        )
        vars(module).update(
            vkAllocateCommandBuffers=lambda *_: [self._command_buffer()],
            vkBeginCommandBuffer=self._begin,
            vkQueueSubmit=lambda queue, count, infos, fence: self._submit(infos[0]),
        )
        return module

    def logical(self, worker: SimpleNamespace) -> Any:
        """A LogicalDevice of the worker's, as far as runs use it."""
        staging = HOST_BUFFER if self._staged else None
        arena = SimpleNamespace(
            reserve=self._reserve, view=self.host, buffer=DEVICE_BUFFER, staging=staging, address=BASE
        )
        channels = tuple(worker.queues.Channel(1, f, self.channels[:i].count(f)) for i, f in enumerate(self.channels))
        return SimpleNamespace(
            handle=1,
            channels=channels,
            semaphores=[],
            owned_together=self.owned_together,
            fence=5,
            arena=arena,
            converter=worker.convert.Converter(1),
        )

    def _reserve(self, size: int) -> None:
        assert size <= len(self.memory)

    def _command_buffer(self) -> int:
        handle = 100 + len(self.recorded)
        self.recorded[handle] = []
        return handle

    def _begin(self, commands: int, info: Any) -> None:
        self.recorded[commands] = []

    def _note(self, commands: int, *command: Any) -> None:
        self.recorded[commands].append(command)

    def _barrier(
        self, c: Any, before: int, after: int, flags: int, count: int, barrier: Any, buffers: int, owned: Any, *_: Any
    ) -> None:
        if count:
            self._note(c, "barrier", before, barrier.srcAccessMask, after, barrier.dstAccessMask)
        if buffers:
            families = (owned[0].srcQueueFamilyIndex, owned[0].dstQueueFamilyIndex)
            self._note(c, "release" if owned[0].srcAccessMask else "acquire", *families)

    def _barrier2(self, c: Any, info: Any) -> None:
        assert (info.sType, info.memoryBarrierCount) == (1000314003, 1)
        b = info.pMemoryBarriers[0]
        assert b.sType == 1000314000
        self._note(c, "barrier", b.srcStageMask, b.srcAccessMask, b.dstStageMask, b.dstAccessMask)

    def _convert_command(self, c: Any, count: int, infos: Any) -> None:
        self._note(int(self.ffi.cast("uintptr_t", c)), "convert", *(self._facts(infos[i]) for i in range(count)))

    def _facts(self, info: Any) -> SimpleNamespace:
        assert info.sType == 1000491004 and info.pNext == self.ffi.NULL
        names = [name for name, _ in self.ffi.typeof("Info").fields if name not in ("sType", "pNext", "size")]
        return SimpleNamespace(size=info.size[0], **{name: getattr(info, name) for name in names})

    def _submit(self, info: Any) -> None:
        (commands,) = info.pCommandBuffers
        self._run(self.recorded[commands])
        self.log.append(list(self.recorded[commands]))

    def _run(self, recorded: list[tuple[Any, ...]]) -> None:
        for command in recorded:
            if command[0] == "copy":
                source, target = (self.host if buffer == HOST_BUFFER else self.memory for buffer in command[1:3])
                target[: command[3]] = source[: command[3]]
            elif command[0] == "push":
                self._push = command[1]
            elif command[0] == "dispatch":
                self.kernel(self.memory, self._push)
            elif command[0] == "execute":
                for secondary in command[1:]:
                    self._run(self.recorded[secondary])
            elif command[0] == "convert":
                for info in command[1:]:
                    assert info.source % 64 == 0 and info.destination % 64 == 0
                    start, end = info.source - BASE, info.destination - BASE
                    into = self.memory[end : end + info.size]
                    assert self.convert(info, self.memory[start : start + info.srcSize], into) == 0

    def _on_host(self, _: Any, info: Any) -> int:
        if self.result:
            return self.result
        facts = self._facts(info)
        if not info.destination:
            self.asked.append((info.dstType, info.dstLayout, info.rows, info.cols, info.dstStride))
            info.size[0] = required(info.dstType, info.dstLayout, info.rows, info.cols, info.dstStride)
            return 0
        sides = ((facts.source, facts.srcSize), (facts.destination, facts.size))
        given, taken = (memoryview(self.ffi.buffer(self.ffi.cast("char *", a), n)).cast("B") for a, n in sides)
        result = self.convert(facts, given, taken)
        info.size[0] = required(info.dstType, info.dstLayout, info.rows, info.cols, info.dstStride)
        return result

    def convert(self, info: SimpleNamespace, given: memoryview, taken: memoryview) -> int:
        """VkResult of a conversion between these bytes."""
        if len(taken) < required(info.dstType, info.dstLayout, info.rows, info.cols, info.dstStride):
            return 5
        source = elements(given, info.srcType, info.srcLayout, info.rows, info.cols, info.srcStride)
        into = elements(taken, info.dstType, info.dstLayout, info.rows, info.cols, info.dstStride)
        into[...] = source.astype(into.dtype)
        return 0


def required(component: int, layout: int, rows: int, cols: int, stride: int) -> int:
    if layout in OPTIMAL:
        return LEAD + rows * cols * np.dtype(TYPES[component]).itemsize
    return stride * (cols if layout == 1 else rows)


def elements(
    data: memoryview, component: int, layout: int, rows: int, cols: int, stride: int = 0
) -> npt.NDArray[np.generic]:
    """A view (rows, cols) of a matrix that begins with the data."""
    dtype = np.dtype(TYPES[component])
    if layout in OPTIMAL:
        flat = np.frombuffer(data[LEAD:], dtype, rows * cols)
        return flat[::-1].reshape(rows, cols)
    strides = (dtype.itemsize, stride) if layout == 1 else (stride, dtype.itemsize)
    return np.ndarray((rows, cols), dtype, data, strides=strides)


def _other(name: str) -> Any:
    """Everything of the package that does not matter here."""
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name.startswith("VK_"):
        return 0
    if name.startswith("VkError") or name in ("VkException", "VkTimeout"):
        return vars(sys.modules["vulkan"]).setdefault(name, type(name, (Exception,), {}))
    if name.startswith(("Vk", "vk")):
        return lambda *_, **members: SimpleNamespace(**members)
    raise AttributeError(name)
