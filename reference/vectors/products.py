"""OpCooperativeVectorMatrixMulNV and -MulAddNV: the input's conversion (CV-030..CV-034), then the product (CV-018).

Float inputs that float8 does not represent may be rounded or kept as they are, a whole vector alike
(CV-033): both products are computed, and an element may be anything between the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cts.case.model import ComponentType, MulAddOperand, VectorMatrixMul, constant_of, interpretation_of
from cts.case.oracle.expectation import Freedom
from cts.reference.matrices.compute import passed
from cts.reference.matrices.products import exact_products, multiplied_floats
from cts.reference.numeric import conversions, integers
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.expression import hull
from cts.reference.numeric.formats import F64, above, below, lowest_bit, nearest, nearest_even, real, ulp
from cts.reference.numeric.integers import whole
from cts.reference.numeric.rounding import EITHER_ZERO, denormal
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Free, Value, loosened, merged, with_freedom
from cts.reference.vectors.accesses import matrix_extents

_EITHER = "float8 inputs are rounded or kept as they are, whole vectors alike (CV-033)"
#: Sums of integers up to here are exact in float64.
_EXACT = 2.0**53


def multiplied(
    i: VectorMatrixMul, vector: Value, matrix: Value, bias: Value | None, watch: Watch, ieee: bool = False
) -> Value:
    """The result (sets, invocations, 1, M) of a vector (..., 1, n), a matrix (..., M, K) and a bias (..., 1, M).

    The matrix is as memory has it: K x M where the instruction transposes.
    """
    result = i.type.component
    if constant_of(i.transpose):
        matrix = matrix.map(lambda a: np.swapaxes(a, -1, -2))
    readings = inputs(i, vector, watch, ieee)
    first, *others = (_product(reading, matrix, bias, result, ieee) for reading in readings)
    return hull(first, others[0], (_EITHER,), ieee) if others else first


def inputs(i: VectorMatrixMul, vector: Value, watch: Watch, ieee: bool = False) -> tuple[Value, ...]:
    """The input's K components as they are multiplied; two where a device has the choice."""
    reading, source = interpretation_of(i.input_interpretation), _component(vector)
    target = reading.component
    if reading.packed:
        _, k = matrix_extents(i)
        return (unpacked(vector, target, k),)
    if source.is_float and target.is_float:
        return _narrowed(vector, target, watch, ieee)
    if source.is_float:
        return (_saturated_float(vector, target, watch, ieee),)
    read = integers.reinterpreted(vector, conversions.sized(source, MulAddOperand.MatrixBSigned in i.operands))
    return (_from_integer(read, target, watch, ieee) if target.is_float else _saturated(read, target),)


def unpacked(vector: Value, target: ComponentType, k: int) -> Value:
    """CV-034: component 4i + b is byte b of word i, low bits first; surplus bytes are unused."""

    def expanded(a: Any) -> Any:
        return np.repeat(a, 4, axis=-1)[..., :k]

    words = np.ascontiguousarray(vector.bits, np.dtype("<u4"))
    components = Value(target, words.view(np.uint8)[..., :k])
    return components if vector.free is None else loosened(components, expanded(vector.flags) != 0, vector.reasons)


def _narrowed(vector: Value, target: ComponentType, watch: Watch, ieee: bool) -> tuple[Value, ...]:
    """CV-033."""
    if vector.component is target:
        return (passed(vector, ieee),)
    if not target.is_float8:
        return (conversions.float_to_float(vector, target),)
    _check_range(vector, target, watch)
    rounded = nearest_of(vector, target, either_tie=True)
    kept = passed(vector, ieee)
    same = real(target, rounded.bits) == real(_component(vector), vector.bits)
    if vector.free is None and same.all():
        return (rounded,)
    return rounded, kept


