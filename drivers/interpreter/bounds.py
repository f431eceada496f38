"""The rules of Vulkan that an access outside a buffer, or an array of descriptors, breaks."""

from __future__ import annotations

from cts.drivers.interpreter.parse import Instruction, Module

_STORAGE = "VUID-vkCmdDispatch-storageBuffers-06936; TA-069"
_RULES = {
    "StorageBuffer": _STORAGE,
    "Uniform": "VUID-vkCmdDispatch-uniformBuffers-06935",
    "PhysicalStorageBuffer": "VUID-RuntimeSpirv-PhysicalStorageBuffer64-11819; TA-069",
    "Workgroup": "TA-069",
}


def broken(module: Module, i: Instruction) -> str:
    """The rule in parentheses; "" where none is known. Chains leave arrays of descriptors, others what they access."""
    author = module.author
    for id_ in i.ids:
        storage = author.storage(id_)
        if i.name.endswith("AccessChain"):
            return " (VUID-vkCmdDispatch-None-10068)" if storage in ("StorageBuffer", "Uniform") else ""
        if storage == "Uniform" and any("BufferBlock" in d for d in module.decorations.values()):
            return f" ({_STORAGE})"  # before SPIR-V 1.3, of storage buffers; few modules have both
        if storage:
            return f" ({_RULES[storage]})" if storage in _RULES else ""
    return ""
