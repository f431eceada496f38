"""WMMA, with elements where the ISA's table "Matrix Element Storage in VGPRs" has them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cts.drivers.machine.problems import Unsupported, Wrong
from tests.amd.exact import BF16, E4M3, E5M2, F16, F32, Format, decoded, encoded
from tests.amd.tables import Case, check, name
from tests.amd.waves import run

SIZE = range(16)
FORMATS = {"f32": F32, "f16": F16, "bf16": BF16, "fp8": E4M3, "bf8": E5M2}

#: Formats of C and D, of A, and of B.
FLOATS = [
    ("v_wmma_f32_16x16x16_f16", "f32", "f16", "f16"),
    ("v_wmma_f32_16x16x16_bf16", "f32", "bf16", "bf16"),
    ("v_wmma_f16_16x16x16_f16", "f16", "f16", "f16"),
    ("v_wmma_bf16_16x16x16_bf16", "bf16", "bf16", "bf16"),
    ("v_wmma_f32_16x16x16_fp8_fp8", "f32", "fp8", "fp8"),
    ("v_wmma_f32_16x16x16_fp8_bf8", "f32", "fp8", "bf8"),
    ("v_wmma_f32_16x16x16_bf8_fp8", "f32", "bf8", "fp8"),
    ("v_wmma_f32_16x16x16_bf8_bf8", "f32", "bf8", "bf8"),
]

Matrix = list[list[int]]


def _bit(x: int, n: int) -> int:
    return x >> n & 1


#: Lane, register and place in it, by the index along the lanes and the other one: (bits of elements, lanes of a wave).
OPERANDS: dict[tuple[int, int], Callable[[int, int], tuple[int, int, int]]] = {
    (16, 32): lambda o, k: (_bit(k, 2) << 4 | o, _bit(k, 3) << 1 | _bit(k, 1), k & 1),
    (16, 64): lambda o, k: (k >> 2 << 4 | o, _bit(k, 1), k & 1),
    (8, 32): lambda o, k: (_bit(k, 3) << 4 | o, _bit(k, 2), k & 3),
    (8, 64): lambda o, k: (_bit(k, 2) << 5 | _bit(k, 3) << 4 | o, 0, k & 3),
}
RESULTS: dict[tuple[int, int], Callable[[int, int], tuple[int, int, int]]] = {
    (32, 32): lambda column, row: (row // 8 * 16 + column, row % 8, 0),
    (16, 32): lambda column, row: (row // 8 * 16 + column, row % 8 // 2, row % 2),
    (32, 64): lambda column, row: (row // 4 % 2 * 32 + row // 8 * 16 + column, row % 4, 0),
    (16, 64): lambda column, row: (row // 4 % 2 * 32 + row // 8 * 16 + column, row % 4 // 2, row % 2),
}


def stored(
    first: int, elements: Matrix, bits: int, lanes: int, places: dict[tuple[int, int], Callable[..., Any]]
) -> dict[str, list[int]]:
    """Registers from `first` on with elements [outer][inner]."""
    count = 256 * bits // lanes // 32
    registers = [[0] * lanes for _ in range(count)]
    for outer in SIZE:
        for inner in SIZE:
            lane, register, start = places[bits, lanes](outer, inner)
            registers[register][lane] |= elements[outer][inner] << bits * start
    return {f"v{first + n}": values for n, values in enumerate(registers)}


def _span(first: int, bits: int, lanes: int) -> str:
    count = 256 * bits // lanes // 32
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def transposed(matrix: Matrix) -> Matrix:
    return [list(row) for row in zip(*matrix, strict=True)]


def product(a: Matrix, b: Matrix, c: Matrix) -> Matrix:
    """A * B + C, each [row][column]."""
    return [[sum(a[m][k] * b[k][n] for k in SIZE) + c[m][n] for n in SIZE] for m in SIZE]


def matrices(seed: str, low: int, high: int) -> tuple[Matrix, Matrix, Matrix]:
    source = random.Random(seed)
    a, b, c = ([[source.randint(low, high) for _ in SIZE] for _ in SIZE] for _ in range(3))
    return a, b, c


def made(matrix: Matrix, f: Format) -> Matrix:
    """Integers in a format."""
    return [[encoded(float(x), f) for x in row] for row in matrix]


def case(
    op: str,
    kinds: tuple[int, int, int],
    patterns: tuple[Matrix, Matrix, Matrix],
    result: Matrix,
    lanes: int,
    more: str = "",
) -> Case:
    """A product of patterns, each [row][column]. C is in the registers of D."""
    (bits_c, bits_a, bits_b), (a, b, c) = kinds, patterns
    before = {
        **stored(0, transposed(c), bits_c, lanes, RESULTS),
        **stored(16, a, bits_a, lanes, OPERANDS),
        **stored(24, transposed(b), bits_b, lanes, OPERANDS),
    }
    target = _span(0, bits_c, lanes)
    code = f"{op} {target}, {_span(16, bits_a, lanes)}, {_span(24, bits_b, lanes)}, {target}{more}"
    return Case(code, before, stored(0, transposed(result), bits_c, lanes, RESULTS), {"lanes": lanes})


def _floats() -> Iterator[Case]:
    for op, kind_c, kind_a, kind_b in FLOATS:
        f, g, h = FORMATS[kind_c], FORMATS[kind_a], FORMATS[kind_b]
        for lanes in (32, 64):
            a, b, c = matrices(f"{op} {lanes}", -3, 3)
            kinds, patterns = (f.bits, g.bits, h.bits), (made(a, g), made(b, h), made(c, f))
            yield case(op, kinds, patterns, made(product(a, b, c), f), lanes)
            if "8" in kind_a:
                continue
            # Signs of the elements at even and odd inner indices, and of C.
            odd = [[-x if k % 2 else x for k, x in enumerate(row)] for row in a]
            signs = " neg_lo:[0,0,1] neg_hi:[1,0,0]"
            minus = [[-x for x in row] for row in c]
            yield case(op, kinds, patterns, made(product(odd, b, minus), f), lanes, signs)
            even = [[x if k % 2 else -x for x in row] for k, row in enumerate(b)]
            absolute = [[abs(x) for x in row] for row in c]
            signs = " neg_lo:[0,1,0] neg_hi:[0,0,1]"
            yield case(op, kinds, patterns, made(product(a, even, absolute), f), lanes, signs)


def _rounded() -> Iterator[Case]:
    """One product in each sum, so that only the rounding of the result matters."""
    for op, f, g, x, y, z in (
        ("v_wmma_f16_16x16x16_f16", F16, F16, 0x3C01, 0x3C01, 0x0000),
        ("v_wmma_f16_16x16x16_f16", F16, F16, 0x7BFF, 0x4000, 0x0000),
        ("v_wmma_f16_16x16x16_f16", F16, F16, 0x0001, 0x3800, 0x0001),
        ("v_wmma_bf16_16x16x16_bf16", BF16, BF16, 0x3F81, 0x3F81, 0x0000),
        ("v_wmma_bf16_16x16x16_bf16", BF16, BF16, 0x3F83, 0x3FC0, 0x3C00),
        ("v_wmma_f32_16x16x16_f16", F32, F16, 0x3C01, 0x3C01, 0x00000000),
        ("v_wmma_f32_16x16x16_f16", F32, F16, 0x7BFF, 0x7BFF, 0x3F800001),
        ("v_wmma_f32_16x16x16_bf16", F32, BF16, 0x3F81, 0x3F81, 0x33800000),
    ):
        a = [[x if k == m else 0 for k in SIZE] for m in SIZE]
        b, c = [[y] * 16 for _ in SIZE], [[z] * 16 for _ in SIZE]
        exact = Fraction(decoded(x, g)) * Fraction(decoded(y, g)) + Fraction(decoded(z, f))
        result = [[encoded(exact, f)] * 16 for _ in SIZE]
        yield case(op, (f.bits, g.bits, g.bits), (a, b, c), result, 32)


def _special() -> Iterator[Case]:
    """Infinities and NaNs, of one row of A."""
    for op, kind_c, kind_a, kind_b in FLOATS:
        f, g, h = FORMATS[kind_c], FORMATS[kind_a], FORMATS[kind_b]
        a, b, c = matrices(op, 1, 2)
        patterns = made(a, g), made(b, h), made(c, f)
        finite = made(product(a, b, c), f)
        for m, value in ((3, math.inf), (5, -math.inf), (7, math.nan)):
            if math.isinf(value) and not g.infinities:
                continue
            patterns[0][m][m] = encoded(value, g)
            finite[m] = [encoded(value, f)] * 16
        made_case = case(op, (f.bits, g.bits, h.bits), patterns, finite, 32)
        yield (
            made_case._replace(floats="f32")
            if f is F32
            else made_case._replace(floats="f16")
            if f is F16
            else made_case
        )


def _constants() -> Iterator[Case]:
    """An inline constant as C."""
    for op, kind, constant, value in (
        ("v_wmma_f32_16x16x16_f16", "f32", "0", 0),
        ("v_wmma_f32_16x16x16_f16", "f32", "1.0", 1),
        ("v_wmma_f16_16x16x16_f16", "f16", "-2.0", -2),
        ("v_wmma_bf16_16x16x16_bf16", "bf16", "1.0", 1),
    ):
        f, g = FORMATS[kind], BF16 if "_bf16" in op else F16
        a, b, _ = matrices(op, -3, 3)
        c = [[value] * 16 for _ in SIZE]
        made_case = case(op, (f.bits, 16, 16), (made(a, g), made(b, g), made(c, f)), made(product(a, b, c), f), 32)
        yield made_case._replace(code=f"{made_case.code.rpartition(', ')[0]}, {constant}")


def _integers() -> Iterator[Case]:
    op = "v_wmma_i32_16x16x16_iu8"
    for lanes in (32, 64):
        for signed_a, signed_b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            a, b, c = matrices(f"{lanes} {signed_a} {signed_b}", 0, 255)
            patterns = a, b, c
            x = [[n - 256 * (signed_a and n > 127) for n in row] for row in a]
            y = [[n - 256 * (signed_b and n > 127) for n in row] for row in b]
            result = [[n & 0xFFFFFFFF for n in row] for row in product(x, y, c)]
            yield case(op, (32, 8, 8), patterns, result, lanes, f" neg_lo:[{signed_a},{signed_b},0]")
    a, b = [[255] * 16 for _ in SIZE], [[255] * 16 for _ in SIZE]
    largest = [[0x7FFFFFFF] * 16 for _ in SIZE]
    wrapped = [[0x7FFFFFFF + 16 * 255 * 255 & 0xFFFFFFFF] * 16 for _ in SIZE]
    yield case(op, (32, 8, 8), (a, b, largest), wrapped, 32)
    yield case(op, (32, 8, 8), (a, b, largest), largest, 32, " clamp")
    smallest = [[0x80000000] * 16 for _ in SIZE]
    yield case(op, (32, 8, 8), (a, b, smallest), smallest, 32, " neg_lo:[1,0,0] clamp")


CASES = [*_floats(), *_rounded(), *_special(), *_constants(), *_integers()]


@pytest.mark.family("case", CASES, ids=name)
def test_product(case: Case) -> None:
    check(case)


def test_every_lane_must_be_active() -> None:
    with pytest.raises(Wrong, match="inactive lanes"):
        run("v_wmma_f32_16x16x16_f16 v[0:7], v[16:19], v[24:27], 0", exec=1)


def test_operands_have_the_registers_of_their_matrices() -> None:
    with pytest.raises(Unsupported, match="8 registers of v\\[0:7\\], where 64 lanes need 4"):
        run("v_wmma_f32_16x16x16_f16 v[0:7], v[16:17], v[24:25], 0", lanes=64)


def test_the_storage_of_results_is_one_to_one() -> None:
    """The tables of this test are those of matrices that fill their registers."""
    for (bits, lanes), place in {**OPERANDS, **RESULTS}.items():
        found = {place(outer, inner) for outer in SIZE for inner in SIZE}
        assert found == set(np.ndindex(lanes, 256 * bits // lanes // 32, 32 // bits))
