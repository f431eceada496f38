"""Vectors and scalars in the registers of the invocations, and the numbers behind them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType
from cts.drivers.emulator.numbers import DEMANDED_OF, E4M3, FLUSH_OF, TYPE_NUMBERS, Settings
from cts.drivers.emulator.vectors.kernels import patterns

Registers = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Active = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Vector:
    """A vector per invocation: bit patterns (invocations, length), zero-extended. A scalar is one of length 1.

    `wide`, of the same shape, holds the values before a rounding that may be elided (NU-017).
    """

    component: ComponentType
    registers: Registers
    wide: Floats | None = None
    is_scalar: bool = False

    @property
    def instances(self) -> int:
        """How many invocations each hold such a vector."""
        return len(self.registers)

    @property
    def length(self) -> int:
        return int(self.registers.shape[1])

    def elements(self) -> npt.NDArray[Any]:
        """Bit patterns (invocations, length), dtype the component's `bits_dtype`."""
        return self.registers.astype(self.component.bits_dtype)

    def with_registers(self, registers: Registers) -> Vector:
        """A vector of this type in these registers."""
        return replace(self, registers=registers, wide=None)

    def as_before_rounding(self, other: Vector) -> Vector:
        """With what `other`, of the same type, was before its rounding, where components are what it was rounded to."""
        return replace(self, wide=np.where(self.registers == other.registers, other.floats(), self.floats()))

    def where(self, active: Active, other: Vector) -> Vector:
        """The vector, with `other`, of the same type, in invocations that are not active."""
        mask = active[:, None]
        wide = None if self.wide is None and other.wide is None else np.where(mask, self.floats(), other.floats())
        return replace(self, registers=np.where(mask, self.registers, other.registers), wide=wide)

    def floats(self) -> Floats:
        """The values of floats; unrounded if the emulator elides the rounding."""
        return floats_of(self.registers, self.component) if self.wide is None else self.wide

    def ints(self, signed: bool) -> Ints:
        """The values of integers, read with a sign or without."""
        return ints_of(self.registers, self.component.size, signed)


def floats_of(bits: Registers, component: ComponentType) -> Floats:
    """The values behind bit patterns of a float type."""
    values: Floats = bits.astype(component.bits_dtype).view(component.dtype).astype(np.float64)
    return values


def ints_of(bits: Registers, size: int, signed: bool) -> Ints:
    """The values behind bit patterns of integers of `size` bytes."""
    values: Ints = bits.astype(f"u{size}").view(f"i{size}" if signed else f"u{size}").astype(np.int64)
    return values


def numbers_of(bits: Registers, component: ComponentType) -> Floats | Ints:
    """The values behind bit patterns of any type."""
    return floats_of(bits, component) if component.is_float else ints_of(bits, component.size, component.is_signed)


def bits_of(values: Floats, component: ComponentType, rounding: int, saturate: bool = False) -> Registers:
    """Bit patterns of values, rounded to a float type."""
    bits = np.empty(values.size, np.uint32)
    patterns(np.ascontiguousarray(values).reshape(-1), TYPE_NUMBERS[component], rounding, saturate, bits)
    return bits.reshape(values.shape)


def wrapped_bits(values: Ints, component: ComponentType) -> Registers:
    """Bit patterns of integers, mod 2^width."""
    return (values & ((1 << 8 * component.size) - 1)).astype(np.uint32)


def without_denormals(values: Floats, component: ComponentType, settings: Settings) -> Floats:
    """The values, zeros in place of denormals that are flushed (NU-013; never float8, NU-015)."""
    return _without(values, component, settings, FLUSH_OF)


def demanded(values: Floats, component: ComponentType, settings: Settings) -> Floats:
    """The values, zeros in place of denormal results where these must be flushed (NU-043)."""
    return _without(values, component, settings, DEMANDED_OF)


def _without(values: Floats, component: ComponentType, settings: Settings, places: int) -> Floats:
    t = TYPE_NUMBERS[component]
    if t >= E4M3 or not settings[places + t]:
        return values
    return np.where(np.abs(values) < component.format.least, 0.0 * values, values)
