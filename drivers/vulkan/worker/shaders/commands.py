"""Commands of extensions, which the loader does not export."""

from __future__ import annotations

from typing import Any

import vulkan as vk


def command(device: Any, name: str) -> Any:
    """A command of an extension that is enabled."""
    return vk.ffi.cast(f"PFN_{name}", vk.lib.vkGetDeviceProcAddr(device, name.encode()))


def check(result: int) -> None:
    """Raises vulkan's VkError."""
    if result != vk.VK_SUCCESS:
        raise vk.exception_codes[result]
