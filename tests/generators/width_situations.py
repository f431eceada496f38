"""How wide a case's numbers, sizes, indices and loops are: what narrow implementations get wrong.

The classification behind the rows on widths in docs/generators.md, for matrices and vectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case import model as m
from cts.case.model.expression import Coordinate, expressions_of
from cts.case.model.operand import factors_of
from cts.case.oracle.expectation import Expectation
from tests.generators.replay import Access, accesses, instances

Values = npt.NDArray[Any]
_T = m.ComponentType

#: The greatest numbers of types whose products sums can hold.
_GREATEST = {_T.float16: 65504, _T.float8_e4m3fn: 448, _T.float8_e5m2: 57344}
_COUNTS = {3: "three", 4: "four"}


def width_situations(case: m.Case, expectation: Expectation) -> set[str]:
    """Every such situation that occurs in the case; `expectation` is the oracle's."""
    types = m.types_of(case)
    found = set(_of_loops(case))
    for shape in types.values():
        if isinstance(shape, m.MatrixShape):
            found |= {f"{n} above 64, Use {shape.use.value}" for n in ("rows", "cols") if getattr(shape, n) > 64}
    for i in case.program:
        if isinstance(i, m.MatrixMulAdd):
            found |= {*_of_mul_add(i, types, expectation)}
        elif isinstance(i, m.VectorMatrixMul):
            found |= {*_of_vector(case, i, types[i.input], expectation)}
    if any(isinstance(i, m.MatrixLoadTensor | m.MatrixStoreTensor) for i in case.program):
        found |= {*_of_indices(case)}
    return found


def _of_loops(case: m.Case) -> Iterator[str]:
    for i in case.program:
        if isinstance(i, m.Loop):
            if len(i.carry) in _COUNTS:
                yield f"loop carries {_COUNTS[len(i.carry)]} values"
            if factors_of(i.count).loop:
                yield "iterations by iteration"
        if isinstance(i, m.If):
            yield from (f"condition by {t}" for t, factor in _iterations(i.condition) if factor)


def _iterations(operand: int | m.Scalar) -> tuple[tuple[str, int], ...]:
    f = factors_of(operand)
    return ("iteration", f.loop), ("outer iteration", f.loop_outer), ("iteration and invocation", f.loop and f.inv)


def _of_mul_add(i: m.MatrixMulAdd, types: Any, expectation: Expectation) -> Iterator[str]:
    a, b, c = (types[n] for n in (i.a, i.b, i.c))
    read = m.mul_add_types(i, a, b, c)
    for name, extent in (("M", a.rows), ("N", b.cols), ("K", a.cols)):
        yield from (f"MulAdd: {name} above {n}" for n in (32, 64) if extent > n)
        if extent > 32 and extent % 16:
            yield f"MulAdd: {name} above 32, no multiple of 16"
    if max(a.rows, b.cols) > 32:
        yield f"MulAdd of {read[0].value}, M or N above 32"
    if min(a.rows, b.cols) > 32:
        yield "MulAdd: M and N above 32"
    if not {i.a, i.b, i.id} <= {*expectation.matrices}:
        return
    left, right = (m.decode(t, expectation.matrices[n]) for t, n in zip(read, (i.a, i.b), strict=False))
    if read[0].is_float:
        exact = i.id not in expectation.spreads or _exact(expectation, i.id, c.component)
        largest = max(np.abs(_floats(left)).max(), np.abs(_floats(right)).max())
        if exact and math.inf > largest >= _GREATEST.get(read[0], 1 << 24):
            yield f"MulAdd: greatest {read[0].value}, exact sums"
    elif read[0].size == read[1].size == 1:
        yield from (f"MulAdd: {pair}" for pair in _pairs(left.astype(np.int64), right.astype(np.int64), read))


def _exact(expectation: Expectation, name: str, component: m.ComponentType) -> bool:
    spread = expectation.spreads[name]
    low, high = (_floats(m.decode(component, bits)) for bits in (spread.lo, spread.hi))
    return bool((low == high).all())


def _floats(numbers: Values) -> Values:
    """The same numbers, wide: a signalling NaN raises the flag where it is widened."""
    with np.errstate(invalid="ignore"):
        return numbers.astype(np.float64)


