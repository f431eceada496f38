"""Atomics: lanes that collide take turns in lane order, in every storage class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.drivers.interpreter.handlers.arithmetic import subtract
from cts.drivers.interpreter.handlers.atomics import Change, serial
from cts.drivers.interpreter.memory import AddressSpace
from tests.interpreter.modules import Array, assemble, contents, dispatch, kernel, memory, run_kernel

X = [5, 3, 12, 9, 0, 7, 2, 30]

OPERATIONS: dict[str, Any] = {
    "OpAtomicIAdd": lambda now, x: now + x,
    "OpAtomicISub": lambda now, x: now - x,
    "OpAtomicAnd": lambda now, x: now & x,
    "OpAtomicOr": lambda now, x: now | x,
    "OpAtomicXor": lambda now, x: now ^ x,
    "OpAtomicUMin": min,
    "OpAtomicUMax": max,
    "OpAtomicSMin": min,
    "OpAtomicSMax": max,
    "OpAtomicExchange": lambda now, x: x,
}


def counters(body: str, x: Any, start: Any, *, type_: str = "uint", dtype: Any = np.uint32, head: str = "") -> Any:
    """Run `body` with %counter, the pointer to count[x & 1]; what `out` and `count` hold then."""
    decorations = """
OpDecorate %counts ArrayStride WIDTH
OpMemberDecorate %count_block 0 Offset 0
OpDecorate %count_block Block
OpDecorate %count DescriptorSet 0
OpDecorate %count Binding 2
""".replace("WIDTH", str(np.dtype(dtype).itemsize))
    globals_ = f"""
%semantics = OpConstant %uint 72
%u64 = OpTypeInt 64 0
%half = OpTypeFloat 16
%double = OpTypeFloat 64
%counts = OpTypeRuntimeArray %{type_}
%count_block = OpTypeStruct %counts
%count_block_pointer = OpTypePointer StorageBuffer %count_block
%count_pointer = OpTypePointer StorageBuffer %{type_}
%count = OpVariable %count_block_pointer StorageBuffer
"""
    body = f"""
%which = OpBitwiseAnd %uint %x %u1
%counter = OpAccessChain %count_pointer %count %u0 %which
{body}
"""
    words = assemble(
        kernel(body, globals_=globals_, lanes=len(x), head=head), interface="%count", decorations=decorations
    )
    x = np.array(x, np.uint32)
    buffers = {"in": memory(x), "out": memory(np.zeros_like(x)), "count": memory(np.array(start, dtype))}
    outcome = dispatch(words, buffers)
    return contents(outcome, "out", np.uint32).tolist(), contents(outcome, "count", dtype).tolist()


@pytest.mark.parametrize("op", OPERATIONS)
def test_colliding_lanes_take_iterations(op: str) -> None:
    found = counters(f"%old = {op} %uint %counter %u1 %u0 %x\nOpStore %slot %old", X, [100, 6])
    now, before = [100, 6], []
    for x in X:
        before.append(now[x & 1])
        now[x & 1] = OPERATIONS[op](now[x & 1], x) % 2**32
    assert found == (before, now)


def test_increment_and_decrement() -> None:
    body = "%old = OpAtomicIIncrement %uint %counter %u1 %u0\nOpStore %slot %old"
    assert counters(body, X, [100, 0xFFFFFFFE]) == ([0xFFFFFFFE, 0xFFFFFFFF, 100, 0, 101, 1, 102, 103], [104, 2])
    body = "%old = OpAtomicIDecrement %uint %counter %u1 %u0\nOpStore %slot %old"
    assert counters(body, [1, 1, 0], [0, 1]) == ([1, 0, 0], [0xFFFFFFFF, 0xFFFFFFFF])


def test_signed_minima_read_the_sign() -> None:
    body = "%old = OpAtomicSMin %uint %counter %u1 %u0 %x\nOpStore %slot %old"
    assert counters(body, [1, 0xFFFFFFFF, 3], [0, 7])[1] == [0, 0xFFFFFFFF]


def test_compare_exchange() -> None:
    """The first lane that expects what is there wins."""
    body = "%old = OpAtomicCompareExchange %uint %counter %u1 %u0 %u0 %x %u9\nOpStore %slot %old"
    assert counters(body, [2, 4, 3, 9], [9, 9]) == ([9, 2, 9, 3], [2, 3])


def test_inactive_lanes_do_nothing() -> None:
    body = """
%big = OpUGreaterThan %bool %x %u4
OpSelectionMerge %join None
OpBranchConditional %big %add %join
%add = OpLabel
%old = OpAtomicIAdd %uint %counter %u1 %u0 %u1
OpStore %slot %old
OpBranch %join
%join = OpLabel
"""
    assert counters(body, [9, 1, 8, 7, 5], [20, 10]) == ([10, 0, 20, 11, 12], [21, 13])


def test_one_address_and_value_for_all_lanes() -> None:
    body = """
