"""Transforms of elements: a value with its freedom, as a wrong program has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.case.model import ComponentType
from cts.case.oracle.deviation import Step
from cts.case.oracle.expectation import Freedom
from cts.reference.deviation.classes import certainly, class_of
from cts.reference.deviation.moves import NotComputable, held, move_of, tiles_swapped
from cts.reference.numeric import integers
from cts.reference.numeric.arrays import Bits, Mask
from cts.reference.numeric.conversions import bitcast, converted
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.formats import above, below, nearest, real
from cts.reference.numeric.modes import Mode
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Value, anything, where, with_freedom

#: Either rounding would allow all between two neighbours, and so explain what is rounded to a wider type.
_NEAREST = Mode(rounding="nearest")

_UNKNOWN = ("made of a value that is not exact by a deviation",)


@dataclass(frozen=True)
class Around:
    """What transforms may take instead of the value: each a function, as most transforms take nothing."""

    before: Callable[[], Value]
    operand: Callable[[str], Value]


def transformed(value: Value, steps: Sequence[Step], around: Around) -> Value:
    """A value with all its rows, columns and instances as a wrong program has it.

    Raises NotComputable for a transform that does not apply to it.
    """
    value = replace(value, history=None)
    for n, step in enumerate(steps):
        if step.name == "dealt":
            return _dealt(value, str(step.arguments[0]), steps[n + 1 :], around)
        if step.name in ("unless", "from_row", "from_column"):
            return where(_spared(value, step, around), value, transformed(value, steps[n + 1 :], around))
        value = _transformed(value, step, around)
    return value


def _spared(value: Value, step: Step, around: Around) -> Mask:
    """The elements that are right in spite of what follows."""
    if step.name != "unless":
        return ~part_of("before_" + step.name, step.arguments, *value.shape[-2:])
    beside = around.operand(str(step.arguments[0]))
    if beside.component is None:
        raise NotComputable("a condition")
    return certainly(beside, beside.component, str(step.arguments[1]))


def _dealt(value: Value, tiles: str, steps: Sequence[Step], around: Around) -> Value:
    """Elements with a row for each invocation that holds them; one without an element is 0 before the change."""
    rows, cols = value.shape[-2:]
    invocation, slot = (index.reshape(-1) for index in held(tiles, rows, cols))

    def as_held(of: Value) -> Value:
        of = _alike(of, value)

        def lay(array: Bits) -> Bits:
            laid = np.zeros((*array.shape[:-2], int(invocation.max()) + 1, int(slot.max()) + 1), array.dtype)
            laid[..., invocation, slot] = array.reshape(*array.shape[:-2], -1)
            return laid

        return of.map(lambda a: lay(np.broadcast_to(a, value.shape)))

    held_too = Around(lambda: as_held(around.before()), lambda name: as_held(around.operand(name)))
    changed = transformed(as_held(value), steps, held_too)
    return changed.map(lambda a: a[..., invocation, slot].reshape(value.shape))


def moved_component(value: Value, tiles: str, component: int, source: int) -> Value:
    """Elements where each invocation has one of its components in place of another; 0 if that one has no element."""
    invocation, slot = held(tiles, *value.shape[-2:])
    if not 0 <= source <= slot.max():
        return value
    taken: dict[tuple[int, int], tuple[int, ...]] = {}
    for place, who in np.ndenumerate(invocation):
        taken[int(who), int(slot[place])] = place
    order = np.arange(slot.size).reshape(slot.shape)
    moved, empty = order.copy(), np.zeros(order.shape, bool)
    for place in zip(*np.nonzero(slot == component), strict=True):
        of = taken.get((int(invocation[place]), source))
        empty[place] = of is None
        moved[place] = order[of or place]
    beside = value.map(lambda a: a.reshape(*a.shape[:-2], -1)[..., moved])
    return where(empty, Value(value.component, np.zeros_like(value.bits)), beside)


def constant(value: Value, steps: Sequence[Step]) -> Value:
    """A component value among an instruction's operands as a wrong program has it."""

    def nothing(*_: object) -> Value:
        raise NotComputable("a constant has no earlier value")

    return transformed(value, steps, Around(nothing, nothing))


