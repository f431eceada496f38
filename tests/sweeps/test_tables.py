"""Tables of sweeps: every set reads the contents that it has itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cts.case.model import initial_memory
from cts.case.model.sweep import Sweep
from cts.device.driver import Status, SweepJob
from cts.judging.compare import compare
from cts.plugins import registry
from cts.reference import ORACLE
from cts.spirv.lower import sweep_job
from tests.case_builder import corpus_case
from tests.reference.sweeps import assert_as_by_case

SETS = 5


def contents() -> dict[str, Any]:
    """A sweep of a case whose table, and whose matrix, differ from set to set."""
    rng = np.random.default_rng(3)
    return {
        "biases": rng.integers(-1000, 1000, (SETS, 4 * 16), np.int32).view(np.uint8),
        "places": rng.integers(0, 4, (SETS, 16), np.uint32).view(np.uint8),
    }


@pytest.fixture
def sweep() -> Sweep:
    case = corpus_case("per_element.tables.through_a_table")
    return Sweep(case, np.zeros((SETS, 0), np.uint32), contents())


def wrong(sweep: Sweep, memory: dict[str, Any]) -> list[int]:
    """The sets whose windows hold what the oracle does not allow."""
    found = []
    for n in range(SETS):
        case = sweep.case(n)
        own = initial_memory(case)
        for name, windows in sweep.windows.items():
            own[name][1024:-1024] = windows.contents(memory[name])[n]
        if compare(case, ORACLE.expect(case), own):
            found.append(n)
    return found


def test_modules_read_the_window_of_their_set(sweep: Sweep) -> None:
    interpreter: Any = registry.driver("interpreter")
    outcome = interpreter.run_module(sweep_job(sweep, sweep.memory(), interpreter.capabilities().subgroup_size))
    assert outcome.status is Status.DONE
    assert wrong(sweep, outcome.memory) == []


def test_the_emulator_reads_the_window_of_each_set(sweep: Sweep) -> None:
    emulator: Any = registry.driver("emulator")
    memory = sweep.memory()
    (outcome,) = emulator.run_sweeps([SweepJob(sweep, memory, lambda: pytest.fail("the emulator takes no module"))])
    assert outcome.status is Status.DONE
    assert wrong(sweep, outcome.memory) == []


def test_the_oracle_judges_sets_together_as_one_by_one(sweep: Sweep) -> None:
    rows = sweep.data["places"].copy()
    # Element 64 + col is outside: of the 4 rows of biases there is no fifth.
    rows.view(np.uint32)[2, 7] = 4
    swept = assert_as_by_case(replace(sweep, data={**sweep.data, "places": rows}))
    assert swept.valid.tolist() == [0, 1, 3, 4]
    assert [(e.violation.rule, e.sets.tolist()) for e in swept.exclusions] == [("TA-069", [2])]
