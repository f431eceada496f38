"""What producers emit beyond the plain instructions: debug information, forward pointers, wide switches, hints."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from cts.device.driver import Status
from cts.device.job import Address
from tests.interpreter.modules import (
    apply,
    assemble,
    assemble_unchecked,
    contents,
    dispatch,
    kernel,
    memory,
    run_kernel,
)

X = [3, 0, 7, 1, 10, 4, 2, 9]


def test_sets_without_semantics_are_ignored_with_their_forward_references() -> None:
    text = kernel("OpStore %slot %x\n%printed = OpExtInst %void %print 1 %format %x", globals_="DEBUG").replace(
        "OpMemoryModel",
        'OpExtension "SPV_KHR_relaxed_extended_instruction"\nOpExtension "SPV_KHR_non_semantic_info"\n'
        '%debug = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"\n'
        '%print = OpExtInstImport "NonSemantic.DebugPrintf"\nOpMemoryModel',
        1,
    )
    text = text.replace("OpDecorate %id_variable", '%format = OpString "%u"\nOpDecorate %id_variable', 1)
    forward = "%source = OpExtInst %void %debug DebugSource %format\n%unit = OpExtInstWithForwardRefsKHR %void %debug "
    forward += "DebugTypeComposite %format %u0 %source %u0 %u0 %later %format %u0 %u0 %member\n"
    forward += "%later = OpExtInst %void %debug DebugInfoNone\n%member = OpExtInst %void %debug DebugInfoNone"
    words = assemble_unchecked(text.replace("DEBUG", forward))
    x = np.array(X, np.uint32)
    outcome = dispatch(words, {"in": memory(x), "out": memory(np.zeros_like(x))})
    assert contents(outcome, "out", np.uint32).tolist() == X


def test_groups_of_decorations() -> None:
    text = kernel("OpStore %slot %x")
    for name, binding in (("in", 0), ("out", 1)):
        text = text.replace(f"OpDecorate %{name} DescriptorSet 0\nOpDecorate %{name} Binding {binding}\n", "")
    groups = """
OpDecorate %set DescriptorSet 0
%set = OpDecorationGroup
OpGroupDecorate %set %in %out
OpDecorate %in Binding 0
OpDecorate %out Binding 1
OpDecorate %at_start Offset 0
%at_start = OpDecorationGroup
OpGroupMemberDecorate %at_start %block 0
"""
    text = text.replace("OpMemberDecorate %block 0 Offset 0", groups)
    assert run_kernel(text, X).tolist() == X


@pytest.mark.parametrize("width", [8, 16, 64])
def test_switches_on_other_widths(width: int) -> None:
    """Literals of 64 bits take two words; narrow ones are sign-extended to one."""
    far = {8: -100, 16: -30000, 64: -(1 << 40)}[width]
    globals_ = f"%wide = OpTypeInt {width} 1\n%far = OpConstant %wide {far}\n%near = OpConstant %wide 1"
    body = f"""
%low = OpBitwiseAnd %uint %x %u1
%odd = OpINotEqual %bool %low %u0
%key = OpSelect %wide %odd %far %near
OpSelectionMerge %join None
OpSwitch %key %other {far} %is_far 77 %other
%is_far = OpLabel
OpBranch %join
%other = OpLabel
OpBranch %join
%join = OpLabel
%r = OpPhi %uint %u10 %is_far %u11 %other
OpStore %slot %r
"""
    assert run_kernel(kernel(body, globals_=globals_), X).tolist() == [10 if x & 1 else 11 for x in X]


NODES = """
OpCapability PhysicalStorageBufferAddresses
"""


def test_lists_linked_by_forward_pointers() -> None:
    """struct node { uint value; node *next; }, walked three steps from a pointer among the push constants."""
    text = kernel(
        """
%first_at = OpAccessChain %push_node %push %u0
%n0 = OpLoad %node_pointer %first_at
%next_at0 = OpAccessChain %node_pointer_pointer %n0 %u1
%n1 = OpLoad %node_pointer %next_at0 Aligned 8
%next_at1 = OpAccessChain %node_pointer_pointer %n1 %u1
%n2 = OpLoad %node_pointer %next_at1 Aligned 8
%value_at = OpAccessChain %node_uint %n2 %u0
%value = OpLoad %uint %value_at Aligned 8
OpStore %slot %value
""",
        globals_="""
