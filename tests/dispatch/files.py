"""Dispatch files written into a folder, and modules for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cts.base.errors import BadInput
from cts.modules.dispatch import Result, run

#: out[i] = in[i] + factor * (push + 1), where factor is SpecId 3 (default 1) and push a uint at byte 0.
ADD = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id_variable %in %out %push
OpExecutionMode %main LocalSize 8 1 1
OpName %in "source"
OpDecorate %factor SpecId 3
OpDecorate %id_variable BuiltIn GlobalInvocationId
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpMemberDecorate %push_block 0 Offset 0
OpDecorate %push_block Block
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%v3uint = OpTypeVector %uint 3
%procedure = OpTypeFunction %void
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%factor = OpSpecConstant %uint 1
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%block_pointer = OpTypePointer StorageBuffer %block
%word_pointer = OpTypePointer StorageBuffer %uint
%id_pointer = OpTypePointer Input %v3uint
%push_block = OpTypeStruct %uint
%push_pointer = OpTypePointer PushConstant %push_block
%pushed_pointer = OpTypePointer PushConstant %uint
%in = OpVariable %block_pointer StorageBuffer
%out = OpVariable %block_pointer StorageBuffer
%push = OpVariable %push_pointer PushConstant
%id_variable = OpVariable %id_pointer Input
%main = OpFunction %void None %procedure
%start = OpLabel
%id = OpLoad %v3uint %id_variable
%lane = OpCompositeExtract %uint %id 0
%x_at = OpAccessChain %word_pointer %in %u0 %lane
%x = OpLoad %uint %x_at
%p_at = OpAccessChain %pushed_pointer %push %u0
%p = OpLoad %uint %p_at
%p1 = OpIAdd %uint %p %u1
%term = OpIMul %uint %factor %p1
%y = OpIAdd %uint %x %term
%y_at = OpAccessChain %word_pointer %out %u0 %lane
OpStore %y_at %y
OpReturn
OpFunctionEnd
"""

#: A dispatch of ADD over 16 elements; tests replace its parts.
FILE = """
module: add.spvasm
dispatch: [2, 1, 1]
push_constants: {values: [{type: uint32, value: 0}]}
buffers:
  a: {type: uint32, shape: [16], iota: {}}
  b: {type: uint32, shape: [2, 8], fill: 0}
bindings: {"0.0": a, "0.1": b}
outputs: [b]
"""


def write(folder: Path, text: str = FILE, assembly: str = ADD, **replaced: str) -> Path:
    """The file, in which each line that begins with a key of `replaced` (two blanks before a buffer) is replaced."""
    (folder / "add.spvasm").write_text(assembly)
    lines = []
    for line in text.strip().split("\n"):
        key = line.strip().split(":")[0]
        lines.append(replaced.pop(key, line))
    lines += replaced.values()
    path = folder / "test.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def outputs(path: Path, *drivers: str, name: str = "b") -> Any:
    """An output of the first driver, all of which must pass."""
    result = run(path, drivers or ("interpreter",))
    assert result.status == 0, said(result)
    return result.runs[0].outputs[name]


def said(result: Result) -> str:
    from cts.modules.dispatch.report import lines

    return "\n".join(lines(result))


def refused(path: Path) -> BadInput:
    """Why a file is refused."""
    with pytest.raises(BadInput) as caught:
        run(path)
    assert caught.value.what and caught.value.where and caught.value.remedy
    return caught.value
