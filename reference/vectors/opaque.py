"""Opaque matrices, kept as their elements, and the conversions that reach them (VK-053..VK-055, CV-038)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from cts.case.model import Case, ComponentType, ConversionSide, MatrixConversion, MatrixLayout, OpaqueMatrix
from cts.case.oracle.deviation import BETWEEN, OF_CASE, RESULT, Step
from cts.case.oracle.expectation import Freedom, Violation
from cts.reference.common.memory import Memory
from cts.reference.deviation.elements import constant
from cts.reference.deviation.parts import NO_PARTS, Parts
from cts.reference.numeric import conversions
from cts.reference.numeric.arrays import I64
from cts.reference.numeric.rounding import denormal
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Value, anything, where, with_freedom
from cts.reference.vectors.products import nearest_of
from cts.reference.vectors.training import Accumulation

#: Why bytes between the rows or columns of a converted matrix may hold anything.
_BETWEEN_LINES = ("VK-055 does not say what a conversion leaves between lines",)
_NOT_KEPT = "NaN, infinities, denormals and -0 of a converted matrix are not certain (AM-28)"

Report = Callable[[Violation], None]


class OpaqueMatrices:
    """The values of a case's opaque matrices, (sets, 1, rows, cols); None for a matrix without a value yet."""

    def __init__(self, declared: Mapping[str, OpaqueMatrix]) -> None:
        self.declared = declared
        self.values: dict[str, Value | None] = {name: _zero(m) if m.zero else None for name, m in declared.items()}
        self.accumulations: dict[str, Accumulation] = {}

    def gains(self, name: str, sets: int) -> Accumulation:
        """What a dispatch accumulates into a matrix."""
        matrix = self.declared[name]
        fresh = Accumulation(matrix.component, sets, matrix.rows * matrix.cols)
        return self.accumulations.setdefault(name, fresh)

    def finish(self) -> None:
        """The end of the dispatch: matrices are what they were, and what was accumulated."""
        for name, accumulation in self.accumulations.items():
            before, matrix = self.values[name], self.declared[name]
            if before is None:
                continue
            sets, count = accumulation.low.shape
            full = before.broadcast((sets, 1, matrix.rows, matrix.cols)).map(lambda a: a.reshape(sets, count))  # noqa: B023
            after, gained = accumulation.finished(full)
            if gained.any():
                self.values[name] = after.map(lambda a: a.reshape(sets, 1, matrix.rows, matrix.cols))  # noqa: B023
        self.accumulations = {}


def convert(
    case: Case,
    after: bool,
    memories: Mapping[str, Memory],
    matrices: OpaqueMatrices,
    report: Report,
    parts: Parts = NO_PARTS,
) -> None:
    """All conversions before the dispatch, or `after` it, in order; they deviate in `parts`."""
    for n, conversion in enumerate(case.conversions):
        if conversion.after is not after:
            continue
        source, destination = conversion.source, conversion.destination
        value = _read(conversion, source, memories, matrices)
        if value is None:
            path, what = f"conversions[{n}].source", f"{source.of!r} is nothing yet"
            report(Violation("CV-038", path, what, "`zero: true`, or a conversion into it before"))
            continue
        target = component_of(matrices.declared, destination)
        wrong = parts.get(OF_CASE - 1 - n, {})
        if "source" in wrong:
            steps = [
                Step(s.name, (target.value,) if s.arguments == (RESULT,) else s.arguments) for s in wrong["source"]
            ]
            value = constant(value, steps)
        right = value
        value, problem = converted(value, target)
        if parts:
            value = _not_finite(right, value, target)
        if RESULT in wrong:
            value = constant(value, wrong[RESULT])
        if problem is not None:
            report(Violation("AM-28", f"conversions[{n}].source", problem, f"what {target.value} can be sure to hold"))
        if destination.of in matrices.declared:
            matrices.values[destination.of] = value
        else:
            byte = place_bytes(destination, target, conversion.rows, conversion.cols)
            memories[destination.of].store(byte, None, value)
            between = gap_bytes(destination, target, conversion.rows, conversion.cols)
            if between.size and BETWEEN not in parts.get(OF_CASE, {}):
                memories[destination.of].store(between, None, anything(target, between.shape, _BETWEEN_LINES))


