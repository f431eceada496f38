"""How far an element may be from what is expected."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from msgspec import Struct

from cts.modules.dispatch.elements import Array, ElementType


class Tolerance(Struct, frozen=True):
    """An element x of a type may differ from x by atol + rtol * |x| + ulp * step(|x|).

    Each is one number or an array that broadcasts to the buffer's shape. With `magnitudes`, these stand in the place of
    |x|: a sum whose terms cancel is as far off as its terms are large.
    """

    atol: float | Array = 0.0
    rtol: float | Array = 0.0
    ulp: float | Array = 0.0
    magnitudes: Array | None = None

    @property
    def exact(self) -> bool:
        """Whether nothing is tolerated."""
        return not (np.any(self.atol) or np.any(self.rtol) or np.any(self.ulp))

    def around(self, expected: Array, element: ElementType) -> Array:
        """What is tolerated at each element, as long doubles of the shape of `expected`, which are long doubles."""
        size = np.abs(expected if self.magnitudes is None else self.magnitudes.astype(np.longdouble))
        allowed = self.atol + self.rtol * size
        if np.any(self.ulp):
            allowed = allowed + self.ulp * step(size, element)
        return np.broadcast_to(np.asarray(allowed, np.longdouble), expected.shape)


def step(size: Array, element: ElementType) -> Array:
    """The distance from a magnitude to the next one of the type, subnormal ones included; 1 for integers."""
    if not element.is_float:
        return np.ones(size.shape, np.longdouble)
    info = ml_dtypes.finfo(element.dtype)  # type: ignore[no-untyped-call]
    _, exponent = np.frexp(size)
    exponent = np.where(size == 0, info.minexp, np.maximum(exponent - 1, info.minexp))
    distance: Array = np.ldexp(np.ones(size.shape, np.longdouble), exponent - info.nmant)
    return distance


def unequal(expected: Array, actual: Array, tolerance: Tolerance, element: ElementType) -> Array:
    """Which elements are not numerically equal within a tolerance. A NaN equals every NaN, -0 equals 0.

    `element` is the type of the buffer, whose steps `ulp` counts.
    """
    if expected.dtype.kind in "iu" and actual.dtype.kind in "iu" and tolerance.exact:
        return np.asarray(expected != actual)
    with np.errstate(all="ignore"):
        a, b = expected.astype(np.longdouble), actual.astype(np.longdouble)
        allowed = tolerance.around(a, element)
        close = (a == b) | (np.abs(a - b) <= allowed) & np.isfinite(a)
    return np.asarray(~(close | np.isnan(a) & np.isnan(b)))
