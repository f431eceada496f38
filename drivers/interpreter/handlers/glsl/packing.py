"""Packing components into the bits of a word and back, and finding bits."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.handlers.arithmetic import signed
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Pure, glsl, glsl_typed
from cts.drivers.interpreter.values import Array


def _word(parts: Array) -> Array:
    """The components (lanes, n) side by side, the first in the least significant bits: (lanes,)."""
    word: Array = np.ascontiguousarray(parts).view(f"u{parts.dtype.itemsize * parts.shape[1]}")[:, 0]
    return word


def _parts(word: Array, dtype: str) -> Array:
    """A word's bits (lanes,) as components (lanes, n), the least significant first."""
    return np.ascontiguousarray(word)[:, None].view(dtype)


def _scaled(v: Array, low: float, scale: float) -> Array:
    """Components clamped to `low` .. 1, times `scale`, to the nearest integer; NaN gives 0."""
    wide = v.astype(np.float64)
    return np.rint(np.clip(np.where(np.isnan(wide), 0.0, wide), low, 1.0) * scale)


@glsl("PackSnorm4x8")
def pack_snorm_4x8(v: Array) -> Array:
    return _word(_scaled(v, -1.0, 127.0).astype(np.int8))


@glsl("PackUnorm4x8")
def pack_unorm_4x8(v: Array) -> Array:
    return _word(_scaled(v, 0.0, 255.0).astype(np.uint8))


@glsl("PackSnorm2x16")
def pack_snorm_2x16(v: Array) -> Array:
    return _word(_scaled(v, -1.0, 32767.0).astype(np.int16))


@glsl("PackUnorm2x16")
def pack_unorm_2x16(v: Array) -> Array:
    return _word(_scaled(v, 0.0, 65535.0).astype(np.uint16))


@glsl("PackHalf2x16")
def pack_half_2x16(v: Array) -> Array:
    return _word(v.astype(np.float16))


@glsl("PackDouble2x32")
def pack_double_2x32(v: Array) -> Array:
    return _word(v).view(np.float64)


@glsl("UnpackSnorm4x8")
def unpack_snorm_4x8(p: Array) -> Array:
    return np.maximum(_parts(p, "i1") / np.float32(127), np.float32(-1))


@glsl("UnpackUnorm4x8")
def unpack_unorm_4x8(p: Array) -> Array:
    return _parts(p, "u1") / np.float32(255)


@glsl("UnpackSnorm2x16")
def unpack_snorm_2x16(p: Array) -> Array:
    return np.maximum(_parts(p, "i2") / np.float32(32767), np.float32(-1))


@glsl("UnpackUnorm2x16")
def unpack_unorm_2x16(p: Array) -> Array:
    return _parts(p, "u2") / np.float32(65535)


@glsl("UnpackHalf2x16")
def unpack_half_2x16(p: Array) -> Array:
    return _parts(p, "f2").astype(np.float32)


@glsl("UnpackDouble2x32")
def unpack_double_2x32(v: Array) -> Array:
    return _parts(v, "u4")


def _integer(d: Declarations, i: Instruction) -> ty.DType:
    dtype = ty.dense_dtype(d.result_type(i))
    if dtype is None or dtype.kind != "u":
        raise Malformed("the result type must be of integers")
    return dtype


@glsl_typed("FindILsb")
def find_i_lsb(d: Declarations, i: Instruction) -> Pure:
    """-1 where there is no bit."""
    dtype = _integer(d, i)

    def find(v: Array) -> Array:
        below = (v & (~v + v.dtype.type(1))) - v.dtype.type(1)
        return np.where(v == 0, np.int16(-1), np.bitwise_count(below)).astype(dtype)

    return find


def _highest(v: Array) -> Array:
    """The number of the highest bit set, -1 if no bit is set: a count of bits (uint8) less one, as int16."""
    shift = 1
    while shift < v.dtype.itemsize * 8:
        v = v | v >> v.dtype.type(shift)
        shift *= 2
    return np.bitwise_count(v).astype(np.int16) - np.int16(1)


@glsl_typed("FindUMsb")
def find_u_msb(d: Declarations, i: Instruction) -> Pure:
    dtype = _integer(d, i)
    return lambda v: _highest(v).astype(dtype)


@glsl_typed("FindSMsb")
def find_s_msb(d: Declarations, i: Instruction) -> Pure:
    """Of a negative number the highest bit that is 0."""
    dtype = _integer(d, i)
    return lambda v: _highest(np.where(signed(v) < 0, ~v, v)).astype(dtype)
