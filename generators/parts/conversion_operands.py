"""What may be converted to what, with which numbers: ties and their neighbours, denormals, limits.

Numbers stay where the result is defined (NU-016) and, for the float8 types, unambiguous (AM-29).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace as with_fields

from cts.case import model
from cts.generators.build.kernels import Kernel, Matrix
from cts.generators.build.value_ranges import UNBOUNDED, Known, anything, limits, reread

#: Numbers in one cycle: prime, so that rows begin with different ones.
_CYCLE = 31


@dataclass(frozen=True)
class Step:
    """One conversion: `operation` of components, or `transpose`, or a new `use` alone, or a bitcast.

    `decorated`: the conversion of components or of the use transposes as well (MX-003).
    """

    component: model.ComponentType
    operation: model.Conversion | None = None
    use: model.Use | None = None
    saturate: bool = False
    transpose: bool = False
    decorated: bool = False

    @property
    def kind(self) -> str:
        """Its kind, for draws that choose all kinds equally often."""
        if self.operation is not None:
            changes = "" if self.use is None else " with use"
            return f"{'float' if self.component.is_float else 'integer'}{changes}{self._ext}"
        return "transpose" if self.transpose else "bitcast" if self.use is None else f"use{self._ext}"

    @property
    def _ext(self) -> str:
        return " transposed" if self.decorated else " back" if self.use is model.Use.Accumulator else ""


def feasible(
    source: model.ComponentType,
    rows: int,
    cols: int,
    use: model.Use,
    admits: Callable[[model.ComponentType, int, int, model.Use], bool],
    features: Container[model.Feature],
) -> Iterator[Step]:
    """Every step from a matrix to one that `admits` allows; with the features for that, those that change the use."""
    yield from _plain(source, rows, cols, use, admits, features)
    if model.Feature.CONVERSIONS_EXT in features and use is model.Use.Accumulator:
        swapped = _plain(source, cols, rows, use, admits, {model.Feature.CONVERSIONS})
        yield from (replace(step, decorated=True) for step in swapped if step.use is not None)


def _plain(
    source: model.ComponentType,
    rows: int,
    cols: int,
    use: model.Use,
    admits: Callable[[model.ComponentType, int, int, model.Use], bool],
    features: Container[model.Feature],
) -> Iterator[Step]:
    """Steps without the decoration."""
    changed: tuple[model.Use, ...] = ()
    if model.Feature.CONVERSIONS in features and use is model.Use.Accumulator:
        changed = (model.Use.A, model.Use.B)
    elif model.Feature.CONVERSIONS_EXT in features and use is not model.Use.Accumulator:
        changed = (model.Use.Accumulator,)
    for target in model.ComponentType:
        to = [u for u in (None, *changed) if admits(target, rows, cols, u or use)]
        if target is source:
            yield from (Step(target, use=u) for u in to if u is not None)
            continue
        for u in to:
            for operation in operations_between(source, target):
                yield Step(target, operation, u)
                if target.is_float8:
                    yield Step(target, operation, u, saturate=True)
        if None in to and not source.is_float and not target.is_float and source.size == target.size:
            yield Step(target)
    if (
        model.Feature.TRANSPOSES in features
        and use is model.Use.Accumulator
        and admits(source, cols, rows, model.Use.B)
    ):
        yield Step(source, use=model.Use.B, transpose=True)


def operations_between(source: model.ComponentType, target: model.ComponentType) -> Sequence[model.Conversion]:
    """SPIR-V's: results of OpUConvert and OpConvertFToU are of unsigned types."""
    unsigned = not target.is_float and not target.is_signed
    if source.is_float:
        if target.is_float:
            return (model.Conversion.FConvert,)
        return (model.Conversion.ConvertFToU,) if unsigned else (model.Conversion.ConvertFToS,)
    if target.is_float:
        return model.Conversion.ConvertSToF, model.Conversion.ConvertUToF
    if source.size == target.size:
        return ()
    return (model.Conversion.SConvert, model.Conversion.UConvert) if unsigned else (model.Conversion.SConvert,)


def _read(source: model.ComponentType, operation: model.Conversion | None) -> model.ComponentType:
    """The type as which an operation reads its operand: its name says the sign of an integer."""
    if source.is_float:
        return source
    signed = operation in (model.Conversion.SConvert, model.Conversion.ConvertSToF)
    return model.ComponentType(f"{'int' if signed else 'uint'}{8 * source.size}")


