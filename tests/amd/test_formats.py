"""Sums, products and roundings against exact arithmetic."""

from __future__ import annotations

import itertools
import math
import random
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cts.drivers.amd import formats
from cts.drivers.amd.formats import Round
from tests.amd import exact
from tests.amd.exact import BF16, E4M3, E5M2, F16, F32, Format, decoded, encoded

COUNT = 4000
ROUNDINGS: tuple[Round, ...] = ("even", "zero")
#: A float type of NumPy, the same in exact arithmetic, and the rounding to it.
TYPES: list[tuple[Any, Any, Format]] = [(np.float32, np.uint32, F32), (np.float16, np.uint16, F16)]


def patterns(f: Format, word: Any, seed: str) -> npt.NDArray[Any]:
    """Finite numbers of every size, near 1, denormals, zeros, and the largest."""
    source = random.Random(f"{f} {seed}")
    top = f.beyond >> f.mantissa
    numbers = [
        source.getrandbits(1) << f.bits - 1
        | source.choice([source.randrange(top), f.bias + source.randrange(-3, 4), 0, top - 1]) << f.mantissa
        | source.getrandbits(f.mantissa)
        for _ in range(COUNT)
    ]
    edges = [0, f.sign, 1, f.sign | 1, f.largest, f.sign | f.largest, 1 << f.mantissa, f.bias << f.mantissa]
    return np.array([*numbers, *edges], word)


def rounded(x: npt.NDArray[Any], dtype: Any, rounding: Round) -> npt.NDArray[Any]:
    return formats.single(x, rounding) if dtype is np.float32 else formats.half(x, rounding)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(("dtype", "word", "f"), TYPES)
def test_sums_are_rounded_once(dtype: Any, word: Any, f: Format, rounding: Round) -> None:
    a, b = patterns(f, word, "a"), patterns(f, word, "b")
    total = formats.add(*(x.view(dtype).astype(np.float64) for x in (a, b)))
    with np.errstate(over="ignore"):
        found = rounded(total, dtype, rounding).view(word)
    wanted = [exact.summed(int(x), int(y), f, rounding) for x, y in zip(a, b, strict=True)]
    assert found.tolist() == wanted


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(("dtype", "word", "f"), TYPES)
def test_fused_products_and_sums_are_rounded_once(dtype: Any, word: Any, f: Format, rounding: Round) -> None:
    a, b, c = (patterns(f, word, name) for name in "abc")
    # Every other sum is a product that nearly vanishes.
    with np.errstate(over="ignore"):
        product = (a.view(dtype).astype(np.float64) * b.view(dtype)).astype(dtype)
    c[::2] = np.where(np.isfinite(product), -product, dtype(1)).astype(dtype).view(word)[::2]
    total = formats.fma(*(x.view(dtype) for x in (a, b, c)))
    with np.errstate(over="ignore"):
        found = rounded(total, dtype, rounding).view(word)
    wanted = [exact.fused(int(x), int(y), int(z), f, rounding) for x, y, z in zip(a, b, c, strict=True)]
    assert found.tolist() == wanted


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(("dtype", "word", "f"), TYPES)
def test_doubles_are_rounded(dtype: Any, word: Any, f: Format, rounding: Round) -> None:
    source = random.Random("doubles")
    lowest = 1 - f.bias - f.mantissa
    numbers = [math.ldexp(source.uniform(-2, 2), source.randrange(lowest - 3, f.bias + 3)) for _ in range(COUNT)]
    ties = [math.ldexp(2 * source.randrange(1 << f.mantissa) + 1, lowest - 1) for _ in range(100)]
    numbers += [*ties, 0.0, -0.0, math.inf, -math.inf]
    with np.errstate(over="ignore", under="ignore"):
        found = rounded(np.array(numbers), dtype, rounding).view(word)
    assert found.tolist() == [encoded(x, f, rounding) for x in numbers]


def test_sums_of_what_is_not_finite() -> None:
    nan, inf = math.nan, math.inf
    with np.errstate(invalid="ignore"):
        total = formats.add(np.array([inf, inf, -inf, nan, 1.0]), np.array([1.0, -inf, -inf, 1.0, -1.0]))
    assert [repr(x) for x in total.tolist()] == ["inf", "nan", "-inf", "nan", "0.0"]


