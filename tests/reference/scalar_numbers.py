"""Numbers one at a time, as Python integers and fractions: one legal choice wherever the rules leave several.

Deliberately nothing like the oracle: no NumPy, no intervals. An element is an int, its bit pattern,
or a Fraction, a float result that an undecorated program has not rounded yet.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from random import Random
from types import MappingProxyType
from typing import Any

from cts.case.model import ComponentType as T
from cts.case.model import FloatMode as M
from tests.reference import scalar_ieee
from tests.reference.scalar_ieee import NAN, Special, infinity, number

Number = int | Fraction


class Undefined(Exception):
    """The rule that an operation breaks."""


@dataclass(frozen=True)
class F:
    """A float format: exponent and mantissa bits; whether it has infinities."""

    exponent: int
    mantissa: int
    infinite: bool = True

    @cached_property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @cached_property
    def width(self) -> int:
        return 1 + self.exponent + self.mantissa

    @cached_property
    def least_exponent(self) -> int:
        return 1 - self.bias

    @cached_property
    def greatest(self) -> Fraction:
        top = (1 << self.exponent) - (2 if self.infinite else 1)
        digits = (2 << self.mantissa) - (1 if self.infinite else 2)
        return Fraction(digits) * two(top - self.bias - self.mantissa)


FORMATS = {
    T.float16: F(5, 10),
    T.float32: F(8, 23),
    T.bfloat16: F(8, 7),
    T.float8_e4m3fn: F(4, 3, infinite=False),
    T.float8_e5m2: F(5, 2),
}
FLOAT8 = (T.float8_e4m3fn, T.float8_e5m2)


@cache
def two(e: int) -> Fraction:
    """2^e."""
    return Fraction(2) ** e


@cache
def width(t: T) -> int:
    return FORMATS[t].width if t in FORMATS else int(t.value.lstrip("uint"))


def integer(t: T, bits: int) -> int:
    w = width(t)
    return bits - (1 << w) if t.value.startswith("int") and bits >> (w - 1) else bits


@lru_cache(maxsize=1 << 17, typed=True)  # bits 1 and the number 1 are equal, but not alike
def real(t: T, x: Number) -> Fraction | None:
    """The number behind an element of a float type; None for a NaN or infinity."""
    if isinstance(x, Fraction):
        return x
    f = FORMATS[t]
    digits, power = x & ((1 << f.mantissa) - 1), x >> f.mantissa & ((1 << f.exponent) - 1)
    sign = -1 if x >> (f.width - 1) else 1
    top = (1 << f.exponent) - 1
    if power == top and (f.infinite or digits == (1 << f.mantissa) - 1):
        return None
    if power == 0:
        return sign * Fraction(digits) * two(f.least_exponent - f.mantissa)
    return sign * Fraction(digits + (1 << f.mantissa)) * two(power - f.bias - f.mantissa)


@lru_cache(maxsize=1 << 17)
def denormal(t: T, x: Fraction | None) -> bool:
    return bool(x) and x is not None and abs(x) < two(FORMATS[t].least_exponent)


def floor_log2(x: Fraction) -> int:
    """For x > 0."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if two(e) <= x else e - 1


def neighbours(f: F, x: Fraction) -> tuple[int, int]:
    """The magnitudes' bit patterns around |x|, which is within the finite numbers."""
    size = abs(x)
    e = max(floor_log2(size) if size else f.least_exponent, f.least_exponent)
    steps = size / two(e - f.mantissa)
    low, high = math.floor(steps), math.ceil(steps)
    base = (e - f.least_exponent) << f.mantissa
    return base + low, base + high


