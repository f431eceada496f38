"""What a generator draws with: numbers by a seed, given numbers, or numbers of Hypothesis.

A generator is a function of `Choices` (a `Source`). In all of its draws lower is simpler, so that what is drawn with
fewer and lower numbers is a simpler case. Why `cts run` draws without Hypothesis: docs/decisions/cases-from-a-seed.md.
"""

from __future__ import annotations

import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Source(Protocol[T_co]):
    """Makes one example of what it draws."""

    def __call__(self, choices: Choices, /) -> T_co: ...


class Odds(NamedTuple):
    """`times` in `of` draws."""

    times: int
    of: int

    def __str__(self) -> str:
        return f"{self.times} in {self.of}"


class Chance:
    """How often something is drawn: the usual odds, and those that a run's policy may have instead.

    Its name is that of the class attribute that it is, and `declared` all chances of imported generators by name.
    """

    declared: ClassVar[dict[str, Chance]] = {}

    def __init__(self, times: int, of: int, drawn: Sequence[Odds] = ()) -> None:
        self.name = ""
        self.usual = Odds(times, of)
        self.drawn = tuple(drawn) or (self.usual,)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"{owner.__name__}.{name}"
        Chance.declared[self.name] = self


class DrawPolicy:
    """The odds of a run's chances: the usual ones, or by a seed each from its range, whichever others there are."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self._drawn: dict[Chance, Odds] = {}

    def odds(self, chance: Chance) -> Odds:
        """The odds of a chance."""
        if self.seed is None:
            return chance.usual
        if chance not in self._drawn:
            self._drawn[chance] = random.Random(f"policy {self.seed} {chance.name}").choice(chance.drawn)
        return self._drawn[chance]


USUAL = DrawPolicy()


def tenths(usual: int, low: int, high: int) -> Chance:
    """Usually `usual` in ten draws; by a policy from `low` to `high` in ten."""
    return Chance(usual, 10, [Odds(times, 10) for times in range(low, high + 1)])


def one_in(usual: int, low: int, high: int) -> Chance:
    """Usually one in `usual` draws; by a policy from one in `low` to one in `high`."""
    return Chance(1, usual, [Odds(1, of) for of in range(low, high + 1)])


class Choices(ABC):
    """Draws of one example. Every method's simplest result is its first: no, 0, the first option."""

    def __init__(self, policy: DrawPolicy = USUAL) -> None:
        self.policy = policy

    @abstractmethod
    def below(self, count: int) -> int:
        """An integer of [0, count)."""

    def odds(self, chance: Chance) -> Odds:
        """The odds of a chance."""
        return self.policy.odds(chance)

    def chance(self, chance: Chance) -> bool:
        """True as often as a chance says."""
        times, of = self.odds(chance)
        return self.below(of) >= of - times

    def between(self, low: int, high: int) -> int:
        """An integer of [low, high]; the simplest is 0 or the end nearest to it."""
        if low == high:
            return low
        number = self.below(high - low + 1)
        if low >= 0:
            return low + number
        if high <= 0:
            return high - number
        # 0, then both signs in turn, as far as they go.
        both = 2 * min(-low, high)
        if number > both:
            return number - both + both // 2 if high > -low else both // 2 - number
        return (number + 1) // 2 if number % 2 else -(number // 2)

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`."""
        return options[self.between(0, len(options) - 1)]

    def record(self, *highs: int) -> tuple[int, ...]:
        """One integer of [0, high] for each `high`, as one unit that can be dropped; cheaper than a group."""
        return tuple(self.below(high + 1) for high in highs)

    def group(self, body: Source[T]) -> T:
        """`body`'s draws as one unit, which can be dropped or simplified as a whole."""
        return body(self)


class Seeded(Choices):
    """Numbers by a seed, all equally likely."""

    def __init__(self, seed: str, policy: DrawPolicy = USUAL) -> None:
        super().__init__(policy)
        self._random = random.Random(seed).random

    def below(self, count: int) -> int:
        return int(self._random() * count)


class Number(NamedTuple):
    """One draw: a number of [0, end), and the function and line that asked for it."""

    value: int
    end: int
    label: str


class Recorded(Choices):
    """Draws that are kept, and what was drawn as one unit: `spans` from one index of `drawn` to before another."""

    def __init__(self, below: Callable[[int], int], policy: DrawPolicy = USUAL) -> None:
        super().__init__(policy)
        self._below = below
        self.drawn: list[Number] = []
        self.spans: list[tuple[int, int]] = []

    @classmethod
    def again(cls, numbers: Iterable[int], policy: DrawPolicy = USUAL) -> Recorded:
        """With given numbers, made smaller where these are too large, and 0 where they end."""
        left = iter(numbers)
        return cls(lambda count: min(next(left, 0), count - 1), policy)

    @property
    def numbers(self) -> tuple[int, ...]:
        """All that was drawn."""
        return tuple(number.value for number in self.drawn)

    def below(self, count: int) -> int:
        value = self._below(count)
        self.drawn.append(Number(value, count, _caller()))
        return value

    def record(self, *highs: int) -> tuple[int, ...]:
        return self._span(lambda: super(Recorded, self).record(*highs))

    def group(self, body: Source[T]) -> T:
        return self._span(lambda: body(self))

    def _span(self, draw: Callable[[], T]) -> T:
        start = len(self.drawn)
        result = draw()
        self.spans.append((start, len(self.drawn)))
        return result


def _caller() -> str:
    """The innermost function that is not of this module, and its line."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_name}:{frame.f_lineno}"


def strategy(source: Source[T]) -> SearchStrategy[T]:
    """The Hypothesis strategy that draws what a source makes, by the usual policy."""
    from hypothesis import strategies as st

    @st.composite
    def drawn(draw: Any) -> T:
        return source(OfHypothesis(draw))

    return drawn()


class OfHypothesis(Choices):
    """Numbers of Hypothesis, in units that its shrinker knows."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        super().__init__()
        self._draw = draw

    def below(self, count: int) -> int:
        number: int = self._draw(_integers(count - 1))
        return number

    def record(self, *highs: int) -> tuple[int, ...]:
        numbers: tuple[int, ...] = self._draw(_records(highs))
        return numbers

    def group(self, body: Source[T]) -> T:
        result: T = self._draw(strategy(body))
        return result


@cache
def _integers(high: int) -> SearchStrategy[int]:
    from hypothesis import strategies as st

    return st.integers(0, high)


@cache
def _records(highs: tuple[int, ...]) -> SearchStrategy[tuple[int, ...]]:
    from hypothesis import strategies as st

    return st.tuples(*(_integers(high) for high in highs))
