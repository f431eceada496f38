"""What is among some numbers: classes on which it depends whether a wrong operation shows."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType, decode

#: "wide" are numbers that float16 has not, "large" those beyond its range; "low nan" is a NaN whose payload is in its
#: lower half alone; of "top bit" that bit is set, whatever it means; "least" is the least integer of a signed type,
#: which has no negation; "top" are floats of the largest exponent; "alike": all numbers are one.
NUMBERS = (
    "zero",
    "negative zero",
    "negative",
    "fraction",
    "wide",
    "large",
    "denormal",
    "infinity",
    "nan",
    "low nan",
    "top bit",
    "least",
    "top",
    "alike",
)

#: The same of matrices: whether a wrong row, column or order of elements shows.
OF_MATRICES = ("rows alike", "columns alike", "symmetric")  # fmt: skip

#: The bits of the mantissa in the upper half.
_MANTISSA = {ComponentType.float32: 0x7F}


def numbers_in(component: ComponentType, bits: npt.NDArray[Any]) -> tuple[str, ...]:
    """The classes of some numbers, by their bits."""
    with np.errstate(invalid="ignore", over="ignore"):  # some processors warn of signalling NaNs
        numbers = decode(component, bits).astype(np.float64)
        half = numbers.astype(np.float16).astype(np.float64)
        whole = np.round(numbers)
    finite = np.isfinite(numbers)
    holds = {
        "zero": (numbers == 0).any(),
        "negative": (finite & (numbers < 0)).any(),
        "wide": (finite & (half != numbers)).any(),
        "large": (finite & np.isinf(half)).any(),
        "top bit": (bits >> (8 * component.size - 1) != 0).any(),
        "least": component.is_signed and not component.is_float and (bits == 1 << (8 * component.size - 1)).any(),
        "alike": bits.size > 0 and (bits == bits.flat[0]).all(),
    }
    if component.is_float:
        sign = np.signbit(numbers)
        tiny = float(np.finfo(component.dtype).tiny) if component.is_ieee else 0.0
        width = 4 * component.size
        upper = (bits >> width) & _MANTISSA.get(component, 0)
        holds |= {
            "zero": ((numbers == 0) & ~sign).any(),
            "negative zero": ((numbers == 0) & sign).any(),
            "fraction": (finite & (numbers != whole)).any(),
            "denormal": ((numbers != 0) & (np.abs(numbers) < tiny)).any(),
            "infinity": np.isinf(numbers).any(),
            "top": (finite & (np.abs(numbers) >= _top(component))).any(),
            "nan": np.isnan(numbers).any(),
            "low nan": (np.isnan(numbers) & ((bits & ((1 << width) - 1)) != 0) & (upper == 0)).any(),
        }
    return tuple(word for word in NUMBERS if holds.get(word))


@cache
def _top(component: ComponentType) -> float:
    """The power of two at which the largest exponent of a type begins."""
    greatest = float(ml_dtypes.finfo(component.dtype).max)  # type: ignore[no-untyped-call]
    return float(2.0 ** np.floor(np.log2(greatest)))


def matrix_has(bits: npt.NDArray[Any]) -> tuple[str, ...]:
    """The classes of OF_MATRICES of a matrix by its bits, (instances, rows, columns): what holds of all instances."""
    _, rows, columns = bits.shape
    tests = (
        (bits == bits[:, :1]).all(),
        (bits == bits[:, :, :1]).all(),
        rows == columns and (bits == bits.transpose(0, 2, 1)).all(),
    )
    return tuple(word for word, holds in zip(OF_MATRICES, tests, strict=True) if holds)