class Choices:
    """Arithmetic that takes one of the allowed results at random, and may leave results unrounded where `loose`.

    With `ieee`, infinities, NaNs and signs of zero are those of IEEE 754 (NU-020). `modes` are execution modes by
    type; they are heeded where they bind and where they do not, which is one of the choices there.
    """

    def __init__(
        self, seed: int, loose: bool, ieee: bool = False, modes: Mapping[T, Collection[M]] = MappingProxyType({})
    ) -> None:
        self.random = Random(seed)
        self.loose = loose
        self._ieee_everywhere = ieee
        self._modes = MappingProxyType({}) if loose else modes

    def has(self, mode: M, t: T) -> bool:
        return mode in self._modes.get(t, ())

    def ieee(self, t: T) -> bool:
        return self._ieee_everywhere or self.has(M.SignedZeroInfNanPreserve, t)

    def flushes(self, t: T) -> bool:
        """Whether a denormal is flushed this time."""
        if self.has(M.DenormPreserve, t) or self.has(M.DenormFlushToZero, t):
            return self.has(M.DenormFlushToZero, t)
        return self.flip()

    def flip(self) -> bool:
        return self.random.random() < 0.5

    def drops(self, t: T) -> bool:
        """Whether what passes a denormal on, such as a store, makes it zero this time (NU-013, NU-043)."""
        return not self.has(M.DenormPreserve, t) and not self.has(M.DenormFlushToZero, t) and self.flip()

    def anything(self, t: T) -> int:
        return self.random.randrange(1 << width(t))

    def zero(self, t: T) -> int:
        return self.random.randrange(2) << (width(t) - 1)

    def operand(self, t: T, x: Number) -> Fraction | None:
        """The number, or None; denormals may be flushed (NU-013)."""
        value = real(t, x)
        return Fraction(0) if denormal(t, value) and self.flushes(t) else value

    def special(self, t: T, x: Number) -> Special:
        """The operand with its sign, perhaps infinite or NaN; denormals may be flushed."""
        value, f = real(t, x), FORMATS[t]
        if value is None:
            assert isinstance(x, int)
            infinite = f.infinite and x & ((1 << f.mantissa) - 1) == 0
            return infinity(bool(x >> (f.width - 1))) if infinite else NAN
        if denormal(t, value) and self.flushes(t):
            return number(Fraction(0), self.flip())
        return number(value, isinstance(x, int) and bool(x >> (f.width - 1)))

    def held(self, t: T, x: Special | None, saturate: bool = False) -> Number:
        """A result in a type: a NaN of any sign and payload, an infinity, a zero of its sign, or rounded."""
        f = FORMATS[t]
        if x is None:
            return self.anything(t)
        sign = int(x.negative) << (f.width - 1)
        if x.nan:
            top = ((1 << f.exponent) - 1) << f.mantissa
            payload = self.random.randrange(1, 1 << f.mantissa) if f.infinite else (1 << f.mantissa) - 1
            return top | payload | self.zero(t)
        if x.infinite:
            if saturate:
                return self.rounded(t, f.greatest) | sign
            return sign | ((1 << f.exponent) - 1) << f.mantissa if f.infinite else self.held(t, NAN)
        return sign if x.zero else self.result(t, x.value)

    def rounded(self, t: T, x: Fraction) -> int:
        """Either neighbour; a zero of either sign; a denormal perhaps flushed.

        On overflow anything, with `ieee` the greatest number or infinity.
        """
        f = FORMATS[t]
        nearest, towards_zero = self.has(M.RoundingModeRTE, t), self.has(M.RoundingModeRTZ, t)
        if abs(x) > f.greatest:
            if not self.ieee(t):
                return self.anything(t)
            infinite = ((1 << f.exponent) - 1) << f.mantissa
            half = two(f.bias - f.mantissa - 1)
            finite = towards_zero or (abs(x) < f.greatest + half if nearest else self.flip())
            return (infinite - finite) | (int(x < 0) << (f.width - 1))
        if x == 0:
            return self.zero(t)
        low, high = neighbours(f, x)
        middle = (Fraction(real(t, low) or 0) + Fraction(real(t, high) or 0)) / 2
        if towards_zero or (nearest and (abs(x) < middle or (abs(x) == middle and low % 2 == 0))):
            magnitude = low
        else:
            magnitude = high if nearest or self.flip() else low
        if magnitude < 1 << f.mantissa and (magnitude == 0 or self.flushes(t)):
            return self.zero(t)
        return magnitude | (int(x < 0) << (f.width - 1))

    def result(self, t: T, x: Fraction) -> Number:
        """A rounded result, or in an undecorated program perhaps the number itself."""
        free = self.loose or (self.ieee(t) and t is T.bfloat16)  # NU-021
        if free and x and abs(x) <= FORMATS[t].greatest and self.flip():
            return x
        return self.rounded(t, x)

    def stored(self, t: T, x: Number) -> int:
        return self.rounded(t, x) if isinstance(x, Fraction) else x

    def arithmetic(self, operation: str, t: T, *operands: Number) -> Number:
        if t in FORMATS:
            if self.ieee(t):
                return self._ieee(operation, t, *(self.special(t, x) for x in operands))
            return self._float(
                operation.removeprefix("n") if operation != "neg" else operation,
                t,
                *(self.operand(t, x) for x in operands),
            )
        return self._integer(operation, t, *(integer(t, int(x)) for x in operands))

    def _float(self, operation: str, t: T, *operands: Fraction | None) -> Number:
        if None in operands:
            return self.anything(t)
        x, *rest = (o for o in operands if o is not None)
        match operation, rest:
            case "add", [y]:
                return self.result(t, x + y)
            case "sub", [y]:
                return self.result(t, x - y)
            case "mul", [y]:
                return self.result(t, x * y)
            case "div", [y]:
                if y == 0 or not two(-126) <= abs(y) <= Fraction(2) ** 126:
                    return self.anything(t)
                if t is T.float16 and not two(-14) <= abs(y) <= 2**14:
                    return self.anything(t)
                return self._quotient(t, x / y)
            case "neg", []:
                return self.result(t, -x)
            case "abs", []:
                return self.result(t, abs(x))
            case "min", [y]:
                return self.result(t, min(x, y))
            case "max", [y]:
                return self.result(t, max(x, y))
            case "exp", []:
                return self.rounded(t, Fraction(math.exp(float(x)))) if x < 600 else self.anything(t)
        raise AssertionError(operation)

    def _quotient(self, t: T, quotient: Fraction) -> Number:
        """Any number within 2.5 ULP of the quotient, or a zero for a denormal."""
        ulp = self._ulp(t, quotient)
        result = self.result(t, quotient + self.random.choice((-2, 0, 2)) * ulp)
        if isinstance(result, Fraction):
            # It is rounded once more, by at most one ULP.
            return quotient + self.random.choice((-1, 0, 1)) * ulp
        number = real(t, result)
        if number and abs(number - quotient) > Fraction(5, 2) * ulp:
            return self.result(t, quotient)
        return result

    def _ieee(self, operation: str, t: T, x: Special, y: Special = NAN) -> Number:
        match operation:
            case "add":
                return self.held(t, scalar_ieee.add(x, y))
            case "sub":
                return self.held(t, scalar_ieee.add(x, scalar_ieee.negated(y)))
            case "mul":
                return self.held(t, scalar_ieee.mul(x, y))
            case "div":
                found = scalar_ieee.div(x, y, two(14 if t is T.float16 else 126))
                if found is None or not found.finite or found.zero:
                    return self.held(t, found)
                return self._float("div", t, x.value, y.value)
            case "neg":
                return self.held(t, scalar_ieee.negated(x))
            case "abs":
                return self.held(t, NAN if x.nan else Special(False, x.size))
            case "exp" if not x.finite:
                return self.held(t, scalar_ieee.function("exp", x))
            case "exp":
                return self._float("exp", t, x.value)
        return self.held(t, self.random.choice(scalar_ieee.ordered(operation, x, y)))

    def _ulp(self, t: T, x: Fraction) -> Fraction:
        """Vulkan's: of a power of two, the distance to the neighbour nearer to it, which is below."""
        f = FORMATS[t]
        e = max(floor_log2(abs(x)) if x else f.least_exponent, f.least_exponent)
        if abs(x) == two(e) and e > f.least_exponent:
            e -= 1
        return two(e - f.mantissa) if x else Fraction(0)

    def _integer(self, operation: str, t: T, *operands: int) -> int:
        w = width(t)
        x, *rest = operands
        if operation in ("div", "mod") and rest[0] == 0:
            raise Undefined("NU-004")
        if operation in ("shl", "shr") and not 0 <= rest[0] < w:
            raise Undefined("TA-073")
        operations: dict[str, Any] = {
            "add": lambda y: x + y, "sub": lambda y: x - y, "mul": lambda y: x * y, "div": lambda y: x // y,
            "mod": lambda y: x % y, "and": lambda y: x & y, "or": lambda y: x | y, "xor": lambda y: x ^ y,
            "shl": lambda y: x << y, "shr": lambda y: x >> y, "min": lambda y: min(x, y), "max": lambda y: max(x, y),
            "neg": lambda: -x, "abs": lambda: abs(x), "invert": lambda: ~x,
        }  # fmt: skip
        return int(operations[operation](*rest)) & ((1 << w) - 1)

    def compare(self, operation: str, t: T, a: Number, b: Number) -> bool:
        x: Fraction | int | None
        y: Fraction | int | None
        if t in FORMATS:
            if self.ieee(t):
                return scalar_ieee.compare(operation, self.special(t, a), self.special(t, b))
            x, y = self.operand(t, a), self.operand(t, b)
            if x is None or y is None:
                return self.flip()
        else:
            x, y = integer(t, int(a)), integer(t, int(b))
        return {"lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y, "eq": x == y, "ne": x != y}[operation]

    def convert(self, source: T, target: T, x: Number, saturate: bool = False) -> Number:
        """From one component type to another, by the signs of the types."""
        if source not in FORMATS and target not in FORMATS:
            return integer(source, int(x)) & ((1 << width(target)) - 1)
        if source not in FORMATS:
            if self.ieee(target) and x == 0:
                return 0
            return self._to_float(target, Fraction(integer(source, int(x))), saturate)
        if target in FORMATS and self.ieee(source) and self.ieee(target):
            return self._convert_ieee(source, target, x, saturate)
        value = real(source, x) if (source in FLOAT8 and target is T.float16) else self.operand(source, x)
        if target in FORMATS:
            return self.anything(target) if value is None else self._to_float(target, value, saturate, source)
        low = -(1 << (width(target) - 1)) if target.value.startswith("int") else 0
        if value is None or not low <= math.trunc(value) < low + (1 << width(target)):
            raise Undefined("NU-016")
        return math.trunc(value) & ((1 << width(target)) - 1)

    def _convert_ieee(self, source: T, target: T, x: Number, saturate: bool) -> Number:
        kept = real(source, x) if (source in FLOAT8 and target is T.float16) else None
        value = number(kept, self.special(source, x).negative) if kept is not None else self.special(source, x)
        if not value.finite or value.zero:
            return self.held(target, value, saturate)
        return self._to_float(target, value.value, saturate, source)

    def _to_float(self, target: T, x: Fraction, saturate: bool, source: T | None = None) -> Number:
        f = FORMATS[target]
        if target in FLOAT8 and abs(x) > f.greatest:
            sign = int(x < 0) << (f.width - 1)
            if saturate:
                return self.rounded(target, f.greatest) | sign
            if abs(x) < (480 if target is T.float8_e4m3fn else 65536):
                return self.anything(target)
            return sign | 0x7C if target is T.float8_e5m2 else self.zero(target) | 0x7F
        if source in FLOAT8 and target is T.float16 and x:
            magnitude, _ = neighbours(f, x)
            return magnitude | (int(x < 0) << 15)
        return self.result(target, x)
