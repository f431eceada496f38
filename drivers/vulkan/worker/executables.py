"""What a driver says of the executables behind a pipeline, which is asked for and not looked at."""

from __future__ import annotations

from typing import Any

import vulkan as vk

_QUERIES = ("vkGetPipelineExecutableStatisticsKHR", "vkGetPipelineExecutableInternalRepresentationsKHR")


def ask(device: Any, pipeline: Any) -> None:
    """Ask for everything that there is of each executable: texts, too. Raises vulkan's VkError."""
    properties = vk.vkGetDeviceProcAddr(device, "vkGetPipelineExecutablePropertiesKHR")
    info = vk.ffi.new("VkPipelineInfoKHR *", {"sType": 1000269001, "pipeline": pipeline})
    for index, _ in enumerate(properties(device, info)):
        executable = vk.VkPipelineExecutableInfoKHR(pipeline=pipeline, executableIndex=index)
        for name in _QUERIES:
            list(vk.vkGetDeviceProcAddr(device, name)(device, executable))
