"""Classes of numbers that most wrong elements belong to: a hint at what a driver does wrong with them."""

from __future__ import annotations

import enum
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cts.case.model import ComponentType, decode
from cts.case.oracle.expectation import Freedom
from cts.judging.compare import Bits, is_nan

Mask = npt.NDArray[np.bool_]


class NumberClass(enum.Enum):
    """A class of numbers; of wrong elements the expected or the actual values are in it."""

    SIGN_OF_ZERO = "sign-of-zero"
    EXPECTED_NAN = "expected-nan"
    ACTUAL_NAN = "actual-nan"
    INFINITIES = "infinities"
    DENORMALS = "denormals"
    TIES = "ties"
    SATURATION = "saturation"


class OfAClass(Struct, frozen=True):
    """`count` of the `wrong` elements are of a class of numbers: more than half."""

    kind: NumberClass
    count: int
    wrong: int


#: So many elements show a class: one may be in it by chance.
_LEAST = 2


def certain(component: ComponentType, lo: Bits, hi: Bits, flags: npt.NDArray[np.uint8]) -> Mask:
    """Which elements have one allowed value, but for the bits of a NaN."""
    is_certain: Mask = (lo == hi) & ((flags == 0) | ((flags == Freedom.NAN) & is_nan(component, lo)))
    return is_certain


def classes(
    component: ComponentType, actual: Bits, expected: Bits, sure: Mask, exact: object = None
) -> Iterator[OfAClass]:
    """The classes to which more than half of these wrong elements belong, as far as the expected values are `sure`.

    `exact` are float64 numbers of which rounding makes the expected ones, if they are known.
    """
    count = len(actual)
    for kind, mask in _masks(component, actual, expected, exact):
        some = int(np.count_nonzero(mask & sure))
        if some >= _LEAST and 2 * some > count:
            yield OfAClass(kind, some, count)


def _masks(component: ComponentType, actual: Bits, expected: Bits, exact: object) -> Iterator[tuple[NumberClass, Mask]]:
    if not component.is_float:
        limits = np.iinfo(component.dtype)
        numbers = expected.view(component.dtype)
        yield NumberClass.SATURATION, (numbers == limits.max) | (component.is_signed & (numbers == limits.min))
        return
    magnitude = component.bits_dtype.type((1 << 8 * component.size - 1) - 1)
    have, wanted = actual & magnitude, expected & magnitude
    yield NumberClass.SIGN_OF_ZERO, (have == 0) & (wanted == 0) & (actual != expected)
    nan, wanted_nan = is_nan(component, actual), is_nan(component, expected)
    yield NumberClass.EXPECTED_NAN, wanted_nan & ~nan
    yield NumberClass.ACTUAL_NAN, nan & ~wanted_nan
    # Some processors warn of signalling NaNs that are widened.
    with np.errstate(invalid="ignore"):
        numbers, wanted_numbers = (decode(component, bits).astype(np.float64) for bits in (actual, expected))
    yield NumberClass.INFINITIES, np.isinf(numbers) ^ np.isinf(wanted_numbers)
    least = component.format.least
    yield NumberClass.DENORMALS, np.logical_or(*((n != 0) & (np.abs(n) < least) for n in (numbers, wanted_numbers)))
    if exact is not None:
        yield NumberClass.TIES, _ties(component, np.asarray(exact, np.float64))
    greatest = np.abs(wanted_numbers) == component.format.greatest
    yield NumberClass.SATURATION, greatest


def _ties(component: ComponentType, exact: npt.NDArray[np.float64]) -> Mask:
    """Which numbers are halfway between two neighbours of a type."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(component.dtype).view(component.bits_dtype)
        ulp = nearest.dtype.type(1)
        rounded, below, above = (
            decode(component, bits).astype(np.float64) for bits in (nearest, nearest - ulp, nearest + ulp)
        )
        halfway: Mask = (exact - rounded == below - exact) | (exact - rounded == above - exact)
    return np.asarray(halfway & (exact != rounded) & np.isfinite(rounded), bool)
