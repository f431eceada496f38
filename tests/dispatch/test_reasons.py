"""What a module leaves to the device is named where drivers differ."""

from __future__ import annotations

from pathlib import Path

from cts.modules.dispatch import run
from cts.modules.dispatch.report import lines

SHADERS = Path(__file__).parent / "shaders"


def reasons(file: Path, *drivers: str) -> str:
    return "\n".join(line for line in lines(run(file, drivers)) if "reason:" in line)


def test_sizes_of_subgroups_are_tried() -> None:
    unchecked = "interpreter:subgroup_size=8,check=none"
    said = reasons(SHADERS / "subgroups.yaml", "interpreter:check=none", unchecked)
    assert f"subgroups have 8 invocations on {unchecked}, and 32 elsewhere" in said
    assert f"with `subgroup_size: 8` the interpreter leaves what {unchecked} leaves" in said


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


def test_workgroups_that_write_none_of_a_wrong_buffer(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/dispatch.md").read_text(encoding="utf-8")
    module = page.partition("`double.spvasm`:")[2].split("```")[1]
    condition = (
        "%group = OpShiftRightLogical %uint %i %three\n%odd = OpBitwiseAnd %uint %group %one\n"
        "%even = OpIEqual %bool %odd %zero\nOpSelectionMerge %end None\nOpBranchConditional %even %then %end\n"
        "%then = OpLabel\nOpStore"
    )
    module = module.replace("OpStore", condition).replace("OpReturn", "OpBranch %end\n%end = OpLabel\nOpReturn")
    numbers = "%one = OpConstant %uint 1\n%three = OpConstant %uint 3\n%bool = OpTypeBool\n%array ="
    (tmp_path / "some.spvasm").write_text(module.replace("%array = OpTypeRuntime", f"{numbers} OpTypeRuntime"))
    file = tmp_path / "some.yaml"
    file.write_text(
        "module: some.spvasm\ndispatch: [6, 1, 1]\nbuffers: {b: {shape: [48], iota: {}}}\n"
        'bindings: {"0.0": b}\nexpected: {b: {iota: {step: 2}}}\n'
    )
    wanted = "buffer 'b': 3 of 6 workgroups have written none of it: (1, 0, 0), (3, 0, 0), (5, 0, 0)"
    assert f"reason: {wanted}" in reasons(file, "interpreter")
    assert run(file, options={"check": "writers"}).runs[0].outcome.trace == (wanted,)
