"""Combine functions of generated programs give one result in any order."""

from __future__ import annotations

import pytest

from cts.base.choices import Seeded
from cts.case.model import ComponentType, Data, Dispatch, Scope, Use
from cts.device.capabilities import everything
from cts.generators.areas.matrix_programs import _draw_reduced
from cts.generators.areas.reductions import _draw_second
from cts.generators.build.contents import Contents
from cts.generators.build.kernels import Kernel
from cts.generators.build.supports import Supports
from cts.generators.build.value_ranges import Known
from cts.generators.parts.combine_functions import combinings


def combined(seed: int, *, judged: bool, second: bool) -> set[str]:
    """The bodies of a reduction's function and helpers; what was loaded has zeros of both signs among it.

    It is a reduction of a program, or the `second` one of a case of reductions.
    """
    choices = Seeded(f"{seed}")
    kernel = Kernel(choices, Supports(everything()), Scope.Subgroup, Dispatch())
    kernel.judges_zeros = judged
    contents = Contents(Known(0, 0), Data(values=("0x80000000", 0)))
    matrix = kernel.load(choices, ComponentType.float32, 16, 16, Use.Accumulator, contents)
    if second:
        _draw_second(choices, kernel, matrix, matrix)
    else:
        _draw_reduced(choices, kernel, matrix)
    return {function.body for function in kernel.functions.values()}


@pytest.mark.parametrize("second", [False, True])
def test_nothing_is_picked_of_zeros_of_both_signs(second: bool) -> None:
    """CM-023: which of two equal numbers a maximum gives depends on the order, and shows in the bits."""
    picking = {c.body for c in combinings(ComponentType.float32) if c.picks}
    assert any(combined(seed, judged=False, second=second) & picking for seed in range(40))
    assert not any(combined(seed, judged=True, second=second) & picking for seed in range(200))
