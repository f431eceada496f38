"""Which failures one deviation explains: as few deviations as possible, each with what it leaves in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cts.case.model import Case
from cts.features.deviations import Wrong, parse_deviation
from cts.findings.learning.models import Model, alike, models, simplest
from cts.judging.compare import Bytes

#: Models that are tried for one failure, of which the commonest deeds come first; and those of them that are tried on
#: the others. Many leave the same memory, and a simple one is among the first.
TRIED, KEPT = 200, 6


class Failing(NamedTuple):
    """A case that fails, and the memory that a driver left."""

    case: Case
    memory: Mapping[str, Bytes]


@dataclass(eq=False)
class Budget:
    """How many models may still be tried, each with a run of the oracle."""

    left: int


def deviations_of(failures: Sequence[Failing], budget: Budget) -> list[Wrong | None]:
    """For each failure of one driver the deviation that leaves its memory, of as few deviations as possible.

    Those of earlier failures are tried on the next one, and if none of them fits, others of the vocabulary.
    None: none of those that were tried explains it.
    """
    pool: dict[str, Model] = {}
    fits: list[set[str]] = []
    known: list[int] = []
    for failing in failures:
        fit: set[str] = set()
        if budget.left > 0:
            fit = {model.text for model in alike(list(pool.values()), *failing)}
            budget.left -= len(pool)
        known.append(len(pool))
        if not fit and budget.left > 0:
            found = simplest(models(*failing, min(TRIED, budget.left)))[:KEPT]
            budget.left -= TRIED
            pool.update((model.text, model) for model in found)
            fit = {model.text for model in found}
        fits.append(fit)
    for failing, fit, count in zip(failures, fits, known, strict=True):
        if fit or budget.left > 0:
            later = list(pool.values())[count:]
            fit |= {model.text for model in alike(later, *failing)}
            budget.left -= len(later)
    return [parse_deviation(text) if text else None for text in _fewest(fits)]


def _fewest(fits: Sequence[set[str]]) -> list[str]:
    """Of what fits each, one, so that few are taken: the one that fits most of those left, again and again."""
    taken = [""] * len(fits)
    while left := [place for place, fit in enumerate(fits) if fit and not taken[place]]:
        counts = Counter(text for place in left for text in fits[place])
        best = min(counts, key=lambda text: (-counts[text], len(text), text))
        for place in left:
            if best in fits[place]:
                taken[place] = best
    return taken
