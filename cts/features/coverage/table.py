"""Coverage: for each fact, the cases that cover it, the generators that exercise it and the drivers that can run it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from cts.case.model import Case
from cts.device.capabilities import Capabilities
from cts.features.coverage.exercised import OF_VALUES, exercised


@dataclass(frozen=True)
class Supported:
    """What a driver can run of the corpus: its cases by name, and how many cases lack what it lacks."""

    cases: frozenset[str]
    missing: Counter[str]


@dataclass(frozen=True)
class Row:
    """One fact: the corpus cases that cover it, examples of each generator, and cases that each driver can run.

    `rules` are those with a module that breaks the fact, which `cts validation` gives to tools, `answers` the number of
    its answer sheets.
    """

    fact: str
    cases: tuple[str, ...]
    areas: Mapping[str, int]
    drivers: Mapping[str, int]
    rules: tuple[str, ...] = ()
    answers: int = 0


def supported(cases: Sequence[Case], capabilities: Capabilities) -> Supported:
    """The cases that a driver of such capabilities can run."""
    missing: Counter[str] = Counter()
    able = set()
    for case in cases:
        lacking = capabilities.missing(case)
        missing.update(lacking)
        if not lacking:
            able.add(case.name)
    return Supported(frozenset(able), missing)


def table(
    cases: Sequence[Case],
    samples: Mapping[str, Sequence[Case]],
    drivers: Mapping[str, Supported],
    rules: Mapping[str, Sequence[str]] = MappingProxyType({}),
    answers: Mapping[str, int] = MappingProxyType({}),
) -> list[Row]:
    """A row for every fact that a case covers, a generator produces, a rule breaks or a sheet answers, ascending.

    `samples` maps areas to generated cases, `rules` facts to the rules that break them, `answers` facts to the number
    of their answer sheets.
    """
    covered: dict[str, list[str]] = {}
    for case in cases:
        for fact in case.covers:
            covered.setdefault(fact, []).append(case.name)
    produced = {area: Counter(f for case in drawn for f in exercised(case)) for area, drawn in samples.items()}
    facts = sorted(set(covered).union(rules, answers, *produced.values()))
    return [
        Row(
            fact,
            tuple(covered.get(fact, ())),
            {area: count[fact] for area, count in produced.items() if count[fact]},
            {spec: sum(name in s.cases for name in covered.get(fact, ())) for spec, s in drivers.items()},
            tuple(rules.get(fact, ())),
            answers.get(fact, 0),
        )
        for fact in facts
    ]


def untested(rows: Sequence[Row], drivers: Sequence[str], *, generated: bool = True) -> dict[str, list[str]]:
    """Untested facts, by who should test them: `corpus`, `generators`, each driver that can run no case of a fact.

    A fact that no valid case can show, but a rule breaks, is nobody's gap.
    """
    missing = {"corpus": [r.fact for r in rows if not r.cases and not r.rules]}
    if generated:
        shown = [r for r in rows if r.cases or not r.rules]
        missing["generators"] = [r.fact for r in shown if not r.areas and r.fact not in OF_VALUES]
    return missing | {spec: [r.fact for r in rows if r.cases and not r.drivers[spec]] for spec in drivers}
