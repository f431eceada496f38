"""What a module leaves to the device is named where drivers differ."""

from __future__ import annotations

from pathlib import Path

from cts.dispatch import run
from cts.dispatch.report import lines

SHADERS = Path(__file__).parent / "shaders"


def reasons(file: Path, *drivers: str) -> str:
    return "\n".join(line for line in lines(run(file, drivers)) if "reason:" in line)


def test_sizes_of_subgroups_are_tried() -> None:
    said = reasons(SHADERS / "subgroups.yaml", "interpreter", "interpreter:subgroup_size=8")
    assert "subgroups have 8 invocations on interpreter:subgroup_size=8, and 32 elsewhere" in said
    assert "with `subgroup_size: 8` the interpreter leaves what interpreter:subgroup_size=8 leaves" in said


def test_where_nothing_depends_on_the_device_nothing_is_said(tmp_path: Path) -> None:
    text = (SHADERS / "memory.yaml").read_text(encoding="utf-8")
    assert not reasons(SHADERS / "memory.yaml", "interpreter", "interpreter:subgroup_size=8"), text


RACE = """OpCapability Shader
OpCapability GroupNonUniform
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %size %numbers
OpExecutionMode %main LocalSize 48 1 1
OpDecorate %size BuiltIn SubgroupSize
OpDecorate %array ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %numbers DescriptorSet 0
OpDecorate %numbers Binding 0
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%block_pointer = OpTypePointer StorageBuffer %block
%uint_pointer = OpTypePointer StorageBuffer %uint
%input = OpTypePointer Input %uint
%numbers = OpVariable %block_pointer StorageBuffer
%size = OpVariable %input Input
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%start = OpLabel
%x = OpLoad %uint %size
%at = OpAccessChain %uint_pointer %numbers %zero %zero
OpStore %at %x
OpReturn
OpFunctionEnd
"""


def test_races_and_subgroups_that_are_not_full(tmp_path: Path) -> None:
    (tmp_path / "race.spvasm").write_text(RACE)
    said = reasons(tmp_path / "race.spvasm", "interpreter:subgroup_size=16", "interpreter")
    assert "a data race (`--check races`): OpStore" in said
    assert "a workgroup has 48 invocations, so that a subgroup of 32 is not full" in said
