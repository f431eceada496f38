"""Drivers that take many cases at once: the same verdicts, and every way in which a batch can break off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import pytest

from cts.case.model import load_case
from cts.device.capabilities import Capabilities, everything
from cts.device.driver import Job, Outcome, Status
from cts.judging.batch import judge_all
from cts.judging.events import Event, Result
from cts.judging.judge import OpenDriver
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import corpus
from cts.running.drawing import drawn
from cts.running.exploring import run_area
from cts.running.opening import open_driver
from cts.running.plan import Plan
from cts.running.profiles import Profile
from cts.running.runner import run

PROFILE = Profile("default", 150, 1)
ENTRIES = tuple(e for e in corpus.entries() if e.name.startswith("tensor_addressing.clamp."))[:8]


def results(*drivers: str, areas: tuple[str, ...] = (), stop: bool = False) -> list[Result]:
    seen: list[Event] = []
    run(Plan(drivers, PROFILE, () if areas else ENTRIES, areas, stop_at_first=stop), seen.append)
    return [e for e in seen if isinstance(e, Result)]


@pytest.mark.parametrize(
    "kind", ["right", "wrong", "crash", "flaky", "no-features", "raises", "exits", "shape", "no-array"]
)
def test_batches_have_the_verdicts_of_single_runs(fakes: ModuleType, kind: str) -> None:
    single = {r.name: r.verdict for r in results(f"fake:{kind}")}
    if kind in ("raises", "exits"):  # One by one, that is: a batch that raises owes one outcome.
        assert {r.verdict for r in results(f"fake:{kind},batch=well")} == {Verdict.ERROR}
    else:
        assert {r.name: r.verdict for r in results(f"fake:{kind},batch=well")} == single


def test_results_are_grouped_by_case(fakes: ModuleType) -> None:
    found = results("fake:right,batch=well", "fake:wrong")
    assert [r.name for r in found[::2]] == [r.name for r in found[1::2]] == [e.name for e in ENTRIES]
    assert [r.verdict for r in found] == [Verdict.PASS, Verdict.FAIL] * len(ENTRIES)


@pytest.mark.parametrize(
    ("ends", "where", "words"),
    [
        ("raises", 7, "none does it alone: RuntimeError: the batch has a bug"),
        ("short", 7, "2 outcomes of 8 cases"),
        ("long", 7, "more outcomes than the 8 cases"),
    ],
)
def test_a_batch_that_breaks_off_costs_one_verdict(fakes: ModuleType, ends: str, where: int, words: str) -> None:
    opened = open_driver(f"fake:right,batch={ends}")
    judged = judge_all([load_case(e.path) for e in ENTRIES], [opened], registry.oracle().expect)
    verdicts = [j.attempts[0].verdict for j in judged]
    expected = [Verdict.PASS] * 8
    expected[where] = Verdict.ERROR
    assert verdicts == expected
    assert words in judged[where].attempts[0].detail


class Choosy:
    """Takes all cases at once, and raises at one of them, together or alone."""

    name = "choosy"
    own_process, restarts = False, 0

    def __init__(self, right: Callable[[Job], Any], bad: str) -> None:
        self.right, self.bad = right, bad

    def capabilities(self) -> Capabilities:
        return everything()

    def run(self, job: Job) -> Outcome:
        if job.case.name == self.bad:
            raise RuntimeError("this case is too much for it")
        return Outcome(Status.DONE, self.right(job))

    def run_many(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        return iter([self.run(job) for job in list(jobs)])

    def close(self) -> None:
        """Nothing to release."""


def test_a_batch_that_raises_names_the_case_that_raises(fakes: ModuleType) -> None:
    cases = [load_case(e.path) for e in ENTRIES]
    opened = OpenDriver("choosy", Choosy(fakes.right, cases[5].name), everything())
    judged = judge_all(cases, [opened], registry.oracle().expect)
    assert [j.attempts[0].verdict is Verdict.ERROR for j in judged] == [i == 5 for i in range(8)]
    first, second = judged[5].attempts[0].detail.splitlines()
    assert first == "RuntimeError: this case is too much for it"
    assert second.endswith(", in run") and "test_batch.py" in second


@pytest.mark.parametrize("kind", ["right", "wrong", "crash", "flaky", "says-unsupported", "wrong-after"])
def test_generated_cases_in_blocks(fakes: ModuleType, kind: str) -> None:
    """Verdict, number of examples until the finding, and the shrunk case are those of single runs."""
    (single,) = results(f"fake:{kind}", areas=("fake_area",))
    (batched,) = results(f"fake:{kind},batch=well", areas=("fake_area",))
    assert (batched.verdict, batched.examples, batched.unsupported) == (
        single.verdict,
        single.examples,
        single.unsupported,
    )
    if kind != "flaky":  # Which case fails at its first run depends on how many have had theirs.
        assert (batched.finding and batched.finding.case.program) == (single.finding and single.finding.case.program)


def test_generated_cases_come_in_blocks(fakes: ModuleType) -> None:
    opened = open_driver("fake:right,batch=well")
    area = fakes.fake_area(opened.capabilities)
    run_area("fake_area", [opened], registry.oracle(), PROFILE)
    blocks = opened.driver.blocks  # type: ignore[attr-defined]
    different = {case.content_hash for case in drawn(area, PROFILE)}
    assert len(blocks) == 3 and max(map(len, blocks)) <= 64 and sum(map(len, blocks)) == len(different)


def test_a_run_that_stops_at_its_first_finding_sends_nothing_ahead(fakes: ModuleType) -> None:
    found = results("fake:wrong,batch=well", stop=True)
    assert [r.verdict for r in found] == [Verdict.FAIL] + [Verdict.NOT_RUN] * 7
