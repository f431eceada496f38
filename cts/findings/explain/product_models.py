"""Models of products that went wrong: terms lost or doubled, tiles and operands confused, other numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cts.case import model
from cts.findings.explain.model_values import NARROW, TILES, Model, Numbers, Values, numbers, through
from cts.findings.explain.results import Result

#: Products of single terms that are looked at, at most.
PRODUCTS = 1 << 18

#: What the operands of a product are called, and the facts about one: of floats, of integers.
_COMPUTED = ("A", "B", "C", ("NU-010", "KM-014"), ("NU-001", "KM-014"))
_OF_VECTORS = ("the input", "the matrix", "the bias", ("CV-018", "NU-010"), ("CV-018", "NU-003"))


class _Product(NamedTuple):
    """A (instances, M, K), B (instances, K, N) and C (instances, M, N) of a product."""

    a: Numbers
    b: Numbers
    c: Numbers


def of_matrices(i: model.MatrixMulAdd, values: Values, expected: Numbers, result: Result) -> Iterator[Model]:
    """Models of a product of matrices."""
    factors = _factors(i, values)
    yield from _products(factors, expected, result, _COMPUTED)
    if factors is not None and not result.component.is_float:
        yield from _of_integers(factors, result.component, signed=model.MulAddOperand.MatrixResultSigned in i.operands)


def of_vector(
    case: model.Case, i: model.VectorMatrixMul, values: Values, expected: Numbers, result: Result
) -> Iterator[Model]:
    """Models of a product of a matrix in memory and a vector, each result a row."""
    yield from _products(_in_memory(case, i, values), expected, result, _OF_VECTORS)


def _factors(i: model.MatrixMulAdd, values: Values) -> _Product | None:
    signs = {name: model.MulAddOperand[f"Matrix{name.upper()}Signed"] in i.operands for name in "abc"}
    a, b, c = (values.numbers(getattr(i, name), signed=signed) for name, signed in signs.items())
    return None if a is None or b is None or c is None else _Product(a, b, c)


def _in_memory(case: model.Case, i: model.VectorMatrixMul, values: Values) -> _Product | None:
    """The input as A, the matrix, transposed, as B, and the bias as C; None if they are not plain numbers."""
    vector, result = values.numbers(i.input), values.component(i.id)
    read = model.interpretation_of(i.input_interpretation)
    if (
        vector is None
        or read.packed
        or read.component is not values.component(i.input)
        or model.constant_of(i.transpose)
    ):
        return None
    matrix, bias = _matrix(case, i), _bias(case, i)
    if matrix is None or bias is None or vector.shape[2] != matrix.shape[1] or result is None:
        return None
    return _Product(vector, matrix.T[None], (bias if result.is_float else bias.astype(np.int64))[None])


def _matrix(case: model.Case, i: model.VectorMatrixMul) -> Numbers | None:
    """(M, K), of a buffer, or of the one conversion that made an opaque matrix."""
    made = [c for c in case.conversions if c.destination.of == i.matrix]
    if i.matrix in case.opaque:
        if len(model.beside(case.opaque, i.matrix)) > 1:
            return None
        return _rows_of(case, made[0].source, made[0].rows, made[0].cols) if len(made) == 1 else None
    if not isinstance(i.matrix_offset, int) or not isinstance(i.stride, int):
        return None
    component = model.interpretation_of(i.matrix_interpretation).component
    side = model.ConversionSide(i.matrix, component, model.layout_of(i.layout), i.stride, i.matrix_offset)
    return _rows_of(case, side, _plain(i.m), _plain(i.k))


def _bias(case: model.Case, i: model.VectorMatrixMul) -> Numbers | None:
    """The bias, (1, M); zeros for a product without bias."""
    if i.bias is None or i.bias_interpretation is None:
        return np.zeros((1, _plain(i.m)))
    if not isinstance(i.bias_offset, int):
        return None
    component = model.interpretation_of(i.bias_interpretation).component
    side = model.ConversionSide(i.bias, component, model.MatrixLayout.RowMajor, 0, i.bias_offset)
    return _rows_of(case, side, 1, _plain(i.m))


def _plain(number: int | model.SpecInt) -> int:
    return number.spec if isinstance(number, model.SpecInt) else number


def _rows_of(case: model.Case, side: model.ConversionSide, rows: int, cols: int) -> Numbers | None:
    """A row- or column-major matrix that nothing writes to."""
    buffer, component = case.buffers.get(side.of), side.component
    if buffer is None or component is None or side.of in model.written(case):
        return None
    if side.layout not in (model.MatrixLayout.RowMajor, model.MatrixLayout.ColumnMajor):
        return None
    row, col = np.mgrid[:rows, :cols]
    if side.layout is model.MatrixLayout.ColumnMajor:
        row, col = col, row
    places = side.offset + row * side.stride + col * component.size
    data = model.initial_bits(buffer).view(np.uint8)
    if places.max() + component.size > data.size:
        return None
    each = data[places[..., None] + np.arange(component.size)]
    return numbers(component, np.ascontiguousarray(each).view(component.bits_dtype)[..., 0])


def _products(
    factors: _Product | None,
    expected: Numbers,
    result: Result,
    said: tuple[str, str, str, tuple[str, ...], tuple[str, ...]],
) -> Iterator[Model]:
    """A product with terms lost or doubled, rows of the wrong tile, or narrower numbers."""
    if factors is None or not all(np.isfinite(factor).all() for factor in factors):
        return
    a, b, c = factors
    floats = result.component.is_float
    *_, of_c, of_floats, of_integers = said
    facts = of_floats if floats else of_integers
    count = a.shape[2]
    with np.errstate(all="ignore"):
        if c.any():
            yield Model(f"added {of_c} twice", facts, a @ b + 2 * c)
        for tile in TILES:
            yield from _of_tiles(factors, tile, said, facts)
        if a.shape[1] * b.shape[2] * count * len(a) > PRODUCTS:
            return
        each = a.transpose(0, 2, 1)[..., None] * b[:, :, None]
        yield from _terms(each, expected, facts)
        if floats:
            for name, narrow in NARROW:
                yield Model(f"rounded products to {name}", facts, through(each, narrow).sum(1) + c)
                sums = c
                for term in each.transpose(1, 0, 2, 3):
                    sums = through(sums + term, narrow)
                yield Model(f"rounded sums to {name} at each step", facts, sums)


def _of_integers(factors: _Product, component: model.ComponentType, *, signed: bool) -> Iterator[Model]:
    a, b, c = factors
    exact = a @ b + c
    bits = component.size * 8
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    for what, sums in (
        ("saturated", np.clip(exact, low, high)),
        ("saturated at the top alone", np.minimum(exact, high)),
        ("saturated at the bottom alone", np.maximum(exact, low)),
        ("saturated to the other signedness", np.clip(exact, *((0, (1 << bits) - 1) if signed else _limits(bits)))),
    ):
        yield Model(what, ("NU-002", "NU-001"), sums)
    if a.shape[2] % 2 == 0 and a.shape[1] * b.shape[2] * a.shape[2] * len(a) <= PRODUCTS:
        each = a.transpose(0, 2, 1)[..., None] * b[:, :, None]
        pairs = each[:, ::2] + each[:, 1::2]
        clipped = np.clip(pairs, *_limits(16))
        yield Model("saturated pairs of products at 16 bits", ("NU-001",), clipped.sum(1) + c)
        yield Model("wrapped pairs of products at 16 bits", ("NU-001",), pairs.astype(np.int16).astype(int).sum(1) + c)


def _limits(bits: int) -> tuple[int, int]:
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _of_tiles(factors: _Product, tile: int, said: Sequence[Any], facts: tuple[str, ...]) -> Iterator[Model]:
    """A tile of an operand in the place of the one behind it."""
    a, b, c = factors
    of_a, of_b = said[:2]
    if tile < a.shape[1]:
        yield Model(f"took rows of {of_a} that are {tile} before", facts, np.roll(a, tile, 1) @ b + c, one_of_many=True)
    if tile < b.shape[2]:
        yield Model(
            f"took columns of {of_b} that are {tile} before", facts, a @ np.roll(b, tile, 2) + c, one_of_many=True
        )
    if tile < a.shape[2]:
        before = np.concatenate((a[:, :, :tile], a[:, :, :-tile]), 2)
        yield Model(f"took columns of {of_a} that are {tile} before, behind the first", facts, before @ b + c, True)


def _terms(each: Numbers, expected: Numbers, facts: tuple[str, ...]) -> Iterator[Model]:
    """Products (instances, K, M, N) of some k that were left out, or added twice."""
    count = each.shape[1]
    sums = np.concatenate((np.zeros_like(each[:, :1]), np.cumsum(each, axis=1)), 1)
    ranges = {(0, end) for end in range(1, count + 1)} | {(start, count) for start in range(count)}
    ranges |= {(k, k + 1) for k in range(count)}
    ranges |= {(k, k + tile) for tile in TILES for k in range(0, count - tile + 1, tile)}
    for start, end in sorted(ranges, key=lambda r: (r[1] - r[0] > 1 and r[1] != count, r)):
        some = sums[:, end] - sums[:, start]
        which = f"k = {start}{f'..{end - 1}' if end > start + 1 else ''} of {count}"
        yield Model(f"left out {which}", facts, expected - some, one_of_many=True)
        yield Model(f"added {which} twice", facts, expected + some, one_of_many=True)
