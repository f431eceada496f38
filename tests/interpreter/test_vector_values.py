"""Cooperative vectors as values: types, composites, constants, variables, memory, control flow."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from cts.device.driver import Status
from cts.device.job import Address
from cts.spirv import tools
from tests.interpreter.modules import GUARD, contents, dispatch, memory
from tests.interpreter.vector_modules import LANES, Code, Vec, numbers, outcome_of, problem, run

COMPONENTS = ("half", "float", "double", "i8", "u8", "i16", "u16", "int", "uint", "i64", "u64", "bf16", "e4m3", "e5m2")


def one(body: str, output: Vec, values: Any = None, component: str = "half", **options: Any) -> Any:
    """The result of a body for one input `%a`: the numbers 0 to 3, other ones for every lane."""
    values = np.arange(4) + np.arange(LANES)[:, None] % 50 * 4 if values is None else values
    return run(body, {"a": (component, values)}, output, **options)


DEFAULT = np.arange(4) + np.arange(LANES)[:, None] % 50 * 4


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("count", [1, 2, 5, 16, 33, 128])
def test_loads_and_stores_move_bits(component: str, count: int) -> None:
    size = Vec(component, count).dtype.itemsize
    bits = np.random.default_rng(1).integers(0, 256, (LANES * 2, count * size), np.uint8).view(f"u{size}")
    values = bits.view(Vec(component, count).dtype)
    body = f"%result = OpCopyObject %{component}_v{count} %a"
    found = run(body, {"a": (component, values)}, Vec(component, count), workgroups=2)
    assert np.array_equal(found.view(f"u{size}"), bits)


def test_lengths_may_be_specialized() -> None:
    code = Code(
        body="%o = OpIMul %uint %lane %n16\n%v = OpCooperativeVectorLoadNV %spec_vector %src %o\n"
        "%w = OpFAdd %spec_vector %v %v\nOpCooperativeVectorStoreNV %dst %o %w",
        inputs={},
        output=None,
        memories={"src": "half", "dst": "half"},
        globals="%length = OpSpecConstant %uint 3\n%spec_vector = OpTypeCooperativeVectorNV %half %length\n",
        decorations="OpDecorate %length SpecId 4\n",
    )
    src = numbers("half", (LANES, 8), 1)
    for length, given in ((3, {}), (7, {4: struct.pack("<I", 7)})):
        outcome = outcome_of(code, {}, {"src": src, "dst": np.zeros_like(src)}, spec_constants=given)
        expected = np.where(np.arange(8) < length, src + src, 0)
        assert np.array_equal(contents(outcome, "dst", np.float16).reshape(-1, 8), expected)


def test_without_its_capability_the_type_is_an_ordinary_vector() -> None:
    """OpTypeVectorIdEXT: the same opcode; it compares, and lives in memory."""
    code = Code(
        body="%at = OpAccessChain %pointer %long %n0 %lane\n%v = OpLoad %uint_v6 %at\n"
        "%w = OpIAdd %uint_v6 %v %v\nOpStore %at %w",
        inputs={},
        output=None,
        memories={},
        types=(Vec("uint", 6),),
        globals="%many = OpTypeRuntimeArray %uint_v6\n%block = OpTypeStruct %many\n"
        "%blocks = OpTypePointer StorageBuffer %block\n%pointer = OpTypePointer StorageBuffer %uint_v6\n"
        "%long = OpVariable %blocks StorageBuffer\n",
        decorations="OpDecorate %many ArrayStride 32\nOpMemberDecorate %block 0 Offset 0\nOpDecorate %block Block\n"
        "OpDecorate %long DescriptorSet 0\nOpDecorate %long Binding 0\n",
        interface="%long",
        head="OpCapability !5425\n",
        lanes=3,
    )
    text = code.text()
    for line in ("OpCapability CooperativeVectorNV\n", "OpCapability CooperativeVectorTrainingNV\n"):
        text = text.replace(line, "")
    data = np.arange(24, dtype=np.uint32)
    outcome = dispatch(tools.assemble(text), {"long": memory(data)})
    expected = (data.reshape(3, 8) * np.where(np.arange(8) < 6, 2, 1)).reshape(-1)
    assert np.array_equal(contents(outcome, "long", np.uint32), expected)


def test_construct_concatenates_scalars_and_vectors() -> None:
    """spirv-val knows ordinary vectors only as parts."""
    body = """
