"""Examples of the strategies, the same ones on every run."""

from __future__ import annotations

from functools import cache

from hypothesis import HealthCheck, Phase, given, seed, settings

from cts.capabilities import Capabilities, everything
from cts.model import Case
from cts.plugins import registry
from cts.running.seeding import same_examples_everywhere

SEED = 1


@cache
def sample(
    count: int, capabilities: Capabilities | None = None, area: str = "tensor_addressing", number: int = SEED
) -> tuple[Case, ...]:
    """The first `count` examples of an area for a driver with `capabilities` (default: everything), by a seed."""
    collected: list[Case] = []

    # A seed of our own: Hypothesis would derive one from the text of this function.
    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(registry.area(area)(capabilities or everything()))
    def collect(case: Case) -> None:
        collected.append(case)

    with same_examples_everywhere():
        collect()
    return tuple(collected)
