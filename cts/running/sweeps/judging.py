"""Parameter sets on a driver: many in one dispatch, compared as whole arrays; a set that breaks a dispatch is isolated.

What becomes of each set is a byte (`State`), so that a universe is an array of them.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import HarnessTrouble, described
from cts.base.heartbeat import heartbeat
from cts.base.printable import said
from cts.case.model import Case, initial_bits
from cts.case.model.sweep import Bytes, Sweep, sets_at_a_time, window_strides
from cts.case.oracle.expectation import Allowed, Expectation, Identical, Intervals, Oracle, Swept
from cts.device.driver import Outcome, Status, SweepDriver, SweepJob
from cts.features.sets import Answers
from cts.judging.compare import compare, differing_sets
from cts.judging.events import CasesStarted, ignore
from cts.judging.judge import MAX_RUN_DEATHS, OUR_ENDS, OpenDriver, ended_with, job_for
from cts.running.sweeps.contents import Numbers
from cts.running.sweeps.states import State, States
from cts.running.sweeps.support import lacks
from cts.spirv.lowering import OfSweep

#: Wrong sets whose memory is kept, for causes to look at: each may hold megabytes.
LEFT = 3

#: Sets of one dispatch: enough to keep a device busy, and few enough for the caches of a processor.
DISPATCH_SETS = 8192

#: The most bytes of all their windows: arrays of what a few megabytes may hold still fit a processor's caches.
DISPATCH_BYTES = 1 << 22

#: Sets of the first dispatch of a task, and seconds of a block below which the next one has twice as many.
FIRST_SETS, BLOCK_SECONDS = 1024, 0.5

#: Sets of one dispatch where the process has died with more, and of a block for drivers that run one case at a time.
FEW_SETS = 64


_ENDINGS = {
    Status.CRASH: State.CRASH,
    Status.TIMEOUT: State.TIMEOUT,
    Status.DEVICE_LOST: State.DEVICE_LOST,
    Status.ERROR: State.ERROR,
    Status.UNSUPPORTED: State.UNSUPPORTED,
}

#: Bad endings of many sets whose smaller dispatches end well. A timeout does not count, as many sets take longer.
_NOT_BY_SIZE = (Status.CRASH, Status.DEVICE_LOST)


@dataclass(eq=False)
class Judged:
    """What became of some sets on a driver, (n,); how many each rule excludes; the first detail of each other state.

    `left` is what some wrong sets left in memory among others, by their places.
    """

    states: States
    excluded: Counter[str] = field(default_factory=Counter)
    details: dict[State, str] = field(default_factory=dict)
    seconds: float = 0.0
    left: dict[int, dict[str, Bytes]] = field(default_factory=dict)

    def note(self, places: Numbers, state: State, detail: str) -> None:
        """Give some sets a state that is not PASS."""
        self.states[places] = state
        if detail:
            self.details.setdefault(state, said(detail))

    def merge_at(self, start: int, some: Judged) -> None:
        """Put in what became of the sets from a place on."""
        self.states[start : start + len(some.states)] = some.states
        self.excluded.update(some.excluded)
        self.details = some.details | self.details
        self.seconds += some.seconds
        self.left |= {start + place: memory for place, memory in some.left.items()}


@dataclass(frozen=True, eq=False)
class _Block:
    """Sets of one dispatch: their places among the judged sets, and the oracle's answer for all of them."""

    places: Numbers
    sweep: Sweep
    swept: Swept


class Sets(Protocol):
    """Parameter sets of one template: a part of a universe, or any others."""

    @property
    def template(self) -> Case: ...

    @property
    def fixed(self) -> Mapping[str, Any]:
        """What is fixed in the template, for names."""
        ...

    @property
    def data_buffers(self) -> tuple[str, ...]:
        """The buffers whose contents differ between sets."""
        ...

    def sweep(self, numbers: Numbers) -> Sweep:
        """The sets of these numbers."""
        ...