%a1 = OpCompositeExtract %half %a 1
%pair = OpCompositeConstruct %half_v2 %a1 %a1
%result = OpCompositeConstruct %half_v7 %pair %a %a1
"""
    found = one(body, Vec("half", 7), types=(Vec("half", 2),), checked=False)
    expected = np.concatenate([DEFAULT[:, [1, 1]], DEFAULT, DEFAULT[:, [1]]], axis=1)
    assert np.array_equal(found, expected)


def test_construct_of_ordinary_vectors() -> None:
    body = "%v = OpCompositeConstruct %v3uint %lane %local %n7\n%result = OpCompositeConstruct %uint_v4 %v %n9"
    found = run(body, {}, Vec("uint", 4))
    assert np.array_equal(found, [[lane, lane, 7, 9] for lane in range(LANES)])


def test_construct_of_one_whole_vector_is_for_long_vectors() -> None:
    """SPV_EXT_long_vector removes the sentence that asks for two constituents."""
    head = "OpCapability !5425\n"
    found = one("%result = OpCompositeConstruct %half_v4 %a", Vec("half", 4), head=head, checked=False)
    assert np.array_equal(found, DEFAULT)


def test_replicate_extract_and_insert() -> None:
    body = """
%third = OpCompositeExtract %half %a 2
%same = OpCompositeConstructReplicateEXT %half_v4 %third
%first = OpCompositeExtract %half %a 0
%result = OpCompositeInsert %half_v4 %first %same 3
"""
    assert np.array_equal(one(body, Vec("half", 4)), DEFAULT[:, [2, 2, 2, 0]])


def test_dynamic_extract_and_insert() -> None:
    """The index is another one in every lane."""
    body = """
%k = OpBitwiseAnd %uint %lane %n3
%x = OpVectorExtractDynamic %half %a %k
%l = OpBitwiseXor %uint %k %n3
%result = OpVectorInsertDynamic %half_v4 %a %x %l
"""
    expected = DEFAULT.copy()
    lanes = np.arange(LANES)
    expected[lanes, (lanes & 3) ^ 3] = DEFAULT[lanes, lanes & 3]
    assert np.array_equal(one(body, Vec("half", 4)), expected)


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("%c = OpConstantNull %int_v3", [0, 0, 0]),
        ("%c = OpConstantComposite %int_v3 %i4 %i_5 %i6", [4, -5, 6]),
        ("%c = OpConstantCompositeReplicateEXT %int_v3 %i_5", [-5, -5, -5]),
        ("%c = OpSpecConstantComposite %int_v3 %s %i4 %s", [8, 4, 8]),
        ("%c = OpSpecConstantCompositeReplicateEXT %int_v3 %s", [8, 8, 8]),
        ("%c = OpUndef %int_v3", [0, 0, 0]),
    ],
)
def test_constants(declaration: str, expected: list[int]) -> None:
    globals_ = f"""
%i4 = OpConstant %int 4
%i_5 = OpConstant %int -5
%i6 = OpConstant %int 6
%s = OpSpecConstant %int 7
{declaration}
"""
    found = run(
        "%result = OpCopyObject %int_v3 %c",
        {},
        Vec("int", 3),
        globals=globals_,
        decorations="OpDecorate %s SpecId 1",
        job={"spec_constants": {1: struct.pack("<i", 8)}},
    )
    assert np.array_equal(found, [expected] * LANES)


@pytest.mark.parametrize("storage", ["Function", "Private"])
def test_variables_and_their_components(storage: str) -> None:
    declared = f"%variable = OpVariable %pointer {storage} %start_value\n"
    body = """
