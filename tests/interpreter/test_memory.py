"""Memory: explicit layout, physical pointers, workgroup and private variables, windows and their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.device.driver import Outcome, Status
from cts.device.job import Address, Memory
from cts.drivers.interpreter import Interpreter, create
from tests.interpreter.modules import (
    assemble,
    assemble_unchecked,
    contents,
    dispatch,
    kernel,
    memory,
    named,
    run_kernel,
)

X = [3, 0, 7, 1, 10, 4, 2, 9]


def run_with(extra: dict[str, Memory], words: Any, lanes: int = 8, **job: Any) -> Outcome:
    data = np.array(X[:lanes], np.uint32)
    return dispatch(words, {"in": memory(data), "out": memory(np.zeros_like(data)), **extra}, **job)


STRUCTS = """
OpMemberDecorate %inner 0 Offset 0
OpMemberDecorate %inner 1 Offset 8
OpDecorate %pair ArrayStride 32
OpMemberDecorate %outer 0 Offset 0
OpMemberDecorate %outer 1 Offset 16
OpDecorate %outer Block
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 2
"""
STRUCT_TYPES = """
%half = OpTypeFloat 16
%byte = OpTypeInt 8 0
%v3half = OpTypeVector %half 3
%inner = OpTypeStruct %v3half %byte
%pair = OpTypeArray %inner %u2
%outer = OpTypeStruct %uint %pair
%outer_pointer = OpTypePointer StorageBuffer %outer
%inner_pointer = OpTypePointer StorageBuffer %inner
%half_pointer = OpTypePointer StorageBuffer %half
%byte_pointer = OpTypePointer StorageBuffer %byte
%data = OpVariable %outer_pointer StorageBuffer
"""


def struct_bytes() -> Any:
    """A uint, 12 bytes of padding, and two (3 x half, byte) structs 32 bytes apart."""
    data = np.full(16 + 64, 0xCC, np.uint8)
    data[:4].view(np.uint32)[0] = 77
    for k in range(2):
        at = 16 + 32 * k
        data[at : at + 6].view(np.float16)[:] = [k + 1.5, k + 2.5, k + 3.5]
        data[at + 8] = 200 + k
    return data


def test_structs_of_arrays_of_structs_by_parts() -> None:
    body = """
%which = OpBitwiseAnd %uint %x %u1
%at = OpAccessChain %byte_pointer %data %u1 %which %u1
%b = OpLoad %byte %at
%b32 = OpUConvert %uint %b
%h_at = OpAccessChain %half_pointer %data %u1 %which %u0 %u2
%h = OpLoad %half %h_at
%h_int = OpConvertFToU %uint %h
%sum = OpIAdd %uint %b32 %h_int
OpStore %slot %sum
"""
    words = assemble(kernel(body, globals_=STRUCT_TYPES), interface="%data", decorations=STRUCTS)
    outcome = run_with({"data": memory(struct_bytes())}, words)
    assert contents(outcome, "out", np.uint32).tolist() == [203 + x % 2 + x % 2 for x in X]
    assert np.array_equal(contents(outcome, "data", np.uint8), struct_bytes())


def test_whole_structs_leave_padding_alone() -> None:
    body = """
%from = OpAccessChain %inner_pointer %data %u1 %u0
%to = OpAccessChain %inner_pointer %data %u1 %u1
%value = OpLoad %inner %from
%changed = OpCompositeInsert %inner %nine %value 1
OpStore %to %changed
"""
    text = kernel(body, globals_=STRUCT_TYPES + "%nine = OpConstant %byte 9", lanes=1)
    words = assemble(text, interface="%data", decorations=STRUCTS)
    expected = struct_bytes()
    expected[48:54] = expected[16:22]
    expected[56] = 9
    outcome = run_with({"data": memory(struct_bytes())}, words, lanes=1)
    assert np.array_equal(contents(outcome, "data", np.uint8), expected)


@pytest.mark.parametrize(
    ("order", "offset"), [("ColMajor", lambda c, r: 16 * c + 4 * r), ("RowMajor", lambda c, r: 16 * r + 4 * c)]
)
def test_matrices_of_either_majorness(order: str, offset: Any) -> None:
    """Component [c][r] of a matrix of 2 columns of 3 rows, by access chain and through a whole load."""
    decorations = f"""
OpMemberDecorate %holder 0 Offset 0
OpMemberDecorate %holder 0 {order}
OpMemberDecorate %holder 0 MatrixStride 16
OpDecorate %holder Block
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 2
"""
    types = """
