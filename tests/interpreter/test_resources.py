"""Descriptors: arrays of them, uniform blocks, their lengths; workgroup memory under several names; initializers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.device.driver import Outcome, Status
from tests.interpreter.modules import assemble, contents, dispatch, kernel, memory, run_kernel

X = [2, 0, 1, 2, 1, 0, 2, 2]

TABLE = "OpDecorate %table DescriptorSet 1\nOpDecorate %table Binding 4\n"
NON_UNIFORM = """
OpCapability ShaderNonUniform
OpCapability RuntimeDescriptorArray
OpCapability StorageBufferArrayNonUniformIndexing
"""
SIZED = """
%blocks = OpTypeArray %block %u3
%blocks_pointer = OpTypePointer StorageBuffer %blocks
%table = OpVariable %blocks_pointer StorageBuffer
"""
RUNTIME = SIZED.replace("OpTypeArray %block %u3", "OpTypeRuntimeArray %block")


def run_table(body: str, declared: str, bound: dict[int, str], x: Any = X) -> Outcome:
    text = kernel(body, globals_=declared, head=NON_UNIFORM, lanes=len(x))
    words = assemble(text, interface="%table", decorations=TABLE)
    x = np.array(x, np.uint32)
    buffers = {
        "in": memory(x),
        "out": memory(np.zeros_like(x)),
        "a": memory(np.arange(100, 108, dtype=np.uint32)),
        "b": memory(np.arange(200, 204, dtype=np.uint32)),
        "c": memory(np.arange(300, 316, dtype=np.uint32)),
    }
    return dispatch(
        words,
        buffers,
        bindings={(0, 0): "in", (0, 1): "out"},
        array_bindings={(1, 4, k): name for k, name in bound.items()},
    )


LOAD = "%at = OpAccessChain %word_pointer %table %x %u0 %u3\n%v = OpLoad %uint %at\nOpStore %slot %v"


@pytest.mark.parametrize("declared", [SIZED, RUNTIME])
def test_lanes_choose_their_descriptors(declared: str) -> None:
    outcome = run_table(LOAD, declared, {0: "a", 1: "b", 2: "c"})
    assert contents(outcome, "out", np.uint32).tolist() == [100 * (x + 1) + 3 for x in X]


def test_the_length_of_a_chosen_descriptor() -> None:
    body = "%at = OpAccessChain %block_pointer %table %x\n%n = OpArrayLength %uint %at 0\nOpStore %slot %n"
    outcome = run_table(body, SIZED, {0: "a", 1: "b", 2: "c"})
    assert contents(outcome, "out", np.uint32).tolist() == [{0: 8, 1: 4, 2: 16}[x] for x in X]


def test_descriptors_that_nobody_uses_may_be_missing() -> None:
    assert run_table(LOAD, SIZED, {1: "b"}, [1, 1]).status is Status.DONE
    outcome = run_table(LOAD, SIZED, {1: "b"})
    assert outcome.status is Status.CRASH
    assert "belongs to no buffer" in outcome.detail


def test_wrong_descriptors_are_refused() -> None:
    outcome = run_table(LOAD, SIZED, {0: "a", 1: "b"}, [3])
    assert (outcome.status, outcome.detail.split(": ")[-1]) == (
        Status.CRASH,
        "index 3 of 3 constituents (VUID-vkCmdDispatch-None-10068), by invocation (0, 0, 0)",
    )
    outcome = run_table(LOAD, SIZED, {3: "a"})
    assert outcome.status is Status.ERROR
    assert "at set 1, binding 4, where descriptor 3 of 3 is bound to 'a'" in outcome.detail
    assert "where no buffer is bound" in run_table(LOAD, SIZED, {}).detail


def test_arrays_of_descriptors_pass_through_functions() -> None:
    functions = """
