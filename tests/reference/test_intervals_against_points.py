"""An operation on an interval allows its results on each number in it: a share of `bench/intervals.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest

from cts.case.model import ComponentType as T
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric import conversions
from cts.reference.numeric.modes import Mode
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Free, Value
from tests.reference.interval_points import (
    Operation,
    Setting,
    allows,
    chains,
    drawn,
    operations,
    points,
    refused,
    settings,
)

#: Elements of a call: a call costs some milliseconds, whatever their number.
ELEMENTS = 64
#: Settings of each operation, of 37: eleven operations of one kind see all of them.
SETTINGS = 4
CHAINS = 120


def _by_operand() -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations():
        found[operation.operands[0].value].append(operation)
    return found


BY_OPERAND = _by_operand()


@pytest.mark.parametrize("component", sorted(BY_OPERAND))
def test_an_operation_of_an_interval_allows_the_results_of_its_numbers(component: str) -> None:
    rng = np.random.default_rng(sorted(BY_OPERAND).index(component))
    every, tried = settings(), 0
    for operation in BY_OPERAND[component]:
        for n in rng.choice(len(every), SETTINGS, replace=False):
            count, found = refused((operation,), every[n], rng, ELEMENTS, 1)
            tried += count
            assert not found, "\n".join(map(str, found))
    assert tried > len(BY_OPERAND[component]) * SETTINGS * ELEMENTS / 4


def test_a_chain_of_operations_allows_what_its_steps_allow() -> None:
    rng = np.random.default_rng(1)
    every = settings()
    drawn_chains = [chains(rng, length) for length in (2, 3, 4)]
    for n in range(CHAINS):
        _, found = refused(next(drawn_chains[n % 3]), every[rng.integers(len(every))], rng, ELEMENTS, 1)
        assert not found, "\n".join(map(str, found))


def test_the_greatest_number_is_no_multiple_of_an_overflowing_step() -> None:
    """A float32 interval of multiples of 2^103 overflows in float16, where RTZ makes it the greatest number."""
    low = -(2.0**103)
    flags = np.full((1, 1, 1, 1), FREE, np.uint8)
    ends = np.full(flags.shape, low), np.full(flags.shape, 0.0)
    bits = np.zeros(flags.shape, np.uint32)
    value = Value(T.float32, bits, Free(flags, *ends, step=np.full(flags.shape, 2.0**103)))
    modes = {T.float16: Mode("towards zero")}
    found = conversions.float_to_float(value, T.float16, ieee=True, modes=modes)
    assert allows(found, np.full(flags.shape, 0xFBFF, np.uint16)).all()
    assert allows(found, np.full(flags.shape, 0, np.uint16)).all()
    assert not allows(found, np.full(flags.shape, 0xFC00, np.uint16)).any()  # no infinity towards zero


def test_a_wrong_operation_is_refused() -> None:
    """The sampler sees a conversion that forgets the upper end."""

    def forgetful(setting: Setting, operands: Sequence[Value], watch: Watch) -> Value:
        (value,) = operands
        if value.free is not None:
            value = Value(value.component, value.bits, Free(value.flags, value.free.lo, value.free.lo))
        return conversions.converted(value, T.float16, watch, False, setting.ieee, setting.modes)

    wrong = Operation("forgetful", (T.float32,), T.float16, forgetful)
    _, found = refused((wrong,), settings()[2], np.random.default_rng(0), ELEMENTS, 4)
    assert found


def test_points_are_numbers_of_their_intervals() -> None:
    rng = np.random.default_rng(0)
    for component in T:
        for ieee in (False, True):
            value = drawn(component, 2000, rng, ieee)
            assert allows(value, points(value, rng).bits).all()
            if component.is_float:
                assert {int(f) & 7 for f in np.unique(value.flags)} >= {0, Freedom.EITHER_ZERO}