%v3float = OpTypeVector %float 3
%matrix = OpTypeMatrix %v3float 2
%holder = OpTypeStruct %matrix
%holder_pointer = OpTypePointer StorageBuffer %holder
%matrix_pointer = OpTypePointer StorageBuffer %matrix
%column_pointer = OpTypePointer StorageBuffer %v3float
%float_pointer = OpTypePointer StorageBuffer %float
%data = OpVariable %holder_pointer StorageBuffer
"""
    body = """
%c = OpUMod %uint %x %u2
%r = OpUDiv %uint %x %u2
%column = OpAccessChain %column_pointer %data %u0 %c
%component = OpAccessChain %float_pointer %column %r
%f = OpLoad %float %component
%n = OpConvertFToU %uint %f
%whole_at = OpAccessChain %matrix_pointer %data %u0
%whole = OpLoad %matrix %whole_at
%fixed = OpCompositeExtract %float %whole 1 2
%fixed_n = OpConvertFToU %uint %fixed
%scaled = OpIMul %uint %n %u16
%both = OpIAdd %uint %scaled %fixed_n
OpStore %slot %both
"""
    values = np.zeros(12, np.float32)
    for c in range(2):
        for r in range(3):
            values[offset(c, r) // 4] = 10 * c + r
    words = assemble(kernel(body, globals_=types, lanes=6), interface="%data", decorations=decorations)
    data = {"in": memory(np.arange(6, dtype=np.uint32)), "out": memory(np.zeros(6, np.uint32)), "data": memory(values)}
    found = contents(dispatch(words, data), "out", np.uint32)
    assert found.tolist() == [16 * (10 * (x % 2) + x // 2) + 12 for x in range(6)]


PHYSICAL_HEAD = "OpCapability PhysicalStorageBufferAddresses\n"
PHYSICAL_DECORATIONS = """
OpDecorate %p_uint ArrayStride 4
OpMemberDecorate %push_block 0 Offset 0
OpMemberDecorate %push_block 1 Offset 8
OpDecorate %push_block Block
"""
PHYSICAL_TYPES = """
%p_uint = OpTypePointer PhysicalStorageBuffer %uint
%u64 = OpTypeInt 64 0
%four = OpConstant %u64 4
%push_block = OpTypeStruct %p_uint %u64
%push_pointer = OpTypePointer PushConstant %push_block
%push_p = OpTypePointer PushConstant %p_uint
%push_u64 = OpTypePointer PushConstant %u64
%push = OpVariable %push_pointer PushConstant
"""
PHYSICAL_BODY = """
%first_at = OpAccessChain %push_p %push %u0
%first = OpLoad %p_uint %first_at
%element = OpPtrAccessChain %p_uint %first %x
%value = OpLoad %uint %element Aligned 4
%second_at = OpAccessChain %push_u64 %push %u1
%second = OpLoad %u64 %second_at
%lane64 = OpUConvert %u64 %lane
%bytes = OpIMul %u64 %lane64 %four
%address = OpIAdd %u64 %second %bytes
%target = OpConvertUToPtr %p_uint %address
OpStore %target %value Aligned 4
OpStore %slot %value
"""


def physical_words(lanes: int = 8) -> Any:
    text = kernel(PHYSICAL_BODY, globals_=PHYSICAL_TYPES, lanes=lanes)
    text = text.replace("OpMemoryModel Logical", PHYSICAL_HEAD + "OpMemoryModel PhysicalStorageBuffer64")
    return assemble(text, interface="%push", decorations=PHYSICAL_DECORATIONS)


def test_physical_pointers_from_push_constants() -> None:
    source = np.arange(100, 116, dtype=np.uint32)
    outcome = run_with(
        {"a": memory(source), "b": memory(np.zeros(9, np.uint32))},
        physical_words(),
        push_constants=bytes(16),
        push_addresses=(Address(0, "a", 8), Address(8, "b", 4)),
    )
    assert contents(outcome, "out", np.uint32).tolist() == [102 + x for x in X]
    assert contents(outcome, "b", np.uint32).tolist() == [0, *(102 + x for x in X)]


def test_addresses_in_buffers_come_back_as_they_were() -> None:
    """The address itself is of this run only, so an untouched one is undone."""
    given = np.full(4, 0x5A5A5A5A, np.uint32)
    holder = memory(given, (Address(8, "out"),))
    outcome = run_with({"holder": holder}, assemble(kernel("OpStore %slot %x")))
    assert np.array_equal(contents(outcome, "holder", np.uint32), given)


def test_access_between_window_and_end_of_allocation_is_a_crash() -> None:
    """Also where it would hit only guard bytes."""
    body = """
