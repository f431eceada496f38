"""What a driver says of the executables behind a pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import vulkan as vk

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
        for one in vk.vkGetDeviceProcAddr(device, _STATISTICS)(device, executable):
            if "hash" not in one.name.lower():  # of Mesa: no quantity
                numbers[one.name] += getattr(one.value, _MEMBERS[one.format])
    return dict(numbers)


def _executables(device: Any, pipeline: Any) -> Iterator[Any]:
    properties = vk.vkGetDeviceProcAddr(device, "vkGetPipelineExecutablePropertiesKHR")
    info = vk.ffi.new("VkPipelineInfoKHR *", {"sType": 1000269001, "pipeline": pipeline})
    for index, _ in enumerate(properties(device, info)):
        yield vk.VkPipelineExecutableInfoKHR(pipeline=pipeline, executableIndex=index)
