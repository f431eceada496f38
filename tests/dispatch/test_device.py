"""Descriptors of every kind on a Vulkan device, as on the interpreter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cts.modules.dispatch import run
from tests.dispatch.files import ADD, said, write

WORKER = os.environ.get("CTS_TEST_VULKAN_WORKER")

#: ADD with its source in a uniform buffer of 4 blocks of 4 uints: out[i] = in[i / 4][i % 4] + ...
UNIFORM = (
    ADD.replace("%in = OpVariable %block_pointer StorageBuffer", "%in = OpVariable %uniform_pointer Uniform")
    .replace("%id_pointer =", """
%u4 = OpConstant %uint 4
%v4uint = OpTypeVector %uint 4
%vectors = OpTypeArray %v4uint %u4
%uniform_block = OpTypeStruct %vectors
%uniform_pointer = OpTypePointer Uniform %uniform_block
%uniform_word = OpTypePointer Uniform %uint
%id_pointer =""")
    .replace("OpDecorate %words ArrayStride 4", """OpDecorate %words ArrayStride 4
OpDecorate %vectors ArrayStride 16
OpDecorate %uniform_block Block
OpMemberDecorate %uniform_block 0 Offset 0""")
    .replace("%x_at = OpAccessChain %word_pointer %in %u0 %lane", """
%row = OpUDiv %uint %lane %u4
%column = OpUMod %uint %lane %u4
%x_at = OpAccessChain %uniform_word %in %u0 %row %column""")
)  # fmt: skip

#: ADD with its source in an array of descriptors, of which each lane chooses the one that its number says.
ARRAY = (
    ADD.replace("%in = OpVariable %block_pointer StorageBuffer", "%in = OpVariable %many_pointer StorageBuffer")
    .replace("OpCapability Shader", "OpCapability Shader\nOpCapability StorageBufferArrayDynamicIndexing")
    .replace("%in =", """
%u4 = OpConstant %uint 4
%u8 = OpConstant %uint 8
%many = OpTypeArray %block %u4
%many_pointer = OpTypePointer StorageBuffer %many
%in =""", 1)
    .replace("OpAccessChain %word_pointer %in %u0 %lane", "OpAccessChain %word_pointer %in %which %u0 %lane")
    .replace("%x_at =", "%which = OpIAdd %uint %number %u1\n%x_at =")
    .replace("%lane = OpCompositeExtract %uint %id 0", """
%lane = OpCompositeExtract %uint %id 0
%number = OpUDiv %uint %lane %u8""")
)  # fmt: skip

ARRAY_BINDINGS = 'bindings: {"0.0[1]": a, "0.0[2]": c, "0.1": b}'
C = "  c: {type: uint32, shape: [16], iota: {start: 100}}"


def drivers() -> list[str]:
    return ["interpreter"] + ([f"vulkan:worker={WORKER}"] if WORKER else [])


@pytest.mark.parametrize("module", [ADD, UNIFORM], ids=["storage", "uniform"])
def test_storage_and_uniform_buffers(tmp_path: Path, module: str) -> None:
    expected = "expected: {b: {type: uint32, shape: [16], iota: {start: 1}}}"
    result = run(write(tmp_path, assembly=module, expected=expected), drivers())
    assert result.status == 0, said(result)


def test_arrays_of_descriptors(tmp_path: Path) -> None:
    expected = f"expected: {{b: {{type: uint32, values: {[*range(1, 9), *range(109, 117)]}}}}}"
    text = write(tmp_path, assembly=ARRAY, bindings=ARRAY_BINDINGS, expected=expected).read_text()
    path = tmp_path / "array.yaml"
    path.write_text(text.replace("buffers:\n", f"buffers:\n{C}\n"))
    result = run(path, drivers())
    assert result.status == 0, said(result)
