"""Conditions of operations on numbers: conversions, negations, roundings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import repeat

from cts.known.conditions.registry import condition
from cts.model import (
    AnyFunction,
    Arithmetic,
    Case,
    ComponentType,
    Conversion,
    FastMath,
    FloatControls,
    Helpers,
    MatrixArithmetic,
    MatrixConstant,
    MatrixConvert,
    MatrixConvertUse,
    MatrixCopy,
    MatrixMulAdd,
    MatrixNull,
    MatrixShape,
    MatrixTimesScalar,
    MatrixTranspose,
    SpecNumber,
    VectorArithmetic,
    VectorBitcast,
    VectorConstant,
    VectorConversion,
    VectorConvert,
    VectorInsert,
    VectorOperation,
    VectorShape,
    VectorTimesScalar,
    body_of,
    encode,
    expression,
    initial_bits,
    number_of,
    references,
    types_of,
)

_C = ComponentType


@condition("convert-other-signedness", operands=())
def convert_other_signedness(case: Case) -> bool:
    """A matrix conversion treats integers as signed although their type is unsigned, or the other way round."""
    types = types_of(case)
    for i in case.program:
        if isinstance(i, MatrixConvert):
            source = types[i.matrix]
            assert isinstance(source, MatrixShape)
            signed = i.operation in (Conversion.ConvertSToF, Conversion.ConvertFToS, Conversion.SConvert)
            ends = [c for c in (source.component, i.component) if not c.is_float]
            if any(c.is_signed != signed for c in ends):
                return True
    return False


@condition("matrix-roundings-binding", operands=())
def matrix_roundings_binding(case: Case) -> bool:
    """Roundings bind, and the result of a matrix operation or conversion, not to bfloat16, goes into another one.

    Or a constant is added to a product of matrices.
    """
    computing = (MatrixArithmetic, MatrixConvert, MatrixTimesScalar)
    floats = {n for n, t in types_of(case).items() if isinstance(t, MatrixShape) and t.component.is_float}
    free = {i.id for i in case.program if isinstance(i, MatrixConvert) and i.component is ComponentType.bfloat16}
    rounded = floats.intersection(i.id for i in case.program if isinstance(i, computing)) - free
    products = floats.intersection(i.id for i in case.program if isinstance(i, MatrixMulAdd))
    constants = {i.id for i in case.program if isinstance(i, MatrixConstant)}
    return case.float_controls is not FloatControls.Undecorated and any(
        (isinstance(i, computing) and not rounded.isdisjoint(references(i)))
        or (isinstance(i, MatrixArithmetic) and {i.a, i.b} & products and {i.a, i.b} & constants)
        for i in case.program
    )


@condition("fast-math-none-of-one", operands=())
def fast_math_none_of_one(case: Case) -> bool:
    """A type's default allows AllowReassoc, and an operation of it on another one's result is decorated with None."""
    free = {width.value for width, bits in case.fast_math.items() if FastMath.AllowReassoc in bits}
    computing = (MatrixArithmetic, MatrixTimesScalar, VectorArithmetic, VectorTimesScalar)
    operations = [i for i in case.program if isinstance(i, computing)]
    results = {i.id for i in operations}
    types = types_of(case)
    for i in operations:
        shape = types[i.id]
        assert isinstance(shape, (MatrixShape, VectorShape))
        bound = i.fast_math is not None and not i.fast_math
        if bound and shape.component.value in free and not results.isdisjoint(references(i)):
            return True
    return False


@condition("matrix-zero-folded", operands=())
def matrix_zero_folded(case: Case) -> bool:
    """No fast math, and a matrix of floats is combined with a constant 0 in arithmetic, or subtracted from itself."""
    if case.float_controls is not FloatControls.FastMathNone:
        return False
    types = types_of(case)
    zeros = {i.id for i in case.program if isinstance(i, MatrixNull)}
    for i in case.program:
        if not isinstance(i, (MatrixArithmetic, MatrixConstant, MatrixTimesScalar)):
            continue
        shape = types[i.id]
        assert isinstance(shape, MatrixShape)
        if isinstance(i, MatrixConstant) and _is_zero(i.value, shape.component):
            zeros.add(i.id)
        elif isinstance(i, MatrixTimesScalar) and _is_zero(i.scalar, shape.component):
            return True
        elif isinstance(i, MatrixArithmetic) and shape.component.is_float:
            subtracts_itself = i.operation is Arithmetic.FSub and i.a == i.b
            if subtracts_itself or not zeros.isdisjoint(references(i)):
                return True
    return False


@condition("integer-negations", operands=())
def integer_negations(case: Case) -> bool:
    """Integers are negated, by 0 - x or by a scalar too, and divided; or a callback negates int8 and asks for the sign.

    Compilers may compute the negation in a wider type, where the least number has one. A callback negates by -x, 0 - x,
    -1 * x or with ~x, and asks by a minimum, a maximum, a comparison, a shift to the right or a wider type.
    """
    negates = any(_negations(case)) or any(isinstance(i, MatrixTimesScalar) for i in case.program)
    divides = any(isinstance(i, MatrixArithmetic) and i.operation is Arithmetic.SDiv for i in case.program)
    return (negates and divides) or any(
        any(map(_negates, expressions)) and any(map(_asks_for_sign, expressions))
        for expressions in map(_expressions, case.functions.values(), repeat(case.helpers))
    )


def _expressions(function: AnyFunction, helpers: Helpers) -> list[expression.Expression]:
    """The expressions of a callback and of what it calls."""
    return list(expression.expressions_of(body_of(function, helpers)))


def _negates(e: expression.Expression) -> bool:
    if e.type is not _C.int8:
        return False
    match e:
        case expression.Unary(operation="neg" | "invert"):
            return True
        case expression.Binary(operation="sub", a=expression.Number(bits=0)):
            return True
        case expression.Binary(operation="mul", a=a, b=b):
            return any(isinstance(factor, expression.Number) and factor.bits == 0xFF for factor in (a, b))
    return False


def _asks_for_sign(e: expression.Expression) -> bool:
    match e:
        case expression.Binary(operation="min" | "max" | "shr" | "lt" | "le" | "gt" | "ge", a=a):
            return a.type is _C.int8
        case expression.Convert(a=a):
            return a.type is _C.int8
    return False


@condition("magnitude-compared", operands=())
def magnitude_compared(case: Case) -> bool:
    """No fast math, and a callback compares float32, perhaps a magnitude of its own or of the callback before it."""
    if case.float_controls is not FloatControls.FastMathNone:
        return False
    magnitudes: set[str] = set()
    for i in case.program:
        function = case.functions.get(getattr(i, "function", ""))
        if function is not None:
            expressions = _expressions(function, case.helpers)
            made = any(map(_is_magnitude, expressions)) or not magnitudes.isdisjoint(references(i))
            if made and any(map(_orders_floats, expressions)):
                return True
            if made:
                magnitudes.update(i.defines)
    return False


def _is_magnitude(e: expression.Expression) -> bool:
    return isinstance(e, expression.Unary) and e.operation == "abs" and e.type is _C.float32


def _orders_floats(e: expression.Expression) -> bool:
    return isinstance(e, expression.Binary) and e.operation in ("lt", "le", "gt", "ge") and e.a.type is _C.float32


@condition("magnitude-of-product", operands=())
def magnitude_of_product(case: Case) -> bool:
    """No fast math, and a callback takes the magnitude of a product of floats."""
    return case.float_controls is FloatControls.FastMathNone and any(
        isinstance(e, expression.Unary) and e.operation == "abs" and _is_float_product(e.a)
        for function in case.functions.values()
        for e in _expressions(function, case.helpers)
    )


def _is_float_product(e: expression.Expression) -> bool:
    return isinstance(e, expression.Binary) and e.operation == "mul" and e.type in (_C.float16, _C.float32)


@condition("vector-negation-widened", operands=())
def vector_negation_widened(case: Case) -> bool:
    """An 8-bit vector is negated, by 0 - x too, and one is converted by SConvert to a wider type."""
    narrow = {n for n, t in types_of(case).items() if isinstance(t, VectorShape) and t.component.size == 1}
    conversions = (i for i in case.program if isinstance(i, VectorConvert))
    widened = (i.vector for i in conversions if i.operation is VectorConversion.SConvert)
    return not narrow.isdisjoint(_negations(case)) and not narrow.isdisjoint(widened)


@condition("vector-sign-extended-then-unsigned", operands=())
def vector_sign_extended_then_unsigned(case: Case) -> bool:
    """An 8-bit vector is converted by SConvert, then by ConvertUToF; its length is neither 1 nor 8, 12, 16, ..."""
    types = types_of(case)
    extended: set[str] = set()
    for i in case.program:
        if isinstance(i, VectorBitcast) and i.vector in extended:
            extended.add(i.id)
        if isinstance(i, VectorConvert):
            source = types[i.vector]
            assert isinstance(source, VectorShape)
            if i.operation is VectorConversion.SConvert and source.component.size == 1:
                extended.add(i.id)
            whole = source.length == 1 or (source.length >= 8 and source.length % 4 == 0)
            if i.operation is VectorConversion.ConvertUToF and i.vector in extended and not whole:
                return True
    return False


@condition("conversion-of-conversion", operands=())
def conversion_of_conversion(case: Case) -> bool:
    """Roundings bind, and the result of a conversion between floats, not to bfloat16, or a copy is converted again."""
    if case.float_controls is FloatControls.Undecorated:
        return False
    types = types_of(case)
    converted: set[str] = set()
    for i in case.program:
        if isinstance(i, (MatrixConvertUse, MatrixCopy, MatrixTranspose)) and i.matrix in converted:
            converted.add(i.id)
        if isinstance(i, VectorInsert) and i.vector in converted:
            converted.add(i.id)
        if not isinstance(i, (MatrixConvert, VectorConvert)) or not i.component.is_float:
            continue
        source = i.matrix if isinstance(i, MatrixConvert) else i.vector
        shape = types[source]
        assert isinstance(shape, (MatrixShape, VectorShape))
        if shape.component.is_float:
            if source in converted:
                return True
            if i.component is not _C.bfloat16:
                converted.add(i.id)
    return any(_CAST_OF_CAST.search(f.body) for f in case.functions.values())


_CAST_OF_CAST = re.compile(r"float\w+\(\s*float\w+\(")


@condition("convert-through-integers", operands=())
def convert_through_integers(case: Case) -> bool:
    """No fast math, and integers converted from a matrix of floats are converted back to floats."""
    to_integers = {
        i.id
        for i in case.program
        if isinstance(i, MatrixConvert) and i.operation in (Conversion.ConvertFToS, Conversion.ConvertFToU)
    }
    return case.float_controls is FloatControls.FastMathNone and any(
        isinstance(i, MatrixConvert) and i.component.is_float and i.matrix in to_integers for i in case.program
    )


@condition("convert-nan-to-bfloat16")
def convert_nan_to_bfloat16(case: Case) -> bool:
    """No fast math, float32 is converted to bfloat16, and a buffer has a NaN whose payload is in its lower 16 bits."""
    if case.float_controls is not FloatControls.FastMathNone:
        return False
    converts = any(isinstance(i, (MatrixConvert, VectorConvert)) and i.component is _C.bfloat16 for i in case.program)
    if not converts and not any("bfloat16(" in f.body for f in case.functions.values()):
        return False
    contents = (initial_bits(b) for b in case.buffers.values() if b.type is _C.float32)
    return any(((bits & 0x7FFF0000 == 0x7F800000) & (bits & 0xFFFF != 0)).any() for bits in contents)


@condition("callback-zero-sign", operands=())
def callback_zero_sign(case: Case) -> bool:
    """No fast math, and a callback has a minimum or maximum, and a product or negation of floats that were integers."""
    return case.float_controls is FloatControls.FastMathNone and any(
        any(_chooses(e) for e in expressions) and any(_of_integers(e) for e in expressions)
        for function in case.functions.values()
        if (expressions := tuple(expression.expressions_of(body_of(function, case.helpers))))
    )


def _chooses(e: expression.Expression) -> bool:
    """Whether an expression is a minimum or maximum of floats."""
    return isinstance(e, expression.Binary) and e.operation in ("min", "max") and _is_float(e.type)


def _of_integers(e: expression.Expression) -> bool:
    """Whether an expression is a product or a negation of floats that were integers."""
    signs = isinstance(e, (expression.Binary, expression.Unary)) and e.operation in ("mul", "neg")
    return signs and _is_float(e.type) and _from_integers(e)


@condition("callback-float16-and-integers", operands=())
def callback_float16_and_integers(case: Case) -> bool:
    """A callback compares float16 numbers, and integers as well."""
    return any(
        {_C.float16, _C.uint32} <= compared or {_C.float16, _C.int32} <= compared
        for compared in (_compared(body_of(function, case.helpers)) for function in case.functions.values())
    )


def _compared(body: expression.Body) -> set[expression.ValueType]:
    """The types of the operands of all comparisons of a body."""
    comparisons = ("lt", "le", "gt", "ge", "eq", "ne")
    binary = (e for e in expression.expressions_of(body) if isinstance(e, expression.Binary))
    return {e.a.type for e in binary if e.operation in comparisons}


def _within(outer: expression.Expression) -> Iterator[expression.Expression]:
    """An expression, and all that it has inside."""
    yield outer
    for part in expression.parts_of(outer):
        yield from _within(part)


def _is_float(type_: expression.ValueType) -> bool:
    return isinstance(type_, ComponentType) and type_.is_float


def _from_integers(outer: expression.Expression) -> bool:
    """Whether integers are converted to floats somewhere within."""
    converts = (e for e in _within(outer) if isinstance(e, expression.Convert))
    return any(_is_float(e.type) and not _is_float(e.a.type) for e in converts)


def _is_zero(value: int | float | str | SpecNumber, component: ComponentType) -> bool:
    """Whether a value is a zero, of either sign, of a float type, and known before the module runs."""
    if not component.is_float or (isinstance(value, SpecNumber) and value.dynamic is not None):
        return False
    return not (encode(component, [number_of(value)]) << 1).any()


def _negations(case: Case) -> Iterator[str]:
    """Names of results of SNegate, and of subtractions of integers from a constant 0."""
    zeros = {i.id for i in case.program if isinstance(i, MatrixNull)}
    zeros |= {i.id for i in case.program if isinstance(i, (MatrixConstant, VectorConstant)) and i.value == 0}
    for i in case.program:
        if isinstance(i, (MatrixArithmetic, VectorArithmetic)):
            subtracts = i.operation in (Arithmetic.ISub, VectorOperation.ISub) and i.a in zeros
            if subtracts or i.operation in (Arithmetic.SNegate, VectorOperation.SNegate):
                yield i.id
