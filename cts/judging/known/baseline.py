"""Known failures: new failures and unexpected passes both fail a run. See docs/runs.md.

A baseline is a file of the quarantine's format. Its entries with `verdict` are known failures,
those with `when` are a quarantine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cts.base.errors import BadInput, did_you_mean
from cts.base.plain_yaml import flow
from cts.case.model import Case
from cts.case.model.identity import HASHES
from cts.case.model.sweep import AREA, Sweep
from cts.case.stages import Stage
from cts.features.sets import Answers
from cts.judging.known.quarantine import Match, Quarantine, Rule, rules
from cts.judging.verdict import Verdict

if TYPE_CHECKING:
    from cts.judging.events import DriverOpened, Result

#: The least share of failing cases for an entry to be precise: one passing case in ten hides little. Round number.
PRECISE = 0.9

#: Whether a failure has the effect that an entry states.
HasEffect: TypeAlias = Callable[[Rule], bool]


def unseen(_: Rule) -> bool:
    """Whether a rule had an effect, when nothing has run: never."""
    return False


#: What `--flaky tolerate` adds to a baseline: flaky findings of any case are known, so that they are counted and kept.
TOLERATED = Rule(Match(cases="*"), "flaky, tolerated", verdict="flaky")

#: What becomes of flaky findings.
FLAKY = ("fail", "tolerate")


@dataclass(frozen=True)
class Baseline:
    """Known failures; by default none."""

    rules: tuple[Rule, ...] = ()

    def for_driver(self, *names: str, stage: Stage = Stage.COMPUTE) -> Baseline:
        """Those of a driver with any of these names, the last of several its identity, that runs cases in a stage."""
        return Baseline(tuple(r for r in self.rules if r.match.is_for_driver(names, stage)))

    def matching(self, case: Case) -> tuple[int, ...]:
        """The places of the entries that match a case, whatever becomes of it."""
        rules = enumerate(self.rules)
        return tuple(place for place, rule in rules if rule != TOLERATED and rule.match.matches_case(case))

    def known(self, case: Case, verdict: Verdict, has_effect: HasEffect = unseen) -> Rule | None:
        """The entry that lists this failure, or None. Of entries with an effect `has_effect` says whether it has it."""
        return next(self._listing(self.rules, case, verdict, has_effect), None)

    def known_sets(self, sweep: Sweep, verdict: Verdict, answers: Answers) -> list[str]:
        """For each set of a sweep the text of the entry that lists this failure, or nothing.

        `answers` are those of the template's conditions. Entries with an effect list none.
        """
        texts = np.full(len(sweep), "", object)
        for rule in reversed(self.rules):
            if verdict.value in rule.verdicts and not rule.has_effect:
                texts[rule.match.matches_sets(sweep, answers)] = rule.text
        return list(texts)

    def known_by_condition(self, case: Case, verdict: Verdict, has_effect: HasEffect = unseen) -> Rule | None:
        """The entry that lists failures of this kind of case, whatever its name or hash, or None."""
        of_kinds = (rule for rule in self.rules if rule.match.cases is None or rule == TOLERATED)
        return next(self._listing(of_kinds, case, verdict, has_effect), None)

    @staticmethod
    def _listing(rules: Iterable[Rule], case: Case, verdict: Verdict, has_effect: HasEffect) -> Iterator[Rule]:
        listing = (r for r in rules if verdict.value in r.verdicts and r.match.matches_case(case))
        return (rule for rule in listing if not rule.has_effect or has_effect(rule))

    def unexpected(self, case: Case) -> Rule | None:
        """The entry by which a case that passes should fail, or None.

        An entry must name the case: not every case of which a condition holds need fail. One that is
        known to be flaky may pass.
        """
        naming = (r for r in self.rules if r.match.cases is not None and Verdict.FLAKY.value not in r.verdicts)
        return next((r for r in naming if r.match.matches_case(case)), None)


NO_BASELINE = Baseline()


def with_flaky(baseline: Baseline, policy: str, where: str) -> Baseline:
    """The baseline with what a policy for flaky findings adds. Raises BadInput, which names `where`."""
    if policy not in FLAKY:
        raise BadInput("flaky", f"{policy!r} is no policy for flaky findings", where, did_you_mean(policy, FLAKY))
    return Baseline((*baseline.rules, TOLERATED)) if policy == "tolerate" else baseline


def load(path: Path) -> tuple[Baseline, Quarantine]:
    """The known failures and the quarantine of a file, or a shipped one by name. Raises BadInput."""
    entries = rules(path, "baseline")
    failures, kept = (r for r in entries if r.verdict is not None), (r for r in entries if r.when is not None)
    return Baseline(tuple(failures)), Quarantine(tuple(kept))


def document(
    results: Sequence[Result],
    drivers: Sequence[DriverOpened],
    reason: str,
    link: str = "",
    failing: Mapping[tuple[str, str], Sequence[str]] = MappingProxyType({}),
) -> str:
    """The text of a baseline that lists the failures among results.

    A driver is named by its identity if that is known: a device, and the version of its driver; and with its shader
    stage, if that is not compute. A generated case is named `generated.AREA.HASH`, after what it was shrunk to; all
    sets of a universe `sweep.NAME`. Of a run that went on after findings, `failing` has by driver and suspected cause
    the content hashes of all cases that failed: these are listed, with those that they were shrunk to.
    """
    entries: list[dict[str, Any]] = []
    opened = {d.driver: d for d in drivers}
    for result in _of_different_causes(results):
        if not result.verdict.is_finding:
            continue
        driver = opened.get(result.driver)
        match: dict[str, Any] = {"driver": glob((driver and driver.identity) or result.driver)}
        if driver is not None and driver.stage is not Stage.COMPUTE:
            match["stages"] = [driver.stage.value]
        cases, verdicts = _listed_cases(result, results, failing)
        match["cases"] = cases
        entry = {"match": match, "verdict": verdicts[0] if len(verdicts) == 1 else verdicts, "reason": reason}
        entries.append({**entry, "link": link} if link else entry)
    head = f"schema: 1\nhashes: {HASHES}\n"
    lines = [flow(e) for e in entries]
    if not lines:
        return f"{head}entries: []\n"
    return head + "\n".join(["entries:", *(f"  - {line}" for line in lines)]) + "\n"


def _of_different_causes(results: Sequence[Result]) -> list[Result]:
    """Results, but of those with one suspected cause on one driver, whatever their areas, the first."""
    by_cause: dict[object, Result] = {}
    for result in results:
        by_cause.setdefault((result.driver, result.cause or result.name), result)
    return list(by_cause.values())


def _listed_cases(
    result: Result, results: Sequence[Result], failing: Mapping[tuple[str, str], Sequence[str]]
) -> tuple[str | list[str], list[str]]:
    """How the cases of a result are named, and the verdicts that they have."""
    if result.cause:
        alike = [r for r in results if (r.driver, r.cause) == (result.driver, result.cause)]
        shrunk = [r.finding.case.content_hash for r in alike if r.finding is not None]
        verdicts = dict.fromkeys([result.cause.partition(":")[0], *(r.verdict.value for r in alike)])
        return list(dict.fromkeys([*failing.get((result.driver, result.cause), ()), *shrunk])), list(verdicts)
    case = result.finding.case.name if result.finding is not None else result.name
    if result.area == AREA:
        case = ".".join(result.name.split(".")[:2])
    elif result.generated and result.finding is not None:
        case = generated_name(result.area, result.finding.case)
    return glob(case), [result.verdict.value]


def generated_name(area: str, case: Case) -> str:
    """What a generated case is called: after its area and what it does."""
    return f"generated.{area}.{case.content_hash}"


def glob(text: str) -> str:
    """A glob that matches this text alone.

    >>> glob("llvmpipe [a]")
    'llvmpipe [[]a]'
    """
    return re.sub(r"([*?[])", r"[\1]", text)
