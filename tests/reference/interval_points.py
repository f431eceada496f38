"""Intervals against points: what an operation allows of an interval holds what it allows of each number in it.

Operands have the freedom that the oracle's values have: intervals, steps, NaNs and zeros beside them, next to exact
elements. Their ends lie at the edges of every type: zeros, denormals, greatest numbers, and overflow in another type.
Each operation is computed twice by the same oracle, of whole operands and of one number of each. The second answer must
be part of the first one. Whether answers to single numbers are right is for other tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType as T
from cts.case.model import encode
from cts.case.oracle.expectation import Freedom, Intervals
from cts.judging.compare import _multiples, is_nan, within
from cts.reference.common.memory import interval_bits
from cts.reference.numeric import conversions, integers, transcendental
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.formats import from_ordinals, lowest_bit, nearest, ordinals, real
from cts.reference.numeric.modes import Mode, Modes
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Free, Value, numbers

Bits: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]

FLOATS = tuple(t for t in T if t.is_float)
INTEGERS = tuple(t for t in T if not t.is_float)
#: Types that arithmetic and functions of vectors have.
ARITHMETIC = (T.float16, T.float32)

#: Every mode that may bind a type.
MODES = tuple(
    Mode(rounding, denormals, specials)
    for rounding in (None, "nearest", "towards zero")
    for denormals in (None, "kept", "flushed")
    for specials in (False, True)
)


@dataclass(frozen=True)
class Setting:
    """What binds the operations of a program."""

    name: str
    loose: bool
    ieee: bool
    modes: Modes

    @property
    def floats(self) -> Floats:
        return Floats(self.loose, self.ieee, self.modes)


def settings() -> list[Setting]:
    """Undecorated, NoContraction and no fast math, the last two with every mode for all types alike."""
    found = [Setting("undecorated", loose=True, ieee=False, modes={})]
    for mode in MODES:
        modes = dict.fromkeys((T.float16, T.float32), mode)
        text = " ".join(str(x) for x in (mode.rounding, mode.denormals, mode.specials))
        found.append(Setting(f"NoContraction, {text}", loose=False, ieee=False, modes=modes))
        found.append(Setting(f"no fast math, {text}", loose=False, ieee=True, modes=modes))
    return found


#: From operands to the result, and what is undefined on the way.
Compute: TypeAlias = Callable[[Setting, Sequence[Value], Watch], Value]


@dataclass(frozen=True)
class Operation:
    """An operation, and the component types of its operands and its result."""

    name: str
    operands: tuple[T, ...]
    result: T | None  # None: a condition
    compute: Compute


def operations() -> Iterator[Operation]:
    """Every operation on values that rounds, converts, chooses or moves, for all types that it has."""
    for source in T:
        for target in T:
            if source is target:
                continue
            for saturate in (False, True) if target.is_float8 else (False,):
                yield Operation(
                    f"{source.value} to {target.value}{' saturated' * saturate}",
                    (source,),
                    target,
                    _to(target, saturate),
                )
    for t in ARITHMETIC:
        for name in ("add", "sub", "mul", "div", "min", "max"):
            yield Operation(f"{name} {t.value}", (t, t), t, _of(name))
        yield Operation(f"fma {t.value}", (t, t, t), t, _of("fma"))
        yield Operation(f"clamp {t.value}", (t, t, t), t, _clamped)
        for name in ("neg", "abs", "exp"):
            yield Operation(f"{name} {t.value}", (t,), t, _of(name))
        for function in (transcendental.log, transcendental.tanh, transcendental.atan):
            yield Operation(f"{function.__name__} {t.value}", (t,), t, _function(function))
        yield Operation(f"step {t.value}", (t, t), t, lambda s, v, w: transcendental.step(v[0], v[1], s.ieee))
        for relation in ("lt", "le", "eq", "ne", "gt", "ge"):
            yield Operation(f"{relation} {t.value}", (t, t), None, _compared(relation))
    for t in INTEGERS:
        for name in ("add", "sub", "mul", "min", "max", "and", "or", "xor", "div", *(() if t.is_signed else ("mod",))):
            yield Operation(f"{name} {t.value}", (t, t), t, _whole(name))
        yield Operation(f"neg {t.value}", (t,), t, lambda s, v, w: integers.negated(v[0]))
        yield Operation(f"invert {t.value}", (t,), t, lambda s, v, w: integers.inverted(v[0]))


def _to(target: T, saturate: bool) -> Compute:
    return lambda s, v, w: conversions.converted(v[0], target, w, saturate, s.ieee, s.modes)


def _of(name: str) -> Compute:
    return lambda s, v, w: getattr(s.floats, name)(*v)


def _clamped(s: Setting, v: Sequence[Value], w: Watch) -> Value:
    return s.floats.min(s.floats.max(v[0], v[1]), v[2])


def _function(function: Callable[[Value, bool], Value]) -> Compute:
    return lambda s, v, w: s.floats.flushed(function(v[0], s.ieee))


def _compared(relation: str) -> Compute:
    return lambda s, v, w: s.floats.compare(relation, v[0], v[1])


def _whole(name: str) -> Compute:
    return lambda s, v, w: integers.binary(name, v[0], v[1], w)


def _edges(component: T) -> Bits:
    """Bit patterns at which something changes, in this type or in another one."""
    if not component.is_float:
        info = np.iinfo(component.dtype)
        some = [
            0,
            1,
            2,
            3,
            7,
            448,
            449,
            464,
            480,
            65504,
            65519,
            65520,
            57344,
            61440,
            2049,
            info.max - 1,
            info.max,
            info.min,
        ]
        every = {x for s in some for x in (s, -s, s + 1, s - 1) if info.min <= x <= info.max}
        return np.array(sorted(every), component.dtype).view(component.bits_dtype)
    marks = [0.0, 1.0, 1.5, 2.0, 3.0, 127.0, 128.0, 255.5, 256.0, 32767.5, 65535.5, 2.0**31, 2.0**32]
    for t in FLOATS:
        fmt = t.format
        marks += [
            fmt.least,
            fmt.least * fmt.unit,
            fmt.least / 2,
            fmt.greatest,
            fmt.beyond,
            (fmt.greatest + fmt.beyond) / 2,
        ]
    marks.append(np.inf)
    with np.errstate(over="ignore"):
        bits = nearest(component, np.clip(np.array(marks), 0, component.format.greatest))
    order = ordinals(component, bits)
    near = np.unique(np.concatenate([order + d for d in (-1, 0, 1)]))
    top = ordinals(component, nearest(component, np.array([component.format.greatest])))[0]
    near = near[(near >= 0) & (near <= top)]
    if component.format.infinities:
        near = np.append(near, top + 1)
    return from_ordinals(component, np.concatenate([near, -near - 1]))


def _exact(component: T, count: int, rng: np.random.Generator) -> Bits:
    """Numbers of a type, half of them at edges, a quarter within a few orders of magnitude of 1."""
    edges = _edges(component)
    bits = rng.integers(0, 1 << (8 * component.size), count, dtype=np.uint64).astype(component.bits_dtype)
    if component.is_float:
        bits = np.where(is_nan(component, bits), edges[0], bits)
    if component.is_float:
        scale = 2.0 ** rng.integers(-12, 13, count)
        moderate = nearest(component, np.clip(rng.standard_normal(count) * scale, *_reach(component)))
    else:
        moderate = encode(component, rng.integers(-9 * component.is_signed, 10, count).tolist())
    kind = rng.integers(0, 4, count)
    at_edge = edges[rng.integers(0, edges.size, count)]
    return np.where(kind < 2, at_edge, np.where(kind == 2, moderate, bits)).astype(component.bits_dtype)


def _reach(component: T) -> tuple[float, float]:
    return -component.format.greatest, component.format.greatest


def _order(component: T, bits: Bits) -> npt.NDArray[np.int64]:
    if component.is_float:
        return ordinals(component, bits)
    return bits.view(component.dtype).astype(np.int64)


def _unordered(component: T, order: npt.NDArray[np.int64]) -> Bits:
    if component.is_float:
        return from_ordinals(component, order)
    return order.astype(component.dtype).view(component.bits_dtype)


def drawn(component: T, count: int, rng: np.random.Generator, ieee: bool) -> Value:
    """Elements (1, 1, 1, count), a quarter of them exact."""
    first, second = _exact(component, count, rng), _exact(component, count, rng)
    close = rng.random(count) < 0.5
    near = _order(component, first) + rng.integers(0, 9, count)
    if component.is_float:
        top = ordinals(component, nearest(component, np.array([component.format.greatest])))[0]
        near = np.minimum(near, top)
    else:
        near = np.minimum(near, np.iinfo(component.dtype).max)
    second = np.where(close, _unordered(component, np.maximum(near, _order(component, first))), second)
    second = np.where(rng.random(count) < 0.25, first, second).astype(component.bits_dtype)
    a, b = _order(component, first), _order(component, second)
    low, high = _unordered(component, np.minimum(a, b)), _unordered(component, np.maximum(a, b))
    lo, hi = numbers(component, low), numbers(component, high)
    flags = np.where(low != high, np.uint8(FREE), np.uint8(0))
    step = None
    if component.is_float:
        zero = rng.random(count) < 0.2
        flags |= np.where(zero, np.uint8(FREE | Freedom.EITHER_ZERO), np.uint8(0))
        if ieee:
            nan = rng.random(count) < 0.05
            flags |= np.where(nan, np.uint8(FREE | Freedom.NAN), np.uint8(0))
        flags |= np.where(rng.random(count) < 0.02, np.uint8(FREE | Freedom.ANY), np.uint8(0))
        if not ieee:
            infinite = ~np.isfinite(lo) | ~np.isfinite(hi)
            flags |= np.where(infinite, np.uint8(FREE | Freedom.ANY), np.uint8(0))
        common = np.minimum(lowest_bit(lo), lowest_bit(hi))
        step = np.where(
            np.isfinite(common) & np.isfinite(lo) & np.isfinite(hi) & (rng.random(count) < 0.6), common, 0.0
        )
    bits = np.where(rng.random(count) < 0.5, low, high)
    shape = (1, 1, 1, count)
    whole = flags.reshape(shape)
    free = Free(
        whole, lo.reshape(shape), hi.reshape(shape), ("drawn",), step=None if step is None else step.reshape(shape)
    )
    return Value(component, bits.reshape(shape), free if whole.any() else None)


def points(value: Value, rng: np.random.Generator) -> Value:
    """One allowed number of each element, as an exact value: an end, one between, a zero or NaN beside them."""
    component = value.component
    assert component is not None
    if value.free is None:
        return value
    flags, (lo, hi) = value.free.flags, value.core
    shape, count = value.shape, value.bits.size
    low_bits, high_bits = (_of_numbers(component, x) for x in (lo, hi))
    low, high = (_order(component, b) for b in (low_bits, high_bits))
    between = low + np.floor(rng.random(shape) * (high - low + 1)).astype(np.int64)
    kind = rng.integers(0, 4, count).reshape(shape)
    order = np.where(kind == 0, low, np.where(kind == 1, high, np.clip(between, low, high)))
    bits = _unordered(component, order)
    if value.free.step is not None:
        step = value.free.step
        usable = (step > 0) & np.isfinite(numbers(component, bits))
        unit = np.where(usable, step, 1.0)
        number = np.where(usable, numbers(component, bits), 0.0)
        multiple = np.clip(np.rint(number / unit) * unit, np.where(usable, lo, 0.0), np.where(usable, hi, 0.0))
        chosen = nearest(component, np.clip(multiple, *_reach(component)))
        # What the type cannot hold as a multiple is an end, which can.
        fits = real(component, chosen) == multiple
        bits = np.where(usable, np.where(fits, chosen, low_bits), bits)
    if component.is_float:
        zero = (flags & Freedom.EITHER_ZERO != 0) & (rng.random(shape) < 0.4)
        negative = rng.random(shape) < 0.5
        sign = component.bits_dtype.type(1 << (8 * component.size - 1))
        bits = np.where(zero, np.where(negative, sign, component.bits_dtype.type(0)), bits)
        quiet = np.array([np.nan]).astype(component.dtype).view(component.bits_dtype)[0]
        bits = np.where((flags & Freedom.NAN != 0) & (rng.random(shape) < 0.5), quiet, bits)
        anything = flags & Freedom.ANY != 0
        bits = np.where(anything, _exact(component, count, rng).reshape(shape), bits)
    bits = np.where(flags == 0, value.bits, bits).astype(component.bits_dtype)
    return Value(component, bits)


def _of_numbers(component: T, x: npt.NDArray[np.float64]) -> Bits:
    """The bit patterns of numbers that the type has."""
    if component.is_float:
        return x.astype(component.dtype).view(component.bits_dtype)
    return x.astype(np.int64).astype(component.dtype).view(component.bits_dtype)


def candidates(value: Value) -> Iterator[tuple[Bits, Mask]]:
    """Bit patterns at the ends of what a value allows, each with the elements that allow it."""
    everywhere = np.ones(value.shape, bool)
    yield value.bits, everywhere
    component, free = value.component, value.free
    if component is None or free is None:
        return
    some = free.flags != 0
    low, high = interval_bits(component, free.flags, free.lo, free.hi)
    step = np.zeros(value.shape) if free.step is None else free.step
    bound = some & (free.flags & Freedom.ANY == 0) & ~np.isnan(free.lo)
    for end in (low, high):
        number = numbers(component, end)
        with np.errstate(invalid="ignore"):
            off = (step > 0) & (
                number / np.where(step > 0, step, 1.0) != np.rint(number / np.where(step > 0, step, 1.0))
            )
        yield end, bound & ~off
    if component.is_float:
        sign = component.bits_dtype.type(1 << (8 * component.size - 1))
        either = free.flags & Freedom.EITHER_ZERO != 0
        for pattern in (component.bits_dtype.type(0), sign):
            yield np.full(value.shape, pattern), either
        quiet = np.array([np.nan]).astype(component.dtype).view(component.bits_dtype)[0]
        yield np.full(value.shape, quiet), free.flags & np.uint8(Freedom.NAN | Freedom.ANY) != 0


def allows(value: Value, bits: Bits) -> Mask:
    """Which elements of a value may have these bits, by the comparison that judges drivers."""
    exact: Mask = value.bits == bits
    component, free = value.component, value.free
    if free is None:
        return exact
    if component is None:
        return np.asarray(exact | (free.flags != 0))
    low, high = interval_bits(component, free.flags, free.lo, free.hi)
    step = None if free.step is None else np.ravel(np.broadcast_to(free.step, value.shape))
    flat = [np.ravel(np.broadcast_to(a, value.shape)) for a in (low, high, free.flags)]
    freedoms = flat[2] & np.uint8(Freedom.ANY | Freedom.NAN | Freedom.EITHER_ZERO)
    intervals = Intervals(component, np.arange(value.bits.size), flat[0], flat[1], freedoms, step=step)
    actual = np.ravel(bits)
    below, above = _multiples(intervals, actual)
    inside = within(intervals, actual) & (below == above)
    return np.asarray(exact | ((free.flags != 0) & inside.reshape(value.shape)))


@dataclass(frozen=True)
class Refusal:
    """A number whose result is not among those of the interval that holds it."""

    operation: str
    setting: str
    operands: tuple[str, ...]
    numbers: tuple[str, ...]
    allowed: str
    result: str

    def __str__(self) -> str:
        whole = f"{self.operation} ({self.setting}) of {', '.join(self.operands)}: {self.allowed}"
        return f"{whole}; of {', '.join(self.numbers)}: {self.result}"


def refused(
    chain: Sequence[Operation], setting: Setting, rng: np.random.Generator, count: int, rounds: int
) -> tuple[int, list[Refusal]]:
    """Numbers that were tried, and those whose results are refused: `rounds` points of each of `count` elements.

    Each operation of the chain but the first has the last result as its first operand.
    """
    operands = [[drawn(t, count, rng, setting.ieee) for t in o.operands[n > 0 :]] for n, o in enumerate(chain)]
    watch = Watch()
    whole = _chained(chain, setting, operands, watch, lambda v: v)
    tried = 0
    found: list[Refusal] = []
    for _ in range(rounds):
        single = [[points(v, rng) for v in some] for some in operands]
        own = Watch()
        result = _chained(chain, setting, single, own, lambda v: points(v, rng))
        judged = np.broadcast_to(~_undefined(watch) & ~_undefined(own), result.shape)
        tried += int(judged.sum())
        for bits, which in candidates(result):
            wrong = which & judged & ~allows(whole, bits)
            found += [
                Refusal(
                    ", ".join(o.name for o in chain),
                    setting.name,
                    tuple(_said(v, n) for some in operands for v in some),
                    tuple(_said(v, n) for some in single for v in some),
                    _said(whole, n),
                    f"{_said(result, n)}, such as {np.ravel(bits)[n]:#x}",
                )
                for n in np.flatnonzero(wrong)[:3]
            ]
    return tried, found


def chains(rng: np.random.Generator, length: int) -> Iterator[tuple[Operation, ...]]:
    """Endless chains of operations on components, each of which takes the result of the one before."""
    every = [o for o in operations() if o.result is not None]
    after = {t: [o for o in every if o.operands[0] is t] for t in T}
    while True:
        chain = [every[rng.integers(len(every))]]
        while len(chain) < length:
            component = chain[-1].result
            assert component is not None
            chain.append(after[component][rng.integers(len(after[component]))])
        yield tuple(chain)


def _chained(
    chain: Sequence[Operation],
    setting: Setting,
    operands: Sequence[Sequence[Value]],
    watch: Watch,
    between: Callable[[Value], Value],
) -> Value:
    """The result of a chain, whose results but the last go through `between`."""
    value: Value | None = None
    shape = operands[0][0].shape
    for operation, own in zip(chain, operands, strict=True):
        first = [] if value is None else [between(value)]
        value = operation.compute(setting, [*first, *own], watch).broadcast(shape)
    assert value is not None
    return value


def _undefined(watch: Watch) -> Mask:
    """Elements for which something undefined was reported."""
    return reduce(np.logical_or, (found.elements for found in watch.found), np.zeros((), bool))


def _said(value: Value, n: int) -> str:
    low, high = (np.ravel(np.broadcast_to(x, value.shape))[n] for x in value.core)
    if value.free is None or np.ravel(value.free.flags)[n] == 0:
        return f"{low!r}"
    flags = Freedom(int(np.ravel(value.free.flags)[n]) & 7)
    step = 0.0 if value.free.step is None else float(np.ravel(np.broadcast_to(value.free.step, value.shape))[n])
    return f"[{float(low)!r}, {float(high)!r}] {flags!r} step {step:g}"
