"""Why parameter sets of a universe do not pass: sets with one cause become one report, with the smallest case of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
import numpy as np

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.case.model import Case, case_dynamic_operands
from cts.case.model.plain import plain
from cts.case.model.sweep import AREA, Sweep, sweep_name
from cts.case.oracle.expectation import Oracle
from cts.findings.reduction.narrowing import narrowed
from cts.judging.batch import judge_all
from cts.judging.events import Cause, Emit, Result, Shrinking
from cts.judging.finding import finding
from cts.judging.judge import OpenDriver, excluded_from_shrinking
from cts.judging.reruns import rerun_findings
from cts.judging.verdict import Verdict
from cts.running.profiles import Profile
from cts.running.shrinking import Failing, NotReduced, Shrinker
from cts.running.sweeps.contents import Numbers
from cts.running.sweeps.judging import DISPATCH_SETS
from cts.running.sweeps.regions import Column, Region, regions
from cts.running.sweeps.selection import Chosen
from cts.running.sweeps.states import VERDICTS, State, States, have_verdict, wrong
from cts.running.sweeps.universe import Universe

#: How many sets of a region are tried alone, the smallest first, to find one that also fails alone. Each of them is a
#: run; a region whose first sets pass alone fails only in large dispatches.
TRIED = 8

Constness = Literal["dynamic", "literal", "spec"]

_CONSTNESS: dict[Constness, str] = {"literal": "literal operands", "spec": "operands that are specialization constants"}


@dataclass(frozen=True, eq=False)
class _ReducedRegion:
    """A region with its smallest set as a case, `whole` and reduced, and the facts to report about it."""

    region: Region
    whole: Case
    failing: Failing
    smallest: str
    constness: dict[str, str]
    driver: OpenDriver
    known: str = ""


class Causes:
    """The causes of failures on one driver, from the states of a universe's sets."""

    def __init__(
        self,
        universe: Universe,
        driver: OpenDriver,
        oracle: Oracle,
        profile: Profile,
        emit: Emit,
        reruns: int,
        time_is_up: Deadline = NO_DEADLINE,
    ) -> None:
        self._time_is_up = time_is_up
        self._universe = universe
        self._driver = driver
        self._oracle = oracle
        self._profile = profile
        self._emit = emit
        self._reruns = reruns
        self._columns: dict[str, Column] = {}
        self._labels: dict[str, tuple[str, ...]] = {}
        self._numbers: Numbers = np.zeros(0, np.int64)

    def find(self, chosen: Chosen, states: States) -> list[tuple[Cause, Result]]:
        """Each cause with the result that shows it; `states` has one state for each chosen set."""
        if not wrong(states).any():
            return []
        judged = have_verdict(states)
        self._numbers, states = chosen.numbers(0, chosen.count)[judged], states[judged]
        self._columns, self._labels = values_of(self._universe, self._numbers)
        results = [
            (verdict, failing)
            for state, verdict in VERDICTS.items()
            if verdict is not Verdict.PASS and (states == state).any()
            for failing in self._of_verdict(states, state, verdict)
        ]
        alike: dict[str, list[_ReducedRegion]] = {}
        for verdict, failing in results:
            alike.setdefault(f"{verdict} {failing.known or _signature(failing.failing.case)}", []).append(failing)
        return [self._cause_and_result(place, some) for place, some in enumerate(alike.values(), 1)]

    def _of_verdict(self, states: States, state: State, verdict: Verdict) -> Iterator[_ReducedRegion]:
        """The regions of one verdict: first for each rule of a baseline, then for sets that no rule covers."""
        passing, failing = np.flatnonzero(states == State.PASS), np.flatnonzero(states == state)
        reasons = self._known_reasons(failing, verdict)
        for why in dict.fromkeys(reasons):
            sets = failing[[k == why for k in reasons]]
            chosen = np.sort(np.concatenate([passing, sets]))
            columns = {name: column[chosen] for name, column in self._columns.items()}

            def further(places: Column, chosen: Column = chosen) -> dict[str, Column]:
                return self._coordinates(self._numbers[chosen[places]])

            for region in regions(columns, self._labels, np.isin(chosen, sets), further):
                yield self._reduced_region(Region(region.text, chosen[region.sets]), verdict, why)

    def _coordinates(self, numbers: Numbers) -> dict[str, Column]:
        """Coordinates of the sets' tensor loads and stores, by ascending set number; -1 for a number a part lacks."""
        some = [(len(sweep), self._oracle.coordinates(sweep)) for sweep in self._sweeps(numbers)]
        return {
            name: np.concatenate([columns.get(name, np.full(count, -1)) for count, columns in some])
            for name in dict.fromkeys(name for _, columns in some for name in columns)
        }

    def _sweeps(self, numbers: Numbers) -> Iterator[Sweep]:
        """Sets of ascending numbers, as sweeps of consecutive sets of a part."""
        for part, within in self._universe.by_part(numbers):
            for start in range(0, len(within), DISPATCH_SETS):
                yield part.sweep(within[start : start + DISPATCH_SETS])

    def _known_reasons(self, failing: Numbers, verdict: Verdict) -> list[str]:
        """Of each set, why a baseline lists it, or nothing."""
        if not self._driver.baseline.rules:
            return [""] * len(failing)
        sweeps = self._sweeps(self._numbers[failing])
        return [why for sweep in sweeps for why in self._driver.baseline.known_sets(sweep, verdict, {})]

    def _reduced_region(self, region: Region, verdict: Verdict, known: str) -> _ReducedRegion:
        """A region with the smallest set of it that fails alone as well."""
        self._emit(Shrinking(self._driver.spec, sweep_name(self._universe.name)))
        size = np.sum([np.abs(column[region.sets]) for column in self._columns.values()], axis=0)
        order = region.sets[np.argsort(size, kind="stable")]
        failing, place = None, int(order[0])
        for candidate in order[:TRIED].tolist():
            failing = self._judged(self._case(int(self._numbers[candidate]), "dynamic"))
            if failing.attempt.verdict is not Verdict.PASS:
                place = candidate
                break
        assert failing is not None
        smallest = ", ".join(
            f"{axis} {self._labels[axis][column[place]] if axis in self._labels else column[place]}"
            for axis, column in self._columns.items()
        )
        if failing.attempt.verdict is Verdict.PASS:
            detail = f"{verdict.value} among others in a dispatch, pass alone"
            attempt = replace(failing.attempt, verdict=Verdict.FLAKY, detail=detail)
            return _ReducedRegion(
                region, failing.case, replace(failing, attempt=attempt), smallest, {}, self._driver, known
            )
        constness: dict[str, str] = {}
        if any(case_dynamic_operands(failing.case)):
            for kind in _CONSTNESS:
                constness[kind] = self._judged(self._case(int(self._numbers[place]), kind)).attempt.verdict.value
        whole, driver = failing.case, self._driver
        if not known:
            driver, attempt = narrowed(driver, whole, failing.attempt, failing.expectation, self._time_is_up)
            failing = self._reduced(driver, replace(failing, attempt=attempt))
        return _ReducedRegion(region, whole, failing, smallest, constness, driver, known)

    def _reduced(self, driver: OpenDriver, failing: Failing) -> Failing:
        """The failing case, reduced; unchanged if it may not run again."""
        verdict = failing.attempt.verdict
        if verdict is Verdict.FLAKY or excluded_from_shrinking(driver, failing.case):
            return failing
        try:
            return Shrinker(driver, self._oracle, self._profile, self._emit, self._time_is_up).reduced(
                failing.case, verdict
            )
        except NotReduced as e:
            detail = e.detail or failing.attempt.detail
            return replace(failing, attempt=replace(failing.attempt, verdict=e.verdict, detail=detail))

    def _cause_and_result(self, place: int, alike: list[_ReducedRegion]) -> tuple[Cause, Result]:
        """The report of regions with one cause: the text of each region, and the case of the largest."""
        alike.sort(key=lambda one: -len(one.region.sets))
        first, count = alike[0], sum(len(one.region.sets) for one in alike)
        where = [f"{one.region.text} ({len(one.region.sets):,})" for one in alike]
        text = first.region.text if len(alike) == 1 else "; or ".join(where)
        name = sweep_name(self._universe.name) + (f".{place}" if place > 1 else "")
        parts = [f"{count:,} parameter sets: {text}", f"the smallest: {first.smallest}"]
        parts += [f"with {_CONSTNESS[kind]}: {values}" for kind, values in first.constness.items()]  # type: ignore[index]
        parts += [first.failing.attempt.detail] if first.failing.attempt.detail else []
        result = self._result(name, first, "\n".join(parts))
        cause = Cause(name, text, count, result.verdict, first.smallest, first.constness, first.known)
        return cause, result

    def _result(self, name: str, found: _ReducedRegion, detail: str) -> Result:
        driver, failing = found.driver, found.failing
        attempt = rerun_findings(
            driver, failing.case, failing.expectation, failing.attempt, self._reruns, self._time_is_up
        )
        case = msgspec.structs.replace(
            failing.case, name=f"{sweep_name(self._universe.name)}.{failing.case.content_hash}"
        )
        shown = finding(failing.case, attempt, failing.expectation, self._oracle)
        whole = None
        if found.whole.content_hash != case.content_hash:
            of_whole = f"{sweep_name(self._universe.name)}.{found.whole.content_hash}"
            whole = msgspec.structs.replace(found.whole, name=of_whole)
        return Result(
            driver.spec,
            AREA,
            name,
            generated=True,
            verdict=attempt.verdict,
            examples=0,
            unsupported=0,
            seconds=0.0,
            detail=detail,
            finding=msgspec.structs.replace(
                shown, case=case, reduction=failing.reduction, found=whole, driver=driver.narrowed
            ),
            runs={v.value: n for v, n in attempt.runs.items()},
            known=found.known,
        )

    def _judged(self, case: Case) -> Failing:
        (judged,) = judge_all([case], [self._driver], self._oracle.expect)
        return Failing(case, judged.attempts[0], judged.expectation)

    def _case(self, number: int, constness: Constness) -> Case:
        ((part, numbers),) = self._universe.by_part(np.array([number]))
        return part.sweep(numbers).case(0, constness)


