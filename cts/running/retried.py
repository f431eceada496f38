"""The cases of `cts run --known N` and `--retry-never N`: some of each entry of a baseline or quarantine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from cts.base.errors import BadInput
from cts.case.model import Case
from cts.judging.judge import OpenDriver
from cts.judging.known.baseline import Baseline, generated_name
from cts.judging.known.quarantine import NO_RULES, Failure, Match, Quarantine, Rule
from cts.plugins import registry
from cts.running.corpus import Entry, entries, load
from cts.running.drawing import in_turn
from cts.running.listed import write
from cts.running.opening import open_driver

#: The folder of cases that were drawn, in the folder of runs.
FOLDER = "retried"

#: Examples of each area among which cases of an entry are looked for, and of those areas that have some, but too few.
EXAMPLES, FURTHER = 400, 4000


@dataclass(frozen=True)
class Retried:
    """Cases, the rest of the quarantine, and entries that expect each case to fail in some way."""

    entries: tuple[Entry, ...]
    quarantine: Quarantine
    expected: Baseline


def known(
    specs: Iterable[str], quarantine: Quarantine, baseline: Baseline, count: int, seed: int, runs: Path
) -> list[Entry]:
    """For each entry of a driver whose cases run, so many cases: from the corpus, then drawn by the seed.

    Raises BadInput if no entry has a case.
    """
    cases: dict[str, Entry] = {}
    for spec in specs:
        with closing(open_driver(spec, quarantine, baseline)) as opened:
            rules = [rule for rule in (*opened.baseline.rules, *opened.quarantine.rules) if rule.when != "never"]
            never = Quarantine(tuple(rule for rule in opened.quarantine.rules if rule.when == "never"))
            for some in _of_rules(rules, opened, count, seed, never):
                for case, entry in some.values():
                    cases[case.content_hash] = entry or write(case, runs / FOLDER)
    if not cases:
        what = "no entry is of these drivers and has a case that they run"
        raise BadInput("nothing-selected", what, "--known", "--baseline or --quarantine with entries for them")
    return list(cases.values())


def retried(specs: Iterable[str], quarantine: Quarantine, count: int, seed: int, runs: Path) -> Retried:
    """For each entry that leaves cases out on a driver, so many cases: from the corpus, then drawn by the seed.

    Entries none of whose cases fail are named at the end of the run. Raises BadInput if a driver runs in the process of
    the suite, which a crash would end, and if no entry has a case.
    """
    cases: dict[str, Entry] = {}
    expected: list[Rule] = []
    for spec in specs:
        with closing(open_driver(spec, quarantine)) as opened:
            rules = [rule for rule in opened.quarantine.rules if rule.when == "never"]
            if rules and not opened.own_process:
                remedy = f"{spec},process=own" if ":" in spec else f"{spec}:process=own"
                raise BadInput("retry-process", "a crash of this driver would end the run", spec, remedy)
            for rule, some in zip(rules, _of_rules(rules, opened, count, seed), strict=True):
                for case, entry in some.values():
                    cases[case.content_hash] = entry or write(case, runs / FOLDER)
                if some:
                    match = Match(rule.match.driver, rule.match.version, rule.match.stages, tuple(some))
                    expected.append(Rule(match, rule.reason, verdict=get_args(Failure), link=rule.link))
    if not cases:
        what = "no entry leaves out a case that could be tried again on these drivers"
        raise BadInput("nothing-selected", what, "--retry-never", "--baseline or --quarantine with `when: never`")
    left = Quarantine(tuple(rule for rule in quarantine.rules if rule.when != "never"))
    return Retried(tuple(cases.values()), left, Baseline(tuple(expected)))


def _of_rules(
    rules: Sequence[Rule], driver: OpenDriver, count: int, seed: int, never: Quarantine = NO_RULES
) -> list[dict[str, tuple[Case, Entry | None]]]:
    """For each entry some cases that the driver can run, by hash; corpus cases with their files.

    Examples of all areas are drawn first, then more of the areas that had some, but too few.
    """
    of_rules: list[dict[str, tuple[Case, Entry | None]]] = [{} for _ in rules]
    had: list[set[str]] = [set() for _ in rules]

    def look(cases: Iterable[tuple[str, Case, Entry | None]]) -> None:
        for area, case, entry in cases:
            wanting = [place for place, some in enumerate(of_rules) if len(some) < count]
            if not wanting:
                return
            if driver.capabilities.missing(case) or never.find(case) is not None:
                continue
            for place in wanting:
                if rules[place].match.matches_case(case):
                    of_rules[place][case.content_hash] = case, entry
                    had[place].add(area)

    def drawn(areas: Sequence[str], seed: int, examples: int) -> Iterator[tuple[str, Case, None]]:
        for area, example in islice(in_turn(areas, driver.capabilities, seed), examples * len(areas)):
            yield area, replace(example, name=generated_name(area, example)), None

    look(((case := load(entry.path).case).name.partition(".")[0], case, entry) for entry in entries())
    areas = registry.names("cts.areas")
    look(drawn(areas, seed, EXAMPLES))
    few = {area for some, of in zip(of_rules, had, strict=True) if len(some) < count for area in of}
    look(drawn([area for area in areas if area in few], seed + 1, FURTHER))
    return of_rules
