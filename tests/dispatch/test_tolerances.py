"""How far results may be from what is expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cts.modules.dispatch import run
from cts.modules.dispatch.elements import ElementType
from cts.modules.dispatch.tolerances import Tolerance, step, unequal
from tests.dispatch.files import refused, said, write

#: An output of ADD as float32: element i of b is the float with the bits of a[i] + 1.
FLOATS = {
    "a": "  a: {type: float32, values: [1, 2, 3, 4, -1, 0, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1]}",
    "b": "  b: {type: float32, shape: [2, 8], fill: 0}",
}
VALUES = "values: [1, 2, 3, 4, -1, 0, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1]"


@pytest.mark.parametrize("name", [t.value for t in ElementType if t.is_float])
def test_steps_are_the_distances_between_neighbours(name: str) -> None:
    """Of every float of up to 16 bits, subnormal ones and zero included."""
    element = ElementType(name)
    count = min(1 << 8 * element.size - 1, 1 << 15)
    with np.errstate(all="ignore"):
        numbers = np.arange(count).astype(element.bits).view(element.dtype).astype(np.longdouble)
    finite = numbers[np.isfinite(numbers)]
    assert np.array_equal(step(finite[:-1], element), np.diff(finite))
    assert (step(np.array([0, 5], np.longdouble), ElementType.int8) == 1).all()


def differs(expected: list[float], actual: list[float], **tolerance: Any) -> list[bool]:
    a, b = np.array(expected, np.float32), np.array(actual, np.float32)
    found: list[bool] = unequal(a, b, Tolerance(**tolerance), ElementType.float32).tolist()
    return found


def test_ulp_counts_steps_of_the_buffers_type() -> None:
    up = float(np.nextafter(np.float32(1), np.float32(2)))
    two_up = float(np.nextafter(np.float32(up), np.float32(2)))
    assert differs([1, 1, 1], [1, up, two_up]) == [False, True, True]
    assert differs([1, 1, 1], [1, up, two_up], ulp=1) == [False, False, True]
    assert differs([0, np.inf, np.nan], [1e-45, 3e38, np.nan], ulp=1) == [False, True, False]
    a = np.array([1.0], np.float64)
    b = np.array([1 + 2.0**-7], ml_dtypes.bfloat16)
    assert not unequal(a, b, Tolerance(ulp=1), ElementType.bfloat16).any()
    assert unequal(np.array([3], np.int8), np.array([5], np.int8), Tolerance(ulp=1), ElementType.int8).all()


def test_tolerances_add_up() -> None:
    assert differs([10, 10], [11, 11.5], atol=0.5, rtol=0.05) == [False, True]


def test_arrays_of_tolerances() -> None:
    assert differs([1, 2, 3], [2, 3, 4], atol=np.array([1, 0.5, 2])) == [False, True, False]


def test_relative_to_magnitudes() -> None:
    """A sum that cancels: 1e-6 of its terms is more than the sum itself."""
    magnitudes = np.array([1e6, 1])
    assert differs([0, 0], [0.5, 0.5], rtol=1e-6, magnitudes=magnitudes) == [False, True]
    assert differs([0, 0], [0.0625, 0.125], ulp=1, magnitudes=magnitudes) == [False, True]


@pytest.mark.parametrize(
    ("tolerance", "count"),
    [
        ("ulp: 0", 16),
        ("ulp: 1", 0),
        ("rtol: 1.2e-7", 1),  # 0 has a neighbour, and no magnitude
        ("rtol: 1.2e-7, magnitudes: {shape: [8], fill: 4}", 0),
        ("ulp: {shape: [2, 1], values: [1, 0]}", 8),
        ("atol: {shape: [2, 8], fill: 1}", 0),
        ("atol: {values: [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]}", 8),
        ("ulp: {file: steps.npy}", 15),
    ],
)
def test_in_files(tmp_path: Path, tolerance: str, count: int) -> None:
    np.save(tmp_path / "steps.npy", np.arange(16).reshape(2, 8) == 5)
    result = run(write(tmp_path, **FLOATS, expected=f"expected: {{b: {{{VALUES}, {tolerance}}}}}"))
    assert result.status == bool(count), said(result)
    assert (f"b: {count} of 16 differ" in said(result)) == bool(count)


@pytest.mark.parametrize(
    ("tolerance", "what", "where"),
    [
        ("ulp: -1", ">= 0", "expected.b.ulp"),
        ("ulp: {shape: [3], fill: 1}", "shape [3] for a buffer of shape [2, 8]", "expected.b.ulp"),
        ("rtol: {shape: [2, 8], fill: -1}", "negative", "expected.b.rtol"),
        ("magnitudes: {file: none.npy}", "No such file", "expected.b.magnitudes.file"),
        ("magnitude: {file: none.npy}", "unknown field `magnitude`", "expected.b.magnitude"),
        ("ulp: {fil: 1}", "unknown field `fil`", "expected.b.ulp.fil"),
        ("ulp: {}", "exactly one of file", "expected.b.ulp"),
    ],
)
def test_refused(tmp_path: Path, tolerance: str, what: str, where: str) -> None:
    path = write(tmp_path, **FLOATS, expected=f"expected: {{b: {{{VALUES}, {tolerance}}}}}")
    error = refused(path)
    assert what in error.what
    assert error.where == f"{path}:9: {where}"


def test_expected_has_the_buffers_type_and_shape(tmp_path: Path) -> None:
    """Raw bytes, numbers, and the integers that --out writes for a type that NumPy lacks."""
    b = "  b: {type: bfloat16, shape: [2, 16], fill: 0}"
    run(write(tmp_path, b=b), out=tmp_path / "out")
    kept = tmp_path / "out" / "interpreter" / "b.npy"
    bits = np.load(kept)
    assert bits.dtype == np.uint16
    bits.tofile(tmp_path / "b.bin")
    np.save(tmp_path / "b.npy", bits.view(ml_dtypes.bfloat16))
    for file in (kept, tmp_path / "b.bin", tmp_path / "b.npy"):
        result = run(write(tmp_path, b=b, expected=f"expected: {{b: {{file: {file}}}}}"))
        assert result.status == 0, said(result)
    assert run(write(tmp_path, expected="expected: {b: {iota: {start: 1}}}")).status == 0
    np.save(tmp_path / "numbers.npy", np.arange(1, 17, dtype=np.float64))
    assert run(write(tmp_path, expected="expected: {b: {file: numbers.npy}}")).status == 0


def test_buffers_have_the_type_of_the_module(tmp_path: Path) -> None:
    assert (
        run(write(tmp_path, a="  a: {shape: [16], iota: {}}", expected="expected: {b: {iota: {start: 1}}}")).status == 0
    )
