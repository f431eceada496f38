"""The structures that repro.c declares for itself are those of Vulkan, as the `vulkan` package has them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cts.showing.export.templates import render
from tests.export.repro_programs import COMPILERS

#: The names that Vulkan has for them.
STRUCTURES = {
    "application_info": "ApplicationInfo",
    "instance_info": "InstanceCreateInfo",
    "queue_family": "QueueFamilyProperties",
    "extension": "ExtensionProperties",
    "memory_types": "PhysicalDeviceMemoryProperties",
    "queue_info": "DeviceQueueCreateInfo",
    "device_info": "DeviceCreateInfo",
    "buffer_info": "BufferCreateInfo",
    "requirements": "MemoryRequirements",
    "memory_info": "MemoryAllocateInfo",
    "memory_flags": "MemoryAllocateFlagsInfo",
    "address_info": "BufferDeviceAddressInfo",
    "module_info": "ShaderModuleCreateInfo",
    "slot": "DescriptorSetLayoutBinding",
    "set_layout_info": "DescriptorSetLayoutCreateInfo",
    "push_range": "PushConstantRange",
    "layout_info": "PipelineLayoutCreateInfo",
    "specialization": "SpecializationInfo",
    "required_size": "PipelineShaderStageRequiredSubgroupSizeCreateInfo",
    "stage_info": "PipelineShaderStageCreateInfo",
    "pipeline_info": "ComputePipelineCreateInfo",
    "pool_size": "DescriptorPoolSize",
    "pool_info": "DescriptorPoolCreateInfo",
    "set_info": "DescriptorSetAllocateInfo",
    "descriptor": "DescriptorBufferInfo",
    "write": "WriteDescriptorSet",
    "command_pool_info": "CommandPoolCreateInfo",
    "commands_info": "CommandBufferAllocateInfo",
    "begin_info": "CommandBufferBeginInfo",
    "fence_info": "FenceCreateInfo",
    "barrier": "MemoryBarrier",
    "copy": "BufferCopy",
    "submit_info": "SubmitInfo",
    "matrix_properties": "PhysicalDeviceCooperativeMatrixPropertiesKHR",
    "listed_row": "CooperativeMatrixPropertiesKHR",
    "barrier2": "MemoryBarrier2",
    "dependency_info": "DependencyInfo",
}
LIMITS = [
    "maxUniformBufferRange",
    "maxStorageBufferRange",
    "maxPushConstantsSize",
    "maxPerStageDescriptorUniformBuffers",
    "maxPerStageDescriptorStorageBuffers",
    "maxComputeSharedMemorySize",
    "maxComputeWorkGroupCount",
    "maxComputeWorkGroupInvocations",
    "maxComputeWorkGroupSize",
]
MEMBERS = {
    "properties11.subgroupSize": "PhysicalDeviceVulkan11Properties.subgroupSize",
    "properties11.operations": "PhysicalDeviceVulkan11Properties.subgroupSupportedOperations",
    "properties12.name": "PhysicalDeviceVulkan12Properties.driverName",
    "properties12.info": "PhysicalDeviceVulkan12Properties.driverInfo",
    "properties12.float_modes": "PhysicalDeviceVulkan12Properties.shaderSignedZeroInfNanPreserveFloat16",
    "properties13.minSubgroupSize": "PhysicalDeviceVulkan13Properties.minSubgroupSize",
    "properties13.maxSubgroupSize": "PhysicalDeviceVulkan13Properties.maxSubgroupSize",
}


@pytest.fixture(scope="module")
def vulkan() -> Any:
    """The package's declarations; it cannot be imported where there is no loader."""
    pytest.importorskip("cffi")
    found = importlib.util.find_spec("vulkan")
    if found is None or not found.submodule_search_locations:
        pytest.skip("the package vulkan is not installed")
    path = Path(found.submodule_search_locations[0]) / "_vulkancache.py"
    spec = importlib.util.spec_from_file_location("vulkan_declarations", path)
    assert spec is not None and spec.loader is not None
    declared = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(declared)
    return declared.ffi


def declarations() -> str:
    flags = ("addressable", "matrices", "cooperative_vectors", "converts", "commands_convert", "descriptors")
    text = render("c/vulkan.h", **dict.fromkeys(flags, True), push_bytes=8, longest_vector=8)
    return text.partition("enum { COMPUTE")[0]


def members(text: str, name: str) -> list[str]:
    """The members of a structure, in order; those of a structure in it by its own name."""
    found = re.search(rf"struct {name} \{{(.*?)\n?\}};", text, re.S)
    assert found is not None, name
    body = re.sub(r"/\*.*?\*/", "", found[1], flags=re.S)
    body = re.sub(r"struct \{[^}]*\} (\w+)", r"x \1", body)
    return [re.sub(r"\[\d+\]", "", re.split(r"[\s*]+", m.strip())[-1]) for m in re.split("[;,]", body) if m.strip()]


@pytest.mark.skipif("gcc" not in COMPILERS, reason="no gcc to ask where members are")
def test_structures_are_those_of_vulkan(vulkan: Any, tmp_path: Path) -> None:
    text = declarations()
    asked: list[str] = []
    expected: list[int] = []
    for ours, theirs in STRUCTURES.items():
        kind = vulkan.typeof(f"Vk{theirs}")
        asked += [f"sizeof(struct {ours})", *(f"offsetof(struct {ours}, {m})" for m in members(text, ours))]
        expected += [vulkan.sizeof(kind), *(field.offset for _, field in kind.fields)]
        assert len(asked) == len(expected), ours
    header = 16
    properties = dict(vulkan.typeof("VkPhysicalDeviceProperties").fields)
    limits = dict(vulkan.typeof("VkPhysicalDeviceLimits").fields)
    for name in LIMITS:
        asked.append(f"offsetof(struct properties, limits.{name})")
        expected.append(header + properties["limits"].offset + limits[name].offset)
    for ours, theirs in MEMBERS.items():
        structure, _, member = ours.partition(".")
        kind, _, field = theirs.partition(".")
        asked.append(f"offsetof(struct {structure}, {member})")
        expected.append(dict(vulkan.typeof(f"Vk{kind}").fields)[field].offset)
    lines = "\n".join(f'    printf("%zu\\n", {what});' for what in asked)
    includes = "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
    program = (
        f"{includes}struct constant {{ uint32_t id, offset; size_t size; }};\n{text}\nint main(void) {{\n{lines}\n}}\n"
    )
    out = tmp_path / "layouts"
    subprocess.run(["gcc", "-x", "c", "-o", str(out), "-"], input=program, text=True, check=True)
    said = subprocess.run([out], capture_output=True, text=True, check=True).stdout
    assert dict(zip(asked, map(int, said.split()), strict=True)) == dict(zip(asked, expected, strict=True))
