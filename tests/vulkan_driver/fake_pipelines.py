"""A Vulkan of Python functions that makes pipelines and runs them, and may have a bug that one way of making shows.

A module is its words: each workgroup adds what a pipeline computes from them to one number of memory. So a dispatch
that is left out, done twice or done with another pipeline leaves other numbers.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.vulkan_driver.fake_device import FakeDevice

_DECLARATIONS = """
typedef uint64_t VkPipeline;
typedef uint64_t VkShaderEXT;
typedef struct { uint32_t sType; void *pNext; uint64_t pipeline; } VkPipelineInfoKHR;
typedef int32_t (*PFN_vkGetShaderBinaryDataEXT)(uint64_t, uint64_t, size_t *, void *);
"""

#: The header of a cache's data on this device.
HEADER = struct.pack("<IIII16s", 32, 1, 0x10DE, 0x2330, b"0123456789abcdef")

FLAGS = {
    "VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT": 1,
    "VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT": 2,
    "VK_PIPELINE_CREATE_DERIVATIVE_BIT": 4,
    "VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR": 0x40,
    "VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR": 0x80,
    "VK_SHADER_CODE_TYPE_SPIRV_EXT": 1,
    "VK_SHADER_STAGE_COMPUTE_BIT": 0x20,
    "VK_PIPELINE_CACHE_HEADER_VERSION_ONE": 1,
}


def amount(words: bytes, constants: bytes) -> int:
    """What each workgroup of a pipeline adds."""
    return 1 + sum(words) % 97 + 100 * sum(constants)


@dataclass
class Made:
    """A pipeline or a shader object."""

    adds: int
    flags: int = 0
    alive: bool = True
    entry: str = ""
    info: Any = None


@dataclass
class Calls:
    """What was called, by name, with what matters of it."""

    names: list[str] = field(default_factory=list)
    created: list[list[Made]] = field(default_factory=list)
    shaders: list[list[SimpleNamespace]] = field(default_factory=list)
    caches: dict[int, list[tuple[bytes, Made]]] = field(default_factory=dict)
    used_caches: list[int] = field(default_factory=list)


class PipelineDevice(FakeDevice):
    """`mistake` names a bug, "" for none; `calls` has what was called. Memory starts with numbers of 32 bits."""

    def __init__(self, *, staged: bool = True, mistake: str = "", queues: tuple[int, ...] = (0,)) -> None:
        super().__init__(staged=staged, kernel=lambda memory, push: None)
        self.ffi.cdef(_DECLARATIONS)
        self.mistake = mistake
        self.channels = queues
        self.calls = Calls()
        self.made: dict[int, Made] = {}
        self.queues: list[Any] = []
        self._handles = itertools.count(1000)
        self._bound: Made | None = None
        self._submitted = 0
        self._signalled: set[Any] = set()
        self._ran: set[Any] = set()
        self._binary = self.ffi.callback("int32_t(uint64_t, uint64_t, size_t *, void *)", self._get_binary)

    def logical(self, worker: SimpleNamespace) -> Any:
        """With what pipelines need besides: a cache for all, and a physical device."""
        device = super().logical(worker)
        device.physical, device.cache = 9, self._create_cache(1, SimpleNamespace(initialDataSize=0), None)
        return device

    def package(self) -> ModuleType:
        module = super().package()
        vars(module).update(FLAGS)
        functions: dict[str, Callable[..., Any]] = {
            "vkCreateShaderModule": lambda _, info, __: bytes(info.pCode),
            "vkCreateComputePipelines": self._create_pipelines,
            "vkDestroyPipeline": lambda _, handle, __: self._destroy(handle),
            "vkCreatePipelineCache": self._create_cache,
            "vkDestroyPipelineCache": lambda _, cache, __: None,
            "vkMergePipelineCaches": self._merge,
            "vkGetPhysicalDeviceProperties": lambda _: SimpleNamespace(
                vendorID=0x10DE, deviceID=0x2330, pipelineCacheUUID=b"0123456789abcdef"
            ),
            "vkGetDeviceProcAddr": lambda _, name: self._command(name),
            "vkCreateSemaphore": lambda *_: next(self._handles),
            "vkGetDeviceQueue": lambda _, family, index: (family, index),
            "vkQueueSubmit": lambda queue, count, infos, fence: self._queue_submit(queue, infos[0]),
        }
        vars(module).update({name: self._noted(name, function) for name, function in functions.items()})
        vars(module.lib).update(
            vkGetPipelineCacheData=self._cache_data,
            vkGetDeviceProcAddr=lambda _, name: self._binary if b"Binary" in name else self.commands.get(name.decode()),
            vkCmdBindPipeline=lambda c, point, handle: self._note(c, "bind", handle),
            vkCmdDispatch=lambda c, *count: self._note(c, "dispatch", (0, 0, 0), count),
            vkCmdDispatchBase=lambda c, *numbers: self._note(c, "base", numbers[:3], numbers[3:]),
            vkCmdDispatchIndirect=lambda c, buffer, at: self._note(c, "indirect", at),
            vkCmdUpdateBuffer=lambda c, buffer, at, size, data: self._note(
                c, "update", at, bytes(self.ffi.buffer(data, size))
            ),
        )
        return module

    def _noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self._note_call(name)
            return function(*arguments)

        return call

    def _note_call(self, name: str) -> None:
        self.calls.names.append(name)

    # Making

    def _create_pipelines(self, _: int, cache: int, count: int, infos: list[Any], none: None, into: Any) -> None:
        self.calls.used_caches.append(cache)
        made = [self._pipeline(cache, info) for info in infos]
        for info, one in zip(infos, made, strict=True):
            by_index = made[info.basePipelineIndex] if info.basePipelineIndex >= 0 else None
            parent = by_index or self.made.get(info.basePipelineHandle or 0)
            if info.flags & 4:
                assert parent is not None and parent.flags & 2
                if self.mistake == "derivatives compute nothing":
                    one.adds = 0
            else:
                assert parent is None
        if self.mistake == "pipelines of a call in reverse":
            made.reverse()
        self.calls.created.append(made)
        for i, one in enumerate(made):
            into[i] = next(self._handles)
            self.made[into[i]] = one

    def _pipeline(self, cache: int, info: Any) -> Made:
        stage = info.stage
        words = stage.module if stage.module is not None else bytes(stage.pNext.pCode)
        held = self.calls.caches.get(cache, [])
        found = next((made for known, made in held if known == words), None)
        if held and self.mistake == "caches are not asked for the module":
            return held[0][1]
        if found is not None and self.mistake == "a hit is the pipeline that was there":
            return found
        specialized = vars(stage).get("pSpecializationInfo")
        constants = bytes(self.ffi.buffer(specialized.pData)) if specialized is not None else b""
        one = Made(amount(words, constants), info.flags, entry=stage.pName, info=info)
        if found is not None and not found.entry and self.mistake == "stored pipelines are not restored":
            one.adds = found.adds
        if found is not None and self.mistake == "caches forget constants":
            one.adds = amount(words, b"")
        if self.mistake == "a flag changes results" and info.flags & 1:
            one.adds += 1
        if self.mistake == "statistics change results" and info.flags & 0xC0:
            one.adds += 1
        if self.mistake == "words without a module are not read" and stage.module is None:
            one.adds = 0
        if self.mistake == "flags of subgroups change results" and vars(stage).get("flags"):
            one.adds += 1
        if self.mistake == "caches that share are mixed up" and held and found is None:
            one.adds = held[0][1].adds
        self.calls.caches.setdefault(cache, []).append((words, one))
        return one

    def _destroy(self, handle: int) -> None:
        made = self.made.pop(handle)
        made.alive = False
        if self.mistake == "the last pipeline that is destroyed takes the one before with it" and self.made:
            self.made[max(self.made)].alive = False

    def _create_cache(self, _: int, info: Any, none: None) -> int:
        cache = next(self._handles)
        self.calls.caches[cache] = []
        if info.initialDataSize:
            data = bytes(self.ffi.buffer(info.pInitialData))
            words = data[len(HEADER) :]
            self.calls.caches[cache].append((words, Made(0)))
        return cache

    def _merge(self, _: int, into: int, count: int, sources: list[int]) -> None:
        for source in sources:
            self.calls.caches[into] += self.calls.caches[source]

    def _cache_data(self, _: int, cache: int, size: Any, data: Any) -> int:
        self._note_call("vkGetPipelineCacheData")
        header = HEADER if self.mistake != "the header names another device" else HEADER[:12] + b"\0" + HEADER[13:]
        found = header + self.calls.caches[cache][0][0]
        if data != self.ffi.NULL:
            self.ffi.buffer(data)[: len(found)] = found
        size[0] = len(found)
        return 0

    def _command(self, name: str) -> Callable[..., Any]:
        def asked(*_: Any) -> list[Any]:
            self._note_call(name)
            return []

        functions: dict[str, Callable[..., Any]] = {
            "vkCreateShadersEXT": self._create_shaders,
            "vkDestroyShaderEXT": lambda _, handle, __: self._destroy(handle),
            "vkCmdBindShadersEXT": lambda c, count, stages, shaders: self._note(c, "bind", shaders[0]),
            "vkGetPipelineExecutablePropertiesKHR": lambda *_: [SimpleNamespace(), SimpleNamespace()],
            "vkGetPipelineExecutableStatisticsKHR": asked,
            "vkGetPipelineExecutableInternalRepresentationsKHR": asked,
        }
        return functions[name]

    def _create_shaders(self, _: int, count: int, infos: list[Any], none: None, into: Any) -> None:
        self.calls.shaders.append(infos)
        for i, info in enumerate(infos):
            code = bytes(self.ffi.buffer(self.ffi.cast("char *", info.pCode), info.codeSize))
            specialized = info.pSpecializationInfo
            constants = bytes(self.ffi.buffer(specialized.pData)) if specialized is not None else b""
            binary = info.codeType == 0
            made = Made(amount(code[1:] if binary else code, constants), info.flags, entry=info.pName, info=info)
            made.info.code = code
            if self.mistake == "shader objects compute nothing":
                made.adds = 0
            if self.mistake == "binaries compute nothing" and binary:
                made.adds = 0
            into[i] = next(self._handles)
            self.made[into[i]] = made

    def _get_binary(self, _: int, handle: int, size: Any, data: Any) -> int:
        found = b"B" + self.made[handle].info.code
        if data != self.ffi.NULL:
            assert int(self.ffi.cast("uintptr_t", data)) % 16 == 0
            self.ffi.buffer(data, len(found))[:] = found
        size[0] = len(found)
        return 0

    # Running

    def _queue_submit(self, queue: Any, info: Any) -> None:
        self.queues.append(queue)
        assert set(info.pWaitSemaphores) <= self._signalled
        self._signalled -= set(info.pWaitSemaphores)
        self._signalled |= set(info.pSignalSemaphores)
        self._submitted += 1
        if self.mistake == "command buffers run once" and self.log and info.pCommandBuffers[0] in self._ran:
            return
        self._ran = {info.pCommandBuffers[0]}
        if self.mistake == "the second queue does nothing" and queue != (self.channels[0], 0):
            return
        self._submit(info)

    def _run(self, recorded: list[tuple[Any, ...]]) -> None:
        for command in recorded:
            if command[0] == "bind":
                self._bound = self.made.get(command[1])
            elif command[0] in ("dispatch", "base"):
                self._workgroups(command[0], *command[1:])
            elif command[0] == "update":
                self.memory[command[1] : command[1] + 12] = command[2]
            elif command[0] == "indirect":
                x, y, z = struct.unpack_from("<III", self.memory, command[1])
                one = self.mistake == "indirect dispatches have one workgroup"
                self._workgroups("dispatch", (0, 0, 0), (1, 1, 1) if one else (x, y, z))
            elif command[0] == "execute" and self.mistake == "secondary command buffers are left out":
                continue
            else:
                super()._run([command])

    def _workgroups(self, kind: str, base: tuple[int, ...], count: tuple[int, ...]) -> None:
        if self._bound is None or not self._bound.alive:
            return
        if kind == "base" and self.mistake == "the base of a dispatch is ignored":
            base = (0, 0, 0)
        if kind == "base" and self.mistake == "dispatches with a base do nothing":
            return
        assert kind == "dispatch" or self._bound.flags & 0x10
        for x, y, z in itertools.product(*(range(b, b + n) for b, n in zip(base, count, strict=True))):
            at = 4 * (x + 8 * y + 64 * z)
            (before,) = struct.unpack_from("<I", self.memory, at)
            struct.pack_into("<I", self.memory, at, before + self._bound.adds)
