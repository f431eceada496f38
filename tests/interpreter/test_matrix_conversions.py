"""Conversions of cooperative matrices and of scalars, and the rounding beneath them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cts.drivers.interpreter.rounding import from_integers, rounded
from tests.interpreter.matrix_modules import COMPONENTS, Mat, problem, run

FLOATS = ["half", "float", "bf16", "e4m3", "e5m2"]
INTEGERS = ["i8", "u8", "i16", "u16", "int", "uint"]
NARROW = [np.dtype(COMPONENTS[name][1]) for name in ("half", "bf16", "e4m3", "e5m2", "float")]


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    """As in a dispatch: overflow and NaN are results like others."""
    with np.errstate(all="ignore"):
        yield


def grid(dtype: np.dtype[Any]) -> Any:
    """All finite values of an 8- or 16-bit type in increasing order (float64), without -0."""
    every = np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)
    return np.unique(every[np.isfinite(every)])


@pytest.mark.parametrize("dtype", NARROW[:4], ids=str)
@pytest.mark.parametrize("source", [np.float64, np.float32])
def test_rounds_to_nearest_even_and_once(dtype: np.dtype[Any], source: Any) -> None:
    """Every midpoint of neighbours, and the values next to it, by comparison with exact fractions."""
    finite = grid(dtype)
    low, high = finite[:-1], finite[1:]
    middle = (low + high) / 2
    near = rounded(middle.astype(source), dtype).astype(np.float64)
    even = finite.searchsorted(0.0) % 2  # zero has an even significand, and evenness alternates
    expected = np.where(np.arange(len(low)) % 2 == even, low, high)
    assert np.array_equal(near, expected)
    above, below = (np.nextafter(middle.astype(source), source(d)) for d in (np.inf, -np.inf))
    assert np.array_equal(rounded(above, dtype).astype(np.float64), high)
    assert np.array_equal(rounded(below, dtype).astype(np.float64), low)


@pytest.mark.parametrize("dtype", NARROW[:4], ids=str)
@pytest.mark.parametrize(("mode", "negative", "positive"), [("RTZ", 1, 0), ("RTN", 0, 0), ("RTP", 1, 1)])
def test_directed_rounding(dtype: np.dtype[Any], mode: str, negative: int, positive: int) -> None:
    """Between neighbours low < high, the mode picks low (0) or high (1)."""
    finite = grid(dtype)
    low, high = finite[:-1], finite[1:]
    for weight in (0.25, 0.5, 0.75):
        found = rounded(low + (high - low) * weight, dtype, mode).astype(np.float64)
        pick = np.where(low >= 0, positive, negative)
        assert np.array_equal(found, np.where(pick == 1, high, low))
    assert np.array_equal(rounded(finite, dtype, mode).astype(np.float64), finite)


@pytest.mark.parametrize("mode", ["RTE", "RTZ", "RTP", "RTN"])
def test_out_of_range(mode: str) -> None:
    big = np.array([1e30, -1e30])
    assert (
        rounded(big, np.dtype(np.float16), mode).tolist()
        == {
            "RTE": [np.inf, -np.inf],
            "RTZ": [65504, -65504],
            "RTP": [np.inf, -65504],
            "RTN": [65504, -np.inf],
        }[mode]
    )
    for name, largest in (("e4m3", 448), ("e5m2", 57344)):
        dtype = np.dtype(COMPONENTS[name][1])
        found = rounded(np.array([1e30, -1e30, np.inf, np.nan]), dtype, mode, saturate=True).astype(np.float64)
        assert found[:3].tolist() == [largest, -largest, largest]
        assert np.isnan(found[3])


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_wide_integers_round_once(dtype: np.dtype[Any]) -> None:
    """64-bit integers just off the midpoint of two values of the type, in their lowest bit."""
    bits = ml_dtypes.finfo(dtype).nmant + 1  # type: ignore[no-untyped-call]
    top = min(62, int(np.log2(float(ml_dtypes.finfo(dtype).max))))  # type: ignore[no-untyped-call]
    low = 1 << top - 1
    step = 1 << max(top - bits, 1)
    for numerator in (low + step // 2 - 1, low + step // 2 + 1):
        for sign in (1, -1):
            for integer in (np.int64, np.uint64)[: 1 if sign < 0 else 2]:
                found = rounded(from_integers(np.array([sign * numerator], integer)), dtype).astype(np.float64)
                right = low if numerator < low + step // 2 or step == 2 else low + step
                if step > 2:
                    assert Fraction(found.item()) == sign * right


def scalars(source: str, target: str) -> tuple[list[float], str]:
    """Values that both types hold, or round in the target; and the conversion's instruction."""
    signs = [-1, 1] if source not in ("u8", "u16", "uint") and target not in ("u8", "u16", "uint") else [1]
    found = [float(s * v) for v in (0, 1, 3, 17, 100, 127) for s in signs]
    if source in FLOATS:
        found += [s * v for v in (0.5, 2.75, 1 / 3) for s in signs]
        if target in FLOATS:
            return found, "OpFConvert"
        return found, "OpConvertFToS" if COMPONENTS[target][1]().dtype.kind == "i" else "OpConvertFToU"
    signed = COMPONENTS[source][1]().dtype.kind == "i"
    if target in FLOATS:
        return found, "OpConvertSToF" if signed else "OpConvertUToF"
    return found, "OpSConvert" if signed else "OpUConvert"