def _pairs(a: Values, b: Values, types: tuple[m.ComponentType, ...]) -> Iterator[str]:
    """Whether two neighbouring products of bytes add up to more than 16 bits hold."""
    k = a.shape[-1] // 2 * 2
    pairs = np.einsum(
        "imkp,ikpn->imkn",
        a[..., :k].reshape(*a.shape[:-1], -1, 2),
        b[..., :k, :].reshape(b.shape[0], -1, 2, b.shape[-1]),
    )
    signed = [t.is_signed for t in types[:2]]
    if all(signed) and (pairs > 32767).any():
        yield "pair of signed bytes' products above 32767"
    if not any(signed) and (pairs > 65535).any():
        yield "pair of unsigned bytes' products above 65535"
    if signed[0] != signed[1] and ((pairs > 32767) | (pairs < -32768)).any():
        yield "pair of mixed bytes' products beyond 16 bits"


def _of_vector(case: m.Case, i: m.VectorMatrixMul, source: Any, expectation: Expectation) -> Iterator[str]:
    for name, extent in (("M", m.constant_of(i.m)), ("K", m.constant_of(i.k))):
        assert isinstance(extent, int)
        if extent > 64:
            yield f"VectorMatrixMul: {name} above 64"
    reading, matrix = m.interpretation_of(i.input_interpretation), m.interpretation_of(i.matrix_interpretation)
    bits = np.ascontiguousarray(expectation.matrices[i.input])
    given = m.decode(reading.component, bits.view(np.uint8)) if reading.packed else m.decode(source.component, bits)
    given = _floats(given.reshape(len(bits), -1))
    stored = [b for b in case.buffers.values() if b.type is matrix.component]
    numbers = [_floats(m.decode(b.type, m.initial_bits(b)[:4096])[None]) for b in stored]
    if not reading.component.is_float:
        end = np.iinfo(reading.component.dtype).min or np.iinfo(reading.component.dtype).max
        for where, all_of in (("input", [given]), ("matrix", numbers)):
            if any(_neighbours(n, end).any() for n in all_of):
                yield f"VectorMatrixMul: neighbours of {end} in the {where}"
    elif math.inf > max(np.abs(n).max() for n in (given, *numbers)) >= _GREATEST[_T.float16]:
        yield f"VectorMatrixMul: greatest float16 or beyond, {matrix.component.value}"


def _neighbours(numbers: Values, end: int) -> Values:
    """Where a number and the next one are `end` or beyond it, (n, k) of (n, k + 1)."""
    beyond = numbers >= end if end > 0 else numbers <= end
    both: Values = beyond[:, 1:] & beyond[:, :-1]
    return both


def _of_indices(case: m.Case) -> Iterator[str]:
    """What the first and the last instance reach; nothing where loops would have to be followed."""
    if any(isinstance(i, m.Loop) for i in case.program):
        return
    everywhere = instances(case)
    for where in (everywhere[0], everywhere[-1]):
        for access in accesses(case, where):
            op = "load" if isinstance(access.instruction, m.MatrixLoadTensor) else "store"
            if access.furthest >= 1 << 24:
                yield f"{op}: element index of 2^24 or more"
            yield from _of_coordinates(case, access, op)


def _of_coordinates(case: m.Case, access: Access, op: str) -> Iterator[str]:
    layout = access.layout
    if not access.coords or not all(layout.dims):
        return
    within = [(c >= 0) & (c < n) for c, n in zip(access.coords, layout.dims, strict=True)]
    # What is out of bounds in one dimension still has a coordinate in the others, unless it is a constant.
    constant = layout.clamp in (m.ClampMode.Constant, m.ClampMode.Undefined) or op == "store"
    everywhere = np.all(within, axis=0)
    decode = getattr(access.instruction, "decode", None)
    nodes = [] if decode is None else [*expressions_of(m.body_of(case.functions[decode], case.helpers))]
    used = {n.dimension for n in nodes if isinstance(n, Coordinate) and n.array == "blockCoord"}
    for d, (coordinate, block) in enumerate(zip(access.coords, layout.block, strict=True)):
        inside = ~access.clipped & (everywhere if constant else within[d])
        if (inside & (coordinate >= 256)).any():
            yield f"{op}: coordinate of 256 or more"
        if (inside & (coordinate // block >= 256)).any() and decode is not None:
            yield "decoded load: block coordinate of 256 or more"
            if d in used:
                yield "decoded load: block coordinate of 256 or more, used"