def component_of(matrices: Mapping[str, OpaqueMatrix], place: ConversionSide) -> ComponentType:
    """The component type of a matrix, opaque or in a buffer."""
    component = matrices[place.of].component if place.of in matrices else place.component
    assert component is not None
    return component


def place_bytes(place: ConversionSide, component: ComponentType, rows: int, cols: int) -> I64:
    """The byte of every element of a matrix in a buffer, (1, 1, rows, cols) (VK-055)."""
    row, col = np.arange(rows, dtype=np.int64)[:, None], np.arange(cols, dtype=np.int64)
    major, minor = (row, col) if place.layout is MatrixLayout.RowMajor else (col, row)
    offsets: I64 = (place.offset + major * place.stride + minor * component.size)[None, None]
    return offsets


def gap_bytes(place: ConversionSide, component: ComponentType, rows: int, cols: int) -> I64:
    """The byte of every element between the lines of a matrix in a buffer, (1, 1, lines - 1, elements).

    VK-055 says what lies on a line, and nothing about bytes between lines: devices write zeros there. Nothing is
    written behind the last line.
    """
    lines, length = (rows, cols) if place.layout is MatrixLayout.RowMajor else (cols, rows)
    line = np.arange(lines - 1, dtype=np.int64)[:, None]
    behind = np.arange(length, place.stride // component.size, dtype=np.int64)
    offsets: I64 = (place.offset + line * place.stride + behind * component.size)[None, None]
    return offsets


def converted(value: Value, target: ComponentType) -> tuple[Value, str | None]:
    """VK-054: the value unchanged or rounded to nearest even; and the reason why it cannot be converted, or None."""
    source = value.component
    assert source is not None
    if source is target:
        return value, None
    low, high = value.interval
    known = (value.flags & (Freedom.ANY | Freedom.NAN)) == 0
    greatest = target.format.greatest
    outside = ~((low >= -greatest) & (high <= greatest))
    problem = None
    if target.is_float8 and (outside & known).any():
        problem = f"a NaN or a number beyond {target.value}"
    nearest = nearest_of(value, target) if source.is_ieee else _widened(value, target)
    return _loosened(nearest, outside | value.unbounded), problem


def _not_finite(right: Value, result: Value, target: ComponentType) -> Value:
    """A wrong program converts what it reads beyond a matrix, such as NaNs, as it converts between matrices."""
    unknown = (result.flags & Freedom.ANY != 0) & (right.flags & Freedom.ANY == 0)
    if not unknown.any():
        return result
    return where(unknown, conversions.converted(right, target, Watch(), False, True), result)


def _widened(value: Value, target: ComponentType) -> Value:
    """A float8 matrix as what it is, in a wider type."""
    low, high = value.core
    unbounded = value.unbounded
    bounds = (np.where(unbounded, 0.0, low), np.where(unbounded, 0.0, high))
    exact = np.where(unbounded, 0.0, low).astype(target.dtype).view(target.bits_dtype)
    flags = np.where((bounds[0] <= 0) & (bounds[1] >= 0), np.uint8(FREE | Freedom.EITHER_ZERO), value.flags)
    return with_freedom(target, exact, flags, bounds, (*value.reasons, _NOT_KEPT))


def _loosened(value: Value, unknown: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Value:
    """Denormal results may be flushed, and what is `unknown` be anything."""
    assert value.component is not None
    flags = value.flags
    if value.component.is_ieee:
        tiny = denormal(value.core, value.component.format.least)
        flags = np.where(tiny, flags | np.uint8(FREE | Freedom.EITHER_ZERO), flags)
    flags = np.where(unknown, np.uint8(FREE | Freedom.ANY), flags).astype(np.uint8)
    return with_freedom(value.component, value.bits, flags, value.core, (*value.reasons, _NOT_KEPT))


def _read(
    conversion: MatrixConversion, place: ConversionSide, memories: Mapping[str, Memory], matrices: OpaqueMatrices
) -> Value | None:
    if place.of in matrices.declared:
        return matrices.values[place.of]
    component = component_of(matrices.declared, place)
    return memories[place.of].load(place_bytes(place, component, conversion.rows, conversion.cols), component)


def _zero(matrix: OpaqueMatrix) -> Value:
    return Value(matrix.component, np.zeros((1, 1, matrix.rows, matrix.cols), matrix.component.bits_dtype))
