"""Conversions between number types, and bit casts."""

from __future__ import annotations

import math

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.conversions import CONVERSIONS, conversion
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.microscaling import extraction, microscaling
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Pure, pure, typed
from cts.drivers.interpreter.values import Array


def _target(d: Declarations, i: Instruction) -> ty.DType:
    """The dtype of the result's components."""
    dtype = ty.dense_dtype(d.result_type(i))
    if dtype is None:
        raise Malformed("the result type must be numeric")
    return dtype


@typed(*CONVERSIONS)
def convert(d: Declarations, i: Instruction) -> Pure:
    return conversion(d, i)


@pure("OpQuantizeToF16")
def quantize_to_f16(a: Array) -> Array:
    """Through float16; results too small for a normal number become zeros of the same sign."""
    narrow = a.astype(np.float16)
    small = np.abs(narrow) < np.finfo(np.float16).smallest_normal
    return np.where(small, np.copysign(np.float16(0), narrow), narrow).astype(np.float32)


@typed("OpBitcast")
def bitcast(d: Declarations, i: Instruction) -> Pure:
    """Between types of equal total width; physical pointers cast like 64-bit integers."""
    dtype = _target(d, i)
    shape = ty.dense_shape(d.result_type(i))
    if len(shape) > 1:
        raise Malformed("OpBitcast makes scalars, vectors and pointers only")
    if microscaling(d.type(i.id(0))) or microscaling(d.result_type(i)):
        return _of_fields(d.type(i.id(0)), d.result_type(i), dtype)

    def cast(a: Array) -> Array:
        if a.dtype.itemsize == dtype.itemsize:
            return a.view(dtype)
        flat = np.ascontiguousarray(a.reshape(a.shape[0], -1)).view(dtype)
        return flat.reshape(a.shape[0], *shape)

    return cast


def _of_fields(source: ty.Type, target: ty.Type, dtype: ty.DType) -> Pure:
    """OpBitcast between components of which some have 4 or 6 bits: those with the lower numbers have the lower bits."""
    counts = [math.prod(ty.dense_shape(t)) for t in (source, target)]
    widths = [ty.component_of(t).width for t in (source, target)]
    if counts[0] * widths[0] != counts[1] * widths[1] or max(counts) % min(counts):
        raise Malformed(f"OpBitcast makes {counts[1]} x {widths[1]} bits of {counts[0]} x {widths[0]} (MT-016)")

    def cast(a: Array) -> Array:
        lanes = a.shape[0]
        held = np.unpackbits(np.ascontiguousarray(a).reshape(lanes, -1).view(np.uint8), axis=1, bitorder="little")
        bits = held.reshape(lanes, counts[0], -1)[..., : widths[0]].reshape(lanes, counts[1], widths[1])
        made: Array = np.packbits(bits, axis=2, bitorder="little").view(dtype)
        return made.reshape(lanes, *ty.dense_shape(target))

    return cast


@typed("OpBitcastExtractEXT")
def bitcast_extract(d: Declarations, i: Instruction) -> Pure:
    """MT-010: the offset of each lane holds for all of its components."""
    target = extraction(d.type(i.id(0)), d.type(i.id(1)), d.result_type(i))
    mask = (1 << target.width) - 1

    def extract(a: Array, offset: Array) -> Array:
        at = offset.astype(np.uint64).reshape(-1, *(1,) * (a.ndim - 1))
        return ((a >> at) & np.uint64(mask)).astype(np.uint8).view(target.dtype)

    return extract


@typed("OpConvertUToPtr")
def u_to_ptr(d: Declarations, i: Instruction) -> Pure:
    return lambda a: a.astype(np.int64)


@typed("OpConvertPtrToU")
def ptr_to_u(d: Declarations, i: Instruction) -> Pure:
    dtype = _target(d, i)
    return lambda a: a.astype(dtype)
