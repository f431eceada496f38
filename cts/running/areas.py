"""The generated cases of one area on several drivers: a result for each driver, and the faults of the generator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from cts.capabilities import Capabilities
from cts.choices import Source
from cts.deadline import NO_DEADLINE, Deadline
from cts.errors import CtsError, NothingToGenerate
from cts.judging.batch import block_size
from cts.judging.events import CaseJudged, Emit, GeneratorFault, Reduced, Result, Shrinking, ignore
from cts.judging.judge import OpenDriver
from cts.judging.reruns import RERUNS
from cts.model import Case
from cts.oracle.expectation import Oracle
from cts.plugins import registry
from cts.running.drawing import Fault, Faulty
from cts.running.profiles import Profile
from cts.running.results import check_command, of_area, of_fault
from cts.running.survey import Exploration, Explored, Survey
from cts.running.tasks import Answer, Examples, TaskRunner
from cts.verdict import Verdict


@dataclass(frozen=True)
class Ran:
    """What became of an area: a result for each driver, and the faults of its generator by their kind."""

    results: list[Result]
    faults: dict[str, GeneratorFault]


@dataclass(eq=False)
class _Group:
    """Drivers of equal capabilities: what makes their cases, and what becomes of these; or why there are none."""

    specs: tuple[str, ...]
    source: Source[Case] | None
    survey: Survey
    nothing: Exploration | None = None
    #: Answers that came before those to earlier examples, by their first number; and the number that is due.
    early: dict[int, tuple[Examples, Answer]] = field(default_factory=dict)
    due: int = 1


def run_area(
    area: str,
    drivers: Sequence[OpenDriver],
    oracle: Oracle,
    profile: Profile,
    emit: Emit = ignore,
    reruns: int = RERUNS,
    known: Set[str] = frozenset(),
    time_is_up: Deadline = NO_DEADLINE,
) -> Ran:
    """Generated cases of one area on several drivers, those of equal capabilities together, in this process.

    Faults of the generator whose kind is `known` are not reported again. No example is begun once
    `time_is_up` says why.
    """
    run = AreaRun(area, drivers, oracle, profile, emit, known, time_is_up)
    executor = TaskRunner(drivers, oracle, profile, emit, reruns, time_is_up)
    for tasks in (run.tasks(), run.for_last()):
        for task, answer in executor.perform(tasks):
            assert isinstance(task, Examples)
            run.take(task, answer)
    return run.ran()


class AreaRun:
    """An area: which examples are to be judged, and what is added up of them."""

    def __init__(
        self,
        area: str,
        drivers: Sequence[OpenDriver],
        oracle: Oracle,
        profile: Profile,
        emit: Emit = ignore,
        known: Set[str] = frozenset(),
        time_is_up: Deadline = NO_DEADLINE,
    ) -> None:
        self.area = area
        self.specs = tuple(d.spec for d in drivers)
        #: Whether anything is known of the area: an example has been judged, or there is none.
        self.taken = False
        self._drivers = drivers
        self._oracle = oracle
        self._profile = profile
        self._emit = emit
        self._known = known
        self._time_is_up = time_is_up
        self._groups: list[_Group] = []

    def tasks(self, size: int | None = None) -> Iterator[Examples]:
        """The examples to judge, so many at a time or as the drivers like it, as long as there is a reason to."""
        for capabilities, drivers in _by_capabilities(self._drivers):
            group = self._group(capabilities, drivers)
            self._groups.append(group)
            self.taken = self.taken or group.nothing is not None
            if group.nothing is None:
                for numbers in group.survey.chunks(size or block_size(drivers)):
                    yield Examples(self.area, group.specs, numbers, tuple(group.survey.alive))

    def for_last(self) -> Iterator[Examples]:
        """Those that a quarantine leaves for last, one by one."""
        for group in self._groups:
            for number in group.survey.for_last():
                alive = tuple(group.survey.alive)
                yield Examples(self.area, group.specs, range(number, number + 1), alive, last=True)

    @property
    def has_last(self) -> bool:
        """Whether a quarantine leaves some examples for last."""
        return any(group.survey.has_last for group in self._groups)

    def wants(self, task: Examples) -> bool:
        """Whether anything is still asked of these examples."""
        return any(group.survey.wants(task.specs) for group in self._groups if group.specs == task.group)

    def take(self, task: Examples, answer: Answer) -> None:
        """Count what became of examples, in their order, and tell of it.

        Nothing is told of a driver that has its finding already.
        """
        self.taken = True
        (group,) = (group for group in self._groups if group.specs == task.group)
        if task.last:
            self._count(group.survey, task, answer)
            return
        group.early[task.numbers.start] = task, answer
        while group.due in group.early:
            task, answer = group.early.pop(group.due)
            group.due = task.numbers.stop
            self._count(group.survey, task, answer)

    def _count(self, survey: Survey, task: Examples, answer: Answer) -> None:
        for event in answer.events:
            if not isinstance(event, (CaseJudged, Shrinking, Reduced)) or event.driver in survey.alive:
                self._emit(event)
        for seen in answer.seen:
            if not task.last and not survey.wants(task.specs):
                return  # one process would not have gone so far
            survey.add(seen)

    def ran(self) -> Ran:
        """The results, and faults made smaller. Those whose kind is known are not reported again."""
        results: dict[str, Result] = {}
        faults: dict[str, tuple[str, Faulty]] = {}
        drivers = {d.spec: d for d in self._drivers}
        for group in self._groups:
            exploration = group.nothing
            if exploration is None:
                assert group.source is not None
                exploration = group.survey.exploration(group.source, self._oracle, {*self._known, *faults})
            for kind, faulty in exploration.faults.items():
                if kind in faults:
                    faults[kind][1].count += faulty.count
                elif kind not in self._known:
                    faults[kind] = (group.specs[0], faulty)
            for spec in group.specs:
                results[spec] = of_area(self.area, drivers[spec], exploration.results[spec])
        profile = self._profile
        assert profile.seed is not None, "profile() settles the seed"
        told_faults = {
            kind: of_fault(self.area, faulty, check_command(self.area, spec, profile.seed, profile.max_examples))
            for kind, (spec, faulty) in faults.items()
        }
        return Ran([results[spec] for spec in self.specs], told_faults)

    def _group(self, capabilities: Capabilities, drivers: Sequence[OpenDriver]) -> _Group:
        specs = tuple(d.spec for d in drivers)
        survey = Survey(specs, self._profile, self._emit, self.area, self._time_is_up)
        try:
            return _Group(specs, registry.area(self.area)(capabilities), survey)
        except CtsError:
            raise
        except NothingToGenerate as e:
            nothing = _nothing(specs, Verdict.UNSUPPORTED, str(e))
        except Exception as e:  # noqa: BLE001 - the generator's own bug: the other areas still run
            fault = Fault.raised("generator-failed", f"{self.area} cannot be generated", e)
            nothing = _nothing(specs, Verdict.NOT_RUN, "the generator fails", fault)
        return _Group(specs, None, survey, nothing)


def _nothing(specs: Sequence[str], verdict: Verdict, detail: str, *faults: Fault) -> Exploration:
    """What becomes of an area without any example."""
    lacks = [detail] if verdict is Verdict.UNSUPPORTED else []
    results = {spec: Explored(verdict, detail, lacks=Counter(lacks)) for spec in specs}
    return Exploration(results, {f.kind: Faulty(f, None, 1) for f in faults})


def _by_capabilities(drivers: Sequence[OpenDriver]) -> list[tuple[Capabilities, list[OpenDriver]]]:
    groups: dict[Capabilities, list[OpenDriver]] = {}
    for driver in drivers:
        groups.setdefault(driver.capabilities, []).append(driver)
    return list(groups.items())