def with_sign(value: Value, *, signed: bool) -> Value:
    """Integers read with a sign, or without."""
    assert value.component is not None
    if value.component.is_float or value.component.is_signed == signed:
        return value
    return bitcast(value, ComponentType(("" if signed else "u") + value.component.value.removeprefix("u")))


def _transformed(value: Value, step: Step, around: Around) -> Value:
    if (move := move_of(step)) is not None:
        return value.map(move)
    name, arguments = step
    if name == "operand":
        return _alike(around.operand(str(arguments[0])), value)
    if name.startswith("before"):
        return _partly(value, _alike(around.before(), value), name, arguments)
    if name == "read_as":
        word = str(arguments[0])
        known = word in ComponentType.__members__
        return _read_as(value, ComponentType(word) if known else around.operand(word).component)
    if name == "tiles_swapped":
        return value.map(lambda a: tiles_swapped(a, int(arguments[0])))
    if name == "apart":
        return value if value.free is None else replace(value, free=replace(value.free, group=None))
    component = value.component
    if component is None:
        raise NotComputable("a condition")
    if name == "beside":
        field, of, number = map(str, arguments)
        beside = around.operand(field)
        assert beside.component is not None
        mask = certainly(beside, beside.component, of)
        if number == "negated":
            return where(mask, _negated(value, component), value)
        if number == "itself":
            return where(mask, _alike(beside, value), value)
        other = _instead(_number(value, component, 0.0), component, "zero", number)
        if of == "infinity" and beside.component.is_float:
            other = where(real(beside.component, beside.bits) < 0, _negated(other, component), other)
        return where(mask, other, value)
    if (function := _OF_VALUES.get(name)) is not None:
        return function(value, component, *arguments)
    if (of_bits := _BITS.get(name)) is None:
        raise NotComputable(name)
    return _each(value, component, lambda bits: of_bits(bits, component, *arguments))


def _read_as(value: Value, other: ComponentType | None) -> Value:
    """Elements whose bits are those of another type of their size."""
    if value.component is None or other is None or other.size != value.component.size:
        return value
    return bitcast(value, other)


def _alike(other: Value, value: Value) -> Value:
    """Another value in the place of one: of the same type, and of its shape, or in row-major order if of its size."""
    if other.component is not value.component:
        raise NotComputable("of another type")
    if other.shape[:2] == value.shape[:2] and other.shape != value.shape and other.bits.size == value.bits.size:
        return other.map(lambda a: np.broadcast_to(a, other.shape).reshape(value.shape))
    try:
        return other.broadcast(np.broadcast_shapes(other.shape, value.shape))
    except ValueError:
        raise NotComputable("of another shape") from None


def _partly(value: Value, before: Value, name: str, arguments: Sequence[Any]) -> Value:
    """The earlier value in a part of the rows, columns or instances."""
    if name == "before":
        return before
    _, instances, rows, cols = np.broadcast_shapes(value.shape, before.shape)
    if name == "before_from_instance":
        return where(np.arange(instances)[:, None, None] >= arguments[0], before, value)
    return where(part_of(name, arguments, rows, cols), before, value)


def part_of(name: str, arguments: Sequence[Any], rows: int, cols: int) -> Mask:
    """The rows and columns that are as before the instruction, (rows, 1) or (cols,)."""
    row, col = np.arange(rows)[:, None], np.arange(cols)
    mask: Mask
    match name:
        case "before_from_row":
            mask = row >= arguments[0]
        case "before_from_column":
            mask = col >= arguments[0]
        case "before_beyond_rows":
            mask = (row >= rows - rows % max(1, arguments[0])) & (rows >= arguments[0])
        case "before_beyond_columns":
            mask = (col >= cols - cols % max(1, arguments[0])) & (cols >= arguments[0])
        case "before_in_second_half":
            mask = col >= (cols + 1) // 2
        case "before_in_last_row":
            mask = row == rows - 1
        case _:
            mask = col == cols - 1
    return mask


def _each(value: Value, component: ComponentType, of_bits: Callable[[Bits], Bits]) -> Value:
    """A function of bits; nothing is known of it where an element is not exact."""
    result = Value(component, of_bits(value.bits).astype(component.bits_dtype))
    if value.free is None:
        return result
    return where(value.flags != 0, anything(component, value.shape, _UNKNOWN), result)


