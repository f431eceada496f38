"""Small draws in which lower is simpler, so that Hypothesis' shrinker leads to the simplest case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Draw(Protocol):
    """What `st.composite` hands to its function."""

    def __call__(self, strategy: st.SearchStrategy[T]) -> T: ...


@cache
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


@cache
def _records(highs: tuple[int, ...]) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*(_integers(0, high) for high in highs))


@st.composite
def _group(draw: Draw, body: Callable[[Choices], T]) -> T:
    return body(Choices(draw))


class Choices:
    """Draws of one example. Every method's simplest result is its first: no, 0, the first option."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def chance(self, tenths: int) -> bool:
        """True in about `tenths` of ten examples; shrinks to False."""
        return tenths > 0 and self._draw(_integers(0, 9)) >= 10 - tenths

    def rarely(self, one_in: int) -> bool:
        """True in about one of `one_in` examples; shrinks to False."""
        return self._draw(_integers(0, one_in - 1)) == one_in - 1

    def between(self, low: int, high: int) -> int:
        """An integer of [low, high]; shrinks towards 0 or the end nearest to it."""
        return low if low == high else self._draw(_integers(low, high))

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`; shrinks towards the first."""
        return options[self.between(0, len(options) - 1)]

    def record(self, *highs: int) -> tuple[int, ...]:
        """One integer of [0, high] for each `high`, as one unit for the shrinker to drop; cheaper than a group."""
        return self._draw(_records(highs))

    def group(self, body: Callable[[Choices], T]) -> T:
        """`body`'s draws as one unit, which the shrinker can drop or simplify as a whole."""
        return self._draw(_group(body))
