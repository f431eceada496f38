"""Classes of numbers, such as infinities: what transforms are of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric.arrays import Bits, Mask
from cts.reference.numeric.formats import real
from cts.reference.numeric.value import Value

#: What is beyond the type of numbers that are far out.
FAR: dict[str, Callable[..., Any]] = {
    "exp_overflows": np.exp,
    "exp_of_twice_overflows": lambda x: np.exp(2 * x),
    "square_overflows": np.square,
}


def certainly(value: Value, component: ComponentType, of: str) -> Mask:
    """The elements of a class: what one that is not exact would be is not asked. It is no infinity or zero for sure."""
    mask: Mask = class_of(component, value.bits, of) & (value.flags == 0)
    if of == "nan":
        low, high = value.core
        mask = np.isnan(low) & np.isnan(high) & (value.flags & Freedom.ANY == 0)
    return mask


def class_of(component: ComponentType, bits: Bits, name: str) -> Mask:
    """The elements of a class by their bits; none if the type has no such class."""
    if not component.is_float:
        top = bits >> component.bits_dtype.type(8 * component.size - 1) != 0
        zero: Mask = bits == 0
        least: Mask = bits == component.bits_dtype.type(1 << (8 * component.size - 1))
        greatest = component.bits_dtype.type((1 << (8 * component.size - component.is_signed)) - 1)
        of_integers: dict[str, Mask] = {"zero": zero, "negative": top, "least": least, "top": bits == greatest}
        return of_integers.get(name, np.zeros(bits.shape, bool))
    numbers = real(component, bits)
    with np.errstate(invalid="ignore", over="ignore"):
        if (far := FAR.get(name)) is not None:
            # From there on numbers round to infinity.
            beyond: Mask = far(numbers) >= component.format.greatest * (1 + component.format.unit / 2)
            return beyond
        masks: dict[str, Mask] = {
            "nan": np.isnan(numbers),
            "infinity": np.isinf(numbers),
            "positive_infinity": numbers == np.inf,
            "negative_infinity": numbers == -np.inf,
            "zero": numbers == 0,
            "negative_zero": (numbers == 0) & np.signbit(numbers),
            "denormal": (numbers != 0) & (np.abs(numbers) < component.format.least),
            "negative": numbers < 0,
            "overflow": np.abs(numbers) > component.format.greatest,
            "smallest": np.abs(numbers) == component.format.least,
            "top": np.abs(numbers) == component.format.greatest,
        }
    return masks.get(name, np.zeros(bits.shape, bool))