%k = OpBitwiseAnd %uint %lane %n3
%here = OpAccessChain %component %variable %k
%two = OpAccessChain %component %variable %n2
%old = OpLoad %half %two
%x = OpCompositeExtract %half %a 1
OpStore %here %x
%changed = OpLoad %half_v4 %variable
%sum = OpFAdd %half_v4 %changed %a
OpStore %variable %sum
%after = OpLoad %half %here
%all = OpLoad %half_v4 %variable
%e0 = OpCompositeExtract %half %all 0
%e1 = OpCompositeExtract %half %all 1
%e2 = OpCompositeExtract %half %all 2
%e3 = OpCompositeExtract %half %all 3
%result = OpCompositeConstruct %half_v6 %e0 %e1 %e2 %e3 %old %after
"""
    globals_ = f"""
%pointer = OpTypePointer {storage} %half_v4
%component = OpTypePointer {storage} %half
%five = OpConstant %half 5
%start_value = OpConstantComposite %half_v4 %five %five %five %five
{declared if storage == "Private" else ""}
"""
    found = one(
        body,
        Vec("half", 6),
        globals=globals_,
        variables=declared if storage == "Function" else "",
        interface="%variable" if storage == "Private" else "",
        types=(Vec("half", 4),),
    )
    lanes = np.arange(LANES)
    held = np.full((LANES, 4), 5.0)
    held[lanes, lanes & 3] = DEFAULT[:, 1]
    held += DEFAULT
    assert np.array_equal(found, np.column_stack([held, np.full(LANES, 5), held[lanes, lanes & 3]]))


def test_structs_and_arrays_of_vectors() -> None:
    body = """
%twice = OpFAdd %half_v4 %a %a
%list = OpCompositeConstruct %pair %a %twice
%whole = OpCompositeConstruct %holder %list %lane
OpStore %variable %whole
%k = OpBitwiseAnd %uint %lane %n1
%at = OpAccessChain %vectors %variable %n0 %k
%result = OpLoad %half_v4 %at
"""
    globals_ = """
%pair = OpTypeArray %half_v4 %n2
%holder = OpTypeStruct %pair %uint
%holders = OpTypePointer Function %holder
%vectors = OpTypePointer Function %half_v4
"""
    found = one(body, Vec("half", 4), globals=globals_, variables="%variable = OpVariable %holders Function")
    assert np.array_equal(found, DEFAULT * (1 + np.arange(LANES)[:, None] % 2))


def test_select_phi_parameters_and_calls() -> None:
    """Other lanes go through other calls; what comes back meets in a phi. spirv-val knows no OpSelect of vectors."""
    body = """
%odd_bit = OpBitwiseAnd %uint %lane %n1
%odd = OpIEqual %bool %odd_bit %n1
%chosen = OpSelect %half_v4 %odd %a %zeros
OpSelectionMerge %join None
OpBranchConditional %odd %then %else
%then = OpLabel
%x = OpFunctionCall %half_v4 %double_it %chosen
OpBranch %join
%else = OpLabel
%y = OpFNegate %half_v4 %a
OpBranch %join
%join = OpLabel
%result = OpPhi %half_v4 %x %then %y %else
"""
    functions = """
%double_it = OpFunction %half_v4 None %signature
%given = OpFunctionParameter %half_v4
%double_block = OpLabel
%doubled = OpFAdd %half_v4 %given %given
OpReturnValue %doubled
OpFunctionEnd
"""
    globals_ = "%zeros = OpConstantNull %half_v4\n%signature = OpTypeFunction %half_v4 %half_v4\n"
    found = one(body, Vec("half", 4), globals=globals_, functions=functions, checked=False)
    assert np.array_equal(found, DEFAULT * np.where(np.arange(LANES)[:, None] % 2, 2, -1))


def test_loops_that_end_at_different_times() -> None:
    body = """
