"""Integers of each lane beyond those of `vector_alu`: three operands, saturation, dot products, bits (RDNA 4 ISA)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cts.drivers.amd.formats import Array
from cts.drivers.amd.isa.vector_alu import Function, Op, as_i64, built
from cts.drivers.amd.listing import Instruction
from cts.drivers.amd.operands import DTYPES, Type, to_lane_mask, to_vector, vector
from cts.drivers.amd.registry import INSTRUCTIONS, Context, Run, instruction
from cts.drivers.amd.wave import Wave


def _u32(x: Any) -> Any:
    return np.asarray(x).astype(np.uint32)


def median(a: Any, b: Any, c: Any) -> Any:
    """The middle one of three."""
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


#: By name what three operands of one type give.
_THREE: dict[str, Function] = {
    "min3": lambda a, b, c: np.minimum(np.minimum(a, b), c),
    "max3": lambda a, b, c: np.maximum(np.maximum(a, b), c),
    "med3": median,
    "minmax": lambda a, b, c: np.maximum(np.minimum(a, b), c),
    "maxmin": lambda a, b, c: np.minimum(np.maximum(a, b), c),
}
_INTEGER_TYPES: dict[str, Type] = {"i32": "i32", "u32": "b32", "i16": "i16", "u16": "b16"}
_THREE_NAMES = [
    f"v_{name}_{kind}"
    for name in _THREE
    for kind in _INTEGER_TYPES
    if not (kind.endswith("16") and name in ("minmax", "maxmin"))
]


@instruction(*_THREE_NAMES)
def _three(i: Instruction, context: Context) -> Run:
    name, kind = i.mnemonic.removeprefix("v_").rsplit("_", 1)
    t = _INTEGER_TYPES[kind]
    return built(i, context, Op(t, (t, t, t), _THREE[name]))


def _leading(x: Any) -> Any:
    """Zeros before the first bit that is set, -1 if none is."""
    wide = np.asarray(x).astype(np.float64)
    exponents = np.frexp(wide)[1]
    return np.where(np.asarray(x) == 0, -1, 32 - exponents).astype(np.int32)


def _trailing(x: Any) -> Any:
    lowest = np.asarray(x) & (~np.asarray(x) + np.uint32(1))
    return np.where(lowest == 0, -1, np.frexp(lowest.astype(np.float64))[1] - 1).astype(np.int32)


def _sign_bits(x: Any) -> Any:
    """Bits at the top that are alike, -1 if all are."""
    x = np.asarray(x)
    folded = np.where(x < 0, ~x, x).view(np.uint32)
    return np.where(folded == 0, -1, _leading(folded)).astype(np.int32)


def ones(x: Any) -> Any:
    """How many bits are set, of uint32."""
    x = _u32(x)
    x = x - (x >> np.uint32(1) & np.uint32(0x55555555))
    x = (x & np.uint32(0x33333333)) + (x >> np.uint32(2) & np.uint32(0x33333333))
    return ((x + (x >> np.uint32(4)) & np.uint32(0x0F0F0F0F)) * np.uint32(0x01010101)) >> np.uint32(24)


def _mask(width: Any, offset: Any) -> Any:
    return ((np.uint32(1) << (width & np.uint32(31))) - np.uint32(1)) << (offset & np.uint32(31))


def _clipped_pair(low: int, high: int) -> Function:
    def pack(a: Any, b: Any) -> Any:
        x, y = (np.clip(as_i64(v), low, high).astype(np.uint32) & np.uint32(0xFFFF) for v in (a, b))
        return x | y << np.uint32(16)

    return pack


def _differences(a: Any, b: Any, bits: int) -> Any:
    """The sum of the absolute differences of the parts of two words."""
    total: Any = np.int64(0)
    for shift in range(0, 32, bits):
        part = (1 << bits) - 1
        total = total + np.abs((as_i64(a) >> shift & part) - (as_i64(b) >> shift & part))
    return total


def _sad(bits: int, shift: int = 0) -> Function:
    return lambda a, b, c: ((_differences(a, b, bits) << shift) + as_i64(c)).astype(np.uint32)


def _low24(x: Any) -> Any:
    return as_i64(x) & 0xFFFFFF


def _signed24(x: Any) -> Any:
    return as_i64(np.asarray(x << np.uint32(8)).view(np.int32)) >> 8


_TABLE: dict[str, Op] = {
    "v_xor3_b32": Op("b32", ("b32", "b32", "b32"), lambda a, b, c: a ^ b ^ c),
    "v_clz_i32_u32": Op("i32", ("b32",), _leading),
    "v_ctz_i32_b32": Op("i32", ("b32",), _trailing),
    "v_cls_i32": Op("i32", ("i32",), _sign_bits),
    "v_bcnt_u32_b32": Op("b32", ("b32", "b32"), lambda a, b: ones(a) + b),
    "v_bfm_b32": Op("b32", ("b32", "b32"), _mask),
    "v_lshrrev_b64": Op("b64", ("b32", "b64"), lambda by, x: x >> (by & np.uint32(63)).astype(np.uint64)),
    "v_ashrrev_i64": Op("i64", ("b32", "i64"), lambda by, x: x >> (by & np.uint32(63)).astype(np.int64)),
    "v_cvt_u32_u16": Op("b32", ("b16",), _u32),
    "v_cvt_i32_i16": Op("i32", ("i16",), lambda a: a.astype(np.int32)),
    "v_cvt_pk_u16_u32": Op("b32", ("b32", "b32"), _clipped_pair(0, 0xFFFF)),
    "v_cvt_pk_i16_i32": Op("b32", ("i32", "i32"), _clipped_pair(-0x8000, 0x7FFF)),
    "v_min_i16": Op("i16", ("i16", "i16"), np.minimum),
    "v_max_i16": Op("i16", ("i16", "i16"), np.maximum),
    "v_min_u16": Op("b16", ("b16", "b16"), np.minimum),
    "v_max_u16": Op("b16", ("b16", "b16"), np.maximum),
    "v_mul_i32_i24": Op("i32", ("b32", "b32"), lambda a, b: (_signed24(a) * _signed24(b)).astype(np.int32)),
    "v_mul_hi_i32_i24": Op("i32", ("b32", "b32"), lambda a, b: (_signed24(a) * _signed24(b) >> 32).astype(np.int32)),
    "v_mul_hi_u32_u24": Op("b32", ("b32", "b32"), lambda a, b: (_low24(a) * _low24(b) >> 32).astype(np.uint32)),
    "v_mad_u32_u16": Op("b32", ("b16", "b16", "b32"), lambda a, b, c: _u32(a) * _u32(b) + c),
    "v_mad_i32_i16": Op("i32", ("i16", "i16", "i32"), lambda a, b, c: a.astype(np.int32) * b.astype(np.int32) + c),
    "v_sad_u8": Op("b32", ("b32", "b32", "b32"), _sad(8)),
    "v_sad_hi_u8": Op("b32", ("b32", "b32", "b32"), _sad(8, 16)),
    "v_sad_u16": Op("b32", ("b32", "b32", "b32"), _sad(16)),
    "v_sad_u32": Op("b32", ("b32", "b32", "b32"), _sad(32)),
}  # fmt: skip


@instruction(*_TABLE)
def _integers(i: Instruction, context: Context) -> Run:
    return built(i, context, _TABLE[i.mnemonic])


# Sums, differences and products that saturate where `clamp` stands.

_SATURATED: dict[str, tuple[Type, Function]] = {
    "v_add_nc_u32": ("b32", lambda a, b: a + b),
    "v_sub_nc_u32": ("b32", lambda a, b: a - b),
    "v_subrev_nc_u32": ("b32", lambda a, b: b - a),
    "v_add_nc_i32": ("i32", lambda a, b: a + b),
    "v_sub_nc_i32": ("i32", lambda a, b: a - b),
    "v_add_nc_u16": ("b16", lambda a, b: a + b),
    "v_sub_nc_u16": ("b16", lambda a, b: a - b),
    "v_add_nc_i16": ("i16", lambda a, b: a + b),
    "v_sub_nc_i16": ("i16", lambda a, b: a - b),
    "v_mad_u16": ("b16", lambda a, b, c: a * b + c),
    "v_mad_i16": ("i16", lambda a, b, c: a * b + c),
}


def saturating(kind: Type, compute: Function) -> Function:
    """The function of 64-bit integers with a result that is the nearest of a type of 16 or 32 bits."""
    limits: Any = np.iinfo(DTYPES[kind])
    return lambda *x: np.clip(compute(*(as_i64(v) for v in x)), limits.min, limits.max).astype(DTYPES[kind])


def _wrapping(i: Instruction, context: Context) -> Run:
    """The sum in the width of its type, or the nearest number of that width."""
    kind, compute = _SATURATED[i.mnemonic]
    function = saturating(kind, compute) if i.flag("clamp") else compute
    modifiers = {name: value for name, value in i.modifiers.items() if name != "clamp"}
    return built(
        replace(i, modifiers=modifiers), context, Op(kind, (kind,) * (3 if "_mad_" in i.mnemonic else 2), function)
    )


for _name in _SATURATED:
    if _name in INSTRUCTIONS:  # so far without `clamp`
        INSTRUCTIONS[_name] = INSTRUCTIONS[_name]._replace(build=_wrapping)
    else:
        instruction(_name)(_wrapping)


# Products of 32 bits added to 64 bits.


@instruction("v_mad_co_u64_u32", "v_mad_co_i64_i32", "v_mad_u64_u32", "v_mad_i64_i32", outs=2)
def _wide_product(i: Instruction, context: Context) -> Run:
    """A product of two words and a sum of 64 bits, with the carry of each lane (names of RDNA 4 and of RDNA 3)."""
    target, carry, *sources = i.operands
    signed = "_i64_" in i.mnemonic
    narrow: Type = "i32" if signed else "b32"
    kinds: tuple[Type, ...] = (narrow, narrow, "i64" if signed else "b64")
    a, b, c = (vector(o, kind, context.modes) for o, kind in zip(sources, kinds, strict=True))
    write, write_carry = to_vector(target, "b64", i, context.modes), to_lane_mask(carry, context.lanes)
    low, high = (-(1 << 63), (1 << 63) - 1) if signed else (0, (1 << 64) - 1)

    def run(w: Wave) -> None:
        rows = (np.broadcast_to(np.asarray(read(w)), w.lanes).tolist() for read in (a, b, c))
        totals = [x * y + z for x, y, z in zip(*rows, strict=True)]
        write(w, np.array([t & (1 << 64) - 1 for t in totals], np.uint64))
        write_carry(w, np.array([not low <= t <= high for t in totals]))

    return run


# Dot products.


def _parts(x: Any, bits: int, signed: bool) -> list[Array]:
    words = as_i64(np.asarray(x).view(np.uint32) if np.asarray(x).dtype == np.int32 else x)
    parts = [words >> shift & (1 << bits) - 1 for shift in range(0, 32, bits)]
    return [np.where(p >> bits - 1 == 1, p - (1 << bits), p) if signed else p for p in parts]


def _dot(i: Instruction, context: Context, bits: int, signs: tuple[bool, bool], kind: Type) -> Run:
    def total(a: Any, b: Any, c: Any) -> Any:
        products = (x * y for x, y in zip(_parts(a, bits, signs[0]), _parts(b, bits, signs[1]), strict=True))
        return sum(products, as_i64(c))

    limits: Any = np.iinfo(DTYPES[kind])

    def compute(a: Any, b: Any, c: Any) -> Any:
        value = np.asarray(total(a, b, c))
        if clamp:
            return np.clip(value, limits.min, limits.max).astype(DTYPES[kind])
        return (value & 0xFFFFFFFF).astype(np.uint32).view(DTYPES[kind])

    clamp = i.flag("clamp")
    return built(replace(i, modifiers={}), context, Op(kind, ("b32", "b32", kind), compute))


@instruction("v_dot4_i32_iu8", "v_dot8_i32_iu4")
def _dot_mixed(i: Instruction, context: Context) -> Run:
    """`neg_lo` says which of the first two operands have signs."""
    a, b, _ = i.bits("neg_lo", (0, 0, 0))
    return _dot(i, context, 8 if i.mnemonic.endswith("8") else 4, (bool(a), bool(b)), "i32")


@instruction("v_dot4_u32_u8", "v_dot8_u32_u4")
def _dot_unsigned(i: Instruction, context: Context) -> Run:
    return _dot(i, context, 8 if i.mnemonic.endswith("8") else 4, (False, False), "b32")


#: Packed additions that saturate, which `packed` asks for.
PACKED_SATURATED: dict[str, Callable[..., Any]] = {
    f"v_pk_{name}_{kind}": saturating(_INTEGER_TYPES[kind], compute)
    for kind in ("i16", "u16")
    for name, compute in (
        ("add", lambda a, b: a + b),
        ("sub", lambda a, b: a - b),
        ("mad", lambda a, b, c: a * b + c),
    )
}
