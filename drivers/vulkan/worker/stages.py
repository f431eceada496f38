"""The stage of a pipeline that is under test, and the module behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import vulkan as vk

if TYPE_CHECKING:
    from .pipeline import Key

#: VkPipelineShaderStageCreateFlagBits, which the `vulkan` package (1.3.275) lacks.
_ALLOW_VARYING_SUBGROUP_SIZE, _REQUIRE_FULL_SUBGROUPS = 1, 2


@contextmanager
def shader_module(device: Any, words: bytes) -> Iterator[Any]:
    """A VkShaderModule, which lives while pipelines are made from it."""
    module = vk.vkCreateShaderModule(device, module_info(words), None)
    try:
        yield module
    finally:
        vk.vkDestroyShaderModule(device, module, None)


def module_info(words: bytes, following: Any = None) -> Any:
    """VkShaderModuleCreateInfo."""
    return vk.VkShaderModuleCreateInfo(pNext=following, codeSize=len(words), pCode=words)


def stage(key: Key, module: Any) -> Any:
    """VkPipelineShaderStageCreateInfo; without a module it has the words themselves (VK-073)."""
    following = required_subgroup_size(key.subgroup_size)
    return vk.VkPipelineShaderStageCreateInfo(
        flags=(_REQUIRE_FULL_SUBGROUPS if key.full_subgroups else 0)
        | (_ALLOW_VARYING_SUBGROUP_SIZE if key.making.varying else 0),
        pNext=module_info(key.module, following) if module is None else following,
        stage=key.shader.flag,
        module=module,
        pName=key.entry,
        pSpecializationInfo=specialization(key.specialization),
    )


def required_subgroup_size(size: int | None) -> Any:
    """What asks for a size of subgroups, or None."""
    if size is None:
        return None
    return vk.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo(requiredSubgroupSize=size)


def specialization(constants: tuple[tuple[int, bytes], ...]) -> Any:
    """VkSpecializationInfo, or None."""
    if not constants:
        return None
    entries, data = [], b""
    for constant, value in constants:
        entries.append(vk.VkSpecializationMapEntry(constantID=constant, offset=len(data), size=len(value)))
        data += value
    return vk.VkSpecializationInfo(pMapEntries=entries, dataSize=len(data), pData=vk.ffi.from_buffer(data))
