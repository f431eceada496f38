"""A small share of bench/rewritings.py; and that the adversary sees a bound that is too narrow."""

from __future__ import annotations

import numpy as np
import pytest

from cts.reference.numeric.history import History
from tests.adversary.arithmetic import least_ulp, rounded
from tests.adversary.judging import examine


@pytest.mark.parametrize("seed", range(4))
def test_no_rewriting_is_refused(seed: int) -> None:
    report = examine(seed, 60, 12)
    assert report.expressions == 60
    assert report.refused == []


def test_a_bound_that_counts_no_roundings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(History, "slack", lambda h, fmt: np.zeros(h.lo.shape))
    assert examine(1, 60, 12).refused


def test_rounding_knows_what_float64_left() -> None:
    x = np.array([1.0, 1.0, 2.0**-24, -0.75])
    error = np.array([2.0**-60, -(2.0**-60), 0.0, 0.0])
    assert rounded("float16", x, error, up=True).tolist() == [1 + 2.0**-10, 1, 2.0**-24, -0.75]
    assert rounded("float16", x, error, up=False).tolist() == [1, 1 - 2.0**-11, 2.0**-24, -0.75]


def test_ulp_of_a_power_of_two_is_that_below() -> None:
    assert least_ulp("float32", np.array([1.0, 1.5, 0.0])).tolist() == [2.0**-24, 2.0**-23, 2.0**-149]
