"""Options by name, of which some are drawn more often than others."""

from __future__ import annotations

from collections.abc import Mapping


def weights(of: Mapping[str, int] | None = None, **named: int) -> tuple[str, ...]:
    """Each name as many times as it weighs, in order, for `Choices.pick`: the first is the simplest."""
    return tuple(name for name, weight in {**(of or {}), **named}.items() for _ in range(weight))
