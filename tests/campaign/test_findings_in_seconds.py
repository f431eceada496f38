"""A finding of a run that goes on is reduced at once, beside cases that are judged, and goes on to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from cts.case.model import Case
from cts.judging.events import CauseReduced
from cts.judging.reduction_record import Stopped
from cts.running.exploring import TIMES
from cts.running.policy import Policy
from cts.running.tasks import Examples, Reduction, Task
from tests.campaign.test_slow import Campaign

MUTANT = "emulator:mutant=clip-width-remaining"


def tenth(case: Case) -> float:
    return 0.1


def campaign(size: int, examples: int = 60, reduce_seconds: float = 20.0) -> Campaign:
    policy = Policy(keep=3, chunk=5)
    areas = ("tensor_addressing",)
    return Campaign(policy, examples, size, tenth, MUTANT, areas, reduce_seconds=reduce_seconds)


def performed(found: Campaign) -> list[Task]:
    """Run it; the tasks in the order in which they were begun."""
    begun: list[Task] = []

    def noted() -> Iterator[Task | None]:
        for task in found.exploration.tasks():
            if task is not None:
                begun.append(task)
            yield task

    for task, answer in found.executor.perform(noted(), found.exploration.is_stale):
        found.exploration.take(task, answer)
    return begun


@pytest.mark.parametrize("size", [1, 4])
def test_a_finding_is_reduced_while_cases_are_judged(size: int) -> None:
    found = campaign(size)
    begun = performed(found)
    first = next(n for n, task in enumerate(begun) if isinstance(task, Reduction))
    assert sum(isinstance(task, Examples) for task in begun[first:]) > 3
    reduced = [event for event in found.events if isinstance(event, CauseReduced)]
    for event in reduced:
        finding = event.result.finding
        assert finding is not None and finding.reduction is not None and finding.found is not None
        assert finding.reduction.stopped is Stopped.COMPLETE
        assert len(finding.case.program) <= 8 <= len(finding.found.program)
        assert event.at > 0 and event.result.name.startswith("generated.tensor_addressing.fail")
    (ran,) = found.ran.values()
    by_cause = {event.result.cause: event.result for event in reduced}
    assert {result.cause for result in ran.results} == by_cause.keys()
    assert all(result.finding == by_cause[result.cause].finding for result in ran.results)


def test_reductions_leave_most_time_to_judging() -> None:
    """A quarter of the processes reduces at a time, and not for longer than a quarter of the time and one reduction."""
    found = campaign(8)
    exploration = found.exploration
    assert exploration._may_reduce()
    exploration._reductions.update({1: 0.0})
    assert exploration._may_reduce()
    exploration._reductions.update({2: 0.0})
    assert not exploration._may_reduce()
    exploration._reductions.clear()
    exploration._reduced = 25.0
    assert not exploration._may_reduce()
    found.clock.now += 3.0  # eight processes have had 24 seconds, of which a quarter is 6
    assert exploration._may_reduce()
    exploration._reduced = 27.0
    assert not exploration._may_reduce()


def test_a_reduction_without_time_goes_on() -> None:
    """From the case that it had reached, while others are judged, some times at most."""
    begun = performed(campaign(4, reduce_seconds=1e-3))
    tasks = [task for task in begun if isinstance(task, Reduction)]
    again = [task for task in tasks if task.found is not None]
    assert again and max(Counter(task.kept.cause for task in tasks).values()) <= TIMES
    assert all(task.found is not None and task.found.ran_out for task in again)