%same = OpAccessChain %count_pointer %count %u0 %u1
%old = OpAtomicIAdd %uint %same %u1 %u0 %u2
OpStore %slot %old
"""
    assert counters(body, [0] * 5, [0, 100]) == ([100, 102, 104, 106, 108], [0, 110])


def test_wide_integers() -> None:
    body = """
%wide = OpUConvert %u64 %x
%far = OpShiftLeftLogical %u64 %wide %u16
%farther = OpShiftLeftLogical %u64 %far %u16
%old = OpAtomicIAdd %u64 %counter %u1 %u0 %farther
%high = OpShiftRightLogical %u64 %old %u16
%higher = OpShiftRightLogical %u64 %high %u16
%told = OpUConvert %uint %higher
OpStore %slot %told
"""
    head = "OpCapability Int64Atomics"
    assert counters(body, [2, 4, 6], [0, 0], type_="u64", dtype=np.uint64, head=head) == ([0, 2, 6], [12 << 32, 0])


@pytest.mark.parametrize(
    ("type_", "dtype", "head"),
    [
        ("float", np.float32, "OpCapability AtomicFloat32AddEXT\nOpCapability AtomicFloat32MinMaxEXT"),
        ("double", np.float64, "OpCapability AtomicFloat64AddEXT\nOpCapability AtomicFloat64MinMaxEXT"),
        ("half", np.float16, "OpCapability AtomicFloat16AddEXT\nOpCapability AtomicFloat16MinMaxEXT"),
    ],
)
def test_floats_add_in_lane_order(type_: str, dtype: Any, head: str) -> None:
    head += """
OpExtension "SPV_EXT_shader_atomic_float_add"
OpExtension "SPV_EXT_shader_atomic_float16_add"
OpExtension "SPV_EXT_shader_atomic_float_min_max"
"""
    x = [2**11, 2, 2, 2**12, 4]
    body = f"%f = OpConvertUToF %{type_} %x\n%old = OP %{type_} %counter %u1 %u0 %f\nOpStore %slot %x"
    total = dtype(1)
    for value in x:
        total = dtype(total + dtype(value))
    found = {
        op: counters(body.replace("OP", op), x, [1.0, 0.0], type_=type_, dtype=dtype, head=head)[1][0]
        for op in ("OpAtomicFAddEXT", "OpAtomicFMinEXT", "OpAtomicFMaxEXT")
    }
    assert found == {"OpAtomicFAddEXT": float(total), "OpAtomicFMinEXT": 1.0, "OpAtomicFMaxEXT": 4096.0}


def test_atomic_load_and_store() -> None:
    body = """
%before = OpAtomicLoad %uint %counter %u1 %u0
OpStore %slot %before
OpAtomicStore %counter %u1 %u0 %x
"""
    assert counters(body, [4, 3, 6], [50, 60]) == ([50, 60, 50], [6, 3])


def test_workgroup_memory_belongs_to_the_workgroup() -> None:
    globals_ = """
%shared_pointer = OpTypePointer Workgroup %uint
%shared = OpVariable %shared_pointer Workgroup
%semantics = OpConstant %uint 264
"""
    body = """
OpAtomicStore %shared %u2 %u0 %u0
OpControlBarrier %u2 %u2 %semantics
%old = OpAtomicIAdd %uint %shared %u2 %u0 %x
OpControlBarrier %u2 %u2 %semantics
%total = OpLoad %uint %shared
OpStore %slot %total
"""
    text = kernel(body, globals_=globals_, lanes=4)
    assert run_kernel(text, [1, 2, 3, 4, 5, 6, 7, 8], workgroups=2, interface="%shared").tolist() == [10] * 4 + [26] * 4


def _iterations(addresses: Array, values: Array, change: Any, start: Array) -> tuple[list[int], list[int]]:
    now, before = start.tolist(), []
    for a, v in zip(addresses.tolist(), values.tolist(), strict=True):
        before.append(now[a])
        now[a] = change(now[a], v) % 2**32
    return before, now


@pytest.mark.parametrize("places", [1, 2, 31, 40, 400])
@pytest.mark.parametrize("change", [Change(subtract, np.subtract), Change(subtract)])
def test_rounds_and_rows_agree(places: int, change: Change) -> None:
    """Many places are changed all at once, few are walked one by one: the same iterations either way."""
    draw = np.random.default_rng(places)
    at = draw.integers(0, places, 500)
    values = draw.integers(0, 2**32, 500).astype(np.uint32)
    start = draw.integers(0, 2**32, places).astype(np.uint32)
    space, data = AddressSpace(), start.copy().view(np.uint8)
    base = space.add("data", data)
    found = serial(space, base + 4 * at, [values], np.dtype(np.uint32), change)
    assert (found.tolist(), data.view(np.uint32).tolist()) == _iterations(at, values, lambda now, v: now - v, start)
