"""Choose the deviation that explains a finding, and learn at which instructions a driver deviates.

Models of the finding are tried on drawn cases: on those for which a model says that a driver with its bug fails, and
most of all where models leave different memory. The memory that the driver leaves there shows at which sites it
deviates. The shortest condition that separates such sites from the others completes the deviation.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import numpy as np

from cts.case.model import Case
from cts.case.oracle.deviation import Deviation
from cts.features.deviations import parse_deviation, place_of
from cts.features.sites import CaseView, Site
from cts.findings.learning.models import Model, deviates_at, models, places_of, shows, simplest
from cts.findings.learning.search import Verdicts, of_kind
from cts.findings.learning.table import Known, Table
from cts.judging.compare import Bytes
from cts.judging.deviations import leaves

#: Cases that are drawn for a round, and those of them that run: a few, so that their results choose the next ones. If
#: none of them shows anything, so many times as many are drawn.
DRAWN, ROUND, AGAIN = 40, 6, 10

#: Cases that are drawn at most: a bug that shows in one of 500 cases then shows in eight.
MOST_DRAWN = 4000

#: Models that are tried on the finding, of a program of at least 30 instructions: some ten seconds of the oracle. Of a
#: shorter one more are tried.
MOST_TRIED = 1200

#: Models that are tried on drawn cases. Those of one case are many, and most of them leave the same memory.
MOST_MODELS = 24

#: The cases beside the finding that must have shown where a driver deviates before a deviation is called learnt; and
#: how many of the cases that it says fail must have its memory.
FEWEST, PRECISION = 2, 0.5

#: A model that has been wrong at so many sites, and at three times the best one's, is no rival any more of one that
#: explains all failures.
REFUTED = 6

#: What a driver left: whether the case failed, and its memory; None if the run says nothing.
Ran = tuple[bool, Mapping[str, Bytes]]


@dataclass(frozen=True, eq=False)
class LearntDeviation:
    """A deviation, and what it said of drawn cases that ran.

    `predicted` cases fail by it, `right` of them left its very memory; of `failing` cases it explains `explained`.
    """

    text: str
    words: str
    runs: int
    predicted: int
    right: int
    failing: int
    explained: int

    @property
    def worth(self) -> int:
        """How many cases it explains, without those of which it is wrong; a condition must explain one more."""
        return self.explained - (self.predicted - self.right) - len(_arguments(self.text))

    @property
    def condition(self) -> str:
        """The condition of cases with an instruction that deviates."""
        *conditions, _ = _arguments(self.text)
        return f"some({', '.join(conditions)})"


@dataclass(eq=False)
class Evidence:
    """Sites at which a driver deviates, or does not, by a model; and failures that the model does not explain."""

    model: Model
    deviating: set[tuple[int, int]] = field(default_factory=set)
    right: set[tuple[int, int]] = field(default_factory=set)
    unexplained: int = 0
    explained: int = 0

    @property
    def worth(self) -> tuple[int, int, int]:
        """Models are better if they explain more failures, and if they predict fewer failures that do not occur."""
        return self.unexplained - self.explained, len(self.right), len(self.model.deed.text)


@dataclass(eq=False)
class DeviationLearner:
    """Learns from a finding, which leaves `memory`, how a driver deviates; `run` gets cases and spends the budget."""

    finding: Case
    memory: Mapping[str, Bytes]
    draws: Iterator[Case]
    run: Callable[[Sequence[Case]], Sequence[Ran | None]]
    budget: int = 60
    _views: list[Site] = field(default_factory=list)
    _known: Known = field(default_factory=dict)
    _spent: int = 0
    _drawn: int = 0

    def learn(self) -> LearntDeviation | None:
        """The deviation; None if none of the vocabulary leaves what the driver leaves."""
        most = MOST_TRIED * 30 // min(30, len(self.finding.program))
        found = simplest(models(self.finding, self.memory, most))
        evidence = [Evidence(model) for model in found[:MOST_MODELS]]
        if not evidence:
            return None
        results: list[tuple[Case, Ran]] = []
        self._observe(evidence, self.finding, (True, self.memory))
        quiet = 0
        while self._spent < self.budget and quiet < 3 and self._drawn < MOST_DRAWN:
            chosen = self._chosen(evidence)
            quiet = 0 if chosen else quiet + 1
            for case, ran in zip(chosen, self._run(chosen), strict=True):
                if ran is not None:
                    results.append((case, ran))
                    self._observe(evidence, case, ran)
            evidence = rivals(evidence)
            if all(self._is_enough(one, len(results)) for one in evidence):  # no case has told them apart
                break
        return self._learnt(evidence, results)

    def _is_enough(self, evidence: Evidence, results: int) -> bool:
        """Whether a model has explained enough; of some sites alone, further cases show which these are."""
        enough = (8 if evidence.right else 4) * ROUND
        return results >= enough and evidence.explained > REFUTED and not evidence.unexplained

    def _run(self, cases: Sequence[Case]) -> Sequence[Ran | None]:
        self._spent += len(cases)
        return self.run(cases)

    def _chosen(self, evidence: Sequence[Evidence]) -> list[Case]:
        """Drawn cases that a driver fails by one of the models: for each model in turn the next one, the best first."""
        most = min(ROUND, self.budget - self._spent)
        for _ in range(AGAIN):
            drawn = list(islice(self.draws, DRAWN))
            self._drawn += len(drawn)
            chosen: list[int] = []
            turns = deque((says, iter(range(len(drawn)))) for says in self._sayings(evidence))
            while turns and len(chosen) < most:
                says, numbers = turns.popleft()
                shown = (n for n in numbers if n not in chosen and shows(drawn[n], says(drawn[n])))
                if (number := next(shown, None)) is not None:
                    chosen.append(number)
                    turns.append((says, numbers))
            if chosen:
                break
        return [drawn[number] for number in chosen]

    def _sayings(self, evidence: Sequence[Evidence]) -> Iterator[Callable[[Case], Sequence[Deviation]]]:
        """How models deviate in a case: at all instructions of a kind; the best one also at those of its condition."""
        for n, one in enumerate(evidence):
            text = self._text(one) if n == 0 and one.right and one.deviating else None
            if text is not None:
                yield parse_deviation(text).at
            yield partial(_everywhere, one.model)

    def _observe(self, evidence: Sequence[Evidence], case: Case, ran: Ran) -> None:
        """Note at which sites of a case each model deviates as the driver did."""
        number = len(self._views)
        self._views.append(CaseView(case).root)
        fails, memory = ran
        for one in evidence:
            places = places_of(case, one.model.kind)
            deviating = deviates_at(case, one.model, places, memory) if fails else ()
            if fails and not deviating:
                one.unexplained += 1
                continue
            one.explained += fails
            one.deviating |= {(number, place) for place in deviating}
            for place in set(places) - set(deviating):
                if shows(case, one.model.at((place,))):
                    one.right.add((number, place))

    def _learnt(self, evidence: Sequence[Evidence], results: Sequence[tuple[Case, Ran]]) -> LearntDeviation | None:
        learnt = [one for one in (self._checked(one, results) for one in evidence if one.deviating) if one is not None]
        return max(learnt, key=lambda one: (one.worth, -len(one.text)), default=None)

    def _checked(self, evidence: Evidence, results: Sequence[tuple[Case, Ran]]) -> LearntDeviation | None:
        """A model with its condition, and how often it was right; None if it mostly was not."""
        text = self._text(evidence)
        if text is None:
            return None
        wrong = parse_deviation(text)
        predicted = right = failing = explained = 0
        for case, (fails, memory) in results:
            deviations = wrong.at(case)
            is_predicted = shows(case, deviations)
            is_left = fails and leaves(case, deviations, memory)
            predicted, right = predicted + is_predicted, right + (is_predicted and is_left)
            failing, explained = failing + fails, explained + is_left
        if explained < FEWEST or right < PRECISION * predicted:
            return None
        return LearntDeviation(text, wrong.words, self._spent, predicted, right, failing, explained)

    def _text(self, evidence: Evidence) -> str | None:
        """The deviation with the shortest condition that separates the sites at which the driver deviates."""
        deed = evidence.model.deed.text
        if not evidence.right or evidence.model.kind == "Case":
            return f"wrong({evidence.model.kind}, {deed})"
        table = Table(evidence.model.kind, self._views, self._known)
        kind = evidence.model.kind
        sites = [(number, place_of(site)) for number, view in enumerate(self._views) for site in view.sites(kind)]
        deviating = np.array([site in evidence.deviating for site in sites], bool)
        labelled = deviating | np.array([site in evidence.right for site in sites], bool)
        # Each site is a case of its own. Sites without a label have no weight.
        table.of = np.arange(len(sites))
        rules = of_kind(table, Verdicts(deviating, labelled.astype(float)), int(np.flatnonzero(deviating)[0]))
        if not rules:
            return None
        best = min(rules, key=lambda rule: (rule.length, len(rule.text)))
        return f"wrong{best.text.removeprefix('some').removesuffix(')')}, {deed})"


def rivals(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Models that may still be the right one, the best first."""
    best, *others = sorted(evidence, key=lambda one: one.worth)
    others = [one for one in others if one.worth[0] <= best.worth[0] + 4]
    if best.explained > FEWEST and not best.unexplained:
        others = [one for one in others if len(one.right) < REFUTED + 3 * len(best.right)]
    return [best, *others]


def _everywhere(model: Model, case: Case) -> Sequence[Deviation]:
    return model.at(places_of(case, model.kind))


def _arguments(text: str) -> list[str]:
    """The arguments of `wrong(...)`."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    return [*map(ast.unparse, call.args), *(f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords)]
