"""Long tensors whose strides count elements as blocks are drawn with two blocks, so that buffers stay small."""

from __future__ import annotations

import pytest

from cts.case.model import Case
from cts.device.capabilities import everything
from cts.generators.areas import block_loads, tensor_addressing
from cts.generators.parts import tensor_loads
from cts.running.drawing import Draws, drawn
from cts.running.profiles import Profile


def greatest(cases: list[Case]) -> int:
    """Bytes of the largest buffer."""
    return max(b.elements * b.type.size for case in cases for b in case.buffers.values())


def test_a_long_tensor_beyond_the_limit_gets_two_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = Profile("long", 300, 11)
    strategy = block_loads.cases(everything())
    as_drawn = greatest(drawn(strategy, profile))
    monkeypatch.setattr(tensor_loads, "LARGE_BYTES", 1 << 16)
    limited = greatest(drawn(strategy, profile))
    assert as_drawn > 1 << 22 > limited


@pytest.mark.parametrize("number", [277, 2966])
def test_stores_of_many_instances_to_long_tensors_fit(number: int) -> None:
    """Each instance has a place of its own, as large as the tensor: these two asked for buffers of 57 and 119 MB."""
    drawn_again = Draws(tensor_addressing.cases(everything()), 2).example(number)
    assert isinstance(drawn_again, Case)
