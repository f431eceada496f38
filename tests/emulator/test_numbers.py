from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import ComponentType
from cts.drivers.emulator import vm
from cts.drivers.emulator.callbacks import Program, program
from cts.drivers.emulator.matrices.scalar import ScalarMachine
from cts.drivers.emulator.numbers import FLUSH_OF, ROUNDING_OF, ROUNDINGS, SETTINGS, TYPE_NUMBERS

T = ComponentType
FLOATS = [t for t in ComponentType if t.is_float]
NARROW = [t for t in FLOATS if t is not T.float32]
LARGEST = {T.float16: 65504.0, T.bfloat16: float.fromhex("0x1.fep127"), T.float8_e4m3fn: 448.0, T.float8_e5m2: 57344.0}
ALL16 = np.arange(1 << 16, dtype=np.uint32)


def conversion(source: ComponentType, target: ComponentType, saturate: bool = False) -> Program:
    a, b = TYPE_NUMBERS[source], TYPE_NUMBERS[target]
    return program([(vm.PARAMETER, a, 0, 0), (vm.CONVERT, b, int(saturate), a)])


def converted(bits: npt.NDArray[Any], made: Program, rounding: str = "rne", flush: bool = False) -> npt.NDArray[Any]:
    settings = np.zeros(SETTINGS, np.int64)
    settings[ROUNDING_OF : ROUNDING_OF + 5], settings[FLUSH_OF : FLUSH_OF + 5] = ROUNDINGS[rounding], flush
    found, _ = ScalarMachine(settings, False, 0).run(made, [(bits.astype(np.uint32), None)])
    return found


def patterns(t: ComponentType) -> npt.NDArray[Any]:
    """Every bit pattern of a type, or of float32 those around all values of the narrower types."""
    if t is not T.float32:
        return ALL16[: 1 << (8 * t.size)].astype(t.bits_dtype)
    close = [
        ALL16[: 1 << (8 * n.size)].astype(n.bits_dtype).view(n.dtype).astype(np.float32).view(np.uint32) for n in NARROW
    ]
    upper = np.concatenate(close)
    return np.concatenate(
        [upper, upper + np.uint32(1), upper - np.uint32(1), (ALL16 << 16) | 0x8000, (ALL16 << 16) | 0x1000]
    )


def alike(a: npt.NDArray[Any], b: npt.NDArray[Any], t: ComponentType) -> npt.NDArray[np.bool_]:
    """Equal bits, or both NaN."""
    with np.errstate(invalid="ignore"):
        left, right = (x.astype(t.bits_dtype).view(t.dtype).astype(np.float64) for x in (a, b))
    same: npt.NDArray[np.bool_] = (a == b) | (np.isnan(left) & np.isnan(right))
    return same


@pytest.mark.parametrize("target", FLOATS, ids=lambda t: t.value)
@pytest.mark.parametrize("source", FLOATS, ids=lambda t: t.value)
def test_conversions_round_to_nearest_as_ml_dtypes_does(source: ComponentType, target: ComponentType) -> None:
    bits = patterns(source)
    with np.errstate(all="ignore"):
        expected = bits.view(source.dtype).astype(np.float32).astype(target.dtype).view(target.bits_dtype)
    assert alike(converted(bits, conversion(source, target)), expected, target).all()


@pytest.mark.parametrize("target", NARROW, ids=lambda t: t.value)
def test_directed_roundings_enclose_the_value(target: ComponentType) -> None:
    bits = patterns(T.float32)
    largest = LARGEST[target]
    bits = bits[np.abs(bits.view(np.float32)) <= largest]
    value = bits.view(np.float32).astype(np.float64)

    def rounded(rounding: str) -> npt.NDArray[np.float64]:
        found = converted(bits, conversion(T.float32, target), rounding).astype(target.bits_dtype)
        return found.view(target.dtype).astype(np.float64)

    up, down, zero, nearest = (rounded(r) for r in ("up", "down", "rtz", "rne"))
    assert (down <= value).all() and (value <= up).all()
    np.testing.assert_array_equal(zero, np.where(value < 0, up, down))
    assert ((nearest == up) | (nearest == down)).all()
    with np.errstate(invalid="ignore"):
        neighbours = np.unique(patterns(target).view(target.dtype).astype(np.float64))
    finite = neighbours[np.isfinite(neighbours)]
    np.testing.assert_array_equal(up, finite[np.searchsorted(finite, value)])


def test_saturation_gives_the_largest_float8() -> None:
    """NaN is not out of range, and stays NaN (NU-033). Its sign is free (NU-020)."""
    bits = np.array([1000, -1000, np.inf, 448, 1e9, np.nan], np.float32).view(np.uint32)
    e4m3, e5m2 = T.float8_e4m3fn, T.float8_e5m2
    assert converted(bits, conversion(T.float32, e4m3, True))[:-1].tolist() == [0x7E, 0xFE, 0x7E, 0x7E, 0x7E]
    assert alike(
        converted(bits, conversion(T.float32, e4m3)), np.array([0x7F, 0x7F, 0x7F, 0x7E, 0x7F, 0x7F]), e4m3
    ).all()
    assert converted(bits, conversion(T.float32, e5m2, True))[2:-1].tolist() == [0x7B, 0x5F, 0x7B]
    assert converted(bits, conversion(T.float32, e5m2))[2:-1].tolist() == [0x7C, 0x5F, 0x7C]
    for target in (e4m3, e5m2):
        found = converted(bits[-1:], conversion(T.float32, target, True))
        assert alike(found, np.array([0x7F]), target).all()


def test_flushing_spares_float8() -> None:
    denormals = np.array([1, 0x83FF, 0x0400], np.uint32)
    assert converted(denormals, conversion(T.float16, T.float32), flush=True).tolist() == [0, 0x80000000, 0x38800000]
    eighths = np.arange(8, dtype=np.uint32)
    kept = converted(eighths, conversion(T.float8_e5m2, T.float16))
    np.testing.assert_array_equal(converted(eighths, conversion(T.float8_e5m2, T.float16), flush=True), kept)
