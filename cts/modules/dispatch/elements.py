"""Element types of buffers by name, and numbers to bytes: every type that NumPy and ml_dtypes share with SPIR-V."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from msgspec import Meta

Array: TypeAlias = npt.NDArray[Any]

#: A number, or its bits as "0x...".
Number: TypeAlias = bool | int | float | Annotated[str, Meta(pattern="^0x[0-9a-fA-F]+$")]


class ElementType(enum.Enum):
    """The type of a buffer's elements."""

    float16 = "float16"
    float32 = "float32"
    float64 = "float64"
    bfloat16 = "bfloat16"
    float8_e4m3fn = "float8_e4m3fn"
    float8_e5m2 = "float8_e5m2"
    int8 = "int8"
    uint8 = "uint8"
    int16 = "int16"
    uint16 = "uint16"
    int32 = "int32"
    uint32 = "uint32"
    int64 = "int64"
    uint64 = "uint64"

    @property
    def dtype(self) -> np.dtype[Any]:
        return _DTYPES[self]

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def is_float(self) -> bool:
        return "float" in self.value

    @property
    def bits(self) -> np.dtype[Any]:
        """The unsigned integer dtype of the same width."""
        return np.dtype(f"u{self.size}")


_DTYPES: dict[ElementType, np.dtype[Any]] = {
    t: np.dtype(getattr(ml_dtypes, t.value, None) or getattr(np, t.value)).newbyteorder("<") for t in ElementType
}


def type_of(dtype: np.dtype[Any]) -> ElementType | None:
    """The element type of an array's dtype in either byte order; bool is uint8. None for other dtypes."""
    name = "uint8" if dtype == np.bool_ else dtype.name
    return ElementType.__members__.get(name)


def encode(element: ElementType, numbers: Sequence[Number]) -> Array:
    """Numbers as an array of the type (n,): floats are rounded to nearest, integers must fit.

    Raises ValueError for what does not fit.
    """
    out = np.empty(len(numbers), element.bits)
    for i, number in enumerate(numbers):
        out[i] = int(number, 16) if isinstance(number, str) and _fits(number, element) else _bits(element, number)
    return out.view(element.dtype)


def _fits(text: str, element: ElementType) -> bool:
    if not re.fullmatch("0x[0-9a-fA-F]+", text) or int(text, 16) >= 1 << 8 * element.size:
        raise ValueError(f"{text!r} is not a bit pattern of {element.value}: at most {element.size * 2} hex digits")
    return True


def _bits(element: ElementType, number: Number) -> int:
    assert not isinstance(number, str)
    if element.is_float:
        try:
            with np.errstate(over="ignore"):
                value = np.array([float(number)]).astype(element.dtype)
        except OverflowError as e:
            raise ValueError(f"{number} is too large for {element.value}") from e
        return int(value.view(element.bits)[0])
    info = np.iinfo(element.dtype)
    if number != number or abs(number) == float("inf") or number != int(number):
        raise ValueError(f"{number} is not an integer, and the type is {element.value}")
    if not int(info.min) <= int(number) <= int(info.max):
        raise ValueError(f"{number} does not fit into {element.value}, which holds {info.min} to {info.max}")
    return int(number) & (1 << 8 * element.size) - 1


def whole(element: ElementType, numbers: Array) -> Array:
    """Integers (int64) as an array of the type. Raises ValueError where one is not exactly representable."""
    if element.is_float:
        with np.errstate(over="ignore"):
            converted = numbers.astype(np.float64).astype(element.dtype)
        wrong = converted.astype(np.float64) != numbers
    else:
        info = np.iinfo(element.dtype)
        converted = numbers.astype(element.dtype)
        wrong = (numbers < int(info.min)) | (numbers > min(int(info.max), 2**63 - 1))
    if wrong.any():
        raise ValueError(f"{numbers[wrong][0]} is not exactly representable as {element.value}")
    return converted
