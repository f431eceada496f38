"""What execution modes leave of the results that rounding rules allow (NU-042..NU-046)."""

from __future__ import annotations

import numpy as np
import pytest

from cts.case.model import ComponentType, FloatControls, FloatMode, FloatWidth
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric.conversions import float_to_float
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.modes import Mode, modes_of
from cts.reference.numeric.value import Value

F16, F32, BF16 = ComponentType.float16, ComponentType.float32, ComponentType.bfloat16
TOWARDS_ZERO, NEAREST = Mode("towards zero"), Mode("nearest")
KEPT, FLUSHED = Mode(denormals="kept"), Mode(denormals="flushed")


def of(component: ComponentType, *numbers: float) -> Value:
    return Value(component, np.array(numbers).astype(component.dtype).view(component.bits_dtype))


def numbers(value: Value) -> list[float]:
    """The results, each of which must be the only one."""
    assert value.component is not None and not value.flags.any()
    return [float(x) for x in value.bits.view(value.component.dtype)]


def test_sums_have_one_result() -> None:
    a, b = of(F16, 2048, 2050, -2048, 65504), of(F16, 1.5, 1, -1.5, 65504)
    assert numbers(Floats(False, True, {F16: TOWARDS_ZERO}).add(a, b)) == [2048, 2050, -2048, 65504]
    assert numbers(Floats(False, True, {F16: NEAREST}).add(a, b)) == [2050, 2052, -2050, np.inf]


def test_overflow_to_nearest_begins_at_half_a_place() -> None:
    floats = Floats(False, True, {F16: NEAREST})
    assert numbers(floats.add(of(F16, 65504, 65504), of(F16, 15, 16))) == [65504, np.inf]


def test_denormals() -> None:
    a, zero = of(F16, 2.0**-24, -(2.0**-15), 1), of(F16, 0, 0, 0)
    assert numbers(Floats(False, True, {F16: KEPT}).add(a, zero)) == [2.0**-24, -(2.0**-15), 1]
    flushed = Floats(False, True, {F16: FLUSHED}).add(a, zero)
    assert (flushed.core[0] == [0, 0, 1]).all() and (flushed.core[1] == [0, 0, 1]).all()
    assert (flushed.flags & Freedom.EITHER_ZERO != 0).tolist() == [True, True, False]


def test_undecorated_programs_keep_their_freedom() -> None:
    modes = modes_of({FloatWidth.float16: (FloatMode.RoundingModeRTZ,)}, FloatControls.Undecorated)
    assert Floats(True, modes=modes).add(of(F16, 2048), of(F16, 1.5)).flags.all()


def test_conversions_follow_the_type_of_the_result() -> None:
    x = of(F32, 2049.5, -2051, 1e6)
    assert numbers(float_to_float(x, F16, ieee=True, modes={F16: TOWARDS_ZERO})) == [2048, -2050, 65504]
    assert float_to_float(x, F16, ieee=True, modes={F32: TOWARDS_ZERO}).flags.all()
    contradicting = {F16: TOWARDS_ZERO, F32: NEAREST}
    assert float_to_float(x, F16, ieee=True, modes=contradicting).flags.all()
    assert float_to_float(x, BF16, ieee=True, modes={F32: TOWARDS_ZERO}).flags.any()


@pytest.mark.parametrize("specials", [False, True])
def test_specials_of_strict_programs(specials: bool) -> None:
    floats = Floats(False, modes={F16: Mode(specials=specials)})
    result = floats.add(of(F16, -0.0, np.inf), of(F16, -0.0, 1))
    assert bool(result.flags.any()) != specials
    assert bool(floats.div(of(F16, 1), of(F16, -0.0)).flags.any()) != specials
    assert bool(floats.compare("lt", of(F16, 1), of(F16, np.inf)).flags.any()) != specials