def converted(source: model.ComponentType, known: Known, step: Step) -> Known | None:
    """What is known of the result; None where a value might be out of range, or not clear."""
    if step.operation is None:
        return known if source is step.component else reread(source, step.component, known)
    known = reread(source, _read(source, step.operation), known)
    target = step.component
    if not known.bounded:
        return UNBOUNDED if target.is_float else None
    if not target.is_float:
        least, most = limits(target)
        if source.is_float:
            low, high = math.trunc(known.low), math.trunc(known.high)
            return Known(low, high) if least <= low and high <= most and (least or known.low >= 0) else None
        return known if least <= known.low and known.high <= most else anything(target)
    if step.saturate:
        known = Known(max(known.low, -target.format.greatest), min(known.high, target.format.greatest), known.grain)
    if known.grain is not None and known.size <= math.ldexp(1, target.format.precision + known.grain):
        return known
    away = 1 + 2.0 ** (1 - target.format.precision)
    return Known(min(known.low * away, known.low), max(known.high * away, known.high), None)


def sound(source: model.ComponentType, known: Known, step: Step, *, ieee: bool = False) -> bool:
    """Whether a step is defined and clear for any numbers in a range.

    What a step before made infinite or NaN is clear in modules that make IEEE 754 binding (`ieee`).
    """
    if source.is_float and not known.bounded:
        return ieee and converted(source, known, step) is not None
    if source.is_float and known.size > source.format.greatest:
        return False
    after = converted(source, known, step)
    return after is not None and (
        not step.component.is_float or step.operation is None or known.size <= step.component.format.greatest / 2
    )


