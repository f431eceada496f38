"""Arithmetic of each lane: VOP1, VOP2 and VOP3 (RDNA 4 ISA, "Vector ALU Operations").

A table has the types of result and operands of each instruction and what it computes of NumPy arrays, an element for
each lane. Rounding and denormals are those of the mode; what is less exact in hardware, such as reciprocals, is
correctly rounded here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from cts.drivers.amd import formats
from cts.drivers.amd.formats import E4M3, E5M2, Array
from cts.drivers.amd.listing import Instruction, Operand
from cts.drivers.amd.modes import Modes
from cts.drivers.amd.operands import Type, to_vector, vector
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.machine.problems import Unsupported

Function = Callable[..., Any]


class Op(NamedTuple):
    """Types of the result and of each operand, and what the instruction computes."""

    result: Type
    operands: tuple[Type, ...]
    compute: Function


def _u64(x: Any) -> Any:
    return np.asarray(x).astype(np.uint64)


def as_i64(x: Any) -> Any:
    """Integers in 64 bits with sign."""
    return np.asarray(x).astype(np.int64)


def _f64(x: Any) -> Any:
    return np.asarray(x).astype(np.float64)


# Integers. NumPy's unsigned integers wrap around, as hardware's do.


def _shift_left(by: Any, x: Any) -> Any:
    return x << (by & np.uint32(31))


def _bit_reversed(x: Any) -> Any:
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        m, s = np.uint32(mask), np.uint32(shift)
        x = (x >> s & m) | (x & m) << s
    return x >> np.uint32(16) | x << np.uint32(16)


def _field(x: Any, offset: Any, width: Any) -> Any:
    width = width & np.uint32(31)
    return x >> (offset & np.uint32(31)) & ((np.uint32(1) << width) - np.uint32(1))


def _signed_field(x: Any, offset: Any, width: Any) -> Any:
    width = width & np.uint32(31)
    spare = ((np.uint32(32) - width) & np.uint32(31)).astype(np.int32)
    shifted = x >> (offset & np.uint32(31)).astype(np.int32)
    return np.where(width == 0, np.int32(0), shifted << spare >> spare).astype(np.int32)


def _low24(x: Any) -> Any:
    return x & np.uint32(0xFFFFFF)


def _signed24(x: Any) -> Any:
    return as_i64(np.asarray(x << np.uint32(8)).view(np.int32)) >> 8


def _permuted(a: Any, b: Any, selector: Any) -> Any:
    """Bytes of {a, b}, chosen by those of the selector: 0 to 7 one of them, b's first; then signs and constants."""
    both = _u64(a) << np.uint64(32) | _u64(b)
    result = np.zeros(np.broadcast(both, selector).shape, np.uint64)
    for place in range(4):
        choice = _u64(selector) >> np.uint64(8 * place) & np.uint64(0xFF)
        byte = both >> (np.minimum(choice, np.uint64(7)) * np.uint64(8)) & np.uint64(0xFF)
        # 8 to 11 are the signs of the halves, from b's low one on.
        sign = both >> ((np.clip(choice, 8, 11) - np.uint64(8)) * np.uint64(16) + np.uint64(15)) & np.uint64(1)
        byte = np.where(choice >= 8, sign * np.uint64(0xFF), byte)
        byte = np.where(choice == 12, np.uint64(0), np.where(choice > 12, np.uint64(0xFF), byte))
        result |= byte << np.uint64(8 * place)
    return result.astype(np.uint32)


def _aligned(a: Any, b: Any, by: Any) -> Any:
    """{a, b} shifted right by so many bits."""
    return ((_u64(a) << np.uint64(32) | _u64(b)) >> _u64(by)).astype(np.uint32)