def values_of(universe: Universe, numbers: Numbers) -> tuple[dict[str, Column], dict[str, tuple[str, ...]]]:
    """The value of every axis for sets of these ascending numbers; texts of axes that are not numbers."""
    columns: dict[str, list[Column]] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for axis in universe.parts[0].fixed:
        if not all(type(part.fixed[axis]) is int for part in universe.parts):
            labels[axis] = tuple(dict.fromkeys(_label(part.fixed[axis]) for part in universe.parts))
    for part, within in universe.by_part(numbers):
        values = part.values(within)
        for axis, value in part.fixed.items():
            number = labels[axis].index(_label(value)) if axis in labels else value
            values[axis] = np.full(len(within), number, np.int64)
        for axis, column in values.items():
            columns.setdefault(axis, []).append(column)
    return {axis: np.concatenate(parts) for axis, parts in columns.items()}, labels


def _label(value: object) -> str:
    """The value of an axis in words: of an instruction its name and operands, without ids."""
    if not isinstance(value, dict) or "op" not in value:
        return str(value)
    return " ".join([value["op"], *(f"{k} {v}" for k, v in value.items() if k not in ("op", "id", "of"))])


def _signature(case: Case) -> str:
    """A case's program without its numbers, which is the same in all regions of one cause."""
    return msgspec.json.encode(_without_numbers(plain(case)["program"])).decode()


def _without_numbers(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_numbers(item) for key, item in value.items()}
        case list():
            return [_without_numbers(item) for item in value]
        case bool() | str() if not str(value).startswith("0x"):
            return value
    return 0