OpTypeForwardPointer %node_pointer PhysicalStorageBuffer
%node = OpTypeStruct %uint %node_pointer
%node_pointer = OpTypePointer PhysicalStorageBuffer %node
%node_pointer_pointer = OpTypePointer PhysicalStorageBuffer %node_pointer
%node_uint = OpTypePointer PhysicalStorageBuffer %uint
%push_block = OpTypeStruct %node_pointer
%push_pointer = OpTypePointer PushConstant %push_block
%push_node = OpTypePointer PushConstant %node_pointer
%push = OpVariable %push_pointer PushConstant
""",
        head=NODES,
        lanes=1,
    ).replace("OpMemoryModel Logical", "OpMemoryModel PhysicalStorageBuffer64")
    decorations = """
OpMemberDecorate %node 0 Offset 0
OpMemberDecorate %node 1 Offset 8
OpDecorate %node Block
OpMemberDecorate %push_block 0 Offset 0
OpDecorate %push_block Block
"""
    words = assemble(text, interface="%push", decorations=decorations)
    nodes = np.zeros(3, np.dtype([("value", "<u4"), ("pad", "<u4"), ("next", "<u8")]))
    nodes["value"] = [5, 6, 7]
    buffers = {
        "in": memory(np.zeros(1, np.uint32)),
        "out": memory(np.zeros(1, np.uint32)),
        "nodes": memory(nodes.view(np.uint8), (Address(8, "nodes", 16), Address(24, "nodes", 32))),
    }
    outcome = dispatch(
        words,
        buffers,
        bindings={(0, 0): "in", (0, 1): "out"},
        push_constants=bytes(8),
        push_addresses=(Address(0, "nodes"),),
    )
    assert contents(outcome, "out", np.uint32).tolist() == [7]


def physical(body: str, head: str = "") -> list[int]:
    """Run `body` with %a, the 64-bit address of an array 100, 101, ...."""
    text = kernel(
        f"""
%a_at = OpAccessChain %push_u64 %push %u0
%a = OpLoad %u64 %a_at
{body}
""",
        globals_="""
%u64 = OpTypeInt 64 0
%i64 = OpTypeInt 64 1
%many = OpTypeRuntimeArray %uint
%uint_pointer = OpTypePointer PhysicalStorageBuffer %uint
%many_pointer = OpTypePointer PhysicalStorageBuffer %many
%push_block = OpTypeStruct %u64
%push_pointer = OpTypePointer PushConstant %push_block
%push_u64 = OpTypePointer PushConstant %u64
%push = OpVariable %push_pointer PushConstant
""",
        head=NODES + head,
    ).replace("OpMemoryModel Logical", "OpMemoryModel PhysicalStorageBuffer64")
    decorations = """
OpDecorate %many ArrayStride 4
OpDecorate %uint_pointer ArrayStride 4
OpMemberDecorate %push_block 0 Offset 0
OpDecorate %push_block Block
"""
    words = assemble(text, interface="%push", decorations=decorations)
    x = np.array(X, np.uint32)
    outcome = dispatch(
        words,
        {"in": memory(x), "out": memory(x), "data": memory(np.arange(100, 120, dtype=np.uint32))},
        bindings={(0, 0): "in", (0, 1): "out"},
        push_constants=bytes(8),
        push_addresses=(Address(0, "data"),),
    )
    found: list[int] = contents(outcome, "out", np.uint32).tolist()
    return found


@pytest.mark.parametrize(
    "made",
    [
        "%p = OpBitcast %many_pointer %a\n%at = OpAccessChain %uint_pointer %p %x",
        "%p = OpConvertUToPtr %many_pointer %a\n%at = OpInBoundsAccessChain %uint_pointer %p %x",
        "%p = OpConvertUToPtr %uint_pointer %a\n%at = OpPtrAccessChain %uint_pointer %p %x",
        "%q = OpConvertUToPtr %uint_pointer %a\n%p = OpBitcast %many_pointer %q\n"
        "%at = OpAccessChain %uint_pointer %p %x",
        "%words_of = OpBitcast %v2uint %a\n%q = OpBitcast %uint_pointer %words_of\n"
        "%at = OpPtrAccessChain %uint_pointer %q %x",
    ],
)
def test_pointers_made_of_numbers_and_other_pointers(made: str) -> None:
    assert physical(f"{made}\n%v = OpLoad %uint %at Aligned 4\nOpStore %slot %v") == [100 + x for x in X]


def test_pointers_become_numbers() -> None:
    body = """
