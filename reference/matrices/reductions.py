"""OpCooperativeMatrixReduceNV (CM-020..CM-023): what any order of combining may give.

A combine function that is a sum, product, minimum, maximum or bitwise operation, perhaps by way of a
wider type, is recognised in its body; others are evaluated in several orders, which must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from cts.case.model import Combine, ComponentType, Helpers, MatrixShape, ReduceMode, body_of
from cts.case.model import expression as ast
from cts.case.oracle.expectation import Freedom, Policy
from cts.reference.matrices.products import around
from cts.reference.numeric import integers, sums
from cts.reference.numeric.expression import Arguments, call, hull
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.formats import fits, lowest_bit, ulp
from cts.reference.numeric.rounding import operand, rounded
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Free, Value, loosened, where, with_freedom

_ANY_ORDER = ("add", "mul", "min", "max", "and", "or", "xor")
#: How many elements are also combined one after the other, to find functions that are not associative.
_LONGEST_FOLD = 32


@dataclass(frozen=True)
class Reduction:
    """A function, and what it is called with."""

    function: Combine
    floats: Floats
    watch: Watch
    helpers: Helpers = ()


def reduced(source: Value, mode: tuple[ReduceMode, ...], reduction: Reduction) -> Value:
    """The distinct results of (..., R, C): (..., R, 1), (..., 1, C), (..., 1, 1), or (..., R/2, C/2) (CM-022)."""
    *lead, rows, cols = source.shape
    if ReduceMode.Square in mode:
        split = source.map(lambda a: np.moveaxis(a.reshape(*lead, rows // 2, 2, cols // 2, 2), -3, -2))
        terms = split.map(lambda a: a.reshape(*lead, rows // 2, cols // 2, 4))
    elif len(mode) == 2:
        terms = source.map(lambda a: a.reshape(*lead, 1, 1, rows * cols))
    elif mode[0] is ReduceMode.Row:
        terms = source.map(lambda a: a[..., :, None, :])
    else:
        terms = source.map(lambda a: np.swapaxes(a, -1, -2)[..., None, :, :])
    return _combined(terms, reduction)


def filled(results: Value, shape: MatrixShape, first_group: int) -> Value:
    """The whole result matrix: distinct results repeated, those that are not exact as groups of equals."""
    *lead, rows, cols = results.shape
    if rows not in (1, shape.rows) or cols not in (1, shape.cols):  # of a wrong mode alone
        row, col = np.arange(shape.rows)[:, None] % rows, np.arange(shape.cols) % cols
        results, rows, cols = results.map(lambda a: a[..., row, col]), shape.rows, shape.cols
    if results.free is not None and (rows, cols) != (shape.rows, shape.cols):
        numbers = first_group + np.arange(results.bits.size, dtype=np.int64).reshape(results.shape)
        results = replace(results, free=replace(results.free, group=numbers))
    return results.broadcast((*lead, shape.rows, shape.cols))


def operation_of(function: Combine, helpers: Helpers = ()) -> str | None:
    """The associative operation that the body is, perhaps in a wider type; None: it must be tried."""
    body = body_of(function, helpers)
    if body.statements:
        return None
    precision = _precision(function.type)
    inner, names = _unwrapped(body.result, {"x": "x", "y": "y"}, precision)
    if isinstance(inner, ast.Binary) and inner.operation in _ANY_ORDER and _precision(inner.type) >= precision:
        operands = {_named(operand, names, precision) for operand in (inner.a, inner.b)}
        if operands == {"x", "y"}:
            return inner.operation
    return None


def _unwrapped(e: ast.Expression, names: Mapping[str, str], precision: int) -> tuple[ast.Expression, Mapping[str, str]]:
    """What conversions between floats of this precision or more start from, inside of helpers of one expression, too.

    `names` gives for each name there the parameter of the combine function that it stands for.
    """
    while True:
        if isinstance(e, ast.Convert) and _precision(e.a.type) and _precision(e.type) >= precision > 0:
            e = e.a
        elif isinstance(e, ast.Call) and not e.body.statements:
            passed = [_named(a, names, precision) for a in e.arguments]
            names = {p: name for p, name in zip(e.parameters, passed, strict=True) if name is not None}
            e = e.body.result
        else:
            return e, names


def _named(e: ast.Expression, names: Mapping[str, str], precision: int) -> str | None:
    """The parameter of the combine function that an expression is; None: it is something else."""
    inner, names = _unwrapped(e, names, precision)
    return names.get(inner.name) if isinstance(inner, ast.Name) else None


def _precision(t: ast.ValueType) -> int:
    return t.format.precision if isinstance(t, ComponentType) and t.is_float else 0


def _combined(terms: Value, reduction: Reduction) -> Value:
    """The terms (..., n) as one."""
    component = reduction.function.type
    operation = operation_of(reduction.function, reduction.helpers)
    if terms.shape[-1] == 1:
        return terms.map(lambda a: a[..., 0])
    if operation is None:
        return _tried(terms, reduction)
    if not component.is_float:
        return _tree(terms, lambda x, y: integers.binary(operation, x, y, reduction.watch))
    if operation == "add":
        return _sum(terms, reduction.floats.ieee)
    if operation == "mul":
        return _product(terms)
    floats = reduction.floats
    if not component.is_ieee:
        # Minima and maxima round nothing, so they are the same in any program.
        floats = Floats(loose=False, ieee=floats.ieee)
    extreme = _tree(terms, floats.min if operation == "min" else floats.max)
    return _any_but_nan(extreme, terms) if floats.ieee else extreme


def _any_but_nan(extreme: Value, terms: Value) -> Value:
    """Minima and maxima, any of the terms or NaN where one of these may be NaN: it depends on the order (NU-025)."""
    low, high = terms.core
    nan = np.isnan(low) | (terms.flags & Freedom.NAN != 0)
    some = nan.any(axis=-1)
    if not some.any():
        return extreme
    lo, hi = (np.where(np.isnan(low), side, bound) for side, bound in ((np.inf, low), (-np.inf, high)))
    lo, hi = lo.min(axis=-1), hi.max(axis=-1)
    alone = lo > hi
    bounds = (np.where(alone, np.nan, bound) for bound in (lo, hi))
    also = np.bitwise_or.reduce(terms.flags & np.uint8(Freedom.ANY | Freedom.EITHER_ZERO), axis=-1)
    also = np.where((lo <= 0) & (hi >= 0), also | np.uint8(Freedom.EITHER_ZERO), also)
    low, high = bounds
    reason = "a NaN among the terms of a minimum or maximum (NU-025)"
    free = Free((also | np.uint8(FREE | Freedom.NAN)).astype(np.uint8), low, high, (*extreme.reasons, reason))
    return where(some, Value(extreme.component, extreme.bits, free), extreme)


def _tree(terms: Value, combine: Callable[[Value, Value], Value]) -> Value:
    """Neighbours combined, then neighbours of those, and so on; an odd one is left for the next round."""
    while (n := terms.shape[-1]) > 1:
        pairs = combine(terms.map(lambda a: a[..., 0 : n - 1 : 2]), terms.map(lambda a: a[..., 1:n:2]))
        if n % 2:
            last = terms.map(lambda a: a[..., -1:])
            pairs = _joined(pairs, last)
        terms = pairs
    return terms.map(lambda a: a[..., 0])


def _joined(a: Value, b: Value) -> Value:
    """Both, one after the other, along the last axis."""
    bits = np.concatenate([a.bits, b.bits], axis=-1)
    if a.free is None and b.free is None:
        return Value(a.component, bits)
    (a_lo, a_hi), (b_lo, b_hi) = a.core, b.core
    free = Free(
        np.concatenate([a.flags, b.flags], axis=-1),
        np.concatenate([a_lo, b_lo], axis=-1),
        np.concatenate([a_hi, b_hi], axis=-1),
        tuple(dict.fromkeys((*a.reasons, *b.reasons))),
    )
    return Value(a.component, bits, free)


def _sum(terms: Value, ieee: bool) -> Value:
    """CM-023: exact in any order, or within the bound for so many terms; with `ieee` infinities and NaNs (NU-023)."""
    component = terms.component
    assert component is not None
    fmt, count = component.format, terms.shape[-1] - 1
    (low, high), unbounded = operand(terms)
    magnitude = np.maximum(np.abs(low), np.abs(high)).sum(axis=-1)
    overflows = magnitude > fmt.greatest
    unknown = unbounded.any(axis=-1) | overflows
    quantum = np.where(low == high, lowest_bit(low), 0.0).min(axis=-1)
    exact = fits(magnitude, quantum, fmt, fmt.precision)
    total = (low.sum(axis=-1), high.sum(axis=-1))
    if exact.all():
        summed = rounded(component, (total[0], total[0]), unknown, terms.reasons)
    else:
        bounds = around(total, magnitude, count, fmt.precision, fmt, exact)
        reason = Policy(f"the order of combining is free (CM-023), gamma_{count} at {component.value}")
        summed = rounded(component, bounds, unknown, (*terms.reasons, reason))
    if not ieee or not unbounded.any():
        return summed
    certain, possible = (sums.gathered(k) for k in sums.kinds(terms))
    return sums.resolved(summed, certain, possible, overflows)


def _product(terms: Value) -> Value:
    """CM-023: exact where the product of all significands fits, else within the relative bound."""
    component = terms.component
    assert component is not None
    fmt, count = component.format, terms.shape[-1] - 1
    (low, high), unbounded = operand(terms)
    point = low == high
    quantum = lowest_bit(low)
    odd = np.where(point & (low != 0), np.abs(low) / quantum, 1.0).prod(axis=-1)
    sizes = np.log2(np.where(low == 0, 1.0, np.maximum(np.abs(low), np.abs(high))))
    # Partial products in any order lie between these powers of two.
    smallest, largest = np.minimum(sizes, 0).sum(axis=-1), np.maximum(sizes, 0).sum(axis=-1)
    within = (largest < np.log2(fmt.greatest)) & (smallest > np.log2(fmt.least))
    product = np.where(point, low, 1.0).prod(axis=-1)
    exact = (odd <= 2.0**fmt.precision) & point.all(axis=-1) & within
    unknown = unbounded.any(axis=-1) | ~within | ~point.all(axis=-1)
    unit = count * fmt.unit
    growth = unit / (1 - unit) if unit < 0.5 else np.inf
    slack = np.multiply(np.abs(product), growth, out=np.zeros(product.shape), where=~(exact | unknown))
    product = np.where(unknown, 0.0, product)
    reason = Policy(f"the order of combining is free (CM-023), gamma_{count} at {component.value}")
    return rounded(component, (product - slack, product + slack), unknown, (*terms.reasons, reason))


def _tried(terms: Value, reduction: Reduction) -> Value:
    """A function of unknown nature: several orders and both orders of arguments must give the same.

    Where floats round on the way, orders may differ by so many roundings.
    """
    body = body_of(reduction.function, reduction.helpers)

    def forward(x: Value, y: Value) -> Value:
        combined = call(body, Arguments({"x": x, "y": y}), reduction.floats, reduction.watch).stored
        return combined.broadcast(np.broadcast_shapes(x.shape, y.shape))  # the body may be a constant

    def backward(x: Value, y: Value) -> Value:
        return forward(y, x)

    component = reduction.function.type
    n = terms.shape[-1]
    shape = terms.shape[:-1]
    halves = np.argsort(np.arange(n) % max(1, n // 2), kind="stable")
    # Reversed and with swapped arguments at once would be the first again.
    results = [_tree(terms, forward), _tree(terms, backward), _tree(terms.map(lambda a: a[..., halves]), forward)]
    if n <= _LONGEST_FOLD:
        fold = terms.map(lambda a: a[..., 0])
        for i in range(1, n):
            fold = forward(fold, terms.map(lambda a: a[..., i]))  # noqa: B023
        results.append(fold)
    results = [r.broadcast(shape) for r in results]
    first = combined = results[0]
    for other in results[1:]:
        (low, high), (other_low, other_high) = first.interval, other.interval
        with np.errstate(invalid="ignore"):
            apart = (other_high < low) | (high < other_low)
        certain = (first.flags | other.flags) == 0
        apart = np.where(certain, first.bits != other.bits, apart)
        what = "the combine function gives different results in different orders"
        reduction.watch.report("CM-023", apart, what, "a commutative and associative function, on this data")
        combined = hull(combined, other, (), reduction.floats.ieee)
    if component.is_float and reduction.floats.ieee:
        # Orders that were not tried may lose a NaN, overflow, or give the other zero.
        combined = loosened(combined, terms.unbounded.any(axis=-1) | combined.unbounded, combined.reasons)
        low, high = combined.core
        zero = (low <= 0) & (high >= 0)
        flags = np.where(zero, combined.flags | np.uint8(FREE | Freedom.EITHER_ZERO), combined.flags)
        combined = with_freedom(component, combined.bits, flags.astype(np.uint8), (low, high), combined.reasons)
    return _widened(combined, n) if combined.free is not None else combined


def _widened(result: Value, n: int) -> Value:
    """Results that are not exact, give or take a rounding for each of n calls: orders that were not tried."""
    component, free = result.component, result.free
    assert component is not None and free is not None
    if not component.is_float:
        return result
    moved = free.lo != free.hi
    slack = np.where(moved, n * (ulp(component, np.maximum(np.abs(free.lo), np.abs(free.hi))) + (free.hi - free.lo)), 0)
    reason = Policy(f"the order of combining is free (CM-023), {n} calls that round")
    reasons = (*free.reasons, reason)
    free = replace(free, lo=free.lo - slack, hi=free.hi + slack, reasons=reasons, step=None, placed=False)
    return replace(result, free=free)
