"""The cases of `cts run --retry-never N`: what a quarantine leaves out, tried again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from cts.errors import BadInput
from cts.judging.judge import OpenDriver
from cts.known.baseline import Baseline, generated_name
from cts.known.quarantine import Failure, Match, Quarantine, Rule
from cts.model import Case
from cts.plugins import registry
from cts.running.corpus import Entry, entries, load
from cts.running.drawing import in_turn
from cts.running.listed import write
from cts.running.opening import open_driver

#: The folder of cases that were drawn, in the folder of runs.
FOLDER = "retried"

#: Examples for each area among which cases of an entry are looked for.
EXAMPLES = 400


@dataclass(frozen=True)
class Retried:
    """Cases, what is left of the quarantine, and entries that expect each of them to fail in some way."""

    entries: tuple[Entry, ...]
    quarantine: Quarantine
    expected: Baseline


def retried(specs: Iterable[str], quarantine: Quarantine, count: int, seed: int, runs: Path) -> Retried:
    """For each entry that leaves cases out on a driver, so many of them: of the corpus, then drawn by the seed.

    A case that passes is then an unexpected pass of its entry. Raises BadInput for a driver in the suite's own process,
    which a crash would end, and where no entry has a case.
    """
    found: dict[str, Entry] = {}
    expected: list[Rule] = []
    for spec in specs:
        opened = open_driver(spec, quarantine)
        with closing(opened):
            rules = [rule for rule in opened.quarantine.rules if rule.when == "never"]
            if rules and not opened.own_process:
                remedy = f"{spec},process=own" if ":" in spec else f"{spec}:process=own"
                raise BadInput("retry-process", "a crash of this driver would end the run", spec, remedy)
            for rule, some in zip(rules, _of_rules(rules, opened, count, seed), strict=True):
                for case, entry in some.values():
                    found[case.content_hash] = entry or write(case, runs / FOLDER)
                if some:
                    match = Match(rule.match.driver, rule.match.version, rule.match.stages, tuple(some))
                    expected.append(Rule(match, rule.reason, verdict=get_args(Failure), link=rule.link))
    if not found:
        what = "no entry leaves out a case that could be tried again on these drivers"
        raise BadInput("nothing-selected", what, "--retry-never", "--baseline or --quarantine with `when: never`")
    left = Quarantine(tuple(rule for rule in quarantine.rules if rule.when != "never"))
    return Retried(tuple(found.values()), left, Baseline(tuple(expected)))


def _of_rules(
    rules: Sequence[Rule], driver: OpenDriver, count: int, seed: int
) -> list[dict[str, tuple[Case, Entry | None]]]:
    """For each entry some cases that the driver can run, by hash, with their files where these are of the corpus."""
    found: list[dict[str, tuple[Case, Entry | None]]] = [{} for _ in rules]
    for case, entry in _all(driver, seed):
        wanting = [(rule, some) for rule, some in zip(rules, found, strict=True) if len(some) < count]
        if not wanting:
            break
        if driver.capabilities.missing(case):
            continue
        for rule, some in wanting:
            if rule.match.matches_case(case):
                some[case.content_hash] = case, entry
    return found


def _all(driver: OpenDriver, seed: int) -> Iterator[tuple[Case, Entry | None]]:
    for entry in entries():
        yield load(entry.path).case, entry
    areas = registry.names("cts.areas")
    for area, example in islice(in_turn(areas, driver.capabilities, seed), EXAMPLES * len(areas)):
        yield replace(example, name=generated_name(area, example)), None