_INTEGERS: dict[str, Op] = {
    "v_mov_b32": Op("b32", ("b32",), lambda a: a),
    "v_mov_b16": Op("b16", ("b16",), lambda a: a),
    "v_not_b32": Op("b32", ("b32",), np.invert),
    "v_not_b16": Op("b16", ("b16",), np.invert),
    "v_bfrev_b32": Op("b32", ("b32",), _bit_reversed),
    "v_add_nc_u32": Op("b32", ("b32", "b32"), lambda a, b: a + b),
    "v_sub_nc_u32": Op("b32", ("b32", "b32"), lambda a, b: a - b),
    "v_subrev_nc_u32": Op("b32", ("b32", "b32"), lambda a, b: b - a),
    "v_add_nc_u16": Op("b16", ("b16", "b16"), lambda a, b: a + b),
    "v_sub_nc_u16": Op("b16", ("b16", "b16"), lambda a, b: a - b),
    "v_mul_lo_u16": Op("b16", ("b16", "b16"), lambda a, b: a * b),
    "v_mad_u16": Op("b16", ("b16", "b16", "b16"), lambda a, b, c: a * b + c),
    "v_and_b32": Op("b32", ("b32", "b32"), lambda a, b: a & b),
    "v_or_b32": Op("b32", ("b32", "b32"), lambda a, b: a | b),
    "v_xor_b32": Op("b32", ("b32", "b32"), lambda a, b: a ^ b),
    "v_xnor_b32": Op("b32", ("b32", "b32"), lambda a, b: ~(a ^ b)),
    "v_lshlrev_b16": Op("b16", ("b16", "b16"), lambda by, x: x << (by & np.uint16(15))),
    "v_lshrrev_b16": Op("b16", ("b16", "b16"), lambda by, x: x >> (by & np.uint16(15))),
    "v_ashrrev_i16": Op("i16", ("i16", "i16"), lambda by, x: x >> (by & np.int16(15))),
    "v_xor_b16": Op("b16", ("b16", "b16"), lambda a, b: a ^ b),
    "v_and_b16": Op("b16", ("b16", "b16"), lambda a, b: a & b),
    "v_or_b16": Op("b16", ("b16", "b16"), lambda a, b: a | b),
    "v_lshlrev_b32": Op("b32", ("b32", "b32"), _shift_left),
    "v_lshrrev_b32": Op("b32", ("b32", "b32"), lambda by, x: x >> (by & np.uint32(31))),
    "v_ashrrev_i32": Op("i32", ("i32", "i32"), lambda by, x: x >> (by & np.int32(31))),
    "v_lshlrev_b64": Op("b64", ("b32", "b64"), lambda by, x: x << _u64(by & np.uint32(63))),
    "v_min_i32": Op("i32", ("i32", "i32"), np.minimum),
    "v_max_i32": Op("i32", ("i32", "i32"), np.maximum),
    "v_min_u32": Op("b32", ("b32", "b32"), np.minimum),
    "v_max_u32": Op("b32", ("b32", "b32"), np.maximum),
    "v_mul_lo_u32": Op("b32", ("b32", "b32"), lambda a, b: a * b),
    "v_mul_hi_u32": Op("b32", ("b32", "b32"), lambda a, b: (_u64(a) * _u64(b) >> np.uint64(32)).astype(np.uint32)),
    "v_mul_hi_i32": Op("i32", ("i32", "i32"), lambda a, b: (as_i64(a) * as_i64(b) >> 32).astype(np.int32)),
    "v_mul_u32_u24": Op("b32", ("b32", "b32"), lambda a, b: _low24(a) * _low24(b)),
    "v_mad_u32_u24": Op("b32", ("b32", "b32", "b32"), lambda a, b, c: _low24(a) * _low24(b) + c),
    "v_mad_i32_i24": Op(
        "i32", ("b32", "b32", "i32"), lambda a, b, c: (_signed24(a) * _signed24(b) + c).astype(np.int32)
    ),
    "v_add3_u32": Op("b32", ("b32", "b32", "b32"), lambda a, b, c: a + b + c),
    "v_lshl_add_u32": Op("b32", ("b32", "b32", "b32"), lambda a, b, c: _shift_left(b, a) + c),
    "v_add_lshl_u32": Op("b32", ("b32", "b32", "b32"), lambda a, b, c: _shift_left(c, a + b)),
    "v_lshl_or_b32": Op("b32", ("b32", "b32", "b32"), lambda a, b, c: _shift_left(b, a) | c),
    "v_and_or_b32": Op("b32", ("b32", "b32", "b32"), lambda a, b, c: a & b | c),
    "v_or3_b32": Op("b32", ("b32", "b32", "b32"), lambda a, b, c: a | b | c),
    "v_xad_u32": Op("b32", ("b32", "b32", "b32"), lambda a, b, c: (a ^ b) + c),
    "v_bfe_u32": Op("b32", ("b32", "b32", "b32"), _field),
    "v_bfe_i32": Op("i32", ("i32", "b32", "b32"), _signed_field),
    "v_bfi_b32": Op("b32", ("b32", "b32", "b32"), lambda a, b, c: a & b | ~a & c),
    # The last operand is a half of a register, by name.
    "v_alignbyte_b32": Op(
        "b32", ("b32", "b32", "b16"), lambda a, b, c: _aligned(a, b, (c & np.uint16(3)) << np.uint16(3))
    ),
    "v_alignbit_b32": Op("b32", ("b32", "b32", "b16"), lambda a, b, c: _aligned(a, b, c & np.uint16(31))),
    "v_perm_b32": Op("b32", ("b32", "b32", "b32"), _permuted),
}

