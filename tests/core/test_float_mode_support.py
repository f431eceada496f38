"""Which float modes a device has, and which widths may have different ones (NU-047)."""

from __future__ import annotations

import pytest

from cts.case.model import FloatMode, FloatModes, FloatWidth, loads_case
from cts.device.capabilities import EVERY_FLOAT_MODE, FloatModeSupport, Independence, everything

RTE, RTZ, KEPT = FloatMode.RoundingModeRTE, FloatMode.RoundingModeRTZ, FloatMode.DenormPreserve
F16, F32, F64 = FloatWidth.float16, FloatWidth.float32, FloatWidth.float64


def test_a_mode_that_is_not_listed() -> None:
    support = FloatModeSupport(frozenset({(RTE, F16)}))
    assert list(support.missing({F16: (RTE,)})) == []
    assert list(support.missing({F16: (RTE, RTZ), F32: (RTE,)})) == [
        "float mode RoundingModeRTZ for float16 (NU-047)",
        "float mode RoundingModeRTE for float32 (NU-047)",
    ]


@pytest.mark.parametrize(
    ("independence", "modes", "fits"),
    [
        (Independence.ALL, {F16: (RTZ,), F32: (RTE,)}, True),
        (Independence.FLOAT32, {F16: (RTZ,), F32: (RTE,)}, True),
        (Independence.FLOAT32, {F16: (RTZ,), F64: (RTE,)}, False),
        (Independence.FLOAT32, {F16: (RTZ,), F64: (RTZ,)}, True),
        (Independence.NONE, {F16: (RTZ,), F32: (RTE,)}, False),
        (Independence.NONE, {F16: (RTZ,)}, False),
        (Independence.NONE, {F16: (RTZ, KEPT), F32: (RTZ,)}, True),
    ],
)
def test_independence_of_roundings(independence: Independence, modes: FloatModes, fits: bool) -> None:
    support = FloatModeSupport(EVERY_FLOAT_MODE.modes, roundings=independence)
    assert (list(support.missing(modes)) == []) == fits


def test_cases_ask_for_their_modes() -> None:
    case = loads_case("schema: 1\nname: x\nfloat_modes: {float16: [RoundingModeRTZ]}\nbuffers: {}\nprogram: []\n")
    assert everything().missing(case) == []
