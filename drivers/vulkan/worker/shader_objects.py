"""Shader objects, which must do the same as the pipeline of their module (VK-075)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import vulkan as vk

from .stages import required_subgroup_size, specialization

if TYPE_CHECKING:
    from .device import LogicalDevice
    from .pipeline import Key

#: VkShaderCreateFlagBitsEXT.
_VARYING, _FULL, _DISPATCH_BASE = 0x2, 0x4, 0x10

#: What the address of a binary must be a multiple of.
_ALIGNMENT = 16


class ShaderObject:
    """A VkShaderEXT of the stage of compute."""

    def __init__(self, device: LogicalDevice, key: Key, set_layouts: list[Any], ranges: list[Any]) -> None:
        self._device = device.handle
        self._key, self._set_layouts, self._ranges = key, set_layouts, ranges
        self._bind = self._command("vkCmdBindShadersEXT")
        self.handle = self._create(vk.VK_SHADER_CODE_TYPE_SPIRV_EXT, key.module)
        if key.making.kind == "shader-binary":
            try:
                binary = self._binary()
            finally:
                self.close()
            self.handle = self._create(vk.VK_SHADER_CODE_TYPE_BINARY_EXT, binary)
        for _ in range(key.making.later):
            self._destroy(self._create(vk.VK_SHADER_CODE_TYPE_SPIRV_EXT, key.module))

    def bind(self, commands: Any) -> None:
        """Record that dispatches use it."""
        self._bind(commands, 1, [vk.VK_SHADER_STAGE_COMPUTE_BIT], [self.handle])

    def close(self) -> None:
        self._destroy(self.handle)

    def _create(self, code_type: int, code: bytes) -> Any:
        key = self._key
        flags = (_VARYING if key.making.varying else 0) | (_FULL if key.full_subgroups else 0)
        held = vk.ffi.new("char[]", len(code) + _ALIGNMENT)
        start = -int(vk.ffi.cast("uintptr_t", held)) % _ALIGNMENT
        vk.ffi.buffer(held)[start : start + len(code)] = code
        info = vk.VkShaderCreateInfoEXT(
            pNext=required_subgroup_size(key.subgroup_size),
            flags=flags | (_DISPATCH_BASE if key.dispatch_base else 0),
            stage=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            codeType=code_type,
            codeSize=len(code),
            pName=key.entry,
            pSetLayouts=self._set_layouts,
            pPushConstantRanges=self._ranges,
            pSpecializationInfo=specialization(key.specialization),
        )
        info.pCode = vk.ffi.cast("void *", held + start)
        count, place = 1 + key.making.neighbours, key.making.place
        shaders = vk.ffi.new("VkShaderEXT[]", count)
        try:
            self._command("vkCreateShadersEXT")(self._device, count, [info] * count, None, shaders)
        except vk.VkError:
            for shader in shaders:
                if shader != vk.ffi.NULL:
                    self._destroy(shader)
            raise
        for i, shader in enumerate(shaders):
            if i != place:
                self._destroy(shader)
        return shaders[place]

    def _binary(self) -> bytes:
        address = vk.lib.vkGetDeviceProcAddr(self._device, b"vkGetShaderBinaryDataEXT")
        get = vk.ffi.cast("PFN_vkGetShaderBinaryDataEXT", address)
        size = vk.ffi.new("size_t *")
        self._succeed(get(self._device, self.handle, size, vk.ffi.NULL))
        # The pointer, too, must be so aligned.
        held = vk.ffi.new("char[]", size[0] + _ALIGNMENT)
        start = -int(vk.ffi.cast("uintptr_t", held)) % _ALIGNMENT
        self._succeed(get(self._device, self.handle, size, held + start))
        return bytes(vk.ffi.buffer(held + start, size[0]))

    def _succeed(self, result: int) -> None:
        if result != vk.VK_SUCCESS:
            raise vk.exception_codes[result]

    def _destroy(self, handle: Any) -> None:
        self._command("vkDestroyShaderEXT")(self._device, handle, None)

    def _command(self, name: str) -> Any:
        return vk.vkGetDeviceProcAddr(self._device, name)
