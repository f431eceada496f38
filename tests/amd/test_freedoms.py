"""What no document says of hardware: both answers, and that each is as exact as it must be."""

from __future__ import annotations

import numpy as np
import pytest

from cts.drivers.amd.modes import Freedoms
from tests.amd.waves import f16, f32, run

CHAINED, LOW = Freedoms(chained=True), Freedoms(low=True)


def product(freedoms: Freedoms, c: float) -> float:
    """The first element of c + 16 products of 1 and 1."""
    ones = f16(1) | f16(1) << 16
    v = {**dict.fromkeys(range(16, 32), ones), **dict.fromkeys(range(8), f32(c))}
    w = run("v_wmma_f32_16x16x16_f16 v[0:7], v[16:19], v[24:27], v[0:7]", v=v, freedoms=freedoms)
    assert (w.vf[:8] == w.vf[0, 0]).all()
    return float(w.vf[0, 0])


def test_sums_are_rounded_once_or_each() -> None:
    large = 2.0**24  # to which 1 cannot be added in single precision
    assert product(Freedoms(), large) == large + 16
    assert product(CHAINED, large) == large
    assert product(CHAINED, 3) == product(Freedoms(), 3) == 19


@pytest.mark.parametrize(("name", "x", "exact"), [("rcp", 3.0, 1 / 3), ("rcp", 5.0, 1 / 5), ("sqrt", 3.0, 3**0.5)])
def test_functions_may_be_low(name: str, x: float, exact: float) -> None:
    near, low = (run(f"v_{name}_f32_e32 v0, v1", v={1: f32(x)}, freedoms=f).vf[0, 0] for f in (Freedoms(), LOW))
    assert near == np.float32(exact)
    assert float(low) <= exact < float(np.nextafter(low, np.float32(np.inf)))


@pytest.mark.parametrize(("name", "x", "exact"), [("rcp", 4.0, 0.25), ("sqrt", 4.0, 2.0), ("exp", 3.0, 8.0)])
def test_what_is_exact_stays_so(name: str, x: float, exact: float) -> None:
    assert run(f"v_{name}_f32_e32 v0, v1", v={1: f32(x)}, freedoms=LOW).vf[0, 0] == exact