def reference(values: Any, target: str) -> Any:
    """Values (exact in float64) as the target type rounds, truncates or wraps them."""
    dtype = np.dtype(COMPONENTS[target][1])
    wide = np.asarray(values, np.float64)
    return rounded(wide, dtype) if target in FLOATS else np.trunc(wide).astype(np.int64).astype(dtype)


def is_conversion(source: str, target: str) -> bool:
    """Whether there is one: UConvert makes unsigned integers only."""
    if source not in INTEGERS or target not in INTEGERS:
        return source != target
    a, b = (np.dtype(COMPONENTS[name][1]) for name in (source, target))
    return source != target and not (a.kind == "u" and b.kind == "i" and a.itemsize != b.itemsize)


@pytest.mark.family(
    ("source", "target"), [pair for pair in product(FLOATS + INTEGERS, repeat=2) if is_conversion(*pair)]
)
def test_conversions_of_matrices(source: str, target: str) -> None:
    """All pairs, from Accumulator to Accumulator and to A (KM-018, CM-050)."""
    values, op = scalars(source, target)
    if (
        op in ("OpSConvert", "OpUConvert")
        and np.dtype(COMPONENTS[source][1]).itemsize == np.dtype(COMPONENTS[target][1]).itemsize
    ):
        op = "OpBitcast"
    given = Mat(source, 1, len(values))
    exact = given.wrap(values).astype(np.float64)
    for use in ("acc",) if op == "OpBitcast" else ("acc", "A"):
        result = Mat(target, 1, len(values), use)
        found = run(f"%result = {op} %{result.name} %a", {"a": (given, values)}, result)
        assert found.tobytes() == reference(exact, target).tobytes()


@pytest.mark.family(("source", "target"), [(s, t) for s, t in product(FLOATS, FLOATS + INTEGERS) if s != t])
def test_conversions_of_scalars(source: str, target: str) -> None:
    """What callbacks use: the component extracted, converted, and splatted."""
    values, op = scalars(source, target)
    given, result = Mat(source, 1, 1), Mat(target, 1, 1)
    body = f"""
%x = OpLoad %{source} %at_a
%y = {op} %{target} %x
%result = OpCompositeConstruct %{result.name} %y
"""
    found = run(body, {"a": (given, np.reshape(values, (-1, 1, 1)))}, result)
    assert found.tobytes() == reference(given.wrap(values).astype(np.float64), target).tobytes()


def test_conversions_of_vectors() -> None:
    body = """
%x = OpLoad %float %at_a
%v = OpCompositeConstruct %v2float %x %x
%w = OpFConvert %v2bf16 %v
%y = OpCompositeExtract %bf16 %w 1
%result = OpCompositeConstruct %bf16_1x1_acc %y
"""
    globals_ = "%v2float = OpTypeVector %float 2\n%v2bf16 = OpTypeVector %bf16 2"
    a, out = Mat("float", 1, 1), Mat("bf16", 1, 1)
    assert run(body, {"a": (a, [[1.00390625]])}, out, globals_=globals_).item() == 1.0


