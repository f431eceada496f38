"""Integer arithmetic on values: exact, wrapping at the width of the type (NU-001, NU-004).

Elements whose value is not exact, which come from floats, are bounded where the operation is
monotone and cannot wrap; else nothing is known of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric import intervals
from cts.reference.numeric.arrays import I64, Bits, Mask
from cts.reference.numeric.bounds import decided
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Value, anything, merged, where, with_freedom

_Exact: TypeAlias = Callable[[I64, I64], I64]

_BINARY: dict[str, _Exact] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
}
_BOUNDED: dict[str, Callable[[Interval, Interval], Interval]] = {
    "add": intervals.add,
    "sub": lambda a, b: intervals.add(a, intervals.negate(b)),
    "mul": intervals.mul,
    "min": intervals.minimum,
    "max": intervals.maximum,
}


def whole(component: ComponentType, bits: Bits) -> I64:
    """The integers behind bit patterns."""
    if component.is_signed:
        bits = (
            bits.view(component.dtype) if bits.flags.c_contiguous else np.ascontiguousarray(bits).view(component.dtype)
        )
    return bits.astype(np.int64)


def truncated(component: ComponentType, numbers: I64) -> Bits:
    """The low bits of integers."""
    bits: Bits = numbers.astype(np.uint64).astype(component.bits_dtype)
    return bits


def binary(operation: str, a: Value, b: Value, watch: Watch) -> Value:
    """`a operation b`, of one type; what is undefined is reported to `watch`."""
    component = _component(a)
    x, y = whole(component, a.bits), whole(component, b.bits)
    if operation in ("div", "mod"):
        result = _divided(component, operation, x, y, watch)
    elif operation in ("shl", "shr"):
        result = _shifted(component, operation, a, b, watch)
    else:
        with np.errstate(over="ignore"):
            result = _BINARY[operation](x, y)
    bits = truncated(component, result)
    return (
        _below(component, operation, bits, a, b)
        if operation in ("and", "mod")
        else _with_freedom(component, bits, _BOUNDED.get(operation), a, b)
    )


def _below(component: ComponentType, operation: str, bits: Bits, a: Value, b: Value) -> Value:
    """What OpBitwiseAnd and OpUMod give: at most a known mask, or less than a known divisor, whatever the other is."""
    result = _with_freedom(component, bits, None, a, b)
    if result.free is None:
        return result
    a, b = a.broadcast(bits.shape), b.broadcast(bits.shape)
    ends = [np.where((v.flags == 0) & (whole(component, v.bits) >= 0), v.interval[0], np.inf) for v in (a, b)]
    most = np.minimum(*ends) if operation == "and" else ends[1] - 1
    flags = np.where((result.flags != 0) & np.isfinite(most), np.uint8(FREE), result.flags)
    low, high = result.interval
    bounds = np.where(np.isfinite(most), 0.0, low), np.where(np.isfinite(most), most, high)
    return _rebounded(Value(component, bits), flags, bounds, merged(a, b))


def signed_quotient(component: ComponentType, a: Value, b: Value, watch: Watch) -> Value:
    """OpSDiv: towards zero (NU-004), in the signed type `component` of the operands' width; as the operands' type."""
    x, y = whole(component, a.bits), whole(component, b.bits)
    least = -(1 << (8 * component.size - 1))
    overflow = (x == least) & (y == -1)
    watch.report("NU-004", overflow, f"{least} divided by -1 overflows", "quotients that the type represents")
    magnitude = _divided(component, "div", np.abs(x), np.abs(y), watch)
    bits = truncated(component, np.where((x < 0) != (y < 0), -magnitude, magnitude))
    return _with_freedom(_component(a), bits, None, a, b)


def reinterpreted(a: Value, component: ComponentType) -> Value:
    """The same bits as another integer type of the same width."""
    result = Value(component, a.bits)
    if a.component is component or a.free is None:
        return a if a.component is component else result
    return where(a.flags != 0, anything(component, a.shape, a.reasons), result)


def negated(a: Value) -> Value:
    """OpSNegate."""
    component = _component(a)
    bits = truncated(component, -whole(component, a.bits))
    return _with_freedom(component, bits, lambda x, _: intervals.negate(x), a, a)


def inverted(a: Value) -> Value:
    """OpNot."""
    component = _component(a)
    return _with_freedom(component, ~a.bits, None, a, a)


def absolute(a: Value) -> Value:
    """SAbs: that of the least integer wraps to itself."""
    component = _component(a)
    bits = truncated(component, np.abs(whole(component, a.bits)))
    return _with_freedom(component, bits, lambda x, _: intervals.absolute(x), a, a)


def compare(operation: str, a: Value, b: Value) -> Value:
    """A condition."""
    unknown = (a.flags | b.flags) & Freedom.ANY != 0
    return decided(operation, a.interval, b.interval, unknown, merged(a, b))


def resized(a: Value, target: ComponentType, signed: bool) -> Value:
    """OpSConvert or OpUConvert: extended by the sign or by zeros, or truncated (NU-005)."""
    component = _component(a)
    source = ComponentType(f"{'int' if signed else 'uint'}{8 * component.size}")
    result = Value(target, truncated(target, whole(source, a.bits)))
    if a.free is None:
        return result
    info = np.iinfo(target.dtype)
    unknown = (a.free.flags & Freedom.ANY != 0) | (a.free.lo < info.min) | (a.free.hi > info.max)
    if source.is_signed != component.is_signed:
        unknown |= a.free.flags != 0
    flags = np.where(unknown & (a.free.flags != 0), np.uint8(FREE | Freedom.ANY), a.free.flags)
    return _rebounded(result, flags, (a.free.lo, a.free.hi), a.reasons)


def _divided(component: ComponentType, operation: str, x: I64, y: I64, watch: Watch) -> I64:
    watch.report(
        "NU-004",
        np.broadcast_to(y == 0, np.broadcast_shapes(x.shape, y.shape)),
        "division by 0",
        "divisors that are not 0",
    )
    divisor = np.where(y == 0, 1, y)
    result: I64 = x // divisor if operation == "div" else x % divisor
    return result


def _shifted(component: ComponentType, operation: str, a: Value, b: Value, watch: Watch) -> I64:
    width = 8 * component.size
    by = whole(component, b.bits)
    _, most = b.interval
    outside = (by < 0) | (by >= width) | (b.flags & Freedom.ANY != 0) | (most >= width)
    outside = np.broadcast_to(outside, np.broadcast_shapes(a.shape, b.shape))
    watch.report("TA-073", outside, f"a shift by {width} bits or more", f"0 to {width - 1}")
    by = np.clip(by, 0, width - 1)
    x = whole(component, a.bits)
    return x << by if operation == "shl" else x >> by


def _with_freedom(
    component: ComponentType, bits: Bits, bounded: Callable[[Interval, Interval], Interval] | None, a: Value, b: Value
) -> Value:
    """A result with the freedom that its operands leave."""
    if a.free is None and b.free is None:
        return Value(component, bits)
    a, b = a.broadcast(bits.shape), b.broadcast(bits.shape)
    free = (a.flags | b.flags) != 0
    unknown: Mask = (a.flags | b.flags) & Freedom.ANY != 0
    if bounded is None:
        return where(free, anything(component, bits.shape, merged(a, b)), Value(component, bits))
    info = np.iinfo(component.dtype)
    low, high = bounded(a.interval, b.interval)
    unknown |= (low < info.min) | (high > info.max)
    flags = np.where(free, np.where(unknown, np.uint8(FREE | Freedom.ANY), np.uint8(FREE)), np.uint8(0))
    return _rebounded(Value(component, bits), flags, (low, high), merged(a, b))


def _rebounded(value: Value, flags: Bits, bounds: Interval, reasons: tuple[str, ...]) -> Value:
    """The value with bounds on its free elements; the others keep their own number."""
    number, _ = value.interval
    low, high = (np.where(flags != 0, bound, number) for bound in bounds)
    return with_freedom(value.component, value.bits, flags.astype(np.uint8), (low, high), reasons)


def _component(value: Value) -> ComponentType:
    assert value.component is not None
    return value.component