%count = OpBitwiseAnd %uint %lane %n7
OpBranch %head
%head = OpLabel
%k = OpPhi %uint %n0 %start %k1 %again
%sum = OpPhi %half_v4 %a %start %next %again
%more = OpULessThan %bool %k %count
OpLoopMerge %done %again None
OpBranchConditional %more %again %done
%again = OpLabel
%next = OpFAdd %half_v4 %sum %ones
%k1 = OpIAdd %uint %k %n1
OpBranch %head
%done = OpLabel
%result = OpCopyObject %half_v4 %sum
"""
    globals_ = "%h1 = OpConstant %half 1\n%ones = OpConstantCompositeReplicateEXT %half_v4 %h1\n"
    found = one(body, Vec("half", 4), globals=globals_)
    assert np.array_equal(found, DEFAULT + np.arange(LANES)[:, None] % 8)


def test_memory_is_reached_by_bytes_whatever_the_array() -> None:
    """A float vector out of an array of 16-bit integers, 4 bytes further in each lane (CV-013)."""
    src = np.frombuffer(np.arange(200, dtype=np.float32).tobytes(), np.uint16).copy()
    body = "%o = OpIMul %uint %lane %n4\n%result = OpCooperativeVectorLoadNV %float_v5 %src %o"
    found = run(body, {}, Vec("float", 5), {"src": ("u16", src)})
    assert np.array_equal(found, np.arange(5) + np.arange(LANES)[:, None])


def test_offsets_may_be_negative_where_they_are_signed() -> None:
    globals_ = "%back = OpConstant %int -8\n%structs = OpTypePointer StorageBuffer %array_u16\n"
    code = Code(
        "%result = OpCooperativeVectorLoadNV %u16_v4 %src %back", {}, Vec("u16", 4), {"src": "u16"}, globals=globals_
    )
    outcome = outcome_of(code, {}, {"src": np.arange(4, dtype=np.uint16)})
    assert outcome.status is Status.CRASH
    assert "offset -8 of buffer 'src', which has 8" in outcome.detail


def test_inactive_lanes_touch_no_memory() -> None:
    """Lanes from 3 on would be out of bounds."""
    body = """
%few = OpULessThan %bool %lane %n3
OpSelectionMerge %join None
OpBranchConditional %few %then %join
%then = OpLabel
%far = OpIMul %uint %lane %n4
%v = OpCooperativeVectorLoadNV %u16_v2 %src %far
%w = OpIAdd %u16_v2 %v %v
OpCooperativeVectorStoreNV %src %far %w
OpBranch %join
%join = OpLabel
"""
    src = np.arange(6, dtype=np.uint16)
    code = Code(body, {}, None, {"src": "u16"}, types=(Vec("u16", 2),), lanes=400)
    assert np.array_equal(contents(outcome_of(code, {}, {"src": src}), "src", np.uint16), src * 2)
    everywhere = code.body.replace("OpBranchConditional %few %then %join", "OpBranchConditional %yes %then %join")
    assert "OpCooperativeVectorLoadNV" in problem(
        Code(everywhere, {}, None, {"src": "u16"}, types=(Vec("u16", 2),), lanes=400), {"src": src}
    )


def test_workgroup_memory() -> None:
    """Each workgroup has its own; a vector is written by one invocation and read by the next."""
    body = """
%o = OpIMul %uint %local %n8
OpCooperativeVectorStoreNV %shared %o %a
OpControlBarrier %n2 %n2 %n264
%l1 = OpIAdd %uint %local %n1
%l2 = OpUMod %uint %l1 %n70
%from = OpIMul %uint %l2 %n8
%result = OpCooperativeVectorLoadNV %half_v4 %shared %from
"""
    globals_ = """
%words = OpTypeArray %uint %n140
%words_pointer = OpTypePointer Workgroup %words
%shared = OpVariable %words_pointer Workgroup
"""
    values = np.concatenate([DEFAULT, DEFAULT[::-1] + 1])
    found = one(body, Vec("half", 4), values, globals=globals_, interface="%shared", workgroups=2)
    expected = np.concatenate([np.roll(values[:LANES], -1, axis=0), np.roll(values[LANES:], -1, axis=0)])
    assert np.array_equal(found, expected)


def test_physical_memory() -> None:
    """The address comes as two words of another buffer; every lane has its own."""
    body = """
