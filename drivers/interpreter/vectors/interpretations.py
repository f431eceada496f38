"""Component types by the numbers of SPIR-V and Vulkan (CV-002), and vectors read as them (CV-030 to CV-034)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from msgspec import Struct

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.rounding import exact, from_integers, rounded
from cts.drivers.interpreter.types import DType
from cts.drivers.interpreter.values import Array

#: Components (lanes, n) as elements (lanes, k) of an interpretation.
Reading: TypeAlias = Callable[[Array], Array]


class Interpretation(Struct, frozen=True):
    """A component type. Integers have their signed or unsigned dtype; `packed` ones come four to a word."""

    name: str
    dtype: DType
    packed: bool = False

    @property
    def is_integer(self) -> bool:
        return self.dtype.kind in "iu"


def _table() -> dict[int, Interpretation]:
    table = {}
    scalars: tuple[tuple[str, Any], ...] = (
        ("float16", np.float16),
        ("float32", np.float32),
        ("float64", np.float64),
        *((f"int{8 << k}", np.dtype(f"i{1 << k}")) for k in range(4)),
        *((f"uint{8 << k}", np.dtype(f"u{1 << k}")) for k in range(4)),
    )
    for number, (name, dtype) in enumerate(scalars):
        table[number] = Interpretation(name, np.dtype(dtype))
    table[1000491000] = Interpretation("int8 packed", np.dtype(np.int8), packed=True)
    table[1000491001] = Interpretation("uint8 packed", np.dtype(np.uint8), packed=True)
    table[1000491002] = Interpretation("float8_e4m3fn", np.dtype(ml_dtypes.float8_e4m3fn))
    table[1000491003] = Interpretation("float8_e5m2", np.dtype(ml_dtypes.float8_e5m2))
    return table


_INTERPRETATIONS = _table()


def interpretation(number: int, *, may_be_packed: bool = False) -> Interpretation:
    """The component type of a number. Raises Malformed."""
    component = _INTERPRETATIONS.get(number)
    if component is None:
        raise Malformed(f"{number} is not a component type (CV-002)")
    if component.packed and not may_be_packed:
        raise Malformed(f"{component.name} components are for input vectors only (DQ-076)")
    return component


def reading(source: ty.Int | ty.Float, to: Interpretation, count: int, *, is_signed: bool, rounds: bool) -> Reading:
    """How to read vectors of the source type as `count` elements each.

    Integers are signed or not as `is_signed` says (CV-017), unless packed. float16 stays what it is
    where fp8 is asked for, unless `rounds` (CV-033). Raises Malformed.
    """
    dtype = to.dtype
    if to.packed:
        if not isinstance(source, ty.Int) or source.width != 32:
            raise Malformed(f"{to.name} components come in 32-bit integers, not in {source} (CV-016)")
        return lambda v: np.ascontiguousarray(v).view(dtype)[:, :count]
    if isinstance(source, ty.Int):
        read = np.dtype(f"{'i' if is_signed else 'u'}{source.size}")
        if to.is_integer:
            return lambda v: _saturated(v.view(read), dtype)
        if dtype == np.float64:
            return lambda v: v.view(read).astype(dtype)
        return lambda v: rounded(from_integers(v.view(read)), dtype)
    if to.is_integer:
        return lambda v: _to_integers(v, dtype)
    if dtype.itemsize == 1 and source == ty.Float(16) and not rounds:
        return lambda v: v
    return lambda v: rounded(v, dtype)


def _saturated(v: Array, dtype: DType) -> Array:
    """CV-030."""
    has, wants = np.iinfo(v.dtype), np.iinfo(dtype)
    return np.clip(v, max(has.min, wants.min), min(has.max, wants.max)).astype(dtype)


def _to_integers(v: Array, dtype: DType) -> Array:
    """CV-031: to nearest even, saturating; NaN becomes 0."""
    limits = np.iinfo(dtype)
    whole = np.rint(exact(v))
    above, below = whole >= float(limits.max) + 1, whole < limits.min
    fits = np.where(above | below | np.isnan(whole), 0, whole).astype(dtype)
    return np.where(above, limits.max, np.where(below, limits.min, fits)).astype(dtype)
