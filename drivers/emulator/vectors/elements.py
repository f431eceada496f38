"""Operations and conversions of every component (CV-012)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cts.case.model import ComponentType, VectorConversion, VectorOperation
from cts.drivers.emulator import numbers
from cts.drivers.emulator.mutants import numbers as s
from cts.drivers.emulator.mutants import vectors as v
from cts.drivers.emulator.vectors import functions, number_bugs
from cts.drivers.emulator.vectors.registers import (
    Floats,
    Ints,
    Vector,
    bits_of,
    demanded,
    floats_of,
    without_denormals,
    wrapped_bits,
)

_O = VectorOperation

#: Operations whose result is one of their operands, or a number that every type holds.
_EXACT = {_O.FNegate, _O.FMin, _O.FMax, _O.NMin, _O.NMax, _O.FClamp, _O.NClamp, _O.Step}
_CLAMPS = {_O.SClamp, _O.UClamp}
_COMPARING = {_O.SMin, _O.SMax, _O.UMin, _O.UMax, *_CLAMPS}
_SIGNED = {_O.SNegate, _O.SDiv, _O.SMin, _O.SMax, _O.SClamp, _O.ShiftRightArithmetic}


@dataclass(frozen=True)
class Elements:
    """How this run computes. `settings` are those of `numbers`; `fused` says whether Fma rounds once."""

    settings: numbers.Settings
    elides: bool
    fused: bool
    bug: int

    def arithmetic(self, operation: VectorOperation, operands: list[Vector]) -> Vector:
        """An operation on one, two or three vectors of one type."""
        first = operands[0]
        if first.component.is_float:
            computed = self._of_floats(operation, operands)
        else:
            computed = first.with_registers(self._of_ints(operation, operands))
            if self.bug == v.VECTOR_NEGATION_UNWRAPPED and operation is _O.SNegate and first.component.size == 1:
                computed = replace(computed, wide=-first.ints(True).astype(np.float64))
        return self._unless_skipped(computed, first)

    def _unless_skipped(self, computed: Vector, first: Vector) -> Vector:
        """The result, without the components that a bug leaves out."""
        done = np.ones(computed.length, bool)
        if self.bug == v.VECTOR_TAIL_UNCOMPUTED and computed.component.size == 2 and computed.length % 2:
            done[-1] = False
        elif self.bug == v.VECTOR_FIRST_64_COMPUTED:
            done[64:] = False
        return computed if done.all() else computed.with_registers(np.where(done, computed.registers, first.registers))

    def _of_floats(self, operation: VectorOperation, operands: list[Vector]) -> Vector:
        component = operands[0].component
        numbers_ = [o.floats() for o in operands]
        if operation in _EXACT:
            return self._held(functions.exact(operation, numbers_, self.bug), component, operands[0], True)
        numbers_ = [without_denormals(x, component, self.settings) for x in numbers_]
        if operation is _O.Fma and not self.fused:
            product = self._rounded(numbers_[0] * numbers_[1], component)
            numbers_ = [product, np.ones_like(product), numbers_[2]]
        computed = self._held(functions.result(operation, numbers_, component, self.bug), component, operands[0])
        return self._unless_mistaken(operation, numbers_, computed)

    def _unless_mistaken(self, operation: VectorOperation, given: list[Floats], computed: Vector) -> Vector:
        """The result, or what a bug of numbers makes of it."""
        values = computed.floats()
        mistaken = number_bugs.results(operation, given, values, computed.component, self.bug)
        if mistaken is values:
            return computed
        return computed.with_registers(bits_of(mistaken, computed.component, self._rounding(computed.component)))

    def times(self, vector: Vector, scalars: Floats) -> Vector:
        """Every component times the invocation's scalar (invocations, 1)."""
        a, b = (without_denormals(x, vector.component, self.settings) for x in (vector.floats(), scalars))
        product = self._unless_mistaken(_O.FMul, [a, b], self._held(a * b, vector.component, vector))
        return self._unless_skipped(product, vector)

    def _rounded(self, values: Floats, component: ComponentType) -> Floats:
        if self.settings[numbers.WIDE_ARITHMETIC]:
            return values
        return floats_of(bits_of(values, component, self._rounding(component)), component)

    def _held(self, values: Floats, component: ComponentType, like: Vector, exact: bool = False) -> Vector:
        """A vector of results, rounded unless that is elided; zeros and denormals as this run has them."""
        if not exact:
            values = self._zeros(self._flushed(self._rounded(values, component), component), component)
        values = demanded(values, component, self.settings)
        bits = bits_of(values, component, self._rounding(component))
        return replace(like, component=component, registers=bits, wide=values if self.elides else None)

    def _rounding(self, component: ComponentType) -> int:
        return int(self.settings[numbers.ROUNDING_OF + numbers.TYPE_NUMBERS[component]])

    def _flushed(self, values: Floats, component: ComponentType) -> Floats:
        return values if self.settings[numbers.WIDE_ARITHMETIC] else without_denormals(values, component, self.settings)

    def _zeros(self, values: Floats, component: ComponentType) -> Floats:
        sign = self.settings[numbers.ZEROS_OF + numbers.TYPE_NUMBERS[component]]
        if sign == numbers.IEEE_ZEROS:
            return values
        return np.where(values == 0, -0.0 if sign == numbers.NEGATIVE_ZEROS else 0.0, values)

    def _of_ints(
        self, operation: VectorOperation, operands: list[Vector]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
        component = operands[0].component
        signed = operation in _SIGNED
        if operation in _COMPARING:
            signed = {v.VECTOR_MINIMUM_UNSIGNED: False, v.VECTOR_MINIMUM_SIGNED: True}.get(self.bug, signed)
        elif self.bug == v.VECTOR_SHIFT_LOGICAL and operation is _O.ShiftRightArithmetic:
            signed = False
        elif self.bug == v.VECTOR_SHIFT_ARITHMETIC and operation is _O.ShiftRightLogical:
            signed = True
        if self.bug == v.VECTOR_NARROW_UNWRAPPED:
            values = functions.integers(operation, [o.registers.astype(np.int64) for o in operands], self.bug)
            bits: np.ndarray[tuple[int, ...], np.dtype[np.uint32]] = values.astype(np.uint32)
            return bits
        return wrapped_bits(functions.integers(operation, [o.ints(signed) for o in operands], self.bug), component)

    def convert(self, operation: VectorConversion, target: ComponentType, source: Vector) -> Vector:
        """A conversion of every component."""
        if operation in (VectorConversion.SConvert, VectorConversion.UConvert):
            wider = target.size > source.component.size
            signed = operation is VectorConversion.SConvert
            if self.bug == v.VECTOR_SCONVERT_ZERO_EXTENDS and wider:
                signed = False
            values = source.ints(signed) if source.wide is None or not wider else source.wide.astype(np.int64)
            return replace(source, component=target, registers=wrapped_bits(values, target), wide=None)
        if operation in (VectorConversion.ConvertFToS, VectorConversion.ConvertFToU):
            return replace(source, component=target, registers=self._to_ints(source, target), wide=None)
        if operation is VectorConversion.FConvert:
            return self._to_float(source.floats(), source, target)
        signed = operation is VectorConversion.ConvertSToF and self.bug != v.VECTOR_INT_TO_FLOAT_UNSIGNED
        signed = signed or self.bug == s.VECTOR_UINT_TO_FLOAT_SIGNED
        return self._to_float(source.ints(signed).astype(np.float64), source, target)

    def _to_ints(self, source: Vector, target: ComponentType) -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
        """Truncated; 0 for what no integer can hold (undefined, NU-016)."""
        values = source.floats()
        values = np.rint(values) if self.bug == v.VECTOR_FLOAT_TO_INT_ROUNDS else np.trunc(values)
        return wrapped_bits(np.where(np.abs(values) < 2.0**62, values, 0).astype(np.int64), target)

    def _to_float(self, values: Floats, source: Vector, target: ComponentType) -> Vector:
        """NU-012."""
        unrounded = values
        if source.component.is_float:
            values = without_denormals(values, source.component, self.settings)
        rounding = self._rounding(target)
        if self.bug == s.RTZ_CONVERSIONS_NEAREST and rounding == numbers.TOWARDS_ZERO:
            rounding = numbers.NEAREST
        bits = bits_of(values, target, rounding)
        if not self.settings[numbers.WIDE_CONVERSIONS] or numbers.TYPE_NUMBERS[target] >= numbers.E4M3:
            values = without_denormals(floats_of(bits, target), target, self.settings)
            values = demanded(values, target, self.settings)
            values = number_bugs.converted(unrounded, values, source.component, target, self.bug)
            bits = bits_of(values, target, rounding)
        return replace(source, component=target, registers=bits, wide=values if self.elides else None)

    def bitcast(self, target: ComponentType, source: Vector) -> Vector:
        """The same bits as another type."""
        if self.bug == v.VECTOR_BITCAST_CONVERTS and source.component.is_float != target.is_float:
            return replace(source, component=target, registers=_converted(source, target), wide=None)
        return replace(source, component=target, wide=None)


def _converted(source: Vector, target: ComponentType) -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
    """The numbers, not the bits, as another type."""
    if target.is_float:
        return bits_of(source.ints(source.component.is_signed).astype(np.float64), target, 0)
    values: Ints = np.where(np.abs(source.floats()) < 2.0**31, source.floats(), 0).astype(np.int64)
    return wrapped_bits(values, target)
