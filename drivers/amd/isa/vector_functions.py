"""Floating point of each lane beyond arithmetic: parts of numbers, medians, trigonometry, norms (RDNA 4 ISA)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cts.drivers.amd import formats
from cts.drivers.amd.isa.vector_alu import Function, Op, arithmetic, built, half, single
from cts.drivers.amd.isa.vector_doubles import exponent, fraction, mantissa
from cts.drivers.amd.listing import Instruction
from cts.drivers.amd.modes import Modes
from cts.drivers.amd.operands import Type, scalar, to_scalar
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Wave


def _kind(i: Instruction) -> Type:
    return "f32" if i.mnemonic.endswith("32") else "f16"


def _rounding(kind: Type, modes: Modes) -> Function:
    return (lambda x: single(modes, x)) if kind == "f32" else (lambda x: half(modes, x))


def _three(kind: Type, modes: Modes) -> dict[str, Function]:
    table = {name: function for name, (_, function) in arithmetic(kind, modes).items()}
    less, more, lowest, highest = (table[name] for name in ("min_num", "max_num", "minimum", "maximum"))

    def median(a: Any, b: Any, c: Any) -> Any:
        """The middle one; with a NaN the least of the others (RDNA 4 ISA, "V_MED3_NUM_F32")."""
        middle = more(less(a, b), less(more(a, b), c))
        return np.where(np.isnan(a) | np.isnan(b) | np.isnan(c), less(less(a, b), c), middle)

    return {
        "min3_num": lambda a, b, c: less(less(a, b), c),
        "max3_num": lambda a, b, c: more(more(a, b), c),
        "med3_num": median,
        "minmax_num": lambda a, b, c: more(less(a, b), c),
        "maxmin_num": lambda a, b, c: less(more(a, b), c),
        "minimum3": lambda a, b, c: lowest(lowest(a, b), c),
        "maximum3": lambda a, b, c: highest(highest(a, b), c),
    }


_THREE = tuple(_three("f32", Modes()))


@instruction(*(f"v_{name}_{kind}" for name in _THREE for kind in ("f32", "f16")))
def _of_three(i: Instruction, context: Context) -> Run:
    kind = _kind(i)
    return built(i, context, Op(kind, (kind,) * 3, _three(kind, context.modes)[i.mnemonic[2:].rpartition("_")[0]]))


def _turns(function: Callable[[Any], Any]) -> Function:
    """A function of angles that are given in turns."""

    def compute(x: Any) -> Any:
        x = np.asarray(x).astype(np.float64)
        quarters = np.rint(x * 4)
        # Whole quarters are exact, as hardware's are.
        return np.where(quarters == x * 4, np.rint(function(quarters % 4 * (np.pi / 2))), function(x % 1 * (2 * np.pi)))

    return compute


_ONE: dict[str, Function] = {"sin": _turns(np.sin), "cos": _turns(np.cos), "fract": fraction, "frexp_mant": mantissa}


@instruction(*(f"v_{name}_{kind}" for name in _ONE for kind in ("f32", "f16")))
def _of_one(i: Instruction, context: Context) -> Run:
    kind, function = _kind(i), _ONE[i.mnemonic[2:].rpartition("_")[0]]
    rounding = _rounding(kind, context.modes)
    return built(i, context, Op(kind, (kind,), lambda a: rounding(function(a))))


@instruction("v_frexp_exp_i32_f32", "v_frexp_exp_i16_f16")
def _exponents(i: Instruction, context: Context) -> Run:
    wide = i.mnemonic.endswith("32")
    return built(i, context, Op("i32" if wide else "i16", ("f32" if wide else "f16",), exponent))


@instruction("v_ldexp_f32", "v_ldexp_f16")
def _scaled(i: Instruction, context: Context) -> Run:
    """A number times a power of two."""
    kind = _kind(i)
    rounding = _rounding(kind, context.modes)

    def scale(a: Any, power: Any) -> Any:
        return rounding(np.ldexp(np.asarray(a).astype(np.float64), np.clip(power, -500, 500).astype(np.int32)))

    return built(i, context, Op(kind, (kind, "i32" if kind == "f32" else "i16"), scale))


@instruction("v_mul_dx9_zero_f32")
def _product_of_zero(i: Instruction, context: Context) -> Run:
    """A product that is 0 if a factor is, also with infinity and NaN."""
    multiply = arithmetic("f32", context.modes)["mul"][1]
    return built(
        i,
        context,
        Op("f32", ("f32", "f32"), lambda a, b: np.where((a == 0) | (b == 0), np.float32(0), multiply(a, b))),
    )


@instruction("v_fma_dx9_zero_f32", "v_fmac_dx9_zero_f32", updates=True)
def _sum_of_product_of_zero(i: Instruction, context: Context) -> Run:
    fma, modes = arithmetic("f32", context.modes)["fma"][1], context.modes
    three = i.operands if len(i.operands) > 3 else (*i.operands, i.operands[0])

    def compute(a: Any, b: Any, c: Any) -> Any:
        return np.where((a == 0) | (b == 0), single(modes, np.asarray(c).astype(np.float64)), fma(a, b, c))

    return built(replace(i, operands=three), context, Op("f32", ("f32",) * 3, compute))


def _to_integer(towards: Callable[[Any], Any]) -> Function:
    def convert(x: Any) -> Any:
        x = towards(np.asarray(x).astype(np.float64))
        return np.where(np.isnan(x), 0, np.clip(x, -(2.0**31), 2.0**31 - 1)).astype(np.int64).astype(np.int32)

    return convert


def _pair(convert: Callable[[Any], Any]) -> Function:
    def pack(a: Any, b: Any) -> Any:
        low, high = (convert(np.asarray(x)).astype(np.int64) & 0xFFFF for x in (a, b))
        return (low | high << 16).astype(np.uint32)

    return pack


def _norm(low: float, high: float) -> Callable[[Any], Any]:
    """Numbers from -1 or 0 to 1 as integers, rounded to nearest; NaN as 0."""
    return lambda x: np.where(np.isnan(x), 0, np.rint(np.clip(x.astype(np.float64), low / high, 1) * high))


def _short(low: float, high: float) -> Callable[[Any], Any]:
    return lambda x: np.where(np.isnan(x), 0, np.clip(np.trunc(x.astype(np.float64)), low, high))


def _byte(a: Any, where: Any, into: Any) -> Any:
    """A number as one of the bytes of a word. No document says how it is rounded: here to nearest."""
    value = np.where(np.isnan(a), 0, np.clip(np.rint(np.asarray(a).astype(np.float64)), 0, 255)).astype(np.uint32)
    shift = (where & np.uint32(3)) << np.uint32(3)
    return into & ~(np.uint32(0xFF) << shift) | value << shift


_SIGNED, _UNSIGNED = _norm(-32767, 32767), _norm(0, 65535)

_CONVERSIONS: dict[str, Op] = {
    "v_cvt_nearest_i32_f32": Op("i32", ("f32",), _to_integer(lambda x: np.floor(x + 0.5))),
    "v_cvt_floor_i32_f32": Op("i32", ("f32",), _to_integer(np.floor)),
    "v_cvt_pk_i16_f32": Op("b32", ("f32", "f32"), _pair(_short(-32768, 32767))),
    "v_cvt_pk_u16_f32": Op("b32", ("f32", "f32"), _pair(_short(0, 65535))),
    "v_cvt_pk_norm_i16_f32": Op("b32", ("f32", "f32"), _pair(_SIGNED)),
    "v_cvt_pk_norm_u16_f32": Op("b32", ("f32", "f32"), _pair(_UNSIGNED)),
    "v_cvt_pk_norm_i16_f16": Op("b32", ("f16", "f16"), _pair(_SIGNED)),
    "v_cvt_pk_norm_u16_f16": Op("b32", ("f16", "f16"), _pair(_UNSIGNED)),
    "v_cvt_norm_i16_f16": Op("i16", ("f16",), lambda x: _SIGNED(np.asarray(x)).astype(np.int16)),
    "v_cvt_norm_u16_f16": Op("b16", ("f16",), lambda x: _UNSIGNED(np.asarray(x)).astype(np.uint16)),
    "v_cvt_pk_u8_f32": Op("b32", ("f32", "b32", "b32"), _byte),
}


@instruction(*_CONVERSIONS)
def _conversions(i: Instruction, context: Context) -> Run:
    return built(i, context, _CONVERSIONS[i.mnemonic])


# Dot products of halves.


@instruction("v_dot2_f32_f16", "v_dot2_f32_bf16", "v_dot2acc_f32_f16", "v_dot2acc_f32_bf16", updates=True)
def _dot(i: Instruction, context: Context) -> Run:
    """Two products of halves and a single, added exactly and rounded once; no document says how sums are rounded."""
    modes, target = context.modes, i.operands[0]
    sources = (*i.operands[1:3], *(i.operands[3:] or (target,)))
    brain = i.mnemonic.endswith("bf16")

    def parts(x: Any) -> tuple[Any, Any]:
        words = np.asarray(x)
        halves = (words & np.uint32(0xFFFF)).astype(np.uint16), (words >> np.uint32(16)).astype(np.uint16)
        low, high = (formats.of_bfloat16(h) if brain else np.asarray(h).view(np.float16) for h in halves)
        return low.astype(np.float64), high.astype(np.float64)

    def total(a: Any, b: Any, c: Any) -> Any:
        (a0, a1), (b0, b1) = parts(a), parts(b)
        return single(modes, formats.add(formats.add(a0 * b0, a1 * b1), np.asarray(c).astype(np.float64)))

    return built(
        replace(i, operands=(target, *sources), modifiers={}), context, Op("f32", ("b32", "b32", "f32"), total)
    )


# Functions of scalars.


@instruction(*(f"v_s_{name}_{kind}" for name in ("exp", "log", "rcp", "rsq", "sqrt") for kind in ("f32", "f16")))
def _of_scalars(i: Instruction, context: Context) -> Run:
    """What the vector instruction computes, of a scalar, into a scalar."""
    kind = _kind(i)
    context = replace(context, modes=replace(context.modes, keep32=False))
    name = i.mnemonic.removeprefix("v_s_").rpartition("_")[0]
    _, compute = arithmetic(kind, context.modes)[name]
    target, source = i.operands
    write, read = to_scalar(target), scalar(replace(source, negated=False, absolute=False))
    word: Any = np.uint32 if kind == "f32" else np.uint16
    dtype: Any = np.float32 if kind == "f32" else np.float16
    constant = source.kind == "float"

    def run(w: Wave) -> None:
        value = (
            dtype(source.value) if constant else word(read(w) & (0xFFFFFFFF if kind == "f32" else 0xFFFF)).view(dtype)
        )
        value = np.abs(value) if source.absolute else value
        value = -value if source.negated else value
        flushes = context.modes.flushes(kind)
        value = formats.flushed(np.asarray(value)) if flushes else np.asarray(value)
        result = np.asarray(compute(value), dtype).reshape(())
        result = np.asarray(formats.flushed(result) if flushes else result)
        write(w, int(result.view(word)))

    return run