%p = OpConvertUToPtr %many_pointer %a
%at = OpAccessChain %uint_pointer %p %x
%number = OpConvertPtrToU %u64 %at
%bits = OpBitcast %u64 %at
%ahead = OpISub %u64 %number %a
%behind = OpISub %u64 %a %bits
%sum = OpIAdd %u64 %ahead %behind
%both = OpISub %u64 %ahead %sum
%r = OpUConvert %uint %both
OpStore %slot %r
"""
    assert physical(body) == [4 * x for x in X]


def test_differences_and_equality_of_pointers() -> None:
    body = """
%p = OpAccessChain %word_pointer %in %u0 %u4
%distance = OpPtrDiff %int %x_pointer %p
%same = OpPtrEqual %bool %x_pointer %p
%other = OpPtrNotEqual %bool %x_pointer %p
%hundred = OpSelect %uint %same %u16 %u0
%ten = OpSelect %uint %other %u8 %u0
%bits = OpBitcast %uint %distance
%t = OpIAdd %uint %bits %hundred
%r = OpIAdd %uint %t %ten
OpStore %slot %r
"""
    text = kernel(body, head="OpCapability VariablePointersStorageBuffer")
    found = run_kernel(text, X).view(np.int32).tolist()
    assert found == [k - 4 + (16 if k == 4 else 8) for k in range(8)]


def test_copies_of_so_many_bytes() -> None:
    """Needs capabilities that Vulkan has not; spirv-val therefore refuses it."""
    body = """
%from = OpAccessChain %word_pointer %in %u0 %u2
OpCopyMemorySized %slot %from %u4
"""
    words = assemble_unchecked(kernel(body))
    x = np.array(X, np.uint32)
    outcome = dispatch(words, {"in": memory(x), "out": memory(np.zeros_like(x))})
    assert contents(outcome, "out", np.uint32).tolist() == [X[2]] * 8


HINTS = 'OpCapability ExpectAssumeKHR\nOpExtension "SPV_KHR_expect_assume"'


def test_expectations_change_nothing() -> None:
    body = "%r = OpExpectKHR %uint %x %u7\n%fine = OpULessThan %bool %x %u16\nOpAssumeTrueKHR %fine\nOpStore %slot %r"
    assert run_kernel(kernel(body, head=HINTS), X).tolist() == X


def test_a_false_assumption_is_named() -> None:
    body = "%fine = OpULessThan %bool %x %u10\nOpAssumeTrueKHR %fine\nOpStore %slot %x"
    x = np.array(X, np.uint32)
    outcome = dispatch(assemble(kernel(body, head=HINTS)), {"in": memory(x), "out": memory(x)})
    assert outcome.status is Status.ERROR
    assert re.fullmatch(r"OpAssumeTrueKHR at word \d+: the condition is false", outcome.detail)


def test_the_clock_ticks() -> None:
    head = 'OpCapability ShaderClockKHR\nOpExtension "SPV_KHR_shader_clock"'
    body = """