# Floating point. Sums and products of singles and halves are exact enough in doubles to be rounded once.


def single(modes: Modes, x: Any) -> Any:
    """Doubles as singles, rounded as the mode says."""
    return formats.single(x, modes.round32)


def half(modes: Modes, x: Any) -> Any:
    """Doubles or singles as halves, rounded as the mode says."""
    return formats.half(x, modes.round16)


def _maximum_number(a: Any, b: Any) -> Any:
    """The larger; of a NaN and a number the number; -0 is less than +0 (RDNA 4 ISA, "V_MAX_NUM_F32")."""
    larger = np.where((a > b) | ((a == b) & np.signbit(b)), a, b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, larger))


def _minimum_number(a: Any, b: Any) -> Any:
    return -_maximum_number(-a, -b)


def _maximum(a: Any, b: Any) -> Any:
    """The larger; NaN where one is (RDNA 4 ISA, "V_MAXIMUM_F32")."""
    return np.where(np.isnan(a) | np.isnan(b), a.dtype.type(np.nan), _maximum_number(a, b))


def _minimum(a: Any, b: Any) -> Any:
    return -_maximum(-a, -b)


def _integer(low: float, high: float, dtype: Any) -> Function:
    """A conversion to integers: towards zero, NaN to 0, what is beyond to the nearest there is."""

    def convert(x: Any) -> Any:
        x = np.trunc(_f64(x))
        return np.where(np.isnan(x), 0, np.clip(x, low, high)).astype(np.int64).astype(dtype)

    return convert


def arithmetic(kind: Type, modes: Modes) -> dict[str, tuple[int, Function]]:
    """By name how many operands an operation of singles or halves has, and the operation."""
    rounding = single if kind == "f32" else half
    return {
        "add": (2, lambda a, b: rounding(modes, formats.add(_f64(a), _f64(b)))),
        "sub": (2, lambda a, b: rounding(modes, formats.add(_f64(a), -_f64(b)))),
        "subrev": (2, lambda a, b: rounding(modes, formats.add(_f64(b), -_f64(a)))),
        "mul": (2, lambda a, b: rounding(modes, _f64(a) * _f64(b))),
        "fma": (3, lambda a, b, c: rounding(modes, formats.fma(a, b, c))),
        "max_num": (2, _maximum_number),
        "min_num": (2, _minimum_number),
        "maximum": (2, _maximum),
        "minimum": (2, _minimum),
        "minimummaximum": (3, lambda a, b, c: _maximum(_minimum(a, b), c)),
        "maximumminimum": (3, lambda a, b, c: _minimum(_maximum(a, b), c)),
        "rcp": (1, lambda a: rounding(modes, 1.0 / _f64(a))),
        "sqrt": (1, lambda a: rounding(modes, np.sqrt(_f64(a)))),
        "rsq": (1, lambda a: rounding(modes, 1.0 / np.sqrt(_f64(a)))),
        "exp": (1, lambda a: rounding(modes, np.exp2(_f64(a)))),
        "log": (1, lambda a: rounding(modes, np.log2(_f64(a)))),
        "trunc": (1, np.trunc),
        "floor": (1, np.floor),
        "ceil": (1, np.ceil),
        "rndne": (1, np.rint),
    }


