"""Examples of the strategies, the same ones on every run."""

from __future__ import annotations

from functools import cache

from hypothesis import HealthCheck, Phase, given, settings

from cts import registry
from cts.capabilities import Capabilities, everything
from cts.model import Case
from cts.seeding import same_examples_everywhere


@cache
def sample(count: int, capabilities: Capabilities | None = None, area: str = "tensor_addressing") -> tuple[Case, ...]:
    """The first `count` examples of an area for a driver with `capabilities` (default: everything)."""
    collected: list[Case] = []

    @settings(
        max_examples=count,
        derandomize=True,
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
