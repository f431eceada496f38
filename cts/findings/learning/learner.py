"""Choose the cases that a driver runs, so that a condition for failing cases is found in few runs.

Neighbours of the finding and fresh draws run first. Then, while runs are left, the best conditions so far choose the
most informative of many fresh draws: cases on which the conditions disagree; cases that match the best condition, to
see whether it is too wide; and some cases that no condition chose, to see whether it is too narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from cts.case.model import Case
from cts.features.language import Condition, parse
from cts.features.sites import CaseView, Site
from cts.findings.learning.bounds import bounds
from cts.findings.learning.search import Rule, Verdicts, search
from cts.findings.learning.table import Known
from cts.judging.known.baseline import PRECISE

#: Runs of each later round, and of the two first rounds: cases near the finding, and fresh draws. The two first rounds
#: are a quarter of the default budget of 400, so that conditions choose most runs. Round numbers.
ROUND, NEIGHBOURS, FRESH = 40, 40, 60

#: Cases that are drawn before the first round, and before each later one: several times as many as run, so that there
#: is a choice. Drawing costs less than running. Round numbers.
POOL, MORE = 400, 100

#: Of the 40 runs of a round, cases on which conditions disagree, and cases that match the best condition. The other 12
#: are drawn at random, so that a condition which misses failing cases is noticed.
UNSURE, HELD = 16, 12

#: Weights of cases that were not drawn at random. Cases that a condition selected mostly satisfy it, so they would make
#: too wide a condition look worse than it is. One half is a round number.
COUNTS = {"chosen": 0.5, "neighbour": 0.5}

#: Rounds in a row without a wrong prediction of the best condition, after which learning ends. A wrong condition
#: survives one round by luck; three rounds are 120 cases.
ENOUGH = 3

#: The least precision, at the lower end of its 95 % interval, with which learning ends before its runs are spent; and
#: the precision from which on a condition is offered: the audit of a baseline calls a wider one too wide.
SURE, OFFERED = 0.9, PRECISE

#: Runs cases: whether each fails like the finding; None if the driver cannot run the case, or if it fails in another
#: way.
Fails = Callable[[Sequence[Case]], Sequence[bool | None]]


@dataclass(frozen=True, eq=False)
class Learnt:
    """A condition, and how well it predicted the verdicts.

    `held` counts fresh draws that match it, `hit` how many of these fail. `failing` counts fresh draws that fail and
    that no condition chose, `covered` how many of these match. `runs` counts all cases that were run.
    """

    condition: Condition
    runs: int
    neighbours: int
    hit: int
    held: int
    covered: int
    failing: int
    others: tuple[Condition, ...] = ()

    @property
    def is_offered(self) -> bool:
        """Whether the condition is precise enough to be an entry of a baseline."""
        return self.held > 0 and self.hit >= OFFERED * self.held


@dataclass(eq=False)
class _Run:
    site: Site
    fails: bool
    #: Where the case comes from: "neighbour", "chosen" or "fresh".
    by: str


@dataclass(eq=False)
class Learner:
    """Learns from a finding which cases of some draws fail.

    `draws` are fresh cases, without end or not, each valid and one that the driver can run; `budget` counts all runs.
    """

    finding: Case
    draws: Iterator[Case]
    neighbours: Iterator[Case]
    fails: Fails
    budget: int = 400
    _runs: list[_Run] = field(default_factory=list)
    _pool: list[Site] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _spent: int = 0
    _known: Known = field(default_factory=dict)

    def learn(self) -> Learnt | None:
        """The condition; None if no condition separates the failing from the passing cases that have run."""
        self._runs.append(_Run(CaseView(self.finding).root, True, "finding"))
        self._seen.add(self.finding.content_hash)
        beside = islice(self.neighbours, min(NEIGHBOURS, self.budget // 4))
        self._run([CaseView(case).root for case in beside], "neighbour")
        self._fill(POOL)
        self._run(self._take(FRESH), "fresh")
        rules = self._rules()
        right = 0
        while rules and self._spent < self.budget and (right < ENOUGH or not self._is_sure(rules)):
            self._fill(MORE)
            if not self._pool:
                break
            wrong = self._round(rules)
            right = 0 if wrong else right + 1
            rules = self._rules()
        return self._learnt(rules) if rules else None

    def _is_sure(self, rules: Sequence[Rule]) -> bool:
        """Whether so many cases that match the best condition have failed that it is precise beyond doubt."""
        learnt = self._learnt(rules)
        return bounds(learnt.hit, learnt.held)[0] >= SURE

    def _round(self, rules: Sequence[Rule]) -> int:
        """Run the most informative cases; returns for how many the best condition was wrong."""
        conditions = [parse(rule.text) for rule in rules]
        holds = np.array([[condition.test(site) for site in self._pool] for condition in conditions], bool)
        weights = np.exp2(-np.minimum([rule.length - rules[0].length for rule in rules], 30.0))[:, None]
        share = (holds * weights).sum(0) / weights.sum()
        doubtful = np.argsort(-share * (1 - share), kind="stable")[:UNSURE]
        unsure = [int(n) for n in doubtful if 0 < share[n] < 1]
        held = [int(n) for n in np.flatnonzero(holds[0]) if n not in unsure][:HELD]
        left = [n for n in range(len(self._pool)) if n not in unsure and n not in held]
        fresh = left[: max(0, ROUND - len(unsure) - len(held))]
        chosen = [self._pool[n] for n in (*unsure, *held)]
        others = [self._pool[n] for n in fresh]
        taken = {*unsure, *held, *fresh}
        self._pool = [site for n, site in enumerate(self._pool) if n not in taken]
        before = len(self._runs)
        self._run(chosen, "chosen")
        self._run(others, "fresh")
        return sum(conditions[0].test(run.site) != run.fails for run in self._runs[before:])

    def _rules(self) -> list[Rule]:
        fails = np.array([run.fails for run in self._runs], bool)
        counts = np.array([COUNTS.get(run.by, 1.0) for run in self._runs])
        rules = search([run.site for run in self._runs], Verdicts.from_mask(fails, counts), 0, self._known)
        return [rule for rule in rules if rule.text != "true"]

    def _learnt(self, rules: Sequence[Rule]) -> Learnt:
        first, *others = [parse(rule.text) for rule in rules]
        drawn = [run for run in self._runs[1:] if run.by != "neighbour"]
        held = [run for run in drawn if first.test(run.site)]
        failing = [run for run in drawn if run.fails and run.by == "fresh"]
        return Learnt(
            first,
            self._spent,
            sum(run.by == "neighbour" for run in self._runs),
            sum(run.fails for run in held),
            len(held),
            sum(first.test(run.site) for run in failing),
            len(failing),
            tuple(others),
        )

    def _fill(self, count: int) -> None:
        for case in islice(self.draws, count):
            if case.content_hash not in self._seen:
                self._seen.add(case.content_hash)
                self._pool.append(CaseView(case).root)

    def _take(self, count: int) -> list[Site]:
        taken, self._pool = self._pool[:count], self._pool[count:]
        return taken

    def _run(self, sites: Sequence[Site], by: str) -> None:
        sites = sites[: max(0, self.budget - self._spent)]
        self._spent += len(sites)
        for site, fails in zip(sites, self.fails([site.of for site in sites]), strict=True):
            if fails is not None:
                self._runs.append(_Run(site, fails, by))