@lru_cache(maxsize=4096)
def interesting(source: model.ComponentType, step: Step, seed: int) -> tuple[float, ...]:
    """Numbers of the source type that matter to a step, three quarters of them on edges, in an order by `seed`."""
    read, rng = _read(source, step.operation), random.Random(seed)
    chosen: list[float] = []
    for fitting, most in (
        (_edges(source, read, step.component), _CYCLE * 3 // 4),
        (_all(source, read, step.component), _CYCLE),
    ):
        left = [x for x in fitting if x not in chosen]
        chosen += rng.sample(left, min(most - len(chosen), len(left)))
    rng.shuffle(chosen)
    if source.is_float:
        return tuple(chosen)
    whole = np.array([int(x) for x in chosen]).astype(read.dtype).astype(source.dtype)
    return tuple(int(x) for x in whole)


@lru_cache(maxsize=512)
def _all(source: model.ComponentType, read: model.ComponentType, target: model.ComponentType) -> Sequence[float]:
    """Numbers that matter, from everywhere in the types."""
    return _fitting(read, target, _for_float(source, target) if target.is_float else _for_integer(target))


@lru_cache(maxsize=512)
def _edges(source: model.ComponentType, read: model.ComponentType, target: model.ComponentType) -> Sequence[float]:
    """The ends of both types, denormals, and ties of either sign and either even neighbour."""
    numbers: list[float] = []
    for component in (read, target):
        if component.is_float:
            f = component.format
            numbers += [f.greatest, f.least, f.least * f.unit, f.least * (1 - f.unit)]
        else:
            least, most = limits(component)
            numbers += [least, least + 1, most, most - 1, most // 2, most // 2 + 1, -1, 0]
    if target.is_float:
        unit, whole = target.format.unit, 2.0**target.format.precision
        numbers += [1 + unit / 2, 1 + 1.5 * unit, whole + 1, whole + 3]
    elif source.is_float:
        numbers += [0.5, 1.5, 0.25]
    return _fitting(read, target, [s * x for x in numbers for s in (1, -1)])


def _fitting(read: model.ComponentType, target: model.ComponentType, candidates: Iterable[float]) -> Sequence[float]:
    """Those that a type has, which an operation reads, and whose conversion is defined and clear."""
    numbers = list(dict.fromkeys(candidates))
    held = _represented(read, np.array(numbers, np.float64))
    whole = not (read.is_float or target.is_float)
    return tuple(x for x, holds in zip(numbers, held, strict=True) if holds and (whole or _clear(x, target)))


def _clear(x: float, target: model.ComponentType) -> bool:
    """Whether the conversion of a number is defined, and its result known."""
    if not target.is_float:
        least, most = limits(target)
        return least <= x and math.trunc(x) <= most and (least < 0 or x >= 0)
    if target.is_float8:
        return abs(x) <= target.format.greatest or abs(x) >= target.format.beyond
    return abs(x) <= target.format.greatest


def _represented(component: model.ComponentType, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which numbers a component type has."""
    if component.is_float:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(numbers.astype(component.dtype).astype(np.float64) == numbers)
    least, most = limits(component)
    return np.asarray((numbers == np.trunc(numbers)) & (numbers >= least) & (numbers <= most))


@lru_cache(maxsize=256)
def _for_float(source: model.ComponentType, target: model.ComponentType) -> tuple[float, ...]:
    """Numbers of the target, what is halfway between two of them, and the source's next to those."""
    narrow = target if target.size <= source.size or not source.is_float else source
    codes = sorted({*range(24), *_spread(8 * narrow.size - 1)})
    values = [float(v) for v in model.decode(narrow, np.array(codes, narrow.bits_dtype))]
    after = [float(v) for v in model.decode(narrow, np.array([c + 1 for c in codes], narrow.bits_dtype))]
    numbers: list[float] = []
    for a, b in zip(values, after, strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            continue
        middle, step = (a + b) / 2, (b - a) / 64
        for x in (a, middle, middle - step, middle + step, a + step, b - step):
            numbers += (x, -x)
            if not source.is_float:
                numbers += (float(round(x)), float(-round(x)))
    numbers += [s * x for x in (448.0, 256.0, 480.0, 1000.0, 100000.0, 57344.0, 65536.0) for s in (1, -1)]
    return tuple(numbers)


def _spread(bits: int) -> Iterator[int]:
    """Codes all over a type's positive ones, each binary exponent several times."""
    most = (1 << bits) - 2
    step = max(most // 400, 1)
    yield from range(1, most, step)


@lru_cache(maxsize=64)
def _for_integer(target: model.ComponentType) -> tuple[float, ...]:
    """Whole numbers and fractions between them, around 0 and at the limits."""
    least, most = limits(target)
    bases = [0, 1, 2, 3, 7, 100, 126, 127, 128, 200, 255, 1000, 2047, 32767, 65535, most, most // 2, most - 127]
    bases += [most - 2**k for k in range(8 * target.size - 1)] + [3 * 10**9, least, least // 2, -1, -2, -100]
    bases += [-b for b in bases]
    return tuple(b + f for b in bases for f in (0.0, 0.25, 0.5, 0.75, 0.999, -0.5))


def _copied(kernel: Kernel, matrix: Matrix) -> Matrix:
    name = kernel.name("m")
    kernel.program.emit(model.MatrixCopy(id=name, matrix=matrix.id, through=model.CopyPath.CopyObject))
    return Matrix(name, matrix.type, matrix.component, matrix.rows, matrix.cols, matrix.use, matrix.known)


def emit_step(kernel: Kernel, matrix: Matrix, step: Step) -> Matrix:
    """Emit the instruction of a step; the matrix that it gives."""
    name = kernel.name("m")
    known = converted(matrix.component, matrix.known, step)
    assert known is not None, step
    kind: model.MatrixType = with_fields(matrix.type, component=step.component)
    rows, cols, use = matrix.rows, matrix.cols, step.use or matrix.use
    if step.operation is not None:
        kernel.program.emit(
            model.MatrixConvert(
                id=name,
                matrix=matrix.id,
                operation=step.operation,
                component=step.component,
                use=step.use,
                saturate=step.saturate,
                transpose=step.decorated,
            )
        )
    elif step.transpose:
        kernel.program.emit(model.MatrixTranspose(id=name, matrix=matrix.id))
    elif step.use is not None:
        kernel.program.emit(model.MatrixConvertUse(id=name, matrix=matrix.id, use=step.use, transpose=step.decorated))
    else:
        kernel.program.emit(model.MatrixBitcast(id=name, matrix=matrix.id, component=step.component))
    if step.transpose or step.decorated:
        kind = with_fields(kind, rows=kind.cols, cols=kind.rows)
        rows, cols = cols, rows
    if step.use is not None:
        kind = with_fields(kind, use=step.use)
    return Matrix(name, kind, step.component, rows, cols, use, known)
