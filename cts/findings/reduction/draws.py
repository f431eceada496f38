"""The simplest draws of a generator that still lead to a wanted case: fewer numbers, then lower ones.

Whole groups go first, then options, then runs of numbers; single numbers become 0 or as low as a bisection finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cts.base.choices import Recorded

#: Runs of numbers that are left out at a time.
_RUNS = (16, 8, 4, 2, 1)

Wanted = Callable[[Recorded], bool]


class _Spent(Exception):
    """Enough was tried."""


def simplest(first: Recorded, wanted: Wanted, trials: int) -> Recorded:
    """The simplest draws found, `first` itself at worst, which must be wanted.

    `wanted` is called with draws that are yet to be made, `trials` times at most.
    """
    search = _Search(first, wanted, trials)
    try:
        while search.improved():
            pass
    except _Spent:
        pass
    return search.best


class _Search:
    def __init__(self, first: Recorded, wanted: Wanted, trials: int) -> None:
        self.best = first
        self._wanted = wanted
        self._left = trials
        self._tried = {first.numbers}

    def improved(self) -> bool:
        """Whether one round over all passes found anything simpler."""
        before = self.best.numbers
        for change in (self._spans, self._options, self._runs, self._values):
            change()
        return self.best.numbers != before

    def _try(self, numbers: Sequence[int]) -> bool:
        """Whether these are wanted, and simpler than the best, which they then are."""
        key = tuple(numbers)
        if key in self._tried:
            return False
        self._tried.add(key)
        if not self._left:
            raise _Spent
        self._left -= 1
        draws = Recorded.again(key, self.best.policy)
        if not self._wanted(draws):
            return False
        drawn = draws.numbers
        self._tried.add(drawn)
        if (len(drawn), drawn) >= (len(self.best.numbers), self.best.numbers):
            return False
        self.best = draws
        return True

    def _spans(self) -> None:
        """Leave groups out, or draw their simplest, the longest first."""
        for start, end in _again(lambda: sorted(self.best.spans, key=lambda s: (s[0] - s[1], s))):
            numbers = self.best.numbers
            _ = self._try(numbers[:start] + numbers[end:]) or (
                any(numbers[start:end]) and self._try(numbers[:start] + (0,) * (end - start) + numbers[end:])
            )

    def _options(self) -> None:
        """Leave out optional groups: a flag becomes 0, or a count one less, and the group behind it goes."""
        for start, end in _again(lambda: sorted(self.best.spans)):
            numbers = self.best.numbers
            if start > 0 and end <= len(numbers) and numbers[start - 1]:
                flag = numbers[start - 1]
                for lower in {0: None, flag - 1: None}:
                    if self._try((*numbers[: start - 1], lower, *numbers[end:])):
                        break

    def _runs(self) -> None:
        """Leave neighbours out, or make them 0, from the end."""
        for length in _RUNS:
            start = len(self.best.numbers) - length
            while start >= 0:
                numbers = self.best.numbers
                end = start + length
                _ = self._try(numbers[:start] + numbers[end:]) or (
                    any(numbers[start:end]) and self._try(numbers[:start] + (0,) * length + numbers[end:])
                )
                start = min(start, len(self.best.numbers)) - length

    def _values(self) -> None:
        """Make single numbers as low as they may be."""
        index = 0
        while index < len(self.best.numbers):
            low, high = -1, self.best.numbers[index]
            while low + 1 < high and index < len(self.best.numbers):
                middle = 0 if low < 0 else (low + high) // 2
                numbers = self.best.numbers
                if self._try((*numbers[:index], middle, *numbers[index + 1 :])):
                    high = min(middle, self.best.numbers[index] if index < len(self.best.numbers) else 0)
                else:
                    low = middle
            index += 1


def _again(spans: Callable[[], list[tuple[int, int]]]) -> Iterator[tuple[int, int]]:
    """Each of a list that changes meanwhile, by its place in the list."""
    number = 0
    while number < len(current := spans()):
        yield current[number]
        number += 1
