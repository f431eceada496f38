"""Which descriptors a pipeline gets: those of what the entry point uses."""

from __future__ import annotations

import numpy as np

from cts.drivers.vulkan import module
from cts.drivers.vulkan.descriptors import Descriptor
from cts.spirv import tools

#: A uniform buffer, and a storage buffer at the same place that nothing uses, as front ends make it of a reference.
MODULE = """OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpEntryPoint GLCompute %other "other"
OpExecutionMode %main LocalSize 1 1 1
OpExecutionMode %other LocalSize 1 1 1
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %idle DescriptorSet 0
OpDecorate %idle Binding 0
OpDecorate %numbers DescriptorSet 0
OpDecorate %numbers Binding 0
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%block = OpTypeStruct %uint
%in_storage = OpTypePointer StorageBuffer %block
%in_uniform = OpTypePointer Uniform %block
%stored = OpTypePointer StorageBuffer %uint
%number = OpTypePointer Uniform %uint
%numbers = OpVariable %in_uniform Uniform
%idle = OpVariable %in_storage StorageBuffer
%function = OpTypeFunction %void
%read = OpFunction %void None %function
%begin = OpLabel
%at = OpAccessChain %number %numbers %zero
%x = OpLoad %uint %at
OpReturn
OpFunctionEnd
%main = OpFunction %void None %function
%start = OpLabel
%call = OpFunctionCall %void %read
OpReturn
OpFunctionEnd
%other = OpFunction %void None %function
%entry = OpLabel
%there = OpAccessChain %stored %idle %zero
OpStore %there %zero
OpReturn
OpFunctionEnd
"""


def test_what_the_entry_point_uses_decides() -> None:
    words = np.array(tools.assemble(MODULE))
    assert module.facts(words, "main", {}).descriptors == (Descriptor(0, 0, "uniform"),)
    assert module.facts(words, "other", {}).descriptors == (Descriptor(0, 0, "storage"),)