%second = OpBitwiseAnd %uint %lane %n1
%at_low = OpAccessChain %one_long %buffer_table %n0 %second
%address = OpLoad %u64 %at_low Aligned 8
%p = OpBitcast %physical %address
%o = OpIMul %uint %lane %n4
%result = OpCooperativeVectorLoadNV %u16_v2 %p %o Aligned 4
OpCooperativeVectorStoreNV %p %o %twos Aligned 4
"""
    globals_ = """
%physical = OpTypePointer PhysicalStorageBuffer %array_u16
%one_long = OpTypePointer StorageBuffer %u64
%two = OpConstant %u16 2
%twos = OpConstantCompositeReplicateEXT %u16_v2 %two
"""
    code = Code(
        body,
        {},
        Vec("u16", 2),
        {"table": "u64"},
        globals=globals_,
        head="OpCapability PhysicalStorageBufferAddresses\n",
        addressing="PhysicalStorageBuffer64",
    )
    tables = memory(np.zeros(2, np.uint64), (Address(0, "x", 4), Address(8, "y")))
    x, y = np.arange(2 * LANES + 2, dtype=np.uint16), np.arange(2 * LANES, dtype=np.uint16) + 1000
    words = tools.assemble(code.text())
    assert not tools.validate(words)
    buffers = {"table": tables, "x": memory(x), "y": memory(y), "out": memory(np.zeros((LANES, 2), np.uint16))}
    outcome = dispatch(words, buffers, bindings={(0, 0): "table", (0, 1): "out"})
    odd = np.arange(LANES)[:, None] % 2 == 1
    expected = np.where(odd, y.reshape(-1, 2), x[2:].reshape(-1, 2))
    assert np.array_equal(contents(outcome, "out", np.uint16).reshape(-1, 2), expected)
    assert np.array_equal(contents(outcome, "y", np.uint16).reshape(-1, 2), np.where(odd, 2, y.reshape(-1, 2)))


def test_named_vectors_are_handed_back_as_bits() -> None:
    body = "%result = OpFAdd %half_v4 %a %a"
    code = Code(body, {"a": Vec("half", 4)}, Vec("half", 4), decorations="")
    text = code.text().replace("OpDecorate %in_workgroup", 'OpName %result "sum"\nOpDecorate %in_workgroup', 1)
    values = np.tile(DEFAULT, (2, 1)).astype(np.float16)
    buffers = {"a": memory(values), "out": memory(np.zeros_like(values))}
    outcome = dispatch(tools.assemble(text), buffers, workgroups=(2, 1, 1))
    assert outcome.status is Status.DONE
    assert np.array_equal(outcome.matrices["sum"], (values + values).view(np.uint16))
    assert len(outcome.memory["out"]) == values.nbytes + 2 * GUARD


def test_vectors_that_few_lanes_define_keep_their_places() -> None:
    """Of 300 workgroups in several batches only the last defines the vector."""
    body = """
%last = OpIEqual %bool %workgroup %n299
OpSelectionMerge %join None
OpBranchConditional %last %then %join
%then = OpLabel
%sum = OpFAdd %half_v4 %a %a
OpBranch %join
%join = OpLabel
%result = OpCopyObject %half_v4 %a
"""
    code = Code(body, {"a": Vec("half", 4)}, Vec("half", 4))
    text = code.text().replace("OpDecorate %in_workgroup", 'OpName %sum "sum"\nOpDecorate %in_workgroup', 1)
    values = np.ones((300 * LANES, 4), np.float16)
    buffers = {"a": memory(values), "out": memory(np.zeros_like(values))}
    found = dispatch(tools.assemble(text), buffers, workgroups=(300, 1, 1)).matrices["sum"].view(np.float16)
    assert found.shape == values.shape
    assert (found[:LANES] == 0).all()
    assert (found[-LANES:] == 2).all()
