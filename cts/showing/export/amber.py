"""A case as AmberScript, as far as Amber can express it: storage buffers, KHR matrices, one value for each byte.

Amber has `CooperativeMatrixFeaturesKHR.cooperativeMatrix` since April 2026. It has no features of the NV extensions,
no device addresses, and no way to say that an element may have one of several values. Buffers are integers here,
whatever their type, so that bits survive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import GUARD_BYTES
from cts.device.job import ModuleJob
from cts.plugins import registry
from cts.plugins.needs import Needs
from cts.showing.export.c_tables import identifier
from cts.showing.export.cannot import CannotExpress
from cts.showing.export.exported import Exported
from cts.spirv.listing import assembly

#: What Amber calls features of devices, and the extension that it wants named with each.
_FEATURES = {
    "cooperativeMatrix": ("CooperativeMatrixFeaturesKHR.cooperativeMatrix", "VK_KHR_cooperative_matrix"),
    "vulkanMemoryModel": ("VulkanMemoryModelFeatures.vulkanMemoryModel", "VK_KHR_vulkan_memory_model"),
    "vulkanMemoryModelDeviceScope": (
        "VulkanMemoryModelFeatures.vulkanMemoryModelDeviceScope",
        "VK_KHR_vulkan_memory_model",
    ),
    "shaderFloat16": ("Float16Int8Features.shaderFloat16", "VK_KHR_shader_float16_int8"),
    "shaderInt8": ("Float16Int8Features.shaderInt8", "VK_KHR_shader_float16_int8"),
    "storageBuffer8BitAccess": ("Storage8BitFeatures.storageBuffer8BitAccess", "VK_KHR_8bit_storage"),
    "storageBuffer16BitAccess": ("Storage16BitFeatures.storageBuffer16BitAccess", "VK_KHR_16bit_storage"),
    "variablePointers": ("VariablePointerFeatures.variablePointers", "VK_KHR_variable_pointers"),
    "variablePointersStorageBuffer": (
        "VariablePointerFeatures.variablePointersStorageBuffer",
        "VK_KHR_variable_pointers",
    ),
    "shaderInt16": ("shaderInt16", ""),
    "shaderInt64": ("shaderInt64", ""),
    "shaderFloat64": ("shaderFloat64", ""),
}
_SIZE_CONTROL = ("SubgroupSizeControl.subgroupSizeControl", "VK_EXT_subgroup_size_control")

#: Values in a line of data.
_PER_LINE = 16


def amber(exported: Exported) -> str:
    """The script. Raises CannotExpress for what Amber cannot express."""
    needs = registry.needs()(exported.job)
    _refuse(exported, exported.job, needs)
    return "\n".join(_lines(exported, exported.job, needs)) + "\n"


def _refuse(exported: Exported, job: ModuleJob, needs: Needs) -> None:
    name = exported.name
    unknown = [f.name for f in needs.features if f.name not in _FEATURES]
    if unknown:
        raise CannotExpress(f"Amber cannot enable the feature {unknown[0]}", name)
    if job.push_addresses:
        raise CannotExpress("Amber has no buffers with device addresses", name)
    if any(memory.start < 0 for memory in job.buffers.values()):
        raise CannotExpress("Amber has no buffers whose contents begin late", name)
    if job.conversions or job.opaque:
        raise CannotExpress("Amber has no conversions of matrices", name)
    if job.array_bindings:
        raise CannotExpress("the script has no arrays of descriptors", name)
    for buffer, judged in exported.buffers.items():
        if judged.allowed.intervals or judged.allowed.identical:
            what = f"elements of {buffer} have more than one allowed value; Amber compares whole buffers"
            raise CannotExpress(what, name)
    for number, value in job.spec_constants.items():
        if len(value) != 4:
            what = f"specialization constant {number} has {8 * len(value)} bits; Amber specializes 32"
            raise CannotExpress(what, name)


def _lines(exported: Exported, job: ModuleJob, needs: Needs) -> Iterator[str]:
    yield "#!amber"
    yield f"# {exported.name}"
    yield from (f"# {line}" for line in exported.description.splitlines())
    yield "# Run: amber -v 1.3 -t spv1.6 FILE, with an Amber that knows CooperativeMatrixFeaturesKHR."
    yield "# The bytes around buffers are not checked here; repro.c checks them."
    yield ""
    features = [_FEATURES[f.name] for f in needs.features]
    if job.subgroup_size is not None:
        features.append(_SIZE_CONTROL)
    yield from (f"DEVICE_EXTENSION {e}" for e in dict.fromkeys(e for _, e in features if e))
    yield from (f"DEVICE_FEATURE {f}" for f in dict.fromkeys(f for f, _ in features))
    yield "SET ENGINE_DATA fence_timeout_ms 60000"
    yield ""
    yield "SHADER compute module SPIRV-ASM TARGET_ENV spv1.6"
    yield assembly(job.words, friendly_names=False, indent=False).rstrip()
    yield "END"
    names = {name: f"b{i}_{identifier(name)}" for i, name in enumerate(job.buffers)}
    for name, memory in job.buffers.items():
        contents = memory.data[GUARD_BYTES : len(memory.data) - GUARD_BYTES]
        judged = exported.buffers.get(name)
        width = judged.type.size if judged else 4
        yield ""
        yield from _buffer(names[name], contents.view(f"u{width}"))
        if judged:
            yield from _buffer(f"{names[name]}_expected", judged.allowed.exact.view(f"u{width}"))
    yield ""
    yield "PIPELINE compute pipeline"
    yield f"  ATTACH module ENTRY_POINT {job.entry}{_specialized(job)}"
    if job.subgroup_size is not None:
        yield "  SUBGROUP module"
        yield "    FULLY_POPULATED off"
        yield "    VARYING_SIZE off"
        yield f"    REQUIRED_SIZE {job.subgroup_size}"
        yield "  END"
    for d in needs.descriptors:
        kind = "uniform" if d.uniform else "storage"
        bound = names[job.bindings[d.set, d.binding]]
        yield f"  BIND BUFFER {bound} AS {kind} DESCRIPTOR_SET {d.set} BINDING {d.binding}"
    yield "END"
    yield ""
    for _ in range(job.times):
        yield f"RUN pipeline {' '.join(map(str, job.workgroups))}"
    yield from (f"EXPECT {names[name]} EQ_BUFFER {names[name]}_expected" for name in exported.buffers)


def _specialized(job: ModuleJob) -> str:
    return "".join(
        f" SPECIALIZE {number} AS uint32 {int.from_bytes(value, 'little')}"
        for number, value in job.spec_constants.items()
    )


def _buffer(name: str, bits: npt.NDArray[Any]) -> Iterator[str]:
    """A buffer of unsigned integers: bit patterns, which survive as they are."""
    kind = f"uint{8 * bits.dtype.itemsize}"
    if (bits == bits[0]).all():
        yield f"BUFFER {name} DATA_TYPE {kind} SIZE {len(bits)} FILL {int(bits[0])}"
        return
    yield f"BUFFER {name} DATA_TYPE {kind} DATA"
    for start in range(0, len(bits), _PER_LINE):
        yield " ".join(str(int(v)) for v in np.asarray(bits[start : start + _PER_LINE]))
    yield "END"