def _rounded(value: Value, component: ComponentType, to: str, mode: Mode = _NEAREST) -> Value:
    if to not in ComponentType.__members__:
        raise NotComputable(to)
    target, watch = ComponentType(to), Watch()
    if target.is_float and not component.is_float:
        how = "even" if mode.rounding == "nearest" else "zero"
        return _each(value, component, lambda bits: _by_way_of(bits, component, to, how))
    if component.is_float and not target.is_float:
        return value
    if not component.is_float:
        return converted(converted(value, target, watch), component, watch)
    modes = MappingProxyType({target: mode})
    return converted(converted(value, target, watch, False, True, modes), component, watch, False, True)


def _by_way_of(bits: Bits, component: ComponentType, to: str, how: str) -> Bits:
    """Numbers rounded to a float type and back: to nearest `even`, towards `zero`, or with ties `away` from zero."""
    target = ComponentType(to)
    if not target.is_float:
        return bits
    numbers = real(component, bits) if component.is_float else integers.whole(component, bits).astype(np.float64)
    inside = np.abs(numbers) <= target.format.greatest
    numbers = np.where(inside, numbers, 0.0)
    low, high = below(target, numbers), above(target, numbers)
    smaller, larger = np.where(numbers > 0, low, high), np.where(numbers > 0, high, low)
    nearer = np.where(numbers - low == high - numbers, larger, real(target, nearest(target, numbers)))
    found = {"zero": smaller, "away": nearer}.get(how, real(target, nearest(target, numbers)))
    if component.is_float:
        back = nearest(component, found)
    else:
        greatest = (1 << (8 * component.size - component.is_signed)) - 1
        back, inside = integers.truncated(component, found.astype(np.int64)), inside & (np.abs(found) <= greatest)
    return np.where(inside, back, bits)


def _number(value: Value, component: ComponentType, number: float) -> Value:
    return Value(component, np.full(value.shape, _bits_of(component, number)))


def _bits_of(component: ComponentType, number: float) -> Any:
    if component.is_float:
        return nearest(component, np.array([float(number)]))[0]
    return component.bits_dtype.type(int(number) & ((1 << 8 * component.size) - 1))


def _negated(value: Value, component: ComponentType) -> Value:
    return Floats(loose=False).neg(value) if component.is_float else integers.negated(value)


def _magnitude(value: Value, component: ComponentType) -> Value:
    if component.is_float:
        return Floats(loose=False).abs(value)
    return _each(value, component, lambda bits: np.abs(bits.view(f"i{component.size}")).view(component.bits_dtype))


def _instead(value: Value, component: ComponentType, of: str, other: str) -> Value:
    exact = certainly(value, component, of)
    mask = exact if of == "nan" else class_of(component, value.bits, of)
    if other == "negated":
        return where(mask, _negated(value, component), value)
    numbers = {"zero": 0.0, "negative_zero": -0.0, "one": 1.0, "nan": np.nan, "infinity": np.inf}
    greatest = (1 << (8 * component.size - component.is_signed)) - 1
    numbers["greatest"] = component.format.greatest if component.is_float else greatest
    if not component.is_float and other in ("nan", "infinity", "negative_zero"):
        return value
    new = np.broadcast_to(_bits_of(component, numbers[other]), value.shape)
    sign = value.bits & component.bits_dtype.type(1 << (8 * component.size - 1))
    # A NaN may have any sign.
    if component.is_float and other in ("infinity", "greatest") and of != "nan":
        new = new | sign
    return where(exact, Value(component, new.astype(component.bits_dtype)), value) if exact.any() else value


def _flushed(bits: Bits, component: ComponentType) -> Bits:
    if not component.is_float:
        return bits
    sign = component.bits_dtype.type(1 << (8 * component.size - 1))
    return np.where(class_of(component, bits, "denormal"), bits & sign, bits)


