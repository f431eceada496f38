"""OpCooperativeMatrixMulAddKHR: every operand mask, every component type."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.interpreter.matrix_modules import Mat, problem, run

BITS = ("A", "B", "C", "Result")


def mask(signed: tuple[bool, ...], saturating: bool = False) -> str:
    """The operand mask of the signs of A, B, C and the result."""
    names = [f"Matrix{m}SignedComponentsKHR" for m, s in zip(BITS, signed, strict=True) if s]
    return "|".join([*names, *(["SaturatingAccumulationKHR"] if saturating else [])]) or "NoneKHR"


def muladd(a: Any, b: Any, c: Any, types: tuple[str, str, str, str], operands: str = "", **options: Any) -> Any:
    """A*B + C of matrices (instances, rows, cols) with component types of A, B, C and the result."""
    a, b, c = (np.asarray(x) if np.asarray(x).ndim == 3 else np.asarray(x)[None] for x in (a, b, c))
    (_, m, k), n = a.shape, b.shape[2]
    ta, tb, tc, tr = (
        Mat(t, *shape) for t, shape in zip(types, ((m, k, "A"), (k, n, "B"), (m, n, "acc"), (m, n, "acc")), strict=True)
    )
    body = f"%result = OpCooperativeMatrixMulAddKHR %{tr.name} %a %b %c {operands}"
    return run(body, {"a": (ta, a), "b": (tb, b), "c": (tc, c)}, tr, **options)


@pytest.mark.parametrize(("signed", "saturating"), list(product(product((False, True), repeat=4), (False, True))))
def test_signs_of_bytes(signed: tuple[bool, ...], saturating: bool) -> None:
    """Bytes are extended as the mask says, whatever the type's signedness (NU-001)."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 256, (3, 5)).astype(np.uint8), rng.integers(0, 256, (5, 4)).astype(np.uint8)
    c = rng.integers(0, 1 << 32, (3, 4)).astype(np.uint32)

    def read(x: Any, s: bool) -> Any:
        return x.view(f"i{x.dtype.itemsize}") if s else x

    exact = read(a, signed[0]).astype(object) @ read(b, signed[1]).astype(object) + read(c, signed[2]).astype(object)
    if saturating:
        low, high = (-(2**31), 2**31 - 1) if signed[3] else (0, 2**32 - 1)
        exact = np.clip(exact, low, high)
    expected = np.array([[int(x) & 0xFFFFFFFF for x in row] for row in exact], np.uint32)
    found = muladd(a, b, c, ("u8", "u8", "uint", "uint"), mask(signed, saturating))
    assert np.array_equal(found[0], expected)


@pytest.mark.parametrize(
    ("types", "c", "signs", "expected"),
    [
        (("i8", "i8", "int", "int"), 2**31 - 5, (True,) * 4, 2**31 - 1),
        (("i8", "i8", "i8", "i8"), 120, (True,) * 4, 127),
        (("i16", "i16", "i16", "i16"), 32760, (True,) * 4, 32767),
        (("u16", "u16", "u16", "u16"), 65530, (False,) * 4, 65535),
        (("uint", "uint", "uint", "uint"), 2**32 - 5, (False,) * 4, 2**32 - 1),
        (("i64", "i64", "i64", "i64"), 2**63 - 5, (True,) * 4, 2**63 - 1),
        (("u64", "u64", "u64", "u64"), 2**64 - 5, (False,) * 4, 2**64 - 1),
    ],
)
def test_saturation(types: Any, c: int, signs: tuple[bool, ...], expected: int) -> None:
    """Adding C stops at the limit of the result, and wraps without the bit (NU-002)."""
    ones = np.ones((2, 3, 3), np.uint8)
    c3 = np.full((2, 3, 3), c, np.uint64 if types[2] == "u64" else np.int64)
    assert (muladd(ones * 3, ones, c3, types, mask(signs, saturating=True)) == expected).all()
    wrapped = muladd(ones * 3, ones, c3, types, mask(signs))
    assert (wrapped.astype(object) == c + 9 - 2 ** (8 * wrapped.itemsize)).all()


