"""Numbers in registers: reading them as what is computed with, and writing results in their types.

Integers are computed with as int64, floating-point numbers as float64. A sum or product that float64 cannot hold is
rounded to odd there, so that rounding it again, to at most single precision, gives what rounding the exact one would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cts.drivers.intel.listing import SIZES, Instruction, Operand
from cts.drivers.intel.thread import DTYPES, KEEPS_F, KEEPS_HF, ROUNDING, TOWARDS_ZERO, Bools, Thread
from cts.drivers.machine.problems import Unsupported

Values: TypeAlias = npt.NDArray[Any]
Reader: TypeAlias = Callable[[Thread], Values]
Writer: TypeAlias = Callable[[Thread, Values, "Bools | None"], None]

FLOATS = ("f", "hf", "bf")
INTEGERS = tuple(t for t in SIZES if t not in FLOATS)
SIGNED = ("b", "w", "d", "q")

#: Bytes of a unit of registers, of which two make a register on Xe2.
UNIT = 32

#: The least normal numbers.
_NORMAL = {"f": 2.0**-126, "bf": 2.0**-126, "hf": 2.0**-14}
_KEEPS = {"f": KEEPS_F, "bf": KEEPS_F, "hf": KEEPS_HF}


def place(o: Operand, lanes: int, grf: int) -> slice:
    """The elements of a region, as indices in the view of its type."""
    first = o.number * grf // SIZES[o.type] + o.part
    return slice(first, first + 1) if not o.stride else slice(first, first + lanes * o.stride, o.stride)


def registers(o: Operand, lanes: int, grf: int) -> int:
    """A mask of the units of registers that a region touches."""
    if o.file != "r":
        return 0
    size = SIZES[o.type]
    return units(o.number * grf + o.part * size, ((lanes - 1) * o.stride + 1) * size)


def units(start: int, size: int) -> int:
    """A mask of the units of registers that bytes lie in: what compilers keep apart is 32 bytes, on Xe2 too."""
    low, high = start // UNIT, (start + size - 1) // UNIT
    return ((1 << high - low + 1) - 1) << low


def raw(o: Operand, lanes: int, grf: int) -> Reader:
    """Reads the bits of a region, or of an immediate, without modifiers."""
    if o.file == "imm":
        constant = np.array([o.value], np.int64).astype(DTYPES[o.type.replace("hf", "uw")])
        return lambda t: constant
    kind, at = o.type, place(o, lanes, grf)
    return lambda t: t.views[kind][at]


def reader(o: Operand, lanes: int, grf: int) -> Reader:
    """Reads int64 or float64, after modifiers: one for each lane, or a single one. Raises Unsupported."""
    plain = _plain(o, lanes, grf)
    if o.sign == "~":
        return lambda t: ~plain(t)
    if not (o.sign or o.absolute):
        return plain

    def changed(t: Thread) -> Values:
        values = np.abs(plain(t)) if o.absolute else plain(t)
        return -values if o.sign else values

    if not o.wraps:
        return changed
    own = DTYPES[o.type]
    return lambda t: changed(t).astype(own).astype(np.int64)


def _plain(o: Operand, lanes: int, grf: int) -> Reader:
    if o.file == "imm":
        constant = _immediate(o, lanes)
        return lambda t: constant
    if o.file == "a":
        word = o.part // 2
        return lambda t: t.address[word : word + 1].astype(np.int64)
    if o.file == "cr":
        return lambda t: np.array([t.control], np.int64)
    if o.file == "sr" and o.type == "ud" and o.number == o.part == 0:
        # The lanes that the thread began with: Mesa combines them with the mask of lanes, to count those that are on.
        return lambda t: np.array([(1 << t.present) - 1], np.int64)
    if o.file in ("f", "mask") and o.type == "ud" and not o.part:
        bits, values = slice(32 * o.number, 32 * o.number + 32), (1 << np.arange(32)).reshape(32, 1)
        return lambda t: (t.flags[bits] if o.file == "f" else t.mask) @ values
    if o.file != "r":
        raise Unsupported(f"the operand {o.file}")
    kind, at = o.type, place(o, lanes, grf)
    if kind not in FLOATS:
        return lambda t: t.views[kind][at].astype(np.int64)
    keeps, least = _KEEPS[kind], _NORMAL[kind]

    def read(t: Thread) -> Values:
        bits = t.views[kind][at]
        values = widened(bits) if kind == "bf" else bits.astype(np.float64)
        return values if t.control & keeps else flushed(values, least)

    return read


def _immediate(o: Operand, lanes: int) -> Values:
    if o.type in ("v", "uv"):
        nibbles = o.value >> 4 * (np.arange(lanes) % 8) & 15
        return nibbles if o.type == "uv" else nibbles - 16 * (nibbles > 7)
    if o.type == "f":
        return np.array([o.value], np.uint32).view(np.float32).astype(np.float64)
    if o.type == "hf":
        return np.array([o.value], np.uint16).view(np.float16).astype(np.float64)
    return np.array([o.value], np.int64).astype(DTYPES[o.type]).astype(np.int64)


def writer(i: Instruction, o: Operand, grf: int) -> Writer:
    """Writes int64 or float64 to a region in its type, to the lanes of a mask. Raises Unsupported."""
    if o.file == "null":
        return lambda t, values, mask: None
    if o.file == "a":
        word = o.part // 2
        return lambda t, values, mask: t.address.__setitem__(word, int(values[0]) & 0xFFFFFFFF)
    if o.file == "cr":
        return _control
    if o.file == "f" and i.free and i.lanes == 1 and not o.part:
        flags = slice(32 * o.number, 32 * o.number + 32)
        return lambda t, values, mask: np.copyto(t.flags[flags], values.astype(np.int64) >> np.arange(32) & 1 != 0)
    if o.file == "acc":
        at = slice(i.first, i.first + i.lanes)
        return lambda t, values, mask: np.copyto(
            t.accumulator[at], values.astype(np.uint64), where=True if mask is None else mask
        )
    if o.file != "r":
        raise Unsupported(f"the operand {o.file} as a result")
    kind, target = o.type, place(o, i.lanes, grf)

    def write(t: Thread, values: Values, mask: Bools | None) -> None:
        converted = as_type(values, kind, t.control, i.saturates)
        np.copyto(t.views[kind][target], converted, casting="unsafe", where=True if mask is None else mask)

    return write


def _control(t: Thread, values: Values, mask: Bools | None) -> None:
    value = int(values[0])
    if value & ROUNDING not in (0, TOWARDS_ZERO):
        raise Unsupported("rounding up or down")
    t.control = value


def as_type(values: Values, kind: str, control: int, saturates: bool = False) -> Values:
    """Values in an operand's type: the nearest, or what the modes say; integers are wrapped if they do not saturate."""
    if kind not in FLOATS:
        limits: Any = np.iinfo(DTYPES[kind])
        least, most = limits.min, limits.max
        if values.dtype == np.float64:
            whole = np.where(np.isnan(values), 0.0, np.trunc(values))
            # Numbers beyond the type are its last ones (PRM, "Data Type Conversion").
            low, high = whole <= float(least), whole >= float(most)
            inside = np.where(low | high, 0.0, whole).astype(np.int64)
            return np.where(low, least, np.where(high, most, inside))
        return np.clip(values, least, most) if saturates else values
    exact = values.astype(np.float64)
    if saturates:
        exact = np.where(np.isnan(exact), 0.0, np.clip(exact, 0.0, 1.0))
    if not control & _KEEPS[kind]:
        exact = flushed(exact, _NORMAL[kind])
    if kind == "bf":
        return narrowed(exact)
    return rounded(exact, DTYPES[kind], towards_zero=control & ROUNDING == TOWARDS_ZERO)


