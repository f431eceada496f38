"""Evaluation of rewritten expressions in their component types, by NumPy alone.

Every node has three results: the least and the greatest that any choice of roundings in the tree leaves, both of
which some choices do give, and one of choices at random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tests.adversary.expressions import INTEGERS, Node

F64: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Triple: TypeAlias = tuple[F64, F64, F64]

_NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in ("float16", "float32", *INTEGERS)} | {
    name: np.dtype(getattr(ml_dtypes, name)) for name in _NARROW
}
#: Significand bits, and the exponent of the least normal number.
FORMATS = {
    "float16": (11, -14),
    "float32": (24, -126),
    "bfloat16": (8, -126),
    "float8_e4m3fn": (4, -6),
    "float8_e5m2": (3, -14),
}
#: Of the formats that do not overflow to infinity as IEEE 754 says.
GREATEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}
#: With this and a rounding to nearest a product is within the 2.5 ULP of a quotient.
RECIPROCAL_ULP = 0.75
EXP_ULP = {"float16": 1.0, "float32": 3.0}


@dataclass(frozen=True)
class Choices:
    """What an implementation does in one rewritten tree.

    `rounding` is "either", "nearest" or "zero", by type; `flush_in` and `flush_out` say whether denormal operands and
    results become zeros. `unrounded` are operations whose result is kept as it is, `loose` conversions, too.
    """

    rounding: Mapping[str, str]
    flush_in: bool
    flush_out: bool
    unrounded: float = 0.0
    loose_conversions: bool = False


class Evaluation:
    """One rewritten tree, as one implementation computes it."""

    def __init__(self, leaves: Sequence[F64], choices: Choices, rng: np.random.Generator) -> None:
        self.leaves = leaves
        self.choices = choices
        self.rng = rng
        self.known: dict[Node, Triple] = {}
        self.repeated = False
        #: Elements that were divided by what may be zero.
        self.unjudged = np.zeros(leaves[0].shape, bool)

    def value(self, node: Node) -> Triple:
        """The results of a node. What is computed twice is the same both times: then some choice stands for all."""
        if node not in self.known:
            self.known[node] = self._value(node)
        elif node.args and not np.array_equal(*self.known[node][:2], equal_nan=True):
            self.repeated = True
        return self.known[node]

    def _value(self, node: Node) -> Triple:
        if node.op == "leaf":
            return (self.leaves[node.leaf],) * 3
        if node.op == "constant":
            return (np.full(self.leaves[0].shape, node.value),) * 3
        args = [self.value(a) for a in node.args]
        if node.type in INTEGERS:
            return (wrapped(node, [a[2] for a in args]),) * 3
        with np.errstate(all="ignore"):
            if node.op == "convert":
                return self._converted(node, args[0])
            if self.choices.flush_in:
                args = [self._each(a, lambda x: flushed(node.type, x)) for a in args]
            return self._operated(node, args)

    def _operated(self, node: Node, args: list[Triple]) -> Triple:
        match node.op:
            case "neg":
                low, high, some = args[0]
                result = -high, -low, -some
            case "abs":
                low, high, some = args[0]
                inside = (low <= 0) & (high >= 0)
                result = (
                    np.where(inside, 0.0, np.minimum(abs(low), abs(high))),
                    np.maximum(abs(low), abs(high)),
                    abs(some),
                )
            case "min" | "max":
                sign = 1 if node.op == "min" else -1
                low, high, some = (sign * _minimum(sign * a, sign * b) for a, b in zip(*args, strict=True))
                result = low, high, some
            case "add":
                return self._rounded(node, *(_sum(a, b) for a, b in zip(*args, strict=True)))
            case "sub":
                (low, high, some), (b_low, b_high, b_some) = args
                return self._rounded(node, _sum(low, -b_high), _sum(high, -b_low), _sum(some, -b_some))
            case "mul":
                low, high = _corners(args[0], args[1], lambda x, y: x * y)
                return self._rounded(node, *((v, np.zeros_like(v)) for v in (low, high, args[0][2] * args[1][2])))
            case "fma":
                # The product may be rounded or not.
                product = self._product(node, args)
                return self._rounded(node, *(_sum(a, b) for a, b in zip(product, args[2], strict=True)))
            case "div":
                (y_low, y_high, y_some) = args[1]
                low, high = _corners(args[0], args[1], lambda x, y: x / y)
                self.unjudged |= (y_low <= 0) & (y_high >= 0)
                return self._within_ulps(node, low, high, args[0][2] / y_some, 2.5)
            case "reciprocal":
                self.unjudged |= (args[0][0] <= 0) & (args[0][1] >= 0)
                low, high = 1 / args[0][1], 1 / args[0][0]
                return self._within_ulps(node, low, high, 1 / args[0][2], RECIPROCAL_ULP)
            case "exp":
                low, high, some = (np.exp(a) for a in args[0])
                self.unjudged |= ~(high <= np.finfo(DTYPES[node.type]).max)
                low_ulp, high_ulp, some_ulp = (EXP_ULP[node.type] + 2 * abs(a) for a in args[0])
                return self._within_ulps(node, low, high, some, (low_ulp, high_ulp, some_ulp))
            case _:
                raise AssertionError(node.op)
        return self._flushed_result(node.type, result)

    def _product(self, node: Node, args: list[Triple]) -> Triple:
        low, high = _corners(args[0], args[1], lambda x, y: x * y)
        some = args[0][2] * args[1][2]
        if self.rng.random() < 0.5:
            return low, high, some
        return self._rounded(Node("mul", node.type), *((v, np.zeros_like(v)) for v in (low, high, some)))

    def _rounded(self, node: Node, low: tuple[F64, F64], high: tuple[F64, F64], some: tuple[F64, F64]) -> Triple:
        """Results, each with what float64 leaves of it, rounded once."""
        if self.rng.random() < self.choices.unrounded:
            return low[0], high[0], some[0]
        mode = self.choices.rounding.get(node.type, "either")
        if any(a.op == "reciprocal" for a in node.args):
            mode = "nearest"
        if mode == "either":
            up = self.rng.random(some[0].shape) < 0.5
            result = (
                rounded(node.type, *low, up=False),
                rounded(node.type, *high, up=True),
                np.where(up, rounded(node.type, *some, up=True), rounded(node.type, *some, up=False)),
            )
        else:
            result = (
                directed(node.type, *low, mode),
                directed(node.type, *high, mode),
                directed(node.type, *some, mode),
            )
        return self._flushed_result(node.type, result)

    def _within_ulps(self, node: Node, low: F64, high: F64, some: F64, ulps: float | Triple) -> Triple:
        """Any number of the type within so many ULP of the exact one."""
        if self.choices.unrounded and self.rng.random() < self.choices.unrounded:
            return low, high, some
        down, up, mid = ulps if isinstance(ulps, tuple) else (ulps, ulps, ulps)
        zero = np.zeros_like(some)
        error = (2 * self.rng.random(some.shape) - 1) * mid * least_ulp(node.type, some)
        # A quotient that is zero is a zero.
        low = np.where(low == 0, low, rounded(node.type, low - down * least_ulp(node.type, low), zero, up=True))
        high = np.where(high == 0, high, rounded(node.type, high + up * least_ulp(node.type, high), zero, up=False))
        # Towards the exact number, so that it stays within the bound; or that itself.
        within = rounded(node.type, some + error, zero, up=False)
        within = np.where(abs(within - some) <= abs(error), within, rounded(node.type, some + error, zero, up=True))
        within = np.where(
            abs(within - some) <= mid * least_ulp(node.type, some), within, directed(node.type, some, zero, "nearest")
        )
        within = np.where(some == 0, some, within)
        return self._flushed_result(node.type, (np.minimum(low, within), np.maximum(high, within), within))

    def _converted(self, node: Node, value: Triple) -> Triple:
        source = node.args[0].type
        if node.type.startswith("float8"):
            self.unjudged |= ~(np.maximum(abs(value[0]), abs(value[1])) <= GREATEST[node.type])
        loose = self.choices.loose_conversions and self.rng.random() < 0.5
        if loose and source in FORMATS:
            return value
        if self.choices.flush_in and source in FORMATS:
            value = self._each(value, lambda x: flushed(source, x))
        zero = np.zeros_like(value[0])
        return self._rounded(node, *((v, zero) for v in value))

    def _flushed_result(self, type_: str, result: Sequence[F64]) -> Triple:
        low, high, some = result
        if self.choices.flush_out:
            return flushed(type_, low), flushed(type_, high), flushed(type_, some)
        return low, high, some

    @staticmethod
    def _each(value: Triple, f: Callable[[F64], F64]) -> Triple:
        low, high, some = value
        if low is high is some:
            return (f(low),) * 3
        return f(low), f(high), f(some)


def _sum(x: F64, y: F64) -> tuple[F64, F64]:
    """The float64 sum, and its exact error."""
    total = x + y
    part = total - x
    error = (x - (total - part)) + (y - part)
    return total, np.where(np.isfinite(error), error, 0.0)


def _minimum(a: F64, b: F64) -> F64:
    """The lesser, -0 less than +0."""
    first = (a < b) | ((a == b) & np.signbit(a)) | np.isnan(a)
    return np.where(first, a, b)


def _corners(a: Triple, b: Triple, f: Callable[[F64, F64], F64]) -> tuple[F64, F64]:
    corners = [f(x, y) for x in a[:2] for y in b[:2]]
    return np.minimum.reduce(corners), np.maximum.reduce(corners)


def wrapped(node: Node, args: Sequence[F64]) -> F64:
    """An operation on integers, modulo 2^width."""
    whole = [a.astype(np.int64) for a in args]
    results: dict[str, Callable[..., npt.NDArray[np.int64]]] = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "fma": lambda a, b, c: a * b + c,
    }  # fmt: skip
    with np.errstate(over="ignore"):
        number = results[node.op](*whole).astype(DTYPES[node.type]).astype(np.float64)
    return np.asarray(number)


def cast(type_: str, x: F64) -> F64:
    """To nearest even, as NumPy does it."""
    return x.astype(DTYPES[type_]).astype(np.float64)


def directed(type_: str, x: F64, error: F64, mode: str) -> F64:
    """Rounded to nearest even, or towards zero."""
    if mode == "zero":
        return np.where(x >= 0, rounded(type_, x, error, up=False), rounded(type_, x, error, up=True))
    # float64 has rounded once: where that made a tie, the error says to which side it is none.
    low, high = rounded(type_, x, error, up=False), rounded(type_, x, error, up=True)
    result = cast(type_, x)
    tie = (low != high) & ((x - low) == (high - x)) & (error != 0)
    return np.where(tie, np.where(error > 0, high, low), result)


def rounded(type_: str, x: F64, error: F64, *, up: bool) -> F64:
    """The neighbour of x + error in a direction; infinity beyond the greatest number."""
    y = cast(type_, x)
    above, below = (y < x) | ((y == x) & (error > 0)), (y > x) | ((y == x) & (error < 0))
    wrong = above if up else below
    if not wrong.any():
        return y
    return np.where(wrong, _next(type_, y, up), y)


def _next(type_: str, y: F64, up: bool) -> F64:
    narrow = y.astype(DTYPES[type_])
    width = narrow.dtype.itemsize * 8
    bits = narrow.view(f"u{width // 8}").astype(np.int64)
    sign = 1 << width - 1
    order = np.where(bits & sign, -(bits & sign - 1), bits)
    order = order + (1 if up else -1)
    bits = np.where(order < 0, -order | sign, order)
    return bits.astype(f"u{width // 8}").view(DTYPES[type_]).astype(np.float64)


def flushed(type_: str, x: F64) -> F64:
    """Denormals as zeros."""
    least = 2.0 ** FORMATS[type_][1]
    return np.where(abs(x) < least, np.copysign(0.0, x), x)


def least_ulp(type_: str, x: F64) -> F64:
    """Vulkan's ulp(x): the least distance of two numbers of the type with x between or at them."""
    precision, least = FORMATS[type_]
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))
    exponent = np.where(mantissa == 0, least, exponent - (abs(mantissa) == 0.5))
    spacing: F64 = np.ldexp(1.0, np.maximum(exponent, least + 1) - precision)
    return spacing
