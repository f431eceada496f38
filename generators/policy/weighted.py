"""Options in the order in which draws shrink, of which some are drawn more often than others."""

from __future__ import annotations

from collections.abc import Mapping


def weights(of: Mapping[str, int] | None = None, **named: int) -> tuple[str, ...]:
    """Each name as many times as it weighs, in order, for `Choices.pick`: the first is the simplest."""
    return tuple(name for name, weight in {**(of or {}), **named}.items() for _ in range(weight))


def signed(least: int, most: int) -> tuple[int, ...]:
    """The integers from -least to most, `least` being no more than `most`: 0, both signs in turn, then the rest."""
    both = [sign * n for n in range(1, least + 1) for sign in (1, -1)]
    return (0, *both, *range(least + 1, most + 1))