@pytest.mark.parametrize("target", ["e4m3", "e5m2"])
def test_saturation_to_fp8(target: str) -> None:
    """NU-033: without the decoration NaN or infinity, with it the largest finite value."""
    a, out = Mat("float", 1, 4), Mat(target, 1, 4)
    values = [[1e6, -1e6, float("inf"), float("nan")]]
    body = f"%result = OpFConvert %{out.name} %a"
    plain = run(body, {"a": (a, values)}, out).astype(np.float64)[0, 0]
    if target == "e4m3":
        assert np.isnan(plain).all()
    else:
        assert plain[:3].tolist() == [np.inf, -np.inf, np.inf]
    decorations = "OpDecorate %result SaturatedToLargestFloat8NormalConversionEXT"
    found = run(body, {"a": (a, values)}, out, decorations=decorations).astype(np.float64)[0, 0]
    largest = 448 if target == "e4m3" else 57344
    assert found[:3].tolist() == [largest, -largest, largest]
    assert np.isnan(found[3])


def test_rounding_mode_decoration() -> None:
    a, out = Mat("float", 1, 2), Mat("half", 1, 2)
    values = [[1 + 2**-11 + 2**-12, -(1 + 2**-11 + 2**-12)]]
    for mode, expected in (("RTE", [1 + 2**-10, -(1 + 2**-10)]), ("RTZ", [1, -1])):
        decorations = f"OpDecorate %result FPRoundingMode {mode}"
        found = run(
            f"%result = OpFConvert %{out.name} %a", {"a": (a, values)}, out, decorations=decorations, checked=False
        )
        assert found[0, 0].tolist() == expected


def test_convert_use() -> None:
    """CM-051."""
    a = Mat("half", 2, 3)
    for use in ("A", "B"):
        out = Mat("half", 2, 3, use)
        found = run(f"%result = OpCooperativeMatrixConvertNV %{out.name} %a", {"a": (a, range(12))}, out)
        assert found.ravel().tolist() == list(range(12))


def test_transpose() -> None:
    """CM-052, with two instances."""
    a, out = Mat("int", 2, 3), Mat("int", 3, 2, "B")
    values = np.arange(12).reshape(2, 2, 3)
    found = run(f"%result = OpCooperativeMatrixTransposeNV %{out.name} %a", {"a": (a, values)}, out)
    assert np.array_equal(found, values.swapaxes(1, 2))


@pytest.mark.parametrize(
    ("op", "a", "out", "says"),
    [
        ("OpFConvert", Mat("half", 2, 2, "A"), Mat("float", 2, 2), "CM-050"),
        ("OpFConvert", Mat("half", 2, 2), Mat("float", 2, 3), "KM-018"),
        ("OpFConvert", Mat("int", 2, 2), Mat("float", 2, 2), "converts Float to Float"),
        ("OpBitcast", Mat("int", 2, 2), Mat("uint", 2, 2, "A"), "KM-018"),
        ("OpBitcast", Mat("int", 2, 2), Mat("float", 2, 2), "KM-018"),
        ("OpCooperativeMatrixConvertNV", Mat("half", 2, 2, "A"), Mat("half", 2, 2, "B"), "CM-051"),
        ("OpCooperativeMatrixConvertNV", Mat("half", 2, 2), Mat("float", 2, 2, "B"), "CM-051"),
        ("OpCooperativeMatrixTransposeNV", Mat("half", 2, 3), Mat("half", 3, 2, "A"), "CM-052"),
        ("OpCooperativeMatrixTransposeNV", Mat("half", 2, 3), Mat("half", 2, 3, "B"), "CM-052"),
        ("OpCooperativeMatrixTransposeNV", Mat("half", 2, 3), Mat("float", 3, 2, "B"), "AM-20"),
    ],
)
def test_what_is_not_allowed(op: str, a: Mat, out: Mat, says: str) -> None:
    assert says in problem(f"%result = {op} %{out.name} %a", {"a": a}, out)
