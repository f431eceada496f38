"""Facts with the corpus cases of a run and the generated cases that test them, and their verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cts.base.errors import BadInput
from cts.case.model import Case, load_case
from cts.features.coverage.exercised import OF_VALUES
from cts.features.coverage.table import table
from cts.running import corpus
from cts.running.store.run import Run


@dataclass(frozen=True)
class Tested:
    """A fact, how many cases of the corpus cover it, and the verdicts of those of the run, by driver.

    `areas` counts the generated cases that exercise it; `hidden` are facts that cannot be seen from a generated case.
    """

    fact: str
    cases: int
    verdicts: dict[str, dict[str, int]]
    areas: Mapping[str, int]
    hidden: bool


def facts_tested(run: Run, samples: Mapping[str, Sequence[Case]]) -> list[Tested]:
    """A row for each fact that the corpus covers or generated cases exercise; `samples` has some of each area."""
    cases = _corpus()
    verdicts: dict[str, dict[str, str]] = {}
    for result in run.results:
        if not result.generated:
            verdicts.setdefault(result.driver, {})[result.name] = result.verdict.value
    return [
        Tested(
            row.fact,
            len(row.cases),
            {
                driver: dict(Counter(verdict_of[name] for name in row.cases if name in verdict_of))
                for driver, verdict_of in verdicts.items()
            },
            row.areas,
            row.fact in OF_VALUES,
        )
        for row in table(cases, samples, {})
    ]


def _corpus() -> list[Case]:
    cases = []
    for entry in corpus.entries():
        try:
            cases.append(load_case(entry.path))
        except BadInput:  # `cts check` is for that
            continue
    return cases
