"""Capabilities that a module declares and nothing needs."""

from __future__ import annotations

import pytest

from cts.spirv import tools
from cts.spirv.declared_capabilities import unneeded, without
from cts.spirv.decode import decode
from cts.spirv.subprocess_tools import Words

MODULE = """OpCapability Shader
{declared}
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %in
OpExecutionMode %main LocalSize 1 1 1
{decorations}
%void = OpTypeVoid
%half = OpTypeFloat 16
%float = OpTypeFloat 32
%number = OpTypePointer Input %{number}
%in = OpVariable %number Input
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%start = OpLabel
OpReturn
OpFunctionEnd
"""


def words(*declared: str, number: str = "float", decorations: str = "") -> Words:
    lines = "\n".join(f"OpCapability {name}" for name in declared)
    return tools.assemble(MODULE.format(declared=lines, number=number, decorations=decorations))


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (words("StorageInputOutput16", "Float16"), ("StorageInputOutput16",)),
        (words("StorageInputOutput16", "Float16", number="half"), ()),
        (words("ImageQuery", "SampledBuffer"), ("ImageQuery", "SampledBuffer")),
        (words("ClipDistance"), ("ClipDistance",)),
        (words("ClipDistance", decorations="OpDecorate %in BuiltIn ClipDistance"), ()),
        (words("CooperativeMatrixConversionsNV", "VariablePointers", "RuntimeDescriptorArray"), ()),
    ],
)
def test_use_decides(module: Words, expected: tuple[str, ...]) -> None:
    assert unneeded(module) == expected


def test_declarations_are_left_out_and_nothing_else() -> None:
    module = words("ImageQuery", "Float16", "SampledBuffer")
    left = without(module, ("ImageQuery", "SampledBuffer"))
    assert [i.values[0] for i in decode(left) if i.name == "OpCapability"] == ["Shader", "Float16"]
    assert [(i.name, i.values) for i in decode(left)][2:] == [(i.name, i.values) for i in decode(module)][4:]


def test_a_damaged_module_has_none() -> None:
    assert unneeded(words("ImageQuery")[:-3]) == ()
