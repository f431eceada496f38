"""Conditions of matrices: their storage, reductions and multiplications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from cts.known.conditions.registry import condition
from cts.model import (
    BlockStart,
    Buffer,
    Case,
    Combine,
    If,
    Loop,
    MatrixCopy,
    MatrixMulAdd,
    MatrixPerElement,
    MatrixReduce,
    MatrixShape,
    Operand,
    PerElement,
    ReduceMode,
    Return,
    Through,
    body_of,
    encode,
    number_of,
    references,
    types_of,
)
from cts.model import expression as ast


@condition("reduce-beyond-8", operands=())
def reduce_beyond_8(case: Case) -> bool:
    """A Row or Column reduction, not both at once, of a matrix of more than 8 rows or columns."""
    return any(len(i.mode) == 1 and i.mode[0] is not ReduceMode.Square and beyond_8(s) for i, s in _reductions(case))


@condition("reduce-negated-max", operands=())
def reduce_negated_max(case: Case) -> bool:
    """A reduction combines by `-max(-x, -y)`, which is the minimum, perhaps by way of helpers."""
    names = {i.combine for i, _ in _reductions(case)}
    combines = [f for n, f in case.functions.items() if isinstance(f, Combine) and n in names]
    return any(_inlined(body_of(f, case.helpers), {}) == "neg(max(neg(x), neg(y)))" for f in combines)


def _inlined(body: ast.Body, given: Mapping[str, str]) -> str:
    """Negations and maxima of parameters, as text with what is called in place of calls; else something with "?"."""
    names = dict(given)
    for statement in body.statements:
        if not isinstance(statement, ast.Assignment):
            return "?"
        names[statement.name] = _text(statement.value, names)
    return _text(body.result, names)


def _text(e: ast.Expression, names: Mapping[str, str]) -> str:
    match e:
        case ast.Name(name=name):
            return names.get(name, name)
        case ast.Unary(operation="neg", a=a):
            return f"neg({_text(a, names)})"
        case ast.Binary(operation="max", a=a, b=b):
            return f"max({', '.join(sorted((_text(a, names), _text(b, names))))})"
        case ast.Call(parameters=parameters, arguments=arguments, body=body):
            return _inlined(body, {p: _text(a, names) for p, a in zip(parameters, arguments, strict=True)})
        case _:
            return "?"


@condition("reduce-inexact-sum")
def reduce_inexact_sum(case: Case) -> bool:
    """A reduction of floats from random numbers, or a cycle of too many magnitudes: sums depend on the order."""
    inexact = any(_sums_depend_on_the_order(b) for b in case.buffers.values())
    return inexact and any(s.component.is_float for _, s in _reductions(case))


@condition("mul-add-c-again", operands=())
def mul_add_c_again(case: Case) -> bool:
    """The C of a multiplication is used by another instruction too, or carried by a loop."""
    uses = Counter(name for i in case.program for name in references(i))
    carried = {name for i in case.program if isinstance(i, BlockStart) for name in i.defines}
    return any(uses[i.c] > 1 or i.c in carried for i in case.program if isinstance(i, MatrixMulAdd))


@condition("matrix-in-struct", operands=())
def matrix_in_struct(case: Case) -> bool:
    """A matrix is kept in a structure."""
    return any(isinstance(i, MatrixCopy) and i.through is Through.Struct for i in case.program)


@condition("structure-passed", operands=())
def structure_passed(case: Case) -> bool:
    """A per-element function is passed a structure."""
    called = (case.functions[i.function] for i in case.program if isinstance(i, MatrixPerElement))
    return any(isinstance(f, PerElement) and any(e.members for e in f.extras) for f in called)


@condition("matrix-extent-256", operands=())
def matrix_extent_256(case: Case) -> bool:
    """A matrix has 256 rows or columns, or more."""
    return any(max(s.rows, s.cols) >= 256 for s in _matrices(case))


@condition("mul-add-large", operands=())
def mul_add_large(case: Case) -> bool:
    """The products of the program have more than 16,384 multiply-adds of elements together."""
    types = types_of(case)
    count = 0
    for i in case.program:
        if isinstance(i, MatrixMulAdd):
            a, b = types[i.a], types[i.b]
            assert isinstance(a, MatrixShape) and isinstance(b, MatrixShape)
            count += a.rows * a.cols * b.cols
    return count > 16384


@condition("if-literal-condition", operands=())
def if_literal_condition(case: Case) -> bool:
    """The condition of an If is a literal: compilers remove one branch."""
    return any(isinstance(i, If) and isinstance(i.condition, int) for i in case.program)


@condition("return-constant", operands=())
def return_constant(case: Case) -> bool:
    """Every invocation ends at a Return when the pipeline is made: compilers remove what follows."""
    ends = (i.condition for i in case.program if isinstance(i, Return))
    return any(_is_constant(condition) and not _is_constant_zero(condition) for condition in ends)


@condition("loop-count-zero", operands=())
def loop_count_zero(case: Case) -> bool:
    """The count of a loop is 0 when the pipeline is made: compilers remove the loop."""
    return any(isinstance(i, Loop) and _is_constant_zero(i.count) for i in case.program)


def _is_constant(operand: Operand) -> bool:
    return isinstance(operand, int) or (operand.dynamic is None and not operand.factors.any_set)


def _is_constant_zero(count: Operand) -> bool:
    if isinstance(count, int):
        return count == 0
    return count.spec == 0 and not count.factors.any_set


def beyond_8(shape: MatrixShape) -> bool:
    """Whether a matrix has more than 8 rows or columns."""
    return max(shape.rows, shape.cols) > 8


def _sums_depend_on_the_order(buffer: Buffer) -> bool:
    """Whether the numbers are random in a range, or span more bits than one of them has."""
    if not buffer.type.is_float or buffer.data.cycle is None:
        return buffer.data.random is not None
    dtype = buffer.type.dtype
    numbers = encode(buffer.type, [number_of(n) for n in buffer.data.cycle]).view(dtype)
    magnitudes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)].astype(np.float64))
    # One and its next number are 2^(1 - bits) apart.
    least = 2 / float(np.spacing(dtype.type(1)))
    return bool(magnitudes.size) and bool(magnitudes.max() >= magnitudes.min() * least)


def _matrices(case: Case) -> Iterator[MatrixShape]:
    yield from (t for t in types_of(case).values() if isinstance(t, MatrixShape))


def _reductions(case: Case) -> Iterator[tuple[MatrixReduce, MatrixShape]]:
    types = types_of(case)
    for i in case.program:
        if isinstance(i, MatrixReduce):
            shape = types[i.matrix]
            assert isinstance(shape, MatrixShape)
            yield i, shape
