"""Float execution modes of a case: YAML, what is refused, and how cases with them are told apart."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, FloatMode, FloatWidth, dumps_case, loads_case

HEAD = "schema: 1\nname: x\nbuffers: {}\nprogram: []\n"


def case(modes: str, controls: str = "NoContraction") -> Case:
    return loads_case(f"{HEAD}float_controls: {controls}\nfloat_modes: {modes}\n")


def test_round_trip() -> None:
    read = case("{float16: [DenormPreserve, RoundingModeRTZ], float64: [RoundingModeRTE]}")
    assert read.float_modes == {
        FloatWidth.float16: (FloatMode.DenormPreserve, FloatMode.RoundingModeRTZ),
        FloatWidth.float64: (FloatMode.RoundingModeRTE,),
    }
    assert loads_case(dumps_case(read)) == read
    assert read.content_hash != case("{float16: [DenormPreserve]}").content_hash


@pytest.mark.parametrize(
    ("modes", "controls", "what", "path"),
    [
        ("{float16: [RoundingModeRTE, RoundingModeRTZ]}", "NoContraction", "of one width", "float_modes.float16"),
        ("{float32: [DenormPreserve, DenormFlushToZero]}", "NoContraction", "of one width", "float_modes.float32"),
        ("{float32: [DenormPreserve, DenormPreserve]}", "NoContraction", "twice", "float_modes.float32[1]"),
        ("{float16: []}", "NoContraction", "no mode", "float_modes.float16"),
        ("{float16: [SignedZeroInfNanPreserve]}", "FastMathNone", "implies it", "float_modes.float16"),
        ("{bfloat16: [RoundingModeRTE]}", "NoContraction", "bfloat16", "float_modes.bfloat16"),
        ("{float16: [RoundUp]}", "NoContraction", "RoundUp", "float_modes.float16[0]"),
    ],
)
def test_refused(modes: str, controls: str, what: str, path: str) -> None:
    with pytest.raises(BadInput) as caught:
        case(modes, controls)
    assert what in str(caught.value)
    assert caught.value.where == f"<string>:6: {path}"