def nearest_of(value: Value, target: ComponentType, either_tie: bool = False) -> Value:
    """Floats rounded to nearest, ties to even or to `either_tie`; unbounded ones may be anything.

    Denormals of the wider type may be flushed.
    """
    unbounded, bounds = value.unbounded, value.core
    flags = value.flags
    low, high = (np.where(unbounded, 0.0, bound) for bound in bounds)
    tiny = denormal((low, high), _component(value).format.least)
    low_bits, high_bits = nearest_even(target, low), nearest_even(target, high)
    if either_tie:
        low_bits, high_bits = (
            np.where(_is_tie(target, number), nearest(target, side(target, number)), bits)
            for number, side, bits in ((low, below, low_bits), (high, above, high_bits))
        )
    low, high = real(target, low_bits), real(target, high_bits)
    bits = nearest_even(target, np.where(unbounded, 0.0, real(_component(value), value.bits)))
    flags = np.where(low != high, np.uint8(FREE), np.uint8(0)) | (flags & np.uint8(Freedom.EITHER_ZERO))
    flags = np.where(tiny | (low <= 0) & (high >= 0), flags | np.uint8(Freedom.EITHER_ZERO), flags)
    flags = np.where(flags != 0, flags | np.uint8(FREE), flags)
    flags = np.where(unbounded, np.uint8(FREE | Freedom.ANY), flags).astype(np.uint8)
    # Of two neighbours, each is a multiple of the lesser lowest bit.
    step = np.where((high - low) <= ulp(target, high), np.minimum(lowest_bit(low), lowest_bit(high)), 0.0)
    zero = (EITHER_ZERO,) if (flags & Freedom.EITHER_ZERO).any() else ()
    return with_freedom(target, bits, flags, (low, high), (*value.reasons, *zero), step)


def _is_tie(target: ComponentType, numbers: F64) -> Mask:
    """Numbers half way between two neighbours."""
    low, high = below(target, numbers), above(target, numbers)
    ties: Mask = (low != high) & (numbers - low == high - numbers)
    return ties


def _check_range(vector: Value, target: ComponentType, watch: Watch) -> None:
    """AM-28, AM-29: nothing says what overflow or a NaN becomes."""
    low, high = vector.interval
    greatest = target.format.greatest
    known = (vector.flags & (Freedom.ANY | Freedom.NAN)) == 0
    outside = known & ~((low >= -greatest) & (high <= greatest)) | _nan(vector)
    watch.report("AM-28", outside, f"a NaN or a number beyond {target.value}", f"numbers of at most {greatest:g}")


def _nan(vector: Value) -> Mask:
    """Elements that are sure to be NaN."""
    low, _ = vector.interval
    nan: Mask = (vector.flags & Freedom.NAN != 0) | ((vector.flags == 0) & np.isnan(low))
    return nan


def _saturated_float(vector: Value, target: ComponentType, watch: Watch, ieee: bool) -> Value:
    """CV-031: to the nearest even integer, saturating; infinities too, where they are to be reckoned with (NU-020)."""
    low, high = vector.interval
    nan = _nan(vector)
    watch.report("AM-30", nan, f"a NaN becomes {target.value}", "numbers")
    unbounded, info = vector.unbounded, np.iinfo(target.dtype)
    if ieee:
        unbounded = np.isnan(low) | (vector.flags & np.uint8(Freedom.ANY | Freedom.NAN) != 0)
    ends = [np.clip(np.rint(np.where(unbounded, 0.0, bound)), info.min, info.max) for bound in (low, high)]
    return _integer(target, (ends[0], ends[1]), unbounded, vector.reasons)


def _saturated(vector: Value, target: ComponentType) -> Value:
    """CV-030."""
    info = np.iinfo(target.dtype)
    exact = np.clip(whole(_component(vector), vector.bits), info.min, info.max)
    saturated = Value(target, integers.truncated(target, exact))
    if vector.free is None:
        return saturated
    low, high = (np.clip(bound, info.min, info.max) for bound in vector.interval)
    return _integer(target, (low, high), vector.unbounded, vector.reasons)