def judge_sets(
    part: Sets, numbers: Numbers, driver: OpenDriver, oracle: Oracle, time_is_up: Deadline = NO_DEADLINE
) -> Judged:
    """The states of the sets of these numbers; once the time is up, the last ones stay PENDING."""
    judged = _Judge(part, numbers, driver, oracle, time_is_up).judged()
    heartbeat.returned()
    return judged


def together(parts: Sequence[Judged]) -> Judged:
    """What became of sets of several parts, one after the other."""
    whole, start = Judged(np.zeros(sum(len(part.states) for part in parts), np.uint8)), 0
    for part in parts:
        whole.merge_at(start, part)
        start += len(part.states)
    return whole


class _Judge:
    def __init__(self, part: Sets, numbers: Numbers, driver: OpenDriver, oracle: Oracle, time_is_up: Deadline) -> None:
        self.time_is_up = time_is_up
        #: Why the driver runs no set of the template.
        self.refused = ""
        self.part = part
        self.numbers = numbers
        self.driver = driver
        self.oracle = oracle
        self.result = Judged(np.zeros(len(numbers), np.uint8))
        #: What a quarantine's conditions say of the template.
        self.answers: Answers = {}
        self.flying: deque[tuple[_Block, SweepJob]] = deque()
        #: What went wrong while a job was prepared, which is no driver's doing.
        self.own: Exception | None = None

    def judged(self) -> Judged:
        result, template = self.result, self.part.template
        every = np.arange(len(self.numbers))
        if missing := lacks(self.driver, template):
            result.note(every, State.UNSUPPORTED, missing)
            return result
        if isinstance(self.driver.driver, SweepDriver):
            self._together(self.driver.driver)
        else:
            for block in self._blocks():
                self._one_by_one(block)
        if self.refused:  # nothing more of this template was given to the driver, or drawn
            result.note(np.flatnonzero(result.states == State.PENDING), State.UNSUPPORTED, self.refused)
        return result

    def _together(self, driver: SweepDriver) -> None:
        outcomes = driver.run_sweeps(self._jobs(self._blocks()))
        while True:
            start = time.perf_counter()
            try:
                outcome = next(outcomes, None)
            except OUR_ENDS:
                raise
            except BaseException as e:  # noqa: BLE001 - whatever a driver raises is its outcome
                if self.own is not None:
                    raise self.own from None
                if not self.flying:  # from one that takes nothing, nothing is to be expected
                    self.result.note(np.flatnonzero(self.result.states == State.PENDING), State.ERROR, described(e))
                    return
                for block, _ in self.flying:
                    self.result.note(block.places, State.ERROR, described(e))
                self.flying.clear()
                outcomes = driver.run_sweeps(self._jobs(self._blocks()))
                continue
            self.result.seconds += time.perf_counter() - start
            if outcome is None:
                return
            self._take(*self.flying.popleft(), outcome)

    def _blocks(self) -> Iterator[_Block]:
        """The sets that are neither judged nor excluded, in blocks; excludes what breaks a rule."""
        together = isinstance(self.driver.driver, SweepDriver)
        most = FEW_SETS
        if together:
            strides = window_strides(self.part.template, self.part.data_buffers)
            most = min(DISPATCH_SETS, max(1, DISPATCH_BYTES // sum(strides)))
        most = min(most, sets_at_a_time(self.part.template, self.part.data_buffers))
        start = 0  # those before it are judged, or on their way
        size, began = min(most, FIRST_SETS), time.perf_counter()
        while not self.refused and not self.time_is_up():
            pending = start + np.flatnonzero(self.result.states[start:] == State.PENDING)
            if not pending.size:
                return
            died = self.driver.resumed.died.get(self._identity(pending[0]), 0)
            if died >= MAX_RUN_DEATHS:
                self.result.note(
                    pending[:FEW_SETS], State.CRASH, f"{ended_with(self.driver, died)}, with {FEW_SETS} sets"
                )
                continue
            places = pending[: FEW_SETS if died else size]
            # Blocks grow as long as they take no time worth mentioning, so that a run ends when it should.
            now = time.perf_counter()
            size, began = min(most, 2 * size) if now - began < BLOCK_SECONDS else size, now
            start = int(places[-1]) + 1
            block = self._block(places)
            if block is not None:
                self._starting(int(pending[0]))
                yield block

    def _block(self, places: Numbers) -> _Block | None:
        """What is left of some sets without those that may not run."""
        sweep = self.part.sweep(self.numbers[places])
        swept = self.oracle.sweep(sweep)
        for exclusion in swept.exclusions:
            self.result.states[places[exclusion.sets]] = State.EXCLUDED
            self.result.excluded[exclusion.violation.rule] += len(exclusion.sets)
        if not len(swept.valid):
            return None
        block = _Block(places[swept.valid], sweep.chosen(swept.valid), swept)
        return self._without_quarantined(block)

    def _without_quarantined(self, block: _Block) -> _Block | None:
        out, reason = self.driver.quarantine.never(block.sweep, self.answers)
        if not out.any():
            return block
        self.result.note(block.places[out], State.NOT_RUN, f"quarantine: {reason}")
        kept = np.flatnonzero(~out)
        return _chosen(block, kept) if kept.size else None

    def _jobs(self, blocks: Iterable[_Block]) -> Iterator[SweepJob]:
        """The jobs of blocks. What it takes to prepare them is not the driver's time."""
        size, start = self.driver.capabilities.subgroup_size, time.perf_counter()
        try:
            for block in blocks:
                prepared = _job(block.sweep, size)
                self.flying.append((block, prepared))
                self.result.seconds -= time.perf_counter() - start
                yield prepared
                start = time.perf_counter()
        except Exception as e:
            self.own = e
            raise
        self.result.seconds -= time.perf_counter() - start

    def _take(self, block: _Block, prepared: SweepJob, outcome: Outcome) -> None:
        if outcome.status is Status.UNSUPPORTED:
            self.result.note(block.places, State.UNSUPPORTED, outcome.detail)
            self.refused = said(outcome.detail)
            return
        wrong = None
        if outcome.only_made:
            wrong = np.zeros(len(block.places), bool)
        elif outcome.status is Status.DONE:
            try:
                wrong = differing_sets(block.sweep, block.swept.buffers, prepared.memory, outcome.memory)
            except HarnessTrouble as e:
                self.result.note(block.places, State.ERROR, str(e))
                return
        if wrong is not None:
            self.result.states[block.places] = np.where(wrong, State.FAIL, State.PASS)
            for number in np.flatnonzero(wrong)[: max(0, LEFT - len(self.result.left))].tolist():
                self.result.left[int(block.places[number])] = block.sweep.left_by(number, outcome.memory)
        elif len(block.sweep) > 1:
            for half in _halves(block):
                self._again(half)
            if outcome.status in _NOT_BY_SIZE and (self.result.states[block.places] == State.PASS).all():
                self._confirm_batch_failure(block, outcome.status)
        else:
            self.result.note(block.places, _ENDINGS.get(outcome.status, State.FAIL), outcome.remarks)

    def _confirm_batch_failure(self, block: _Block, status: Status) -> None:
        """Both halves of these sets ended well: the failure of all sets together counts if it happens once more."""
        _, outcome = self._run(block)
        if outcome.status is status:
            what = f"{len(block.sweep)} sets in one dispatch, of which each half ends well: {outcome.remarks}"
            self.result.note(block.places[:1], _ENDINGS[status], what)

    def _again(self, block: _Block) -> None:
        """Part of a dispatch that did not end well, on its own."""
        self._take(block, *self._run(block))

    def _run(self, block: _Block) -> tuple[SweepJob, Outcome]:
        assert isinstance(self.driver.driver, SweepDriver)
        prepared = _job(block.sweep, self.driver.capabilities.subgroup_size)
        try:
            (outcome,) = self.driver.driver.run_sweeps([prepared])
        except OUR_ENDS:
            raise
        except BaseException as e:  # noqa: BLE001 - as above
            outcome = Outcome(Status.ERROR, detail=described(e))
        return prepared, outcome

    def _one_by_one(self, block: _Block) -> None:
        """For drivers that run one case at a time."""
        for i, place in enumerate(block.places):
            case = block.sweep.case(i)
            start = time.perf_counter()
            try:
                outcome = self.driver.driver.run(job_for(self.driver, case))
                self.result.seconds += time.perf_counter() - start
                state, detail = self._of_case(case, i, block, outcome)
            except OUR_ENDS:
                raise
            except BaseException as e:  # noqa: BLE001 - a driver may raise anything, and return anything
                state, detail = State.ERROR, described(e)
            self.result.note(np.array([place]), state, detail)

    def _of_case(self, case: Case, i: int, block: _Block, outcome: Outcome) -> tuple[State, str]:
        if outcome.status is not Status.DONE:
            return _ENDINGS[outcome.status], outcome.remarks
        if outcome.only_made:
            return State.PASS, ""
        allowed = {name: _rows(a, case.buffers[name].size, np.array([i])) for name, a in block.swept.buffers.items()}
        for name, buffer in case.buffers.items():
            allowed.setdefault(name, Allowed(initial_bits(buffer).view(np.uint8)))
        same = compare(case, Expectation(allowed), outcome.memory) is None
        return (State.PASS, "") if same else (State.FAIL, "")

    def _identity(self, place: int) -> str:
        return f"{self.part.template.name} {sorted(self.part.fixed.items())} {self.numbers[place]}"

    def _starting(self, place: int) -> None:
        heartbeat.started(self.driver.spec, (f"parameter sets of {self.part.template.name}",))
        if self.driver.emit is not ignore:
            self.driver.emit(CasesStarted(self.driver.spec, (self._identity(place),)))


def _job(sweep: Sweep, subgroup_size: int) -> SweepJob:
    memory = sweep.memory()
    return SweepJob(sweep, memory, OfSweep(sweep, memory, subgroup_size))


def _halves(block: _Block) -> tuple[_Block, _Block]:
    first, second = np.array_split(np.arange(len(block.sweep)), [len(block.sweep) // 2])
    return _chosen(block, first), _chosen(block, second)


def _chosen(block: _Block, which: Numbers) -> _Block:
    """Some of the sets of a block, by their places in it, ascending."""
    buffers = {
        name: _rows(allowed, block.sweep.template.buffers[name].size, which)
        for name, allowed in block.swept.buffers.items()
    }
    swept = Swept(np.arange(len(which)), (), buffers)
    return _Block(block.places[which], block.sweep.chosen(which), swept)


def _rows(allowed: Allowed, size: int, which: Numbers) -> Allowed:
    """What is allowed in some of the windows of `size` bytes that follow one another."""
    place = np.full(len(allowed.exact) // size, -1, np.int64)
    place[which] = np.arange(len(which))

    def moved(offsets: Numbers) -> tuple[npt.NDArray[np.bool_], Numbers]:
        window = place[offsets // size]
        kept = window >= 0
        return kept, (window * size + offsets % size)[kept]

    intervals = []
    for interval in allowed.intervals:
        kept, offsets = moved(interval.offsets)
        if kept.any():
            step = None if interval.step is None else interval.step[kept]
            intervals.append(
                Intervals(
                    interval.component,
                    offsets,
                    interval.lo[kept],
                    interval.hi[kept],
                    interval.flags[kept],
                    interval.reasons,
                    step,
                )
            )
    identical = []
    for group in allowed.identical:
        kept, offsets = moved(group.offsets)
        if kept.any():
            identical.append(Identical(group.component, offsets, group.group[kept]))
    exact = allowed.exact.reshape(-1, size)[which].reshape(-1)
    return Allowed(exact, tuple(intervals), tuple(identical))