%past = OpIAdd %uint %lane %u8
%wrong = OpAccessChain %word_pointer %out %u0 %past
OpStore %wrong %x
"""
    outcome = run_with({}, assemble(kernel(body)))
    assert outcome.status is Status.CRASH
    where = "offset 32 of buffer 'out', which has 32 (VUID-vkCmdDispatch-storageBuffers-06936; TA-069)"
    assert f"{where}, by invocation (0, 0, 0)" in outcome.detail


@pytest.mark.parametrize(
    ("huge", "offset"), [("OpIMul %uint %million %u1", 4000000), ("OpISub %int %u0 %sixty_five", -260)]
)
def test_access_outside_the_allocation_is_a_crash_that_says_where(huge: str, offset: int) -> None:
    body = f"""
%huge = {huge}
%wrong = OpAccessChain %word_pointer %out %u0 %huge
%lost = OpLoad %uint %wrong
"""
    text = kernel(body, globals_="%million = OpConstant %uint 1000000\n%sixty_five = OpConstant %uint 65")
    text = named(text, "lost")
    outcome = run_with({}, assemble(text))
    assert outcome.status is Status.CRASH
    assert outcome.detail.startswith("OpLoad %")
    assert '"lost"' in outcome.detail
    assert f"offset {offset} of buffer 'out'" in outcome.detail


def test_inactive_lanes_access_nothing() -> None:
    """Lanes with x > 7 would leave the allocation; the branch keeps them out."""
    body = """
%far = OpIMul %uint %x %lane_stride
%ok = OpULessThan %bool %x %u5
OpSelectionMerge %join None
OpBranchConditional %ok %yes %join
%yes = OpLabel
%i = OpCompositeExtract %uint %id 0
%target = OpAccessChain %word_pointer %out %u0 %i
%other = OpAccessChain %word_pointer %in %u0 %far
%loaded = OpLoad %uint %other
OpStore %target %loaded
OpBranch %join
%join = OpLabel
"""
    x = [0, 9, 0, 0x00FFFFFF, 1, 0, 9, 9]
    found = run_kernel(kernel(body, globals_="%lane_stride = OpConstant %uint 4"), x)
    assert found.tolist() == [0, 0xFFFFFFFF, 0, 0xFFFFFFFF, 1, 0, 0xFFFFFFFF, 0xFFFFFFFF]


def test_an_integer_that_is_no_address_is_a_crash() -> None:
    words = physical_words()
    outcome = run_with({}, words, push_constants=bytes(range(16)))
    assert outcome.status is Status.CRASH
    assert "belongs to no buffer" in outcome.detail


PRIVATE = """
%six = OpTypeArray %uint %u6
%six_pointer = OpTypePointer Private %six
%uint_private = OpTypePointer Private %uint
%table = OpConstantComposite %six %u10 %u11 %u12 %u13 %u14 %u15
%values = OpVariable %six_pointer Private %table
"""


def test_private_arrays_with_an_index_per_lane() -> None:
    body = """
%i = OpUMod %uint %x %u6
%at = OpAccessChain %uint_private %values %i
%old = OpLoad %uint %at
%new = OpIMul %uint %old %u2
OpStore %at %new
%before = OpLoad %six %values
%two_at = OpAccessChain %uint_private %values %u2
OpStore %two_at %u1
%two_before = OpCompositeExtract %uint %before 2
%again = OpLoad %uint %at
%scaled = OpIMul %uint %again %u16
%sum = OpIAdd %uint %scaled %two_before
OpStore %slot %sum
"""

    def alone(x: int) -> int:
        values = [10, 11, 12, 13, 14, 15]
        values[x % 6] *= 2
        two_before = values[2]
        values[2] = 1
        return values[x % 6] * 16 + two_before

    assert run_kernel(kernel(body, globals_=PRIVATE), X, interface="%values").tolist() == [alone(x) for x in X]


def test_private_index_out_of_range_names_it() -> None:
    body = "%at = OpAccessChain %uint_private %values %x\n%lost = OpLoad %uint %at"
    outcome = run_with({}, assemble(kernel(body, globals_=PRIVATE), interface="%values"))
    assert outcome.status is Status.CRASH
    assert "index 7 of 6 constituents" in outcome.detail


def test_private_structs_with_a_dynamic_element() -> None:
    """Arrays of structs have no array of their own: elements are chosen lane by lane."""
    types = """
