"""Matrix instructions that compute: one function for each, from the values of its operands to that of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cts.case import model
from cts.case.oracle.expectation import Freedom
from cts.reference.addressing.accesses import Shape
from cts.reference.common.memory import Memory
from cts.reference.matrices.callback_memory import EntryRead, Window, tables, windows
from cts.reference.matrices.products import multiplied_floats, multiplied_integers
from cts.reference.matrices.reductions import Reduction, filled, reduced
from cts.reference.numeric import conversions, integers
from cts.reference.numeric.arrays import I64
from cts.reference.numeric.expression import Arguments, Otherwise, call
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.rounding import denormal
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Value, with_freedom

Array: TypeAlias = npt.NDArray[Any]

_NOT_PRESERVED = "NaN, denormals and -0 need not be preserved (NU-013, NU-014)"


@dataclass
class Operation:
    """One instruction, and what it may ask for.

    `values` are the matrices, vectors and scalars so far, (sets, instances, rows, cols) or with extents
    of 1; `scalars` the instruction's own component values and what it reads, by field path;
    `first_group` a number that no group of equals has yet; `memories` the buffers as they are now; `pointers`
    the buffers and offsets in elements of pointers among its operands. What functions `read` from tables is kept,
    and what they have `stored`, value after value.
    """

    case: model.Case
    values: Mapping[str, Value]
    shapes: Mapping[str, Shape]
    scalars: Mapping[str, Value]
    floats: Floats
    first_group: int
    memories: Mapping[str, Memory]
    pointers: Sequence[tuple[str, I64]] = ()
    read: list[EntryRead] = field(default_factory=list)
    stored: list[Value] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)
    otherwise: Otherwise | None = None

    def full(self, name: str) -> Value:
        """A matrix or vector with all its rows and columns."""
        value, shape = self.values[name], self.shapes[name]
        return value.broadcast((*value.shape[:-2], shape.rows, shape.cols))

    def matrix_shape(self, name: str) -> model.MatrixShape:
        """The shape of a matrix."""
        shape = self.shapes[name]
        assert isinstance(shape, model.MatrixShape)
        return shape


@singledispatch
def computed(instruction: model.Instruction, operation: Operation) -> Value:
    """The value of a matrix instruction's result; undefined behaviour goes to the operation's watch."""
    raise AssertionError(f"the oracle does not compute {type(instruction).__name__}")


@computed.register
def _null(i: model.MatrixNull, operation: Operation) -> Value:
    """KM-016."""
    return Value(i.type.component, np.zeros((1, 1, 1, 1), i.type.component.bits_dtype))


@computed.register
def _copy(i: model.MatrixCopy, operation: Operation) -> Value:
    """KM-011: whatever holds or passes a matrix changes nothing."""
    return operation.values[i.matrix]


@computed.register
def _mul_add(i: model.MatrixMulAdd, operation: Operation) -> Value:
    """KM-014, NU-001, NU-002, NU-010."""
    a, b, c = (operation.full(name) for name in (i.a, i.b, i.c))
    if _component(c).is_float:
        return multiplied_floats(a, b, c, i.component, ieee=operation.floats.ieee)
    types = model.mul_add_types(i, *(operation.matrix_shape(name) for name in (i.a, i.b, i.c)))
    saturating = model.MulAddOperand.SaturatingAccumulation in i.operands
    return multiplied_integers(a, b, c, types, saturating, operation.watch, i.component)


@computed.register
def _arithmetic(i: model.MatrixArithmetic, operation: Operation) -> Value:
    """KM-017, NU-004, NU-011."""
    a = operation.values[i.a]
    floats = operation.floats
    if i.b is None:
        return floats.neg(a) if i.operation is model.Arithmetic.FNegate else integers.negated(a)
    b = operation.values[i.b]
    match i.operation:
        case model.Arithmetic.FAdd:
            return floats.add(a, b)
        case model.Arithmetic.FSub:
            return floats.sub(a, b)
        case model.Arithmetic.FMul:
            return floats.mul(a, b)
        case model.Arithmetic.FDiv:
            return floats.div(a, b)
        case model.Arithmetic.SDiv:
            return integers.signed_quotient(conversions.sized(_component(a), True), a, b, operation.watch)
        case model.Arithmetic.UDiv:
            return integers.binary("div", a, b, operation.watch)
        case _:
            return integers.binary(i.operation.value.removeprefix("I").lower(), a, b, operation.watch)


@computed.register
def _times_scalar(i: model.MatrixTimesScalar, operation: Operation) -> Value:
    """KM-017."""
    a, b = operation.values[i.matrix], operation.scalars["scalar"]
    return operation.floats.mul(a, b) if _component(a).is_float else integers.binary("mul", a, b, operation.watch)


@computed.register
def _convert(i: model.MatrixConvert, operation: Operation) -> Value:
    """KM-018, CM-050, MX-002, MX-003."""
    floats = operation.floats
    a = floats.read(_laid(operation.values[i.matrix], transpose=i.transpose))
    return conversions.instructed(
        i.operation.value, a, i.component, operation.watch, i.saturate, floats.ieee, floats.modes
    )


@computed.register
def _bitcast(i: model.MatrixBitcast, operation: Operation) -> Value:
    """KM-018."""
    return integers.reinterpreted(operation.values[i.matrix], i.component)


@computed.register
def _convert_use(i: model.MatrixConvertUse, operation: Operation) -> Value:
    """CM-051, MX-002, MX-003."""
    return passed(_laid(operation.values[i.matrix], transpose=i.transpose), operation.floats.ieee)


@computed.register
def _transpose(i: model.MatrixTranspose, operation: Operation) -> Value:
    """CM-052."""
    return passed(_laid(operation.values[i.matrix], transpose=True), operation.floats.ieee)


@computed.register
def _through_arrays(i: model.MatrixThroughArrays, operation: Operation) -> Value:
    """QC-002, QC-004, QC-009, QC-010: lines of the one matrix are those of the other, from `start` on."""
    source, target = operation.matrix_shape(i.matrix), operation.matrix_shape(i.id)
    lines, length = model.line_of(target)
    start = operation.scalars["start"].bits.astype(np.int64) * (i.constructed.size // target.component.size)
    places = start + np.arange(length)

    def moved(a: Array) -> Array:
        of_lines = np.swapaxes(a, -1, -2) if source.use is model.Use.B else a
        lead = np.broadcast_shapes(a.shape[:-2], places.shape[:-2])
        of_lines = np.broadcast_to(of_lines[..., :lines, :], (*lead, lines, of_lines.shape[-1]))
        taken = np.take_along_axis(of_lines, np.broadcast_to(places, (*lead, lines, length)), axis=-1)
        return np.swapaxes(taken, -1, -2) if target.use is model.Use.B else taken

    value = operation.full(i.matrix).map(moved)
    return passed(value, operation.floats.ieee) if i.extracted.is_float or i.constructed.is_float else value


def _laid(value: Value, *, transpose: bool) -> Value:
    """A matrix, transposed if `transpose` is set. What is the same in all rows may have one axis."""
    return value.map(lambda a: np.swapaxes(np.atleast_2d(a), -1, -2)) if transpose else value


@computed.register
def _reduce(i: model.MatrixReduce, operation: Operation) -> Value:
    """CM-020..CM-023."""
    function = operation.case.functions[i.combine]
    assert isinstance(function, model.Combine)
    # In which order and precision a reduction combines is free, and so is what of the modes binds in between.
    reduction = Reduction(function, operation.floats.without_modes, operation.watch, operation.case.helpers)
    results = reduced(passed(operation.full(i.matrix), operation.floats.ieee).stored, i.mode, reduction)
    return filled(results, operation.matrix_shape(i.id), operation.first_group)


@computed.register
def _per_element(i: model.MatrixPerElement, operation: Operation) -> Value:
    """CM-030, CM-031: row and column are those of the matrix, whatever holds the element."""
    function = operation.case.functions[i.function]
    assert isinstance(function, model.PerElement)
    shape = operation.matrix_shape(i.matrix)
    names = {**_coordinates(function, shape), "value": passed(operation.values[i.matrix], operation.floats.ieee)}
    others = (e.name for e in function.extras if e.matrix)
    for name, matrix in zip(others, i.matrices, strict=True):
        names[name] = passed(operation.values[matrix], operation.floats.ieee)
    names |= operation.scalars
    return called(function, names, operation, shape, windows(operation.case, function, shape, operation.pointers))


@computed.register
def _components(i: model.MatrixComponents, operation: Operation) -> Value:
    """KM-011: every component, whichever invocation holds it; MX-004: row and column are those of the matrix."""
    function, shape = operation.case.functions[i.function], operation.matrix_shape(i.matrix)
    assert isinstance(function, (model.Component, model.PerElement))
    names = {"value": operation.values[i.matrix]}
    if isinstance(function, model.PerElement):
        names |= _coordinates(function, shape)
    return called(function, {**names, **operation.scalars}, operation, shape)


def _coordinates(function: model.PerElement, shape: model.MatrixShape) -> dict[str, Value]:
    coords = model.ComponentType(function.coords)
    row = np.arange(shape.rows, dtype=np.uint32)[None, None, :, None]
    col = np.arange(shape.cols, dtype=np.uint32)[None, None, None, :]
    return {"row": Value(coords, row), "col": Value(coords, col)}


def passed(value: Value, ieee: bool = False) -> Value:
    """A matrix that an instruction moves without the promise to keep its bits (NU-013, NU-014).

    With `ieee` it keeps infinities and the sign of zero, and NaN as some NaN (NU-020).
    """
    component = _component(value)
    if not component.is_float:
        return value
    (low, high), flags = value.core, value.flags
    nan = np.isnan(low) & (flags == 0)
    tiny = denormal((low, high), component.format.least)
    loose = [(nan, Freedom.NAN), (tiny, Freedom.EITHER_ZERO)]
    if not ieee:
        infinite = np.isinf(low) & (flags == 0)
        negative_zero = (flags == 0) & (low == 0) & np.signbit(low)
        loose += [(infinite, Freedom.ANY), (negative_zero, Freedom.EITHER_ZERO)]
    if not any(mask.any() for mask, _ in loose):
        return value
    for mask, freedom in loose:
        flags = np.where(mask, flags | np.uint8(FREE | freedom), flags)
    step = None if value.free is None else value.free.step
    widened = with_freedom(component, value.bits, flags, (low, high), (*value.reasons, _NOT_PRESERVED), step)
    return Value(component, widened.bits, widened.free, value.history)


def called(
    function: model.PerElement | model.Component,
    names: Mapping[str, Value],
    operation: Operation,
    shape: Shape,
    known: Sequence[Window] = (),
) -> Value:
    """What a function gives for every element of a shape, of parameters by `names` that have its extents, or 1."""
    ieee = operation.floats.ieee
    entry = tables(known, operation.memories, lambda value: passed(value, ieee), operation.read)
    body = model.body_of(function, operation.case.helpers)
    arguments = Arguments(names, entry=entry, store=operation.stored.append, otherwise=operation.otherwise)
    result = call(body, arguments, operation.floats, operation.watch)
    shapes = (v.shape for v in (*names.values(), result))
    lead = np.broadcast_shapes(*(shape[:-2] for shape in shapes if len(shape) == 4))
    return result.broadcast((*lead, shape.rows, shape.cols))


def _component(value: Value) -> model.ComponentType:
    assert value.component is not None
    return value.component
