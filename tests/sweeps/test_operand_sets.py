"""`cts run --sets`: a generated case with other numbers in its operands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cts.judging.events import Event, Result
from cts.model import Loop, dynamic_words, dynamics
from cts.plugins import registry
from cts.running import runner
from cts.running.drawing import Undrawn, example
from cts.running.operand_sets import ITERATIONS, ROUNDS, parameter_sets
from cts.running.profiles import profile
from cts.running.runner import Plan
from cts.spirv.lower.structure import structure_of
from cts.store import Manifest, create, load, resume
from cts.verdict import Verdict
from tests.cli.command_line import Cts

CAPABILITIES = registry.driver("interpreter").capabilities()
MUTANT = "emulator:mutant=clip-row-end-inclusive"


def results(plan: Plan) -> list[Result]:
    events: list[Event] = []
    runner.run(plan, events.append)
    return [e for e in events if isinstance(e, Result)]


@pytest.mark.parametrize("area", ["tensor_addressing", "matrix_memory", "vector_multiply"])
def test_sets_change_nothing_but_words(area: str) -> None:
    source = registry.area(area)(CAPABILITIES)
    found = 0
    for number in range(1, 31):
        case = example(source, 3, number)
        given = parameter_sets(source, 3, number, case, 20)  # type: ignore[arg-type]
        assert given is None or any(dynamics(case))  # type: ignore[arg-type]
        if given is None:
            continue
        found += len(given.words)
        assert len(given.words) == len(np.unique(given.words, axis=0)) <= ROUNDS * 20
        assert not (given.words == dynamic_words(case)).all(axis=1).any()  # type: ignore[arg-type]
        sweep = given.sweep(np.arange(len(given.words)))
        assert {structure_of(sweep.case(i)) for i in range(len(sweep))} == {structure_of(case)}  # type: ignore[arg-type]
        again = parameter_sets(source, 3, number, case, 20)  # type: ignore[arg-type]
        assert again is not None and (again.words == given.words).all()
    assert found > 5


def test_no_loop_is_made_long() -> None:
    """A device that misses a Break goes through all of a loop's count."""
    source = registry.area("matrix_programs")(CAPABILITIES)
    found = 0
    for number in range(1, 80):
        case = example(source, 3, number)
        assert not isinstance(case, Undrawn)
        given = parameter_sets(source, 3, number, case, 8)
        counts = [
            n for n, (i, path, _) in enumerate(dynamics(case)) if isinstance(case.program[i], Loop) and path == "count"
        ]
        if given is not None and counts:
            found += 1
            assert (given.words[:, counts] <= ITERATIONS).all()
    assert found > 3


def test_a_bug_that_the_examples_pass_over_is_found_with_sets() -> None:
    (without,) = results(Plan((MUTANT,), profile("default", 6, 1), areas=("tensor_addressing",)))
    (found,) = results(Plan((MUTANT,), profile("default", 6, 1, sets=40), areas=("tensor_addressing",)))
    assert (without.verdict, without.sets) == (Verdict.PASS, 0)
    assert found.verdict is Verdict.FAIL and found.sets > 0 and found.finding is not None
    assert len(found.finding.case.program) < 10


def test_processes_and_a_resumed_run_have_the_same_sets(tmp_path: Path) -> None:
    plan = Plan(("interpreter",), profile("default", 12, 2, sets=10), areas=("tensor_addressing",))
    (one,) = results(plan)
    (two,) = results(Plan(("interpreter",), plan.profile, areas=plan.areas, jobs=2))
    assert one.sets == two.sets > 10
    folder = create(tmp_path, Manifest.from_plan(plan, "cts run", ["cts", "run"]))
    folder.close()
    folder, again = resume(folder.path)
    runner.run(again, folder)
    folder.close()
    assert load(folder.path).results[0].sets == one.sets


def test_the_summary_counts_sets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cts = Cts(monkeypatch, capsys, tmp_path)
    ran = cts("run", "-d", "interpreter", "--area", "tensor_addressing", "--no-corpus", "--max-examples", "4", "--seed",
              "2", "--sets", "10")  # fmt: skip
    assert ran.status == 0 and " sets" in ran.out
    assert cts("run", "-d", "interpreter", "--sets", "-1").status == 2