def test_negative_saturation() -> None:
    ones = np.ones((1, 2, 2), np.int8)
    c = np.full((1, 2, 2), -126, np.int8)
    assert (muladd(-ones, ones, c, ("i8", "i8", "i8", "i8"), mask((True,) * 4, saturating=True)) == -128).all()


@pytest.mark.parametrize("types", [("uint", "uint", "uint", "uint"), ("u64", "u64", "u64", "u64")])
def test_wide_integers_wrap_exactly(types: Any) -> None:
    """Too large for floating point: every bit must still be right."""
    rng = np.random.default_rng(2)
    top = 2**32 if types[0] == "uint" else 2**64
    a, b, c = (np.array(rng.integers(0, top, (1, 8, 8), np.uint64)) for _ in range(3))
    expected = (a[0].astype(object) @ b[0].astype(object) + c[0].astype(object)) % top
    assert (muladd(a, b, c, types)[0].astype(object) == expected).all()


FLOATS = ("half", "float", "double", "bf16", "e4m3", "e5m2")


@pytest.mark.parametrize(("a_type", "result"), list(product(FLOATS, ("half", "float", "double", "bf16"))))
def test_floats(a_type: str, result: str) -> None:
    """Exactly representable sums come out exactly, from every type into every type (NU-010)."""
    rng = np.random.default_rng(3)
    a, b, c = ((rng.integers(-4, 5, s) / 2) for s in ((6, 7), (7, 5), (6, 5)))
    found = muladd(a, b, c, (a_type, a_type, result, result))
    assert np.array_equal(found[0].astype(np.float64), a @ b + c)


def test_rounds_once() -> None:
    """The sum 2048 + 1 + 2^-20 rounds up to 2050; rounding it through 2049 would give 2048."""
    a = np.array([[2048.0, 1.0, 2.0**-10]])
    b = np.array([[1.0], [1.0], [2.0**-10]])
    assert muladd(a, b, [[0.0]], ("half", "half", "half", "half")).item() == 2050


def test_instances_are_separate() -> None:
    """Two workgroups of three subgroups: six products."""
    rng = np.random.default_rng(4)
    a, b, c = (rng.integers(-9, 10, (6, 4, 4)) for _ in range(3))
    found = muladd(a, b, c, ("half", "half", "float", "float"), lanes=96, workgroups=2)
    assert np.array_equal(found, a @ b + c)


def test_workgroup_scope() -> None:
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(-9, 10, (2, 4, 4)) for _ in range(3))
    types = ("half", "half", "float", "float")
    found = muladd(a, b, c, types, lanes=64, workgroups=2, scope="Workgroup")
    assert np.array_equal(found, a @ b + c)


@pytest.mark.parametrize(
    ("a", "b", "c", "r", "says"),
    [
        (Mat("half", 2, 3, "B"), Mat("half", 3, 4, "B"), Mat("half", 2, 4), Mat("half", 2, 4), "uses A, B"),
        (Mat("half", 2, 3, "A"), Mat("half", 4, 4, "B"), Mat("half", 2, 4), Mat("half", 2, 4), "MxK"),
        (Mat("half", 2, 3, "A"), Mat("half", 3, 4, "B"), Mat("half", 2, 5), Mat("half", 2, 4), "MxK"),
        (Mat("i8", 2, 3, "A"), Mat("half", 3, 4, "B"), Mat("half", 2, 4), Mat("half", 2, 4), "all be integers or"),
    ],
)
def test_mismatches_are_refused(a: Mat, b: Mat, c: Mat, r: Mat, says: str) -> None:
    body = f"%result = OpCooperativeMatrixMulAddKHR %{r.name} %a %b %c"
    assert says in problem(body, {"a": a, "b": b, "c": c}, r)