def flushed(values: Values, least: float) -> Values:
    """Denormal numbers become zeros of their sign."""
    small = np.abs(values) < least
    return np.where(small, np.copysign(0.0, values), values) if small.any() else values


def rounded(values: Values, dtype: type[np.generic], *, towards_zero: bool = False) -> Values:
    """float64 rounded once to another type."""
    near = values.astype(dtype)
    if not towards_zero:
        return near
    beyond = np.abs(near.astype(np.float64)) > np.abs(values)
    beyond &= np.isfinite(values)
    return np.where(beyond, np.nextafter(near, dtype(0)), near) if beyond.any() else near


def widened(bits: Values) -> Values:
    """Bits of bfloat16 as float64."""
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def narrowed(values: Values) -> Values:
    """The bits of the nearest bfloat16, ties to even; of NaN a quiet one."""
    single = to_odd(values).view(np.uint32).astype(np.uint64)
    up = (single + 0x7FFF + (single >> 16 & 1)) >> 16
    return np.where(np.isnan(values), single >> 16 | 0x40, up).astype(np.uint16)


def to_odd(values: Values) -> Values:
    """float64 as float32 whose last bit says whether anything was cut off."""
    near = values.astype(np.float32)
    cut = rounded(values, np.float32, towards_zero=True)
    inexact = (cut.astype(np.float64) != values) & np.isfinite(values)
    bits = cut.view(np.uint32) | inexact.astype(np.uint32)
    return np.where(inexact, bits, near.view(np.uint32)).astype(np.uint32).view(np.float32)


def added(a: Values, b: Values) -> Values:
    """The sum of float64, rounded to odd."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return _odd(total, error)


def _odd(total: Values, error: Values) -> Values:
    inexact = (error != 0) & np.isfinite(total) & np.isfinite(error)
    if not inexact.any():
        return total
    even = inexact & (total.view(np.int64) & 1 == 0)
    return np.where(even, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)
