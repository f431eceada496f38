"""Which descriptors and features modules ask for, and what a device must have for them."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.device.driver_options import parse
from cts.device.job import Memory, ModuleJob
from cts.drivers.vulkan import descriptors, module, support
from cts.drivers.vulkan.descriptors import Descriptor
from cts.drivers.vulkan.module_facts import Facts
from cts.drivers.vulkan.options import Options
from cts.spirv.tools import assemble
from tests.vulkan_driver.devices import LAVAPIPE, NOTHING

BUFFERS = """
OpCapability Shader
OpCapability RuntimeDescriptorArray
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
OpExecutionMode %main SubgroupUniformControlFlowKHR
OpDecorate %block Block
OpDecorate %old BufferBlock
OpDecorate %length SpecId 7
OpDecorate %a DescriptorSet 0
OpDecorate %a Binding 1
OpDecorate %b DescriptorSet 2
OpDecorate %b Binding 3
OpDecorate %c DescriptorSet 2
OpDecorate %c Binding 4
OpDecorate %d DescriptorSet 2
OpDecorate %d Binding 5
OpDecorate %e DescriptorSet 2
OpDecorate %e Binding 6
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%length = OpSpecConstant %uint 3
%block = OpTypeStruct %uint
%old = OpTypeStruct %uint
%many = OpTypeArray %block %length
%any = OpTypeRuntimeArray %block
%pa = OpTypePointer StorageBuffer %block
%pb = OpTypePointer Uniform %block
%pc = OpTypePointer Uniform %old
%pd = OpTypePointer Uniform %many
%pe = OpTypePointer StorageBuffer %any
%a = OpVariable %pa StorageBuffer
%b = OpVariable %pb Uniform
%c = OpVariable %pc Uniform
%d = OpVariable %pd Uniform
%e = OpVariable %pe StorageBuffer
%main = OpFunction %void None %fn
%start = OpLabel
OpReturn
OpFunctionEnd
"""


def facts(specialization: dict[int, bytes] | None = None) -> Facts:
    return module.facts(assemble(BUFFERS), "main", specialization or {})


def job(arrays: dict[tuple[int, int, int], str], size: int = 64) -> ModuleJob:
    buffers = {"x": Memory(np.zeros(size, np.uint8), 0, size)}
    plain = {(0, 1): "x", (2, 3): "x", (2, 4): "x"}
    return ModuleJob(np.zeros(0, np.uint32), (1, 1, 1), buffers, plain, array_bindings=arrays)


def missing(found: Facts, given: ModuleJob, **features: bool) -> tuple[str, ...]:
    device = msgspec.structs.replace(LAVAPIPE, features=LAVAPIPE.features | features)
    return support.examine(device, found, given).missing


def test_kinds_and_lengths() -> None:
    assert facts().descriptors == (
        Descriptor(0, 1, "storage"),
        Descriptor(2, 3, "uniform"),
        Descriptor(2, 4, "storage"),
        Descriptor(2, 5, "uniform", 3),
        Descriptor(2, 6, "storage", 0),
    )
    assert facts({7: (9).to_bytes(4, "little")}).descriptors[3].length == 9


def test_descriptors_of_a_job() -> None:
    found = support.examine(LAVAPIPE, facts(), job({(2, 5, 0): "x", (2, 6, 4): "x"}))
    assert found.descriptors[2, 5] == ("uniform", 3)
    assert found.descriptors[2, 6] == ("storage", 5)
    assert {"descriptorBindingPartiallyBound", "runtimeDescriptorArray"} <= found.features
    whole = support.examine(LAVAPIPE, NOTHING, job({(2, 5, 0): "x"}))
    assert "descriptorBindingPartiallyBound" not in whole.features


def test_dynamic_offsets_are_for_as_many_descriptors_as_the_device_takes() -> None:
    found = support.examine(LAVAPIPE, facts(), job({(2, 5, 0): "x", (2, 6, 4): "x"})).descriptors
    few = {"maxDescriptorSetStorageBuffersDynamic": 2, "maxDescriptorSetUniformBuffersDynamic": 8}
    assert descriptors.dynamic(found, few) == {(0, 1), (2, 3), (2, 4), (2, 5)}
    fewer = {"maxDescriptorSetStorageBuffersDynamic": 6, "maxDescriptorSetUniformBuffersDynamic": 2}
    assert descriptors.dynamic(found, fewer) == {(0, 1), (2, 3), (2, 4)}
    assert descriptors.dynamic(found, LAVAPIPE.properties["VkPhysicalDeviceLimits"]) == set(found)


def test_an_option_of_offsets_that_there_is_not() -> None:
    with pytest.raises(BadInput, match="offsets cannot be 'moving'"):
        parse(Options, {"offsets": "moving"}, "vulkan")
    assert (parse(Options, {}, "vulkan").offsets, parse(Options, {"offsets": "dynamic"}, "vulkan").offsets) == (
        "fixed",
        "dynamic",
    )


def test_indices_beyond_an_array() -> None:
    assert missing(facts(), job({(2, 5, 3): "x"}), shaderSubgroupUniformControlFlow=True) == (
        "descriptor 3 at set 2, binding 5, which has 3",
    )


def test_sizes_of_uniform_buffers_have_a_limit_of_their_own() -> None:
    most = int(LAVAPIPE.properties["VkPhysicalDeviceLimits"]["maxUniformBufferRange"])  # type: ignore[arg-type]
    found = missing(facts(), job({}, most + 4), shaderSubgroupUniformControlFlow=True)
    assert found == (f"a uniform buffer of {most + 4} bytes (at most {most})",)


def test_features_behind_execution_modes() -> None:
    assert missing(facts(), job({})) == ("feature shaderSubgroupUniformControlFlow",)


@pytest.mark.parametrize(
    ("capability", "operations"), [("GroupNonUniformClustered", 0x3F), ("GroupNonUniformQuad", 0x7F)]
)
def test_subgroup_operations_are_matched(capability: str, operations: int) -> None:
    wanting = replace(NOTHING, capabilities=NOTHING.capabilities | {capability})
    assert missing(wanting, job({})) == ()
    name = "VkPhysicalDeviceVulkan11Properties"
    fewer = LAVAPIPE.properties | {name: LAVAPIPE.properties[name] | {"subgroupSupportedOperations": operations}}
    device = msgspec.structs.replace(LAVAPIPE, properties=fewer)
    assert support.examine(device, wanting, job({})).missing == (f"subgroup operations of {capability}",)


def test_atomics_on_workgroup_memory_are_enabled_where_the_device_has_them() -> None:
    wanting = replace(NOTHING, capabilities=NOTHING.capabilities | {"Int64Atomics"})
    for shared in (False, True):
        features = {"shaderBufferInt64Atomics": True, "shaderSharedInt64Atomics": shared}
        device = msgspec.structs.replace(LAVAPIPE, features=LAVAPIPE.features | features)
        found = support.examine(device, wanting, job({}))
        assert found.missing == ()
        assert ("shaderSharedInt64Atomics" in found.features) == shared