_OPERATIONS = tuple(arithmetic("f32", Modes()))
CONVERSIONS = {
    "v_cvt_i32_f32": Op("i32", ("f32",), _integer(-(2.0**31), 2.0**31 - 1, np.int32)),
    "v_cvt_u32_f32": Op("b32", ("f32",), _integer(0, 2.0**32 - 1, np.uint32)),
    "v_cvt_i16_f16": Op("i16", ("f16",), _integer(-(2.0**15), 2.0**15 - 1, np.int16)),
    "v_cvt_u16_f16": Op("b16", ("f16",), _integer(0, 2.0**16 - 1, np.uint16)),
    "v_cvt_f32_f16": Op("f32", ("f16",), lambda a: a.astype(np.float32)),
    **{
        f"v_cvt_f32_ubyte{n}": Op(
            "f32", ("b32",), lambda a, n=n: (a >> np.uint32(8 * n) & np.uint32(0xFF)).astype(np.float32)
        )
        for n in range(4)
    },
}


#: Words of an instruction of that encoding and its literal.
_VOP3_WITH_LITERAL = 3


def _operands(i: Instruction, types: tuple[Type, ...]) -> tuple[Operand, ...]:
    """The operands that are read; halves of scalar registers are chosen by op_sel, those of vector ones by name.

    So are those of a literal, of which the text has the low half alone.
    """
    sources = i.operands[1 : 1 + len(types)]
    if len(sources) != len(types) or len(i.operands) != 1 + len(types):
        raise Unsupported(f"{len(i.operands)} operands")
    chosen = i.bits("op_sel", (0,) * len(types))
    return tuple(
        half_chosen(i, o, chosen[n]) if t.endswith("16") else o
        for n, (o, t) in enumerate(zip(sources, types, strict=True))
    )


def half_chosen(i: Instruction, operand: Operand, half: int) -> Operand:
    """An operand of 16 bits with the half that op_sel says."""
    if operand.kind == "sgpr":
        return replace(operand, half=half)
    if operand.kind == "vgpr" or not half:
        return operand
    if operand.kind == "float":
        return replace(operand, kind="integer", number=0)
    literal = operand.text.startswith("0x") and len(i.words) == _VOP3_WITH_LITERAL
    return replace(operand, number=(i.words[-1] if literal else operand.number) >> 16)


def built(i: Instruction, context: Context, op: Op) -> Run:
    """What runs an instruction that computes each lane of its result from that lane of its operands."""
    write = to_vector(i.operands[0], op.result, i, context.modes)
    sources = _operands(i, op.operands)
    reads = [vector(o, kind, context.modes) for o, kind in zip(sources, op.operands, strict=True)]
    compute = op.compute
    if len(reads) == 1:
        (only,) = reads
        return lambda w: write(w, compute(only(w)))
    if len(reads) == 2:
        left, right = reads
        return lambda w: write(w, compute(left(w), right(w)))
    a, b, c = reads
    return lambda w: write(w, compute(a(w), b(w), c(w)))


@instruction(*_INTEGERS)
def _integers(i: Instruction, context: Context) -> Run:
    return built(i, context, _INTEGERS[i.mnemonic])


@instruction(*CONVERSIONS)
def _conversions(i: Instruction, context: Context) -> Run:
    return built(i, context, CONVERSIONS[i.mnemonic])


#: Operations that flush denormals of singles in every mode (RDNA 4 ISA, "Denormal and Rounding Modes"), and that need
#: not be correctly rounded.
_INEXACT = frozenset({"exp", "log", "rcp", "rsq", "sqrt"})


