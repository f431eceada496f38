"""The generated cases of one area on several drivers: results for each driver, and the faults of the generator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import msgspec

from cts.base.errors import CtsError, NothingToGenerate
from cts.case.oracle.expectation import Oracle
from cts.device.capabilities import Capabilities
from cts.judging.events import CaseJudged, CauseReduced, Emit, ExamplesJudged, GeneratorFault, Result, ignore
from cts.judging.judge import OpenDriver
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.drawing import Draws, Fault, Faulty
from cts.running.explore import avoided
from cts.running.planning import ANY_SIZE, Chunk, Sizes
from cts.running.policy import FIRST_FINDING, Policy
from cts.running.profiles import Profile
from cts.running.results import check_command, of_area, of_cause, of_fault
from cts.running.survey import AreaOutcome, AreaResult, AreaTally, ReportedFinding
from cts.running.tasks import Answer, Examples, Reduction, Task


@dataclass(frozen=True)
class Ran:
    """The outcome of an area: results of each driver, and the generator's faults by kind."""

    results: list[Result]
    faults: dict[str, GeneratorFault]


@dataclass(eq=False)
class _Group:
    """Drivers of equal capabilities: the source of their cases and the tally of results; or why there are no cases.

    `stream` is the name under which the examples are planned.
    """

    stream: str
    specs: tuple[str, ...]
    drivers: tuple[OpenDriver, ...]
    draws: Draws | None
    tally: AreaTally
    nothing: AreaOutcome | None = None


