"""Cooperative vector instructions that compute: from the values of operands to that of the result (CV-011, CV-012)."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from cts.case import model
from cts.reference.matrices.compute import Operation, called
from cts.reference.numeric import conversions, integers, transcendental
from cts.reference.numeric.arrays import I64
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value, concatenated, where
from cts.reference.vectors.products import multiplied

_O = model.VectorOperation
_BITWISE = {_O.BitwiseOr: "or", _O.BitwiseXor: "xor", _O.BitwiseAnd: "and"}
_WRAPPING = {_O.IAdd: "add", _O.ISub: "sub", _O.IMul: "mul"}
_SHIFTS = {
    _O.ShiftLeftLogical: ("shl", False),
    _O.ShiftRightLogical: ("shr", False),
    _O.ShiftRightArithmetic: ("shr", True),
}


@singledispatch
def computed(instruction: model.Instruction, operation: Operation) -> Value:
    """The value of a vector instruction's result; undefined behaviour goes to the operation's watch."""
    raise AssertionError(f"the oracle does not compute {type(instruction).__name__}")


@computed.register
def _constant(i: model.VectorConstant, operation: Operation) -> Value:
    """CV-011, KM-021."""
    if i.values is None:
        return operation.scalars["value"]
    return concatenated([operation.scalars[f"values[{n}]"] for n in range(len(i.values))])


@computed.register
def _null(i: model.VectorNull, operation: Operation) -> Value:
    """CV-011."""
    return Value(i.type.component, np.zeros((1, 1, 1, 1), i.type.component.bits_dtype))


@computed.register
def _construct(i: model.VectorConstruct, operation: Operation) -> Value:
    """CV-011."""
    return concatenated([operation.full(name) for name in i.parts])


@computed.register
def _extract(i: model.VectorExtract, operation: Operation) -> Value:
    """CV-011."""
    vector, index = operation.full(i.vector), _index(i, operation)
    instances = max(vector.shape[1], index.shape[1])
    sets = max(vector.shape[0], index.shape[0])
    vector = vector.broadcast((sets, instances, *vector.shape[2:]))
    indices = np.broadcast_to(index, (sets, instances, 1, 1))
    # What is known of a sum's terms has one element where all are alike.
    return vector.map(lambda a: np.take_along_axis(np.broadcast_to(a, vector.shape), indices, axis=-1))


@computed.register
def _insert(i: model.VectorInsert, operation: Operation) -> Value:
    """CV-011."""
    vector = operation.full(i.vector)
    here = np.arange(vector.shape[-1]) == _index(i, operation)
    return where(here, operation.values[i.scalar], vector)


def _index(i: model.VectorExtract | model.VectorInsert, operation: Operation) -> I64:
    """(sets, invocations, 1, 1); where an invocation does not take the step it may be anything."""
    length = operation.shapes[i.vector].cols
    indices: I64 = np.minimum(operation.scalars["index"].bits, length - 1).astype(np.int64)
    return indices


@computed.register
def _arithmetic(i: model.VectorArithmetic, operation: Operation) -> Value:
    """CV-012, NU-004, NU-011."""
    a, *rest = (operation.values[name] for name in (i.a, i.b, i.c) if name is not None)
    component = _component(a)
    if component.is_float:
        return _of_floats(i.operation, a, rest, operation)
    return _of_integers(i.operation, a, rest, operation.watch)


def _of_floats(what: model.VectorOperation, a: Value, rest: list[Value], operation: Operation) -> Value:
    floats = operation.floats
    match what:
        case _O.FNegate:
            return floats.neg(a)
        case _O.FAdd:
            return floats.add(a, rest[0])
        case _O.FSub:
            return floats.sub(a, rest[0])
        case _O.FMul:
            return floats.mul(a, rest[0])
        case _O.FDiv:
            return floats.div(a, rest[0])
        case _O.FMin | _O.NMin:
            return floats.min(a, rest[0], what is _O.NMin)
        case _O.FMax | _O.NMax:
            return floats.max(a, rest[0], what is _O.NMax)
        case _O.FClamp | _O.NClamp:
            _check_clamp(rest[0], rest[1], operation.watch)
            wins = what is _O.NClamp
            return floats.min(floats.max(a, rest[0], wins), rest[1], wins)
        case _O.Fma:
            return floats.fma(a, rest[0], rest[1])
        case _O.Step:
            return transcendental.step(floats.read(a), floats.read(rest[0]), floats.ieee)
        case _O.Exp:
            return floats.exp(floats.read(a))
        case _O.Log:
            return floats.flushed(transcendental.log(floats.read(a), floats.ieee))
        case _O.Tanh:
            return floats.flushed(transcendental.tanh(floats.read(a), floats.ieee))
        case _O.Atan:
            return floats.flushed(transcendental.atan(floats.read(a), floats.ieee))
        case _:
            raise AssertionError(f"{what.value} of floats: typing refuses it")


def _of_integers(what: model.VectorOperation, a: Value, rest: list[Value], watch: Watch) -> Value:
    component = _component(a)
    match what:
        case _O.SNegate:
            return integers.negated(a)
        case _O.Not:
            return integers.inverted(a)
        case _O.SDiv:
            return integers.signed_quotient(conversions.sized(component, True), a, rest[0], watch)
        case _O.UDiv:
            return integers.binary("div", a, rest[0], watch)
        case _ if what in _WRAPPING or what in _BITWISE:
            return integers.binary((_WRAPPING | _BITWISE)[what], a, rest[0], watch)
        case _ if what in _SHIFTS:
            name, signed = _SHIFTS[what]
            return _shifted(name, conversions.sized(component, signed), a, rest[0], watch)
        case _:
            return _chosen(what.value, a, rest, watch)


def _shifted(name: str, read: model.ComponentType, base: Value, by: Value, watch: Watch) -> Value:
    """The three shifts: the base as `read`; shifting by the width or more is undefined."""
    width = 8 * read.size
    count = integers.reinterpreted(by, conversions.sized(read, False))
    _, most = count.interval
    outside = np.broadcast_to((most >= width) | count.unbounded, np.broadcast_shapes(base.shape, by.shape))
    watch.report("NU-004", outside, f"a shift by {width} bits or more", f"0 to {width - 1}")
    count = Value(read, np.minimum(count.bits, width - 1).astype(read.bits_dtype), count.free)
    shifted = integers.binary(name, integers.reinterpreted(base, read), count, Watch())
    return integers.reinterpreted(shifted, _component(base))


def _chosen(name: str, a: Value, rest: list[Value], watch: Watch) -> Value:
    """UMin, SMax, UClamp, ...: the first letter says how the components are read."""
    component = _component(a)
    read = conversions.sized(component, name[0] == "S")
    first, *others = (integers.reinterpreted(v, read) for v in (a, *rest))
    if name.endswith("Clamp"):
        _check_clamp(others[0], others[1], watch)
        lowest = integers.binary("max", first, others[0], watch)
        chosen = integers.binary("min", lowest, others[1], watch)
    else:
        chosen = integers.binary(name[1:].lower(), first, others[0], watch)
    return integers.reinterpreted(chosen, component)


def _check_clamp(least: Value, most: Value, watch: Watch) -> None:
    """GLSL.std.450: undefined where the least is above the most."""
    (_, low), (high, _) = least.interval, most.interval
    watch.report("CV-012", low > high, "a clamp whose minVal is above its maxVal", "minVal <= maxVal")


@computed.register
def _times_scalar(i: model.VectorTimesScalar, operation: Operation) -> Value:
    """CV-012."""
    scalar = operation.scalars["value"] if i.scalar is None else operation.values[i.scalar]
    return operation.floats.mul(operation.values[i.vector], scalar)


@computed.register
def _convert(i: model.VectorConvert, operation: Operation) -> Value:
    """CV-012."""
    floats = operation.floats
    return conversions.instructed(
        i.operation.value,
        floats.read(operation.values[i.vector]),
        i.component,
        operation.watch,
        ieee=floats.ieee,
        modes=floats.modes,
    )


@computed.register
def _bitcast(i: model.VectorBitcast, operation: Operation) -> Value:
    """CV-012."""
    return conversions.bitcast(operation.values[i.vector], i.component)


@computed.register
def _components(i: model.VectorComponents, operation: Operation) -> Value:
    """CV-011: row 0, and the component's number as column."""
    function, shape = operation.case.functions[i.function], operation.shapes[i.vector]
    assert isinstance(function, model.PerElement)
    coords = model.ComponentType(function.coords)
    names = {extra.name: operation.values[name] for extra, name in zip(function.extras, i.vectors, strict=True)}
    names["row"] = Value(coords, np.zeros((1, 1, 1, 1), np.uint32))
    names["col"] = Value(coords, np.arange(shape.cols, dtype=np.uint32)[None, None, None, :])
    return called(function, {"value": operation.values[i.vector], **names}, operation, shape)


@computed.register
def _multiply(i: model.VectorMatrixMul, operation: Operation) -> Value:
    """CV-014..CV-018."""
    bias = operation.scalars.get("bias")
    return multiplied(
        i, operation.full(i.input), operation.scalars["matrix"], bias, operation.watch, operation.floats.ieee
    )


def _component(value: Value) -> model.ComponentType:
    assert value.component is not None
    return value.component