%inner = OpTypeStruct %uint %v2uint
%three = OpTypeArray %inner %u3
%three_pointer = OpTypePointer Function %three
%uint_function = OpTypePointer Function %uint
"""
    body = """
%i = OpUMod %uint %x %u3
%a = OpAccessChain %uint_function %v %i %u0
OpStore %a %x
%b = OpAccessChain %uint_function %v %u1 %u1 %u1
OpStore %b %u7
%c = OpAccessChain %uint_function %v %u1 %u0
%c_value = OpLoad %uint %c
%d = OpAccessChain %uint_function %v %i %u1 %u1
%d_value = OpLoad %uint %d
%scaled = OpIMul %uint %c_value %u16
%sum = OpIAdd %uint %scaled %d_value
OpStore %slot %sum
"""
    found = run_kernel(kernel(body, globals_=types), X, variables="%v = OpVariable %three_pointer Function")
    assert found.tolist() == [16 * x + 7 if x % 3 == 1 else 0 for x in X]


def test_workgroup_memory_is_one_per_workgroup() -> None:
    """Each workgroup reverses its own elements through shared memory."""
    types = """
%four_words = OpTypeArray %uint %u4
%shared_pointer = OpTypePointer Workgroup %four_words
%uint_shared = OpTypePointer Workgroup %uint
%shared = OpVariable %shared_pointer Workgroup
%semantics = OpConstant %uint 264
"""
    body = """
%local = OpUMod %uint %lane %u4
%mine = OpAccessChain %uint_shared %shared %local
OpStore %mine %x
OpControlBarrier %u2 %u2 %semantics
%opposite = OpISub %uint %u3 %local
%theirs = OpAccessChain %uint_shared %shared %opposite
%value = OpLoad %uint %theirs
OpStore %slot %value
"""
    found = run_kernel(kernel(body, globals_=types, lanes=4), X, workgroups=2, interface="%shared")
    assert found.tolist() == [*X[3::-1], *X[:3:-1]]


def test_prefix_sum_by_hand() -> None:
    """Hillis and Steele's scan: a loop of barriers with doubling distance, bools in shared memory on the side."""
    types = """
%eight_words = OpTypeArray %uint %u8
%shared_pointer = OpTypePointer Workgroup %eight_words
%uint_shared = OpTypePointer Workgroup %uint
%shared = OpVariable %shared_pointer Workgroup
%semantics = OpConstant %uint 264
"""
    body = """
%mine = OpAccessChain %uint_shared %shared %lane
OpStore %mine %x
OpControlBarrier %u2 %u2 %semantics
OpBranch %head
%head = OpLabel
%d = OpPhi %uint %u1 %start %d_next %again
%go = OpULessThan %bool %d %u8
OpLoopMerge %done %again None
OpBranchConditional %go %read %done
%read = OpLabel
%has = OpUGreaterThanEqual %bool %lane %d
OpSelectionMerge %joined None
OpBranchConditional %has %other %joined
%other = OpLabel
%left = OpISub %uint %lane %d
%left_at = OpAccessChain %uint_shared %shared %left
%left_value = OpLoad %uint %left_at
OpBranch %joined
%joined = OpLabel
%addend = OpPhi %uint %u0 %read %left_value %other
OpControlBarrier %u2 %u2 %semantics
%own = OpLoad %uint %mine
%total = OpIAdd %uint %own %addend
OpStore %mine %total
OpControlBarrier %u2 %u2 %semantics
OpBranch %again
%again = OpLabel
%d_next = OpIMul %uint %d %u2
OpBranch %head
%done = OpLabel
%r = OpLoad %uint %mine
OpStore %slot %r
"""
    assert run_kernel(kernel(body, globals_=types), X, interface="%shared").tolist() == np.cumsum(X).tolist()


def test_array_length_counts_the_window() -> None:
    body = "%n = OpArrayLength %uint %in 0\nOpStore %slot %n"
    assert run_kernel(kernel(body), X).tolist() == [8] * 8


def test_unaligned_physical_access() -> None:
    """Bytes are bytes: an address that is not a multiple of the size reads across words."""
    source = np.arange(64, dtype=np.uint8)
    outcome = run_with(
        {"a": memory(source), "b": memory(np.zeros(40, np.uint8))},
        physical_words(lanes=1),
        lanes=1,
        push_constants=bytes(16),
        push_addresses=(Address(0, "a", 1), Address(8, "b", 3)),
    )
    expected = int.from_bytes(bytes(range(13, 17)), "little")
    assert contents(outcome, "out", np.uint32).tolist() == [expected]
    assert contents(outcome, "b", np.uint8)[3:7].tolist() == [13, 14, 15, 16]


