"""Matrices in the registers of the invocations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType, Scope, Use
from cts.drivers.emulator.matrices.ownership import Distribution

Registers = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix in registers (instances, invocations, slots), dtype uint32: bit patterns, zero-extended.

    `wide`, of the same shape, holds the values before a rounding that may be elided (NU-017), NaN for elements without
    such a value.
    """

    component: ComponentType
    rows: int
    cols: int
    use: Use
    scope: Scope
    owned: Distribution
    registers: Registers
    wide: Floats | None = None

    @property
    def instances(self) -> int:
        """How many instances of the scope each hold such a matrix."""
        return len(self.registers)

    def elements(self) -> npt.NDArray[Any]:
        """Bit patterns (instances, rows, cols), dtype the component's `bits_dtype`."""
        return self.dense().astype(self.component.bits_dtype)

    def dense(self) -> Registers:
        """Bit patterns (instances, rows, cols), zero-extended."""
        work = self.owned.work
        out = np.empty((self.instances, self.rows, self.cols), np.uint32)
        out[:, work[:, 2], work[:, 3]] = self.in_order()
        return out

    def in_order(self) -> Registers:
        """Bit patterns (instances, elements), in the order of work."""
        work = self.owned.work
        bits: Registers = self.registers[:, work[:, 0], work[:, 1]]
        return bits

    def wide_in_order(self) -> Floats | None:
        """As `in_order`: the values before rounding, where they are kept."""
        if self.wide is None:
            return None
        work = self.owned.work
        values: Floats = self.wide[:, work[:, 0], work[:, 1]]
        return values

    def holding(self, bits: Registers, wide: Floats | None = None) -> Matrix:
        """A matrix of this type with these elements, (instances, elements) in the order of work."""
        work = self.owned.work
        registers = np.zeros_like(self.registers)
        registers[:, work[:, 0], work[:, 1]] = bits
        values = None
        if wide is not None:
            values = np.zeros(registers.shape)
            values[:, work[:, 0], work[:, 1]] = wide
        return replace(self, registers=registers, wide=values)

    def holding_dense(self, bits: Registers, wide: Floats | None = None) -> Matrix:
        """A matrix of this type with these elements, (instances, rows, cols)."""
        work = self.owned.work
        return self.holding(bits[:, work[:, 2], work[:, 3]], None if wide is None else wide[:, work[:, 2], work[:, 3]])

    def with_registers(self, registers: Registers) -> Matrix:
        """A matrix of this type in these registers."""
        return replace(self, registers=registers, wide=None)

    def as_before_rounding(self, other: Matrix) -> Matrix:
        """With what `other`, of the same type, was before its rounding, where elements are what it was rounded to."""
        if other.wide is None:
            return self
        return replace(self, wide=np.where(self.registers == other.registers, other.wide, np.nan))

    def where(self, active: npt.NDArray[np.bool_], other: Matrix) -> Matrix:
        """The matrix with `other`, of the same type, in the instances that are not active (instances,)."""
        mask = active[:, None, None]
        wide = None
        if self.wide is not None or other.wide is not None:
            wide = np.where(mask, *(np.nan if m.wide is None else m.wide for m in (self, other)))
        return replace(self, registers=np.where(mask, self.registers, other.registers), wide=wide)
