"""Caches of pipelines, with which pipelines must do the same as without (VK-071)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import vulkan as vk

from .convert import Refused

if TYPE_CHECKING:
    from .device import LogicalDevice

#: Creates pipelines with a cache, by one call.
Create: TypeAlias = Callable[..., list[Any]]

#: The header of a cache's data: its size, version, vendor, device and UUID.
_HEADER = struct.Struct("<IIII16s")


@contextmanager
def prepared(
    device: LogicalDevice,
    which: Literal["none", "new", "shared", "hit", "merged", "stored"],
    create: Create,
    own: Any,
    others: Sequence[Any],
) -> Iterator[Any]:
    """The cache for a pipeline; `create` makes what is in it before: the pipeline itself, and others."""
    if which == "none":
        yield vk.VK_NULL_HANDLE
        return
    if which == "shared":
        yield device.cache
        return
    handle = device.handle
    with ExitStack() as stack:

        def cache(data: bytes = b"") -> Any:
            new = _cache(handle, data)
            stack.callback(vk.vkDestroyPipelineCache, handle, new, None)
            return new

        def fill(target: Any, wanted: Any) -> None:
            (made,) = create(target, wanted)
            stack.callback(vk.vkDestroyPipeline, handle, made, None)

        if which == "new":
            yield cache()
        elif which == "hit":
            used = cache()
            fill(used, own)
            yield used
        elif which == "merged":
            first, second, merged = cache(), cache(), cache()
            for wanted in others:
                fill(first, wanted)
            fill(second, own)
            vk.vkMergePipelineCaches(handle, merged, 2, [first, second])
            yield merged
        else:
            data = _stored(device, create, own)
            yield cache(data)


def _stored(device: LogicalDevice, create: Create, own: Any) -> bytes:
    """The data of a cache with the pipeline, which is gone with the pipeline. Raises Refused for a wrong header."""
    handle = device.handle
    cache = _cache(handle)
    try:
        (made,) = create(cache, own)
        vk.vkDestroyPipeline(handle, made, None)
        data = _data(handle, cache)
    finally:
        vk.vkDestroyPipelineCache(handle, cache, None)
    properties = vk.vkGetPhysicalDeviceProperties(device.physical)
    uuid = bytes(properties.pipelineCacheUUID)
    right = (_HEADER.size, vk.VK_PIPELINE_CACHE_HEADER_VERSION_ONE, properties.vendorID, properties.deviceID, uuid)
    if len(data) < _HEADER.size or _HEADER.unpack_from(data) != right:
        what = f"vkGetPipelineCacheData begins with {data[: _HEADER.size].hex()}, not with {_HEADER.pack(*right).hex()}"
        raise Refused(f"{what}, the header of this device")
    return data


def _cache(device: Any, data: bytes = b"") -> Any:
    initial = vk.ffi.from_buffer(data) if data else None
    info = vk.VkPipelineCacheCreateInfo(initialDataSize=len(data), pInitialData=initial)
    return vk.vkCreatePipelineCache(device, info, None)


def _data(device: Any, cache: Any) -> bytes:
    ffi, size = vk.ffi, vk.ffi.new("size_t *")

    def get(into: Any) -> None:
        result = vk.lib.vkGetPipelineCacheData(device, cache, size, into)
        if result != vk.VK_SUCCESS:
            raise vk.exception_codes[result]

    get(ffi.NULL)
    data = ffi.new("char[]", max(1, size[0]))
    get(data)
    return bytes(ffi.buffer(data, size[0]))