%before = OpReadClockKHR %v2uint %u3
OpSelectionMerge %on None
OpBranchConditional %yes %on %off
%off = OpLabel
OpBranch %on
%on = OpLabel
%after = OpReadClockKHR %u64 %u3
%b = OpBitcast %u64 %before
%elapsed = OpISub %u64 %after %b
%r = OpUConvert %uint %elapsed
OpStore %slot %r
"""
    globals_ = "%u64 = OpTypeInt 64 0\n%yes = OpConstantTrue %bool"
    elapsed = run_kernel(kernel(body, globals_=globals_, head=head), X)
    assert elapsed[0] > 0 and (elapsed == elapsed[0]).all()


DOTS = """
OpCapability DotProduct
OpCapability DotProductInputAll
OpCapability DotProductInput4x8Bit
OpCapability DotProductInput4x8BitPacked
OpExtension "SPV_KHR_integer_dot_product"
"""


@pytest.mark.parametrize(
    ("op", "result", "operands", "expected"),
    [
        ("OpSDot", "int", (("i84", [[1, -2, 3, -128]]), ("i84", [[5, 6, -7, -128]])), [5 - 12 - 21 + 16384]),
        ("OpUDot", "uint", (("u84", [[255, 255, 0, 1]]), ("u84", [[255, 1, 9, 2]])), [65025 + 255 + 2]),
        ("OpSUDot", "int", (("i84", [[-1, -1, 0, 2]]), ("u84", [[255, 1, 9, 2]])), [-256 + 4]),
        ("OpSDot", "int", (("int2", [[2**20, 5]]), ("int2", [[2**12, -3]])), [-15]),
        ("OpUDot", "u64", (("u162", [[65535, 65535]]), ("u162", [[65535, 65535]])), [2 * 65535**2]),
        ("OpSDotAccSat", "int", (("i162", [[1, 2]]), ("i162", [[3, 4]]), ("int", [2**31 - 5])), [2**31 - 1]),
        ("OpSDotAccSat", "i16", (("i84", [[-1] * 4]), ("i84", [[1] * 4]), ("i16", [-32766])), [-32768]),
        ("OpSDotAccSat", "i64", (("int2", [[1, 1]]), ("int2", [[1, 1]]), ("i64", [2**63 - 2])), [2**63 - 1]),
        ("OpUDotAccSat", "uint", (("u162", [[1, 2]]), ("u162", [[3, 4]]), ("uint", [2**32 - 5])), [2**32 - 1]),
        ("OpUDotAccSat", "uint", (("u162", [[1, 2]]), ("u162", [[3, 4]]), ("uint", [5])), [16]),
        ("OpSUDotAccSat", "int", (("i84", [[-1] * 4]), ("u84", [[255] * 4]), ("int", [-(2**31)])), [-(2**31)]),
    ],
)
def test_integer_dot_products(op: str, result: str, operands: Any, expected: Any) -> None:
    assert apply(op, result, *operands, head=DOTS).tolist() == expected


def test_packed_dot_products() -> None:
    a, b = [0x80FF0201], [0x80010203]
    packed = "PackedVectorFormat4x8Bit"
    assert apply("OpSDot", "int", ("uint", a), ("uint", b), head=DOTS, extra=packed).tolist() == [3 + 4 - 1 + 16384]
    assert apply("OpUDot", "uint", ("uint", a), ("uint", b), head=DOTS, extra=packed).tolist() == [3 + 4 + 255 + 16384]
    mixed = apply("OpSUDot", "int", ("uint", a), ("uint", b), head=DOTS, extra=packed).tolist()
    assert mixed == [3 + 4 - 1 - 128 * 128]


def test_fma_instruction() -> None:
    found = apply(
        "OpFmaKHR",
        "float",
        ("float", [1 + 2.0**-12]),
        ("float", [1 - 2.0**-12]),
        ("float", [-1.0]),
        head='OpCapability FMAKHR\nOpExtension "SPV_KHR_fma"',
        checked=False,
    )
    assert found.tolist() == [-(2.0**-24)]


def test_what_debug_instructions_refer_to_does_not_matter() -> None:
    """glslang 13 refers to id 0 where a buffer reference's type is not yet known."""
    text = kernel("OpStore %slot %x\n%printed = OpExtInst %void %print 1 %u16 %x").replace(
        "OpMemoryModel",
        'OpExtension "SPV_KHR_non_semantic_info"\n%print = OpExtInstImport "NonSemantic.DebugPrintf"\nOpMemoryModel',
        1,
    )
    words = assemble_unchecked(text)
    (at,) = (k for k, word in enumerate(words.tolist()) if word == (7 << 16 | 12))
    words[at + 5] = 0
    x = np.array(X, np.uint32)
    outcome = dispatch(words, {"in": memory(x), "out": memory(np.zeros_like(x))})
    assert contents(outcome, "out", np.uint32).tolist() == X
