"""A driver's statistics and texts about the executables of a pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import vulkan as vk

from .shaders.commands import check, command

_STATISTICS = "vkGetPipelineExecutableStatisticsKHR"
_REPRESENTATIONS = "vkGetPipelineExecutableInternalRepresentationsKHR"

#: The member of VkPipelineExecutableStatisticValueKHR by its format.
_MEMBERS = ("b32", "i64", "u64", "f64")


def ask(device: Any, pipeline: Any) -> None:
    """Ask for everything that there is of each executable, texts too, and look at nothing. Raises vulkan's VkError."""
    for executable in _executables(device, pipeline):
        for name in (_STATISTICS, _REPRESENTATIONS):
            list(vk.vkGetDeviceProcAddr(device, name)(device, executable))


def statistics(device: Any, pipeline: Any) -> dict[str, float]:
    """Numbers by their names, such as registers and instructions, summed over executables. Raises vulkan's VkError.

    The pipeline was made with CAPTURE_STATISTICS.
    """
    numbers: Counter[str] = Counter()
    for executable in _executables(device, pipeline):
        for statistic in vk.vkGetDeviceProcAddr(device, _STATISTICS)(device, executable):
            if "hash" not in statistic.name.lower():  # of Mesa: no quantity
                numbers[statistic.name] += getattr(statistic.value, _MEMBERS[statistic.format])
    return dict(numbers)


def listing(device: Any, pipeline: Any) -> dict[str, str]:
    """The texts that a driver has of what it compiled, by their names. Raises vulkan's VkError.

    The pipeline was made with CAPTURE_INTERNAL_REPRESENTATIONS. Texts of the same name follow each other.
    """
    # The package's own wrapper asks for sizes alone.
    get = command(device, _REPRESENTATIONS)
    texts: dict[str, str] = {}
    for executable in _executables(device, pipeline):
        count = vk.ffi.new("uint32_t *")
        check(get(device, vk.ffi.addressof(executable), count, vk.ffi.NULL))
        representations = vk.ffi.new("VkPipelineExecutableInternalRepresentationKHR[]", count[0])
        for representation in representations:
            representation.sType = vk.VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR
        check(get(device, vk.ffi.addressof(executable), count, representations))
        held = [vk.ffi.new("char[]", max(1, representation.dataSize)) for representation in representations]
        for representation, data in zip(representations, held, strict=True):
            representation.pData = data
        check(get(device, vk.ffi.addressof(executable), count, representations))
        for representation, data in zip(representations, held, strict=True):
            if representation.isText:
                name = vk.ffi.string(representation.name).decode()
                texts[name] = texts.get(name, "") + vk.ffi.string(data).decode(errors="replace")
    return texts


def _executables(device: Any, pipeline: Any) -> Iterator[Any]:
    properties = vk.vkGetDeviceProcAddr(device, "vkGetPipelineExecutablePropertiesKHR")
    info = vk.ffi.new("VkPipelineInfoKHR *", {"sType": 1000269001, "pipeline": pipeline})
    for index, _ in enumerate(properties(device, info)):
        yield vk.VkPipelineExecutableInfoKHR(pipeline=pipeline, executableIndex=index)
