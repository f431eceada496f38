"""Bounds of a probability, from a share that was observed."""

from __future__ import annotations

from math import sqrt

#: Standard deviations of a normal distribution between which 95 % of it are.
_Z = 1.96


def bounds(hits: int, of: int) -> tuple[float, float]:
    """The interval that has the share behind `hits` of `of` in 95 % of cases, by Wilson's score.

    >>> low, high = bounds(60, 60)
    >>> round(low, 2), high
    (0.94, 1.0)
    >>> bounds(0, 0)
    (0.0, 1.0)
    """
    if not of:
        return 0.0, 1.0
    share, spread = hits / of, _Z * _Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))