def _integer(target: ComponentType, ends: tuple[F64, F64], unbounded: Mask, reasons: tuple[str, ...]) -> Value:
    low, high = ends
    flags = np.where(low != high, np.uint8(FREE), np.uint8(0))
    flags = np.where(unbounded, np.uint8(FREE | Freedom.ANY), flags)
    return with_freedom(target, integers.truncated(target, low.astype(np.int64)), flags, ends, reasons)


def _from_integer(vector: Value, target: ComponentType, watch: Watch, ieee: bool) -> Value:
    """CV-032: to nearest even; beyond the greatest number anything, with `ieee` that or infinity (NU-020)."""
    if target.is_float8:
        _check_range(vector, target, watch)
    unbounded, greatest = vector.unbounded, target.format.greatest
    low, high = vector.interval
    beyond = (high > greatest) | (low < -greatest)
    unbounded = unbounded | (beyond & (not ieee or target.is_float8))
    low, high = (np.where(unbounded, 0.0, bound) for bound in (low, high))
    low_bits, high_bits = nearest_even(target, low), nearest_even(target, high)
    ends = (
        np.where(low < -greatest, -np.inf, real(target, low_bits)),
        np.where(high > greatest, np.inf, real(target, high_bits)),
    )
    flags = np.where(ends[0] != ends[1], np.uint8(FREE), np.uint8(0))
    flags = np.where(unbounded, np.uint8(FREE | Freedom.ANY), flags)
    return with_freedom(target, low_bits, flags, ends, vector.reasons)


def _product(vector: Value, matrix: Value, bias: Value | None, result: ComponentType, ieee: bool) -> Value:
    """One reading's product: all invocations at once where they share the matrix."""
    if bias is None:
        bias = Value(result, np.zeros((1, 1, 1, 1), result.bits_dtype))
    # (..., 1, n) as columns: of one matrix product, or of one product for each invocation.
    ends = (1, -1) if matrix.shape[1] == 1 else (-2, -1)
    column, biases = (v.map(lambda a: np.moveaxis(a, *ends)) for v in (vector, bias))
    if result.is_float:
        product = multiplied_floats(matrix, column, biases, result, ieee)
    else:
        product = _of_integers(matrix, column, biases, result)
    return product.map(lambda a: np.moveaxis(a, -1, ends[0]))


def _of_integers(matrix: Value, vector: Value, bias: Value, result: ComponentType) -> Value:
    """NU-003, AM-32: sums and the bias wrap at the result's width."""
    a, b, c = (whole(_component(v), v.bits) for v in (matrix, vector, bias))
    types = (_component(matrix), _component(vector))
    wrapped = Value(result, integers.truncated(result, exact_products(a, b, types, False) + c))
    if vector.free is None and matrix.free is None:
        return wrapped
    unknown = np.any(vector.unbounded, axis=-2, keepdims=True) | np.any(matrix.flags != 0, axis=-1, keepdims=True)
    low, high = (np.where(vector.unbounded, 0.0, bound) for bound in vector.interval)
    up, down = np.maximum(a, 0).astype(np.float64), np.minimum(a, 0).astype(np.float64)
    least, most = up @ low + down @ high + c, up @ high + down @ low + c
    info, largest = np.iinfo(result.dtype), np.maximum(np.abs(low), np.abs(high))
    apart = np.broadcast_to(np.any(vector.flags != 0, axis=-2, keepdims=True), wrapped.shape)
    unknown = unknown | (apart & ((least < info.min) | (most > info.max) | ((up - down) @ largest > _EXACT)))
    number, _ = wrapped.interval
    bounds = np.where(apart, least, number), np.where(apart, most, number)
    reasons = merged(vector, matrix)
    wrapped = Value(result, wrapped.bits, Free(np.where(apart, np.uint8(FREE), np.uint8(0)), *bounds, reasons))
    return loosened(wrapped, np.broadcast_to(unknown, wrapped.shape), reasons)


def _component(value: Value) -> ComponentType:
    assert value.component is not None
    return value.component