def test_lanes_may_point_into_different_buffers() -> None:
    """A physical pointer chosen per lane."""
    body = """
%first_at = OpAccessChain %push_u64 %push %u1
%second = OpLoad %u64 %first_at
%first_p_at = OpAccessChain %push_p %push %u0
%first = OpLoad %p_uint %first_p_at
%first_n = OpConvertPtrToU %u64 %first
%odd = OpBitwiseAnd %uint %x %u1
%is_odd = OpIEqual %bool %odd %u1
%chosen = OpSelect %u64 %is_odd %first_n %second
%p = OpConvertUToPtr %p_uint %chosen
%value = OpLoad %uint %p Aligned 4
%mine = OpPtrAccessChain %p_uint %p %lane
OpStore %mine %value Aligned 4
OpStore %slot %value
"""
    text = kernel(body, globals_=PHYSICAL_TYPES)
    text = text.replace("OpMemoryModel Logical", PHYSICAL_HEAD + "OpMemoryModel PhysicalStorageBuffer64")
    words = assemble(text, interface="%push", decorations=PHYSICAL_DECORATIONS)
    outcome = run_with(
        {"a": memory(np.array([5] + [0] * 8, np.uint32)), "b": memory(np.array([6] + [0] * 8, np.uint32))},
        words,
        push_constants=bytes(16),
        push_addresses=(Address(0, "a"), Address(8, "b")),
    )
    assert contents(outcome, "out", np.uint32).tolist() == [5 if x % 2 else 6 for x in X]
    assert contents(outcome, "a", np.uint32)[:8].tolist() == [5 if x % 2 else 0 for x in X]
    assert contents(outcome, "b", np.uint32)[1:8].tolist() == [0 if x % 2 else 6 for x in X[1:]]


@pytest.mark.parametrize("check", ["", "uninitialised"])
def test_undefined_pointers_without_address(check: str) -> None:
    """Optimisers leave them to debug instructions; a phi may have one from a side that nobody comes from."""
    globals_ = "%variable_pointer = OpTypePointer Function %uint"
    body = """
OpStore %variable %x
%never = OpUndef %variable_pointer
OpStore %slot %x
"""
    variables = "%variable = OpVariable %variable_pointer Function"
    driver = Interpreter(check=frozenset({check} - {""}))
    assert run_kernel(kernel(body, globals_=globals_), X, variables=variables, driver=driver).tolist() == X
    for access in ("%y = OpLoad %uint %never", "OpStore %never %x"):
        words = assemble_unchecked(kernel(body + access, globals_=globals_).replace("VARIABLES", variables))
        outcome = run_with({}, words, driver=driver)
        assert outcome.status is Status.CRASH
        assert "the pointer is undefined" in outcome.detail


@pytest.mark.parametrize(
    ("index", "status"), [(1 << 29, Status.DONE), ((1 << 29) - 4096, Status.CRASH), (4, Status.CRASH)]
)
@pytest.mark.parametrize("robust", ["no", "yes"])
def test_the_beginning_of_a_window_may_not_be_there(index: int, status: Status, robust: str) -> None:
    """The memory of a buffer begins 2 GiB into its window; a robust access before it reads zero."""
    late = memory(np.arange(100, 104, dtype=np.uint32))
    late = Memory(late.data, late.start - (1 << 31), late.size + (1 << 31))
    body = "%at = OpAccessChain %word_pointer %late %u0 %index\n%v = OpLoad %uint %at\nOpStore %slot %v"
    declared = f"%late = OpVariable %block_pointer StorageBuffer\n%index = OpConstant %uint {index}"
    words = assemble(
        kernel(body, globals_=declared, lanes=8),
        interface="%late",
        decorations="OpDecorate %late DescriptorSet 0\nOpDecorate %late Binding 2\n",
    )
    data = np.array(X, np.uint32)
    buffers = {"in": memory(data), "out": memory(np.zeros_like(data)), "late": late}
    outcome = dispatch(words, buffers, driver=create({"robust": robust}))
    if robust == "yes":
        wanted = 100 if status is Status.DONE else 0
        assert contents(outcome, "out", np.uint32).tolist() == [wanted] * 8
    else:
        assert outcome.status is status, outcome.detail
        assert status is Status.DONE or f"offset {4 * index} of buffer 'late'" in outcome.detail
