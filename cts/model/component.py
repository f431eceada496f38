"""Component types: names, widths, NumPy dtypes, and numbers to bit patterns."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from msgspec import Meta

Bits: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]

BITS_DTYPES: dict[int, np.dtype[Any]] = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


class ComponentType(enum.Enum):
    """A scalar type of matrix components and buffer elements, by its NumPy/ml_dtypes name."""

    float16 = "float16"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float8_e4m3fn = "float8_e4m3fn"
    float8_e5m2 = "float8_e5m2"
    int8 = "int8"
    uint8 = "uint8"
    int16 = "int16"
    uint16 = "uint16"
    int32 = "int32"
    uint32 = "uint32"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of values of this type."""
        return _DTYPES[self]

    @property
    def bits_dtype(self) -> np.dtype[Any]:
        """The unsigned integer dtype of the same width, which holds bit patterns."""
        return BITS_DTYPES[self.dtype.itemsize]

    @property
    def size(self) -> int:
        """Bytes of one component."""
        return self.dtype.itemsize

    @property
    def is_float(self) -> bool:
        return "float" in self.value

    @property
    def is_signed(self) -> bool:
        """True for the signed integer types only."""
        return self.value.startswith("int")


_DTYPES: dict[ComponentType, np.dtype[Any]] = {
    t: np.dtype(getattr(ml_dtypes, t.value, None) or getattr(np, t.value)) for t in ComponentType
}

#: A component value in a case: a number that the type represents exactly, or its bits as "0x...".
Number: TypeAlias = int | float | Annotated[str, Meta(pattern="^0x[0-9a-fA-F]+$")]

_HEX = re.compile(r"^0x[0-9a-fA-F]+$")


def encode(component: ComponentType, numbers: Sequence[Number] | npt.NDArray[Any]) -> Bits:
    """Bit patterns of `numbers` in `component`, 1-D, dtype `component.bits_dtype`.

    Raises ValueError where a number is not exactly representable: a case never rounds silently.

    >>> [hex(b) for b in encode(ComponentType.float16, [1, -2.5, "0x7e00"])]
    ['0x3c00', '0xc100', '0x7e00']
    """
    if isinstance(numbers, np.ndarray):
        return _encode_array(component, numbers)
    out = np.empty(len(numbers), component.bits_dtype)
    plain = [n for n in numbers if not isinstance(n, str)]
    encoded = iter(_encode_array(component, np.array(plain, dtype=object)))
    for i, n in enumerate(numbers):
        if isinstance(n, str):
            bits = int(n, 16) if _HEX.match(n) else -1
            if not 0 <= bits < 1 << (8 * component.size):
                raise ValueError(f"{n!r} is not a bit pattern of {component.size * 8} bits")
            out[i] = bits
        else:
            out[i] = next(encoded)
    return out


def _encode_array(component: ComponentType, numbers: npt.NDArray[Any]) -> Bits:
    if component.is_float:
        try:
            wide = numbers.astype(np.float64)
        except OverflowError as e:
            raise ValueError(f"a number is too large for {component.value}") from e
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = wide.astype(component.dtype)
        wrong = (narrow.astype(np.float64) != wide) & ~np.isnan(wide)
    else:
        info = np.iinfo(component.dtype)
        low, high = int(info.min), int(info.max)
        if numbers.dtype.kind in "iu":
            wrong = (numbers < low) | (numbers > high)
        else:
            wrong = np.array([n != int(n) or not low <= n <= high for n in numbers.flat], bool)
        narrow = np.where(wrong, 0, numbers).astype(np.int64).astype(component.dtype)
    if wrong.any():
        bad = numbers.flat[int(np.argmax(wrong))]
        raise ValueError(f"{bad} is not exactly representable as {component.value}")
    return narrow.view(component.bits_dtype).reshape(-1)


def decode(component: ComponentType, bits: Bits) -> npt.NDArray[Any]:
    """The values behind bit patterns: dtype `component.dtype`, same shape."""
    return np.ascontiguousarray(bits, component.bits_dtype).view(component.dtype)