@instruction(*(f"v_{name}_{kind}" for name in _OPERATIONS for kind in ("f32", "f16")))
def _floats(i: Instruction, context: Context) -> Run:
    name, _, suffix = i.mnemonic.removeprefix("v_").rpartition("_")
    kind: Type = "f32" if suffix == "f32" else "f16"
    low = context.freedoms.low
    if name in _INEXACT:
        context = replace(context, modes=replace(context.modes, keep32=False))
    modes = replace(context.modes, round32="zero") if low and name in _INEXACT else context.modes
    count, compute = arithmetic(kind, modes)[name]
    return built(i, context, Op(kind, (kind,) * count, compute))


@instruction("v_fmac_f32", "v_fmac_f16", updates=True)
def _fmac(i: Instruction, context: Context) -> Run:
    kind: Type = "f32" if i.mnemonic.endswith("32") else "f16"
    _, compute = arithmetic(kind, context.modes)["fma"]
    target, left, right = i.operands
    return built(replace(i, operands=(target, left, right, target)), context, Op(kind, (kind,) * 3, compute))


@instruction("v_fmaak_f32", "v_fmamk_f32", "v_fmaak_f16", "v_fmamk_f16")
def _with_literal(i: Instruction, context: Context) -> Run:
    """The sum a * b + c with a literal as b or c. The listing has the operands in the order a, b, c."""
    kind: Type = "f32" if i.mnemonic.endswith("32") else "f16"
    count, compute = arithmetic(kind, context.modes)["fma"]
    return built(i, context, Op(kind, (kind,) * count, compute))


ROUNDED: dict[str, tuple[Type, Type]] = {
    "v_cvt_f16_f32": ("f16", "f32"),
    "v_cvt_f32_i32": ("f32", "i32"),
    "v_cvt_f32_u32": ("f32", "b32"),
    "v_cvt_f16_i16": ("f16", "i16"),
    "v_cvt_f16_u16": ("f16", "b16"),
}


@instruction(*ROUNDED)
def _rounded_conversion(i: Instruction, context: Context) -> Run:
    """A conversion that rounds as the mode of its result says."""
    result, source = ROUNDED[i.mnemonic]
    rounding = single if result == "f32" else half
    return built(i, context, Op(result, (source,), lambda a: rounding(context.modes, _f64(a))))


# Two results in one register.


@instruction("v_cvt_pk_rtz_f16_f32")
def _pack_halves(i: Instruction, context: Context) -> Run:
    flush = context.modes.flushes("f16")

    def towards_zero(x: Any) -> Array:
        rounded = formats.half(np.broadcast_to(x, context.lanes), "zero")
        return (formats.flushed(rounded) if flush else rounded).view(np.uint16)

    def pack(a: Any, b: Any) -> Any:
        low, high = towards_zero(a), towards_zero(b)
        return low | high.astype(np.uint32) << np.uint32(16)

    return built(i, context, Op("b32", ("f32", "f32"), pack))


@instruction("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32")
def _pack_float8(i: Instruction, context: Context) -> Run:
    encoding = E4M3 if "_fp8_" in i.mnemonic else E5M2

    def pack(a: Any, b: Any) -> Any:
        return encoding.encode(a) | encoding.encode(b).astype(np.uint16) << np.uint16(8)

    return built(i, context, Op("b16", ("f32", "f32"), pack))


@instruction("v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8")
def _unpack_float8(i: Instruction, context: Context) -> Run:
    values = (E4M3 if i.mnemonic.endswith("fp8") else E5M2).values.view(np.uint32)

    def unpack(x: Any) -> Any:
        return values[x & np.uint16(0xFF)] | _u64(values[x >> np.uint16(8)]) << np.uint64(32)

    return built(i, context, Op("b64", ("b16",), unpack))


@instruction("v_cvt_f32_fp8", "v_cvt_f32_bf8")
def _one_float8(i: Instruction, context: Context) -> Run:
    """One byte of a word, by `byte_sel`."""
    values = (E4M3 if i.mnemonic.endswith("fp8") else E5M2).values
    shift, plain = np.uint32(8 * i.number("byte_sel")), replace(i, modifiers={})
    return built(plain, context, Op("f32", ("b32",), lambda x: values[x >> shift & np.uint32(0xFF)]))
