"""Double precision (RDNA 4 ISA, "Vector ALU Operations").

Sums, products and quotients are rounded to nearest even. Reciprocals and roots, which hardware approximates and code
then improves, are correctly rounded here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from cts.drivers.amd import formats
from cts.drivers.amd.formats import Array
from cts.drivers.amd.isa.vector_alu import Function, Op, built
from cts.drivers.amd.isa.vector_lanes import COMPARED
from cts.drivers.amd.listing import EXEC, Instruction, Operand
from cts.drivers.amd.modes import Modes
from cts.drivers.amd.operands import to_lane_mask, vector
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.machine.problems import Unsupported


def _fma(a: float, b: float, c: float) -> float:
    """The sum a * b + c, rounded once."""
    if not math.isfinite(a) or not math.isfinite(b) or not math.isfinite(c):
        if math.isfinite(a) and math.isfinite(b):  # whose product may be too large for a double
            return c
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:  # zeros have the signs of the additions of zeros
        return float(np.float64(a) * np.float64(b) + np.float64(c)) if not a * b else 0.0
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _each(function: Callable[..., float]) -> Function:
    def compute(*arrays: Any) -> Array:
        rows = np.broadcast_arrays(*map(np.asarray, arrays))
        found: Array = np.array(
            [function(*x) for x in zip(*(r.ravel().tolist() for r in rows), strict=True)], np.float64
        )
        return found.reshape(rows[0].shape)

    return compute


def _larger(a: Any, b: Any) -> Any:
    chosen = np.where((a > b) | ((a == b) & np.signbit(b)), a, b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, chosen))


def _smaller(a: Any, b: Any) -> Any:
    return -_larger(-a, -b)


def _integer(low: int, high: int, dtype: Any) -> Function:
    def convert(x: Any) -> Any:
        x = np.trunc(np.asarray(x))
        return np.where(np.isnan(x), 0, np.clip(x, low, high)).astype(np.int64).astype(dtype)

    return convert


def fraction(x: Any) -> Any:
    """What is left of numbers less their floors; below 1 (RDNA 4 ISA, "V_FRACT_F32")."""
    x = np.asarray(x)
    most = np.nextafter(x.dtype.type(1), x.dtype.type(0))
    return np.minimum(x - np.floor(x), most)


def mantissa(x: Any) -> Any:
    """Numbers scaled to at least 0.5 and below 1; what is not finite, and zeros, as they are."""
    x = np.asarray(x)
    return np.where(np.isfinite(x), np.frexp(x)[0], x).astype(x.dtype)


def exponent(x: Any) -> Any:
    """The power of two that `mantissa` divides by; 0 for infinities, NaNs and zeros."""
    x = np.asarray(x)
    return np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(np.int32)


_TABLE: dict[str, Op] = {
    "v_add_f64": Op("f64", ("f64", "f64"), lambda a, b: a + b),
    "v_mul_f64": Op("f64", ("f64", "f64"), lambda a, b: a * b),
    "v_fma_f64": Op("f64", ("f64", "f64", "f64"), _each(_fma)),
    "v_min_num_f64": Op("f64", ("f64", "f64"), _smaller),
    "v_max_num_f64": Op("f64", ("f64", "f64"), _larger),
    "v_trunc_f64": Op("f64", ("f64",), np.trunc),
    "v_floor_f64": Op("f64", ("f64",), np.floor),
    "v_ceil_f64": Op("f64", ("f64",), np.ceil),
    "v_rndne_f64": Op("f64", ("f64",), np.rint),
    "v_fract_f64": Op("f64", ("f64",), fraction),
    "v_rcp_f64": Op("f64", ("f64",), lambda a: 1.0 / a),
    "v_sqrt_f64": Op("f64", ("f64",), np.sqrt),
    "v_rsq_f64": Op("f64", ("f64",), lambda a: 1.0 / np.sqrt(a)),
    "v_ldexp_f64": Op("f64", ("f64", "i32"), np.ldexp),
    "v_frexp_mant_f64": Op("f64", ("f64",), mantissa),
    "v_frexp_exp_i32_f64": Op("i32", ("f64",), exponent),
    "v_cvt_f64_i32": Op("f64", ("i32",), lambda a: np.asarray(a).astype(np.float64)),
    "v_cvt_f64_u32": Op("f64", ("b32",), lambda a: np.asarray(a).astype(np.float64)),
    "v_cvt_f64_f32": Op("f64", ("f32",), lambda a: np.asarray(a).astype(np.float64)),
    "v_cvt_i32_f64": Op("i32", ("f64",), _integer(-(1 << 31), (1 << 31) - 1, np.int32)),
    "v_cvt_u32_f64": Op("b32", ("f64",), _integer(0, (1 << 32) - 1, np.uint32)),
}

#: Instructions whose results the mode of rounding does not concern.
_EXACT = ("min", "max", "trunc", "floor", "ceil", "rndne", "fract", "frexp", "cvt")


@instruction(*_TABLE)
def _doubles(i: Instruction, context: Context) -> Run:
    if context.modes.round16 != "even" and i.mnemonic.split("_")[1] not in _EXACT:
        raise Unsupported("a rounding mode of double precision other than to nearest")
    return built(i, context, _TABLE[i.mnemonic])


@instruction("v_cvt_f32_f64")
def _narrowed(i: Instruction, context: Context) -> Run:
    rounding = context.modes.round32
    return built(i, context, Op("f32", ("f64",), lambda a: formats.single(np.asarray(a), rounding)))


_COMPARISONS = tuple(how for how in COMPARED if how != "ne")


def _comparison(i: Instruction, sources: tuple[Operand, ...], context: Context) -> Function:
    kept: Modes = replace(context.modes, keep16=True)
    test, (left, right) = COMPARED[i.mnemonic.split("_")[2]], (vector(o, "f64", kept) for o in sources)
    return lambda w: test(left(w), right(w))


@instruction(*(f"v_cmp_{how}_f64" for how in _COMPARISONS))
def _compare(i: Instruction, context: Context) -> Run:
    write, test = to_lane_mask(i.operands[0], context.lanes), _comparison(i, i.operands[1:], context)
    return lambda w: write(w, test(w))


@instruction(*(f"v_cmpx_{how}_f64" for how in _COMPARISONS), outs=0)
def _compare_to_exec(i: Instruction, context: Context) -> Run:
    write, test = to_lane_mask(Operand("sgpr", "exec", EXEC, 2), context.lanes), _comparison(i, i.operands, context)
    return lambda w: write(w, test(w))
