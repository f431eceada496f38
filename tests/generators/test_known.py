"""What is known of values holds: compared with arithmetic on samples, and with every value of small types."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cts.base.choices import OfHypothesis
from cts.case.model import Buffer, ComponentType, decode, initial_bits
from cts.generators.build.contents import Wanted, draw_contents
from cts.generators.build.value_ranges import (
    Known,
    added,
    anything,
    clamped,
    limits,
    multiplied,
    negated,
    reread,
    settled,
    subtracted,
)

C = ComponentType
OPERATIONS: dict[Callable[[C, Known, Known], Known], Callable[[int, int], int]] = {
    added: lambda a, b: a + b,
    subtracted: lambda a, b: a - b,
    multiplied: lambda a, b: a * b,
}
RANGES = [(-128, 127), (-3, 5), (0, 7), (-9, -2), (100, 127)]


@pytest.mark.parametrize("known", OPERATIONS)
@pytest.mark.family(("x", "y"), list(itertools.product(RANGES, RANGES)))
def test_results_of_wrapping_integers_are_within_what_is_known(
    known: Callable[[C, Known, Known], Known], x: tuple[int, int], y: tuple[int, int]
) -> None:
    found = known(C.int8, Known(*x), Known(*y))
    exact = {OPERATIONS[known](a, b) for a in range(x[0], x[1] + 1) for b in range(y[0], y[1] + 1)}
    wrapped = {(v + 128) % 256 - 128 for v in exact}
    assert found.low <= min(wrapped) and max(wrapped) <= found.high


def test_negation_of_the_least_integer_wraps() -> None:
    assert negated(C.int8, Known(-128, 3)) == anything(C.int8)
    assert negated(C.int8, Known(-127, 3)) == Known(-3, 127)


@pytest.mark.parametrize(("size", "grain"), [(2048, 0), (512, -2), (128, -4)])
def test_float16_holds_eleven_bits(size: int, grain: int) -> None:
    step = math.ldexp(1, grain)
    assert settled(C.float16, -size, size, grain) == Known(-size, size, grain)
    assert all(float(np.float16(v)) == v for v in np.arange(-size, size + step, step))
    assert settled(C.float16, -size, size + step, grain).grain is None
    assert float(np.float16(size + step)) != size + step


def test_denormal_multiples_are_not_counted_as_exact() -> None:
    assert multiplied(C.float16, Known(-1, 1, -10), Known(-1, 1, -10)).grain is None


def test_bits_read_with_another_sign() -> None:
    assert reread(C.int8, C.uint8, Known(0, 127)) == Known(0, 127)
    assert reread(C.int8, C.uint8, Known(-1, 5)) == anything(C.uint8)
    assert limits(C.uint16) == (0, 65535)


@given(st.data(), st.sampled_from(ComponentType), st.sampled_from(["any", "positive", "negative", "nonnegative"]))
@settings(max_examples=300, database=None, deadline=None, derandomize=True)
def test_contents_are_what_is_known_of_them(data: st.DataObject, component: C, sign: str) -> None:
    if sign == "negative" and not component.is_float and not component.is_signed:
        sign = "positive"
    contents = draw_contents(OfHypothesis(data.draw), component, Wanted(sign=sign))
    bits = initial_bits(Buffer(component, (301,), contents.data))
    values = decode(component, bits).astype(np.float64)
    assert contents.known.low <= values.min() and values.max() <= contents.known.high
    if contents.known.grain is not None:
        assert (values % math.ldexp(1, contents.known.grain) == 0).all()
    if sign in ("positive", "negative"):
        assert (values != 0).all() and (np.sign(values) == (1 if sign == "positive" else -1)).all()


@pytest.mark.parametrize(("a", "low", "high"), [((-64, 64, 5), 0, 3), ((-64, 64, 5), -2, 3), ((1, 2, -1), -8, 96)])
def test_bounds_of_a_clamp_are_as_fine_as_they_are(a: tuple[int, int, int], low: int, high: int) -> None:
    known = Known(*a)
    found = clamped(known, Known(low, low), Known(high, high))
    step = 2.0**known.grain if known.grain is not None else 0
    values = np.clip(np.arange(known.low, known.high + step, step), low, high)
    assert found.low <= values.min() and values.max() <= found.high
    assert found.grain is not None and (values % 2.0**found.grain == 0).all()