class AreaRun:
    """An area: the tally of its examples, and the findings to reduce."""

    def __init__(
        self,
        area: str,
        drivers: Sequence[OpenDriver],
        oracle: Oracle,
        profile: Profile,
        policy: Policy = FIRST_FINDING,
        emit: Emit = ignore,
        known: Set[str] = frozenset(),
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.area = area
        self.specs = tuple(d.spec for d in drivers)
        #: Whether the area has a result: an example has been judged, or the area has no examples.
        self.taken = False
        self._oracle = oracle
        self._profile = profile
        self._policy = policy
        self._emit = emit
        self._known = known
        self._clock = clock
        #: Other processes' events of cases, by driver and first number: they are emitted when the cases are counted.
        self._held: dict[tuple[str, int], list[CaseJudged]] = {}
        self._groups = [self._group(n, *group) for n, group in enumerate(_by_capabilities(drivers))]
        self.taken = any(group.nothing is not None for group in self._groups)

    @property
    def streams(self) -> list[str]:
        """The streams under which its examples are planned: one for each group of drivers that has cases."""
        return [group.stream for group in self._groups if group.nothing is None]

    def examples(self, chunk: Chunk, sizes: Sizes = ANY_SIZE) -> Examples | None:
        """The examples of a chunk, for the drivers on which the area goes on; None if there are none.

        Some `sizes` are set aside, or run rarely.
        """
        group = self._of_stream(chunk.stream)
        if not group.tally.goes_on:
            return None
        numbers = range(chunk.start, chunk.start + chunk.length)
        return Examples(self.area, group.specs, numbers, tuple(group.tally.alive), False, *sizes)

    def goes_on(self, stream: str) -> bool:
        """Whether examples of a stream are still asked for."""
        return self._of_stream(stream).tally.goes_on

    def for_last(self) -> Examples | None:
        """The next example that a quarantine leaves for last; None after the last of them."""
        for group in self._groups:
            while group.tally.goes_on and (number := group.tally.next_of_last()) is not None:
                alive = tuple(group.tally.alive)
                return Examples(self.area, group.specs, range(number, number + 1), alive, last=True)
        return None

    def set_aside(self) -> Examples | None:
        """The next example that was set aside, on the drivers that did so; None after the last of them."""
        for group in self._groups:
            if group.tally.goes_on and (found := group.tally.next_set_aside()) is not None:
                number, specs = found
                return Examples(self.area, group.specs, range(number, number + 1), specs, last=True)
        return None

    @property
    def has_last(self) -> bool:
        """Whether some examples are left for last, or were set aside."""
        return any(group.tally.has_last and group.tally.goes_on for group in self._groups)

    def wants(self, task: Task) -> bool:
        """Whether anything is still asked of a task."""
        return not isinstance(task, Examples) or self._of_specs(task.group).tally.wants(task.specs)

    def stream_of(self, judged: ExamplesJudged) -> str:
        """The stream of judged examples."""
        return self._of_driver(judged.driver).stream

    def take(self, task: Examples | Reduction, answer: Answer) -> None:
        """Count a task's answer and emit its events. Nothing is emitted for a driver on which the area has ended."""
        self.taken = True
        group = self._of_specs(task.group)
        for event in answer.events:
            if isinstance(event, CaseJudged) and isinstance(task, Examples):
                self._held.setdefault((event.driver, task.numbers.start), []).append(event)
            else:
                self._emit(event)
        if isinstance(task, Reduction):
            if answer.found is not None:
                self._reduced(group.tally.results[task.spec], task, answer.found)
            return
        for judged in answer.judged:
            self.count(msgspec.structs.replace(judged, at=round(self._clock(), 3)))

    def _reduced(self, explored: AreaResult, task: Reduction, found: ReportedFinding) -> None:
        """Take what a reduction has found; a run that goes on says so."""
        cause = task.kept.cause
        explored.reduced[cause] = found
        if self._policy.keep and found != task.found and found.finding.reduction is not None:
            self._emit(CauseReduced(of_cause(self.area, task.spec, explored, cause), round(self._clock(), 3)))

    def count(self, judged: ExamplesJudged) -> None:
        """Count examples that were judged."""
        self.taken = True
        for counted in self._of_driver(judged.driver).tally.add(judged):
            for event in self._held.pop((counted.driver, counted.start), ()):
                self._emit(event)
            self._emit(counted)

    def restore(self, result: Result) -> None:
        """Take over an interrupted run's result for a cause."""
        if result.finding is not None and result.cause:
            reported = ReportedFinding(result.verdict, result.detail, result.finding, result.runs, result.known)
            self._of_driver(result.driver).tally.results[result.driver].reduced[result.cause] = reported

    def explored(self) -> Iterator[tuple[str, AreaResult]]:
        """The results so far, by driver spec."""
        for group in self._groups:
            yield from group.tally.results.items()

    def reduction(self, spec: str, cause: str, seconds: float) -> Reduction:
        """The task that makes the shortest case of a cause smaller, or goes on to make it smaller."""
        group = self._of_driver(spec)
        found = group.tally.results[spec].reduced.get(cause)
        kept = group.tally.results[spec].shortest(cause)
        return Reduction(self.area, group.specs, spec, kept, seconds, found)

    def leave(self, why: str, left: int, undone: Mapping[str, int]) -> None:
        """Note that nothing more is begun: examples of a budget are left, and planned ones are undone, by stream."""
        for group in self._groups:
            group.tally.late, group.tally.left = why, left + undone.get(group.stream, 0)

    def ran(self) -> Ran:
        """The results, and faults made smaller. Those whose kind is known are not reported again."""
        results: dict[str, list[Result]] = {}
        faults: dict[str, tuple[str, Faulty]] = {}
        for group in self._groups:
            outcome = group.nothing
            if outcome is None:
                assert group.draws is not None
                outcome = group.tally.outcome(group.draws, self._oracle, {*self._known, *faults})
            for kind, faulty in outcome.faults.items():
                if kind in faults:
                    faults[kind][1].count += faulty.count
                elif kind not in self._known:
                    faults[kind] = (group.specs[0], faulty)
            for spec in group.specs:
                by_cause = self._policy.keep > 0
                results[spec] = of_area(self.area, spec, outcome.results[spec], by_cause=by_cause)
        told_faults = {
            kind: of_fault(self.area, faulty, self._check_command(spec, faulty.number))
            for kind, (spec, faulty) in faults.items()
        }
        return Ran([result for spec in self.specs for result in results[spec]], told_faults)

    def _check_command(self, spec: str, number: int) -> str:
        """The command that shows the fault of an example again."""
        profile = self._profile
        assert profile.seed is not None, "profile() settles the seed"
        command = check_command(self.area, spec, profile.seed, profile.max_examples or number)
        steered = avoided(self._of_driver(spec).drivers, profile) is not None
        return f"{command}  # with the --baseline and --quarantine of the run" if steered else command

    def _of_stream(self, stream: str) -> _Group:
        return next(group for group in self._groups if group.stream == stream)

    def _of_specs(self, specs: tuple[str, ...]) -> _Group:
        return next(group for group in self._groups if group.specs == specs)

    def _of_driver(self, spec: str) -> _Group:
        return next(group for group in self._groups if spec in group.specs)

    def _group(self, number: int, capabilities: Capabilities, drivers: Sequence[OpenDriver]) -> _Group:
        specs = tuple(d.spec for d in drivers)
        stream = f"{self.area} {number}" if number else self.area
        tally = AreaTally(specs, self._profile, self._policy, self._emit, self.area)
        try:
            source = registry.area(self.area)(capabilities)
            draws = Draws(source, self._profile.seed, avoided(drivers, self._profile))
            return _Group(stream, specs, tuple(drivers), draws, tally)
        except CtsError:
            raise
        except NothingToGenerate as e:
            nothing = _nothing(specs, Verdict.UNSUPPORTED, str(e))
        except Exception as e:  # noqa: BLE001 - the generator's own bug: the other areas still run
            fault = Fault.raised("generator-failed", f"{self.area} cannot be generated", e)
            nothing = _nothing(specs, Verdict.NOT_RUN, "the generator fails", fault)
        return _Group(stream, specs, tuple(drivers), None, tally, nothing)


def _nothing(specs: Sequence[str], verdict: Verdict, detail: str, *faults: Fault) -> AreaOutcome:
    """The outcome of an area without examples."""
    lacks = [detail] if verdict is Verdict.UNSUPPORTED else []
    results = {spec: AreaResult(verdict=verdict, detail=detail, lacks=Counter(lacks)) for spec in specs}
    return AreaOutcome(results, {f.kind: Faulty(f, None, 1) for f in faults})


def _by_capabilities(drivers: Iterable[OpenDriver]) -> list[tuple[Capabilities, list[OpenDriver]]]:
    groups: dict[Capabilities, list[OpenDriver]] = {}
    for driver in drivers:
        groups.setdefault(driver.capabilities, []).append(driver)
    return list(groups.items())