%pick = OpFunction %uint None %pick_type
%from = OpFunctionParameter %blocks_pointer
%which = OpFunctionParameter %uint
%pick_start = OpLabel
%at = OpAccessChain %word_pointer %from %which %u0 %u3
%found = OpLoad %uint %at
OpReturnValue %found
OpFunctionEnd
"""
    declared = SIZED + "%pick_type = OpTypeFunction %uint %blocks_pointer %uint"
    text = kernel(
        "%v = OpFunctionCall %uint %pick %table %x\nOpStore %slot %v",
        globals_=declared,
        functions=functions,
        head=NON_UNIFORM + "OpCapability VariablePointersStorageBuffer",
    )
    words = assemble(text, interface="%table", decorations=TABLE)
    x = np.array(X, np.uint32)
    data = {name: memory(np.full(4, n, np.uint32)) for n, name in enumerate("abc")}
    outcome = dispatch(
        words,
        {"in": memory(x), "out": memory(x), **data},
        bindings={(0, 0): "in", (0, 1): "out"},
        array_bindings={(1, 4, n): name for n, name in enumerate(data)},
    )
    assert contents(outcome, "out", np.uint32).tolist() == X


def test_uniform_blocks_have_the_strides_that_they_declare() -> None:
    decorations = """
OpDecorate %row ArrayStride 16
OpMemberDecorate %settings 0 Offset 0
OpMemberDecorate %settings 1 Offset 64
OpDecorate %settings Block
OpDecorate %uniforms DescriptorSet 0
OpDecorate %uniforms Binding 2
"""
    declared = """
%row = OpTypeArray %uint %u4
%settings = OpTypeStruct %row %float
%settings_pointer = OpTypePointer Uniform %settings
%uniform_word = OpTypePointer Uniform %uint
%uniforms = OpVariable %settings_pointer Uniform
"""
    body = "%at = OpAccessChain %uniform_word %uniforms %u0 %x\n%v = OpLoad %uint %at\nOpStore %slot %v"
    words = assemble(kernel(body, globals_=declared), interface="%uniforms", decorations=decorations)
    x = np.array(X, np.uint32)
    data = np.zeros(20, np.uint32)
    data[0:16:4] = [50, 60, 70, 80]
    outcome = dispatch(words, {"in": memory(x), "out": memory(x), "uniforms": memory(data)})
    assert contents(outcome, "out", np.uint32).tolist() == [50 + 10 * v for v in X]


def test_aliased_workgroup_blocks_share_their_bytes() -> None:
    head = """
OpCapability WorkgroupMemoryExplicitLayoutKHR
OpExtension "SPV_KHR_workgroup_memory_explicit_layout"
"""
    decorations = "\n".join(
        f"OpMemberDecorate %{b}_block 0 Offset 0\nOpDecorate %{b}_block Block\nOpDecorate %{b} Aliased" for b in "fg"
    )
    declared = """
%f_block = OpTypeStruct %uint
%g_block = OpTypeStruct %float
%f_pointer = OpTypePointer Workgroup %f_block
%g_pointer = OpTypePointer Workgroup %g_block
%shared_uint = OpTypePointer Workgroup %uint
%shared_float = OpTypePointer Workgroup %float
%f = OpVariable %f_pointer Workgroup
%g = OpVariable %g_pointer Workgroup
%two = OpConstant %float 2
"""
    body = """
%g_at = OpAccessChain %shared_float %g %u0
OpStore %g_at %two
%f_at = OpAccessChain %shared_uint %f %u0
%bits = OpLoad %uint %f_at
OpStore %slot %bits
"""
    text = kernel(body, globals_=declared, head=head)
    assert run_kernel(text, X, interface="%f %g", decorations=decorations).tolist() == [0x40000000] * 8


def test_private_variables_begin_with_their_initializers() -> None:
    declared = """
%triple = OpTypeArray %uint %u3
%start_values = OpConstantComposite %triple %u5 %u6 %u7
%triple_private = OpTypePointer Private %triple
%uint_private = OpTypePointer Private %uint
%mine = OpVariable %triple_private Private %start_values
"""
    body = """
%at = OpAccessChain %uint_private %mine %x
%before = OpLoad %uint %at
OpStore %at %lane
%fixed = OpAccessChain %uint_private %mine %u1
%one = OpLoad %uint %fixed
%scaled = OpIMul %uint %before %u16
%sum = OpIAdd %uint %scaled %one
OpStore %slot %sum
"""
    found = run_kernel(kernel(body, globals_=declared), X, interface="%mine")
    assert found.tolist() == [16 * (5 + x) + (lane if x == 1 else 6) for lane, x in enumerate(X)]
