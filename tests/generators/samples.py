"""Examples of the areas, the same ones on every run."""

from __future__ import annotations

from functools import cache

from cts.base.choices import USUAL
from cts.case.model import Case
from cts.device.capabilities import Capabilities, everything
from cts.plugins import registry
from cts.running.drawing import drawn
from cts.running.profiles import Profile

SEED = 1


@cache
def sample(
    count: int, capabilities: Capabilities | None = None, area: str = "tensor_addressing", number: int = SEED
) -> tuple[Case, ...]:
    """The first `count` examples of an area for a driver (default: one with everything), with the usual policy."""
    source = registry.area(area)(capabilities or everything())
    return tuple(drawn(source, Profile("sample", count, number), USUAL))