def _integral(value: Value, component: ComponentType) -> Value:
    if not component.is_float:
        return value
    numbers = real(component, value.bits)
    finite = np.isfinite(numbers)
    bits = np.where(finite, nearest(component, np.trunc(np.where(finite, numbers, 0.0))), value.bits)
    if value.free is None:
        return Value(component, bits)
    low, high = (np.trunc(bound) for bound in value.core)
    known = (value.flags & (Freedom.ANY | Freedom.NAN) == 0) & (low == high) & (low != 0)
    flags = np.where((low == 0) & (high == 0), np.uint8(FREE | Freedom.EITHER_ZERO), value.flags)
    return with_freedom(component, bits, np.where(known, np.uint8(0), flags), (low, high), value.reasons)


def _sign_extended(bits: Bits, component: ComponentType, n: int) -> Bits:
    width = 8 * component.size
    if not 0 < n <= width:
        raise NotComputable(f"{n} of {width} bits")
    wide = bits.astype(np.int64) & ((1 << n) - 1)
    wide = wide - ((wide >> (n - 1)) << n)
    return (wide & ((1 << width) - 1)).astype(component.bits_dtype)


def _low_bits(bits: Bits, component: ComponentType, n: int) -> Bits:
    kept: Bits = bits & component.bits_dtype.type((1 << min(n, 8 * component.size)) - 1)
    return kept


def _high_bits(bits: Bits, component: ComponentType, n: int) -> Bits:
    width = 8 * component.size
    kept: Bits = bits & component.bits_dtype.type(((1 << width) - 1) & ~((1 << max(0, width - n)) - 1))
    return kept


def saturated(value: Value, operation: str, operands: Sequence[Value], most: int, side: str) -> Value:
    """The result of an operation on integers: an end of their range, if it is at most so far beyond (0: any)."""
    component = value.component
    if component is None or component.is_float or operation not in _EXACT:
        return value
    exact = exactly(component, operation, operands)
    low = -(1 << (8 * component.size - 1)) if component.is_signed else 0
    ends = np.clip(exact, low, low + (1 << 8 * component.size) - 1)
    beyond = np.abs(exact - ends)
    over = (
        (beyond > 0)
        & ((exact > ends) != (side == "least") if side != "both" else True)
        & ((beyond <= most) | (most == 0))
        & (value.flags == 0)
    )
    return where(over, Value(component, integers.truncated(component, ends.astype(np.int64))), value)


def exactly(component: ComponentType, operation: str, operands: Sequence[Value]) -> Any:
    """What an operation of `_EXACT` gives of integers, as float64."""
    return _EXACT[operation](*(integers.whole(component, one.bits).astype(np.float64) for one in operands))


def unwrapped(value: Value, operation: str, operands: Sequence[Value], *, signed: bool) -> Value:
    """A conversion of what an operation on integers gives without being cut to the width of its operands."""
    operands = [with_sign(operand, signed=signed) for operand in operands]
    component, of = value.component, operands[0].component
    if component is None or of is None or of.is_float or (component.size <= of.size and not component.is_float):
        return value
    exact = exactly(of, operation, operands)
    bits = nearest(component, exact) if component.is_float else integers.truncated(component, exact.astype(np.int64))
    known = np.logical_and.reduce(np.broadcast_arrays(*(operand.flags == 0 for operand in operands)))
    return where(known, Value(component, bits), value)


#: Operations on integers that `saturated` and `unwrapped` are of. Doubles hold all but large products, which are
#: beyond all ends.
_EXACT: dict[str, Callable[..., Any]] = {
    "IAdd": np.add,
    "ISub": np.subtract,
    "IMul": np.multiply,
    "SNegate": np.negative,
}

_OF_VALUES: dict[str, Callable[..., Value]] = {
    "zero": lambda value, component: _number(value, component, 0.0),
    "number": _number,
    "negated": _negated,
    "magnitude": _magnitude,
    "rounded": _rounded,
    "rounded_towards_zero": lambda v, c, to: _rounded(v, c, to, Mode(rounding="towards zero")),
    "rounded_away": lambda v, c, to: _each(v, c, lambda bits: _by_way_of(bits, c, to, "away")),
    "instead": _instead,
    "integral": _integral,
}

_BITS: dict[str, Callable[..., Bits]] = {
    "low_bits": _low_bits,
    "high_bits": _high_bits,
    "sign_extended": _sign_extended,
    "flushed": _flushed,
}