@pytest.mark.parametrize(("dtype", "word", "f"), TYPES)
def test_denormals_become_zeros_of_their_signs(dtype: Any, word: Any, f: Format) -> None:
    numbers = [0, f.sign, 1, f.sign | 1, (1 << f.mantissa) - 1, 1 << f.mantissa, f.sign | 1 << f.mantissa, f.beyond]
    found = formats.flushed(np.array(numbers, word).view(dtype)).view(word)
    assert found.tolist() == [0, f.sign, 0, f.sign, 0, *numbers[5:]]
    nan = formats.flushed(np.array([f.nan, 1], word).view(dtype))
    assert np.isnan(nan[0]) and nan[1] == 0


FLOAT8 = [(formats.E4M3, E4M3), (formats.E5M2, E5M2)]


@pytest.mark.parametrize(("format_", "f"), FLOAT8)
def test_all_values_of_8_bits_and_back(format_: formats.Float8, f: Format) -> None:
    for bits in range(256):
        value, wanted = float(format_.values[bits]), float(decoded(bits, f))
        assert (math.isnan(value) and math.isnan(wanted)) or struct.pack("<d", value) == struct.pack("<d", wanted)
    back = format_.encode(format_.values)
    for bits in range(256):
        if math.isnan(float(decoded(bits, f))):
            assert math.isnan(float(decoded(int(back[bits]), f)))
        else:
            assert back[bits] == bits


@pytest.mark.parametrize(("format_", "f"), FLOAT8)
def test_numbers_are_rounded_to_8_bits(format_: formats.Float8, f: Format) -> None:
    source = random.Random("float8")
    finite = [float(decoded(bits, f)) for bits in range(f.largest + 1)]
    between = [(a + b) / 2 for a, b in itertools.pairwise(finite)]
    near = [math.ldexp(source.uniform(-2, 2), source.randrange(-20, 17)) for _ in range(COUNT)]
    beyond = [1.03 * finite[-1], 1.0625 * finite[-1], 1.125 * finite[-1], 1.13 * finite[-1], 1e30, math.inf]
    numbers = np.array([*finite, *between, *near, *beyond], np.float32)
    numbers = np.concatenate([numbers, np.nextafter(numbers, np.float32(0)), -numbers])
    found = format_.encode(numbers)
    assert found.tolist() == [encoded(float(x), f) for x in numbers]
    assert math.isnan(float(decoded(int(format_.encode(np.array([math.nan], np.float32))[0]), f)))


def test_bfloat16_is_the_upper_half_of_a_single() -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    values = formats.of_bfloat16(every)
    for bits in range(0, 1 << 16, 97):
        wanted = float(decoded(bits, BF16))
        assert (math.isnan(wanted) and np.isnan(values[bits])) or float(values[bits]) == wanted
    back = formats.to_bfloat16(values)
    nan = np.isnan(values)
    assert (back[~nan] == every[~nan]).all()
    assert np.isnan(formats.of_bfloat16(back[nan])).all()


def test_singles_are_rounded_to_bfloat16() -> None:
    source = random.Random("bfloat16")
    numbers = [source.getrandbits(32) for _ in range(COUNT)]
    numbers += [x & 0xFFFF0000 | 0x8000 for x in numbers[:500]]  # ties
    numbers += [0x7F7FFFFF, 0x7F7F7FFF, 0x7F7F8000, 0x7F800000, 0xFF800000, 1, 0x80000001, 0x8000, 0x8001]
    singles = np.array(numbers, np.uint32).view(np.float32)
    for bits, found in zip(numbers, formats.to_bfloat16(singles).tolist(), strict=True):
        value = decoded(bits, F32)
        if isinstance(value, float) and math.isnan(value):
            assert math.isnan(float(decoded(found, BF16)))
        else:
            assert found == encoded(value, BF16)


def test_a_nan_whose_bits_are_low_stays_one() -> None:
    low = np.array([0x7F800001, 0xFF800001], np.uint32).view(np.float32)
    assert np.isnan(formats.of_bfloat16(formats.to_bfloat16(low))).all()
