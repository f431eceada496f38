"""Failures of a run by suspected cause: what their cases have in common, and the instruction and fact to be named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cts.base.errors import BadInput
from cts.device.stops import stop_of
from cts.features.deviations import Wrong, parse_deviation
from cts.features.phrases import phrases
from cts.findings.explain.model import AS_IF, general
from cts.judging.cause import named_by
from cts.judging.events import Result
from cts.judging.verdict import Verdict
from cts.running import corpus
from cts.running.store.diff import Change, diff
from cts.running.store.run import Run
from cts.showing.report.deviating import deviations, key_of
from cts.showing.report.grouping import alike

if TYPE_CHECKING:
    from cts.findings.explain import Explanation

#: How the cause is known if a deviation leaves the very memory.
COMPUTED = "leaves this memory"

#: How the cause is known that no driver has shown.
GUESSED = "guessed from the address of the first wrong element"


@dataclass(frozen=True)
class Cause:
    """What failures may have in common.

    `verdict` is that of all of them. `instruction` and `fact` are those that they speak for, empty where
    nothing does, and `why` the evidence of the first one. Of failures that are not explained all cases have `traits`,
    and so have `passing` of the `passed` cases of the corpus that pass.
    """

    driver: str
    verdict: Verdict
    instruction: str
    fact: str
    traits: tuple[str, ...] = ()
    passing: int = 0
    passed: int = 0
    why: str = ""


@dataclass(frozen=True)
class Failure:
    """A failure that is `new`, `known` (by a baseline or an earlier run) or `changed`, and how its cause is known."""

    result: Result
    status: str
    how: str


@dataclass(frozen=True)
class Group:
    """Failures of one suspected cause."""

    cause: Cause
    failures: tuple[Failure, ...]

    @property
    def new(self) -> int:
        """How many of them nobody knows of."""
        return sum(f.status != "known" for f in self.failures)


@dataclass(frozen=True)
class Triage:
    """The groups, those with the most new failures first; what an earlier run had that now passes or did not run."""

    groups: tuple[Group, ...]
    fixed: tuple[Result, ...]
    gone: tuple[Result, ...]


def triage(run: Run, against: Run | None, explanations: Mapping[tuple[str, str], Explanation]) -> Triage:
    """Group the failures of a run, errors included; `against` is an earlier one."""
    changes = diff(against, run) if against is not None else []
    before = {id(d.after): d.change for d in changes if d.after is not None}
    failures = []
    findings = list(run.findings())
    computed = deviations([result for result in findings if not result.known])
    for result in findings:
        key = key_of(result)
        explanation, wrong = (explanations.get(key), computed.get(key)) if key is not None else (None, None)
        spoken = _speaks_for(result, explanation)
        if wrong is None and explanation is not None and explanation.leaves:
            wrong = parse_deviation(explanation.leaves[0].text)
        if wrong is not None:
            spoken = spoken.of(wrong)
        failures.append(_Speaking(Failure(result, _status(result, before.get(id(result))), spoken.how), spoken))
    ranked = [group for some in _apart(failures) for group in _groups(some, run)]
    ranked.sort(key=lambda g: (-g.new, -len(g.failures)))
    fixed = tuple(d.result for d in changes if d.change is Change.FIXED)
    gone = tuple(d.result for d in changes if d.change is Change.GONE)
    return Triage(tuple(ranked), fixed, gone)


def in_common(cause: Cause, cases: int) -> str:
    """Features that all `cases` of a cause share, in words; empty if they are explained or share nothing special."""
    if not cause.traits:
        return ""
    passing = f"so do {cause.passing} of {cause.passed} passing cases" if cause.passing else "no passing case does"
    return f"All {cases} have: {'; '.join(cause.traits)} ({passing})"


def _status(result: Result, change: Change | None) -> str:
    if result.known or change is Change.SAME:
        return "known"
    return "changed" if change is Change.CHANGED else "new"


class _Spoken(NamedTuple):
    """The instruction and the fact that a failure points to, how these are known, and the evidence.

    `like` is the evidence in a form to compare, with the next likely fact if no change explains everything.
    """

    instruction: str
    fact: str
    how: str = ""
    why: str = ""
    like: str = ""

    def of(self, wrong: Wrong) -> _Spoken:
        """The same, of a failure that a deviation explains: failures are alike that one deviation explains."""
        fact = self.fact if self.instruction == wrong.kind else ""
        return _Spoken(wrong.kind, fact, COMPUTED, f"{wrong.words}: {wrong.text}", wrong.text)


class _Speaking(NamedTuple):
    failure: Failure
    spoken: _Spoken


def _apart(failures: Iterable[_Speaking]) -> list[list[_Speaking]]:
    """Failures that cannot have one cause: of other drivers, verdicts or assertions, or other reasons in a baseline."""
    groups: dict[tuple[str, str, Verdict, str, str], list[_Speaking]] = {}
    for failure in failures:
        result = failure.failure.result
        key = result.driver, result.shown_on, result.verdict, result.known, stop_of(result.detail)
        groups.setdefault(key, []).append(failure)
    return list(groups.values())


def _groups(failures: list[_Speaking], run: Run) -> list[Group]:
    """Failures of one driver and verdict, by cause.

    Those that stopped at an assertion have one. So have those that are explained alike: the same instruction and fact,
    and the same evidence but for numbers and names. The others by what their cases have in common; without a case by
    what each speaks for.
    """
    if stop_of(failures[0].failure.result.detail):
        return [_group(failures)]
    explained: dict[tuple[str, str, str], list[_Speaking]] = {}
    others: dict[tuple[str, str], list[_Speaking]] = {}
    with_case: list[_Speaking] = []
    passed = _passed(run, failures[0].failure.result.driver) if len(failures) > 1 else []
    for failure in failures:
        spoken = failure.spoken
        if spoken.how == COMPUTED:
            explained.setdefault(("", "", spoken.like), []).append(failure)
        elif spoken.fact and spoken.like:
            explained.setdefault((spoken.instruction, spoken.fact, spoken.like), []).append(failure)
        elif passed and failure.failure.result.finding is not None:
            with_case.append(failure)
        else:
            others.setdefault((spoken.instruction, spoken.fact), []).append(failure)
    groups = [_group(some) for some in (*explained.values(), *others.values())]
    cases = [failure.failure.result.finding.case for failure in with_case if failure.failure.result.finding is not None]
    some_alike = alike([phrases(case) for case in cases], passed) if cases else []
    return groups + [
        _group([with_case[place] for place in found.places], found.traits, found.passing, len(passed))
        for found in some_alike
    ]


def _group(failures: list[_Speaking], common: tuple[str, ...] = (), passing: int = 0, passed: int = 0) -> Group:
    """Failures of one cause, named by a vote of theirs."""
    first = failures[0].failure.result
    why = stop_of(first.detail) or failures[0].spoken.why
    instruction = _most_named(failure.spoken.instruction for failure in failures)
    fact = _most_named(failure.spoken.fact for failure in failures if failure.spoken.instruction == instruction)
    cause = Cause(first.driver, first.verdict, instruction, fact, common, passing, passed, why)
    return Group(cause, tuple(failure.failure for failure in failures))


def _most_named(names: Iterable[str]) -> str:
    counts = Counter(name for name in names if name)
    return counts.most_common(1)[0][0] if counts else ""


def _passed(run: Run, driver: str) -> list[frozenset[str]]:
    """What the cases of the corpus have that pass on a driver; those that are no longer there are left out."""
    names = {r.name for r in run.results if r.driver == driver and r.verdict is Verdict.PASS and not r.generated}
    of_cases = []
    for entry in corpus.entries():
        if entry.name in names:
            try:
                of_cases.append(phrases(corpus.load(entry.path).case))
            except BadInput:
                continue
    return of_cases


def _speaks_for(result: Result, explanation: Explanation | None) -> _Spoken:
    """What a failure speaks for. What does not end has no fact: no number of it is wrong."""
    if explanation is not None and explanation.op and result.verdict is not Verdict.FAIL:
        return _Spoken(explanation.op, "", explanation.how)
    if explanation is not None and (explanation.op or explanation.facts):
        fact = explanation.facts[0] if explanation.facts else ""
        why = explanation.suspects[0].why if explanation.suspects else ""
        like = general(why) if AS_IF in why else " ".join((general(why), *explanation.facts[1:2]))
        return _Spoken(explanation.op, fact, explanation.how, why, like)
    instruction, fact = named_by(result.finding) if result.finding is not None else ("", "")
    if not instruction and (words := result.cause.partition(": ")[2].split()) and words[0][0].isupper():
        instruction, fact = words[0], " ".join(words[1:])
    return _Spoken(instruction, fact, GUESSED if instruction else "")
