"""`cts run --sets`: a generated case with other numbers in its operands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cts.case.model import Case, Loop, MatrixLoadTensor, case_dynamic_operands, dynamic_words, initial_bits, written
from cts.judging.events import Event, Result
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import runner
from cts.running.drawing import Draws, Undrawn
from cts.running.operand_sets import ITERATIONS, ROUNDS, Given, parameter_sets
from cts.running.plan import Plan
from cts.running.profiles import profile
from cts.running.store import Manifest, create, load, resume
from cts.spirv.lower.structure import structure_of
from tests.cli.command_line import Cts

CAPABILITIES = registry.driver("interpreter").capabilities()
MUTANT = "emulator:mutant=clip-row-end-inclusive"


def results(plan: Plan) -> list[Result]:
    events: list[Event] = []
    runner.run(plan, events.append)
    return [e for e in events if isinstance(e, Result)]


def with_sets(area: str, examples: int, count: int) -> Iterator[tuple[int, Case, Given | None]]:
    """The first examples of an area by their numbers, and so many parameter sets of each."""
    source = registry.area(area)(CAPABILITIES)
    for number in range(1, examples + 1):
        case = Draws(source, 3).example(number)
        assert not isinstance(case, Undrawn)
        yield number, case, parameter_sets(Draws(source, 3), number, case, count)


@pytest.mark.parametrize(
    "area", ["tensor_addressing", "matrix_memory", "vector_multiply", "block_loads", "per_element"]
)
def test_sets_change_nothing_but_words_and_the_order_of_what_is_loaded(area: str) -> None:
    words = orders = 0
    # Of vector products most have conversions, which sets do not change.
    for number, case, given in with_sets(area, 60 if area == "vector_multiply" else 30, 20):
        if given is None:
            late = any(buffer.begins_at for buffer in case.buffers.values())
            assert late or case.opaque or case.conversions or case.robustness or not any(case_dynamic_operands(case))
            continue
        assert not any(buffer.begins_at for buffer in case.buffers.values())
        assert len(given) <= ROUNDS * 20
        own = (given.words == dynamic_words(case)).all(axis=1)
        words, orders = words + int((~own).sum()), orders + int((given.orders > 0).sum())
        assert not (own & (given.orders == 0)).any()
        assert len({(row.tobytes(), order) for row, order in zip(given.words, given.orders, strict=True)}) == len(given)
        sweep = given.sweep(np.arange(len(given)))
        assert {structure_of(sweep.case(i)) for i in range(len(sweep))} == {structure_of(case)}
        for name, rows in sweep.data.items():
            elements = rows.view(case.buffers[name].type.bits_dtype)
            assert (np.sort(elements) == np.sort(initial_bits(case.buffers[name]))).all()
            assert name not in written(case)
        again = parameter_sets(Draws(registry.area(area)(CAPABILITIES), 3), number, case, 20)
        assert again is not None and (again.words == given.words).all() and (again.orders == given.orders).all()
    assert words > 5 and orders > 100


def test_blocks_and_tables_stay_as_they_are() -> None:
    decoded = 0
    for _, case, given in with_sets("block_loads", 30, 4):
        blocks = {i.buffer for i in case.program if isinstance(i, MatrixLoadTensor) and i.decode is not None}
        if given is not None:
            decoded += len(blocks)
            assert blocks.isdisjoint(given.data_buffers)
    assert decoded > 10


def test_large_buffers_have_few_sets() -> None:
    source = registry.area("tensor_addressing")(CAPABILITIES)
    large = [
        (number, case)
        for number in range(1, 150)
        if isinstance(case := Draws(source, 2).example(number), Case)
        and sum(b.size for b in case.buffers.values()) > 1 << 24
        and not case.robustness
    ]
    given = [sets for number, case in large if (sets := parameter_sets(Draws(source, 2), number, case, 64)) is not None]
    assert given and max(map(len, given)) <= 2


def test_no_loop_is_made_long() -> None:
    """A device that misses a Break goes through all of a loop's count."""
    found = 0
    for _, case, given in with_sets("matrix_programs", 79, 8):
        counts = [
            n
            for n, (i, path, _) in enumerate(case_dynamic_operands(case))
            if isinstance(case.program[i], Loop) and path == "count"
        ]
        if given is not None and counts:
            found += 1
            assert (given.words[:, counts] <= ITERATIONS).all()
    assert found > 3


def test_a_bug_that_the_examples_pass_over_is_found_with_sets() -> None:
    mutant = ("emulator:mutant=high-bound-inclusive",)
    (without,) = results(Plan(mutant, profile("default", 6, 13), areas=("tensor_addressing",)))
    (found,) = results(Plan(mutant, profile("default", 6, 13, sets=300), areas=("tensor_addressing",)))
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
