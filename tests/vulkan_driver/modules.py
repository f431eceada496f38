"""Modules and jobs for the tests of the vulkan driver: generic compute, no cooperative matrices."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cts.device.job import Address, Memory, ModuleJob
from cts.drivers.vulkan import create
from cts.drivers.vulkan.driver import VulkanDriver
from cts.spirv.tools import assemble

HERE = Path(__file__).parent
FAULTY_WORKER = HERE / "faulty_worker.py"
GUARD = 1024

#: One storage buffer of uints: data[i] = data[i] * %factor + WorkgroupId.x, for i the invocation's global index.
SCALE = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main" %gid %wid %data
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %wid BuiltIn WorkgroupId
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %factor SpecId 7
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%v3 = OpTypeVector %uint 3
%in = OpTypePointer Input %v3
%gid = OpVariable %in Input
%wid = OpVariable %in Input
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%data = OpVariable %pblock StorageBuffer
%zero = OpConstant %uint 0
%factor = OpSpecConstant %uint 1
%main = OpFunction %void None %fn
%entry = OpLabel
%g = OpLoad %v3 %gid
%i = OpCompositeExtract %uint %g 0
%w = OpLoad %v3 %wid
%x = OpCompositeExtract %uint %w 0
%p = OpAccessChain %puint %data %zero %i
%v = OpLoad %uint %p
%m = OpIMul %uint %v %factor
%s = OpIAdd %uint %m %x
OpStore %p %s
OpReturn
OpFunctionEnd
"""

#: Two physical buffers from push constants: target[i] = source[i] + addend, for i the local index.
PHYSICAL = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpCapability PhysicalStorageBufferAddresses
OpMemoryModel PhysicalStorageBuffer64 Vulkan
OpEntryPoint GLCompute %main "main" %gid %push
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %pushed Block
OpMemberDecorate %pushed 0 Offset 0
OpMemberDecorate %pushed 1 Offset 8
OpMemberDecorate %pushed 2 Offset 16
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%v3 = OpTypeVector %uint 3
%in = OpTypePointer Input %v3
%gid = OpVariable %in Input
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%physical = OpTypePointer PhysicalStorageBuffer %block
%element = OpTypePointer PhysicalStorageBuffer %uint
%pushed = OpTypeStruct %physical %physical %uint
%ppush = OpTypePointer PushConstant %pushed
%paddress = OpTypePointer PushConstant %physical
%puint = OpTypePointer PushConstant %uint
%push = OpVariable %ppush PushConstant
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%main = OpFunction %void None %fn
%entry = OpLabel
%g = OpLoad %v3 %gid
%i = OpCompositeExtract %uint %g 0
%ps = OpAccessChain %paddress %push %zero
%source = OpLoad %physical %ps
%pt = OpAccessChain %paddress %push %one
%target = OpLoad %physical %pt
%pa = OpAccessChain %puint %push %two
%addend = OpLoad %uint %pa
%from = OpAccessChain %element %source %zero %i
%v = OpLoad %uint %from Aligned 4
%s = OpIAdd %uint %v %addend
%to = OpAccessChain %element %target %zero %i
OpStore %to %s Aligned 4
OpReturn
OpFunctionEnd
"""

#: Writes SubgroupSize and NumSubgroups by one invocation of each workgroup, and SubgroupId sums: data[3 * wg + k].
SUBGROUPS = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpCapability GroupNonUniform
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main" %lid %size %count %data
OpExecutionMode %main LocalSize 32 1 1
OpDecorate %lid BuiltIn LocalInvocationIndex
OpDecorate %size BuiltIn SubgroupSize
OpDecorate %count BuiltIn NumSubgroups
OpDecorate %data DescriptorSet 1
OpDecorate %data Binding 3
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%bool = OpTypeBool
%in = OpTypePointer Input %uint
%lid = OpVariable %in Input
%size = OpVariable %in Input
%count = OpVariable %in Input
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%data = OpVariable %pblock StorageBuffer
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%main = OpFunction %void None %fn
%entry = OpLabel
%l = OpLoad %uint %lid
%first = OpIEqual %bool %l %zero
OpSelectionMerge %end None
OpBranchConditional %first %then %end
%then = OpLabel
%p0 = OpAccessChain %puint %data %zero %zero
%s = OpLoad %uint %size
OpStore %p0 %s
%p1 = OpAccessChain %puint %data %zero %one
%c = OpLoad %uint %count
OpStore %p1 %c
OpBranch %end
%end = OpLabel
OpReturn
OpFunctionEnd
"""


@lru_cache
def words(text: str) -> npt.NDArray[np.uint32]:
    return assemble(text)


def guarded(values: npt.NDArray[np.uint32], addresses: tuple[Address, ...] = ()) -> Memory:
    """A buffer of the values between guard bytes."""
    guard = np.full(GUARD, 0xA5, np.uint8)
    data = np.concatenate([guard, values.view(np.uint8), guard])
    return Memory(data, GUARD, values.nbytes, addresses)


def contents(memory: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """The values between intact guard bytes."""
    assert (memory[:GUARD] == 0xA5).all()
    assert (memory[-GUARD:] == 0xA5).all()
    return memory[GUARD:-GUARD].view(np.uint32)


def scale(values: npt.NDArray[np.uint32], factor: int = 3, workgroups: int = 1) -> ModuleJob:
    """A job of SCALE over 8 * workgroups values."""
    return ModuleJob(
        words=words(SCALE),
        workgroups=(workgroups, 1, 1),
        buffers={"data": guarded(values)},
        bindings={(0, 0): "data"},
        spec_constants={7: factor.to_bytes(4, "little")},
    )


def driver(tmp_path: Path, worker: str, **options: str) -> VulkanDriver:
    """The driver with a journal of its own."""
    made = create({"worker": worker, "journal": str(tmp_path / "journal"), **options})
    assert isinstance(made, VulkanDriver)
    return made
