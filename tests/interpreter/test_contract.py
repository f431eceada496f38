"""Rules on values at run time: each is named where a module breaks it, and no module that keeps it is accused."""

from __future__ import annotations

import pytest

from cts.case.model import initial_memory, load_case
from cts.device.driver import Status
from cts.drivers.interpreter import Interpreter
from cts.running import corpus
from cts.spirv.lower import module_job
from tests.interpreter.contract_modules import PAIRS, Pair

CHECKED = Interpreter(check=frozenset({"contract"}))


def test_there_are_enough_kinds() -> None:
    assert len({pair.name for pair in PAIRS}) == len(PAIRS) >= 60


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_pairs(pair: Pair) -> None:
    broken = pair.run(pair.wrong, CHECKED)
    assert broken.fault is not None and broken.fault.code in ("misuse", "uninitialised", "out-of-bounds"), broken.detail
    assert [said for said in pair.says if said not in broken.detail] == [], broken.detail
    kept = pair.run(pair.right, CHECKED)
    assert kept.status is Status.DONE, kept.detail


def test_no_case_of_the_corpus_is_accused() -> None:
    """One case of every topic: none of them breaks a rule."""
    entries, _ = corpus.select([])
    topics = {entry.name.rsplit(".", 1)[0]: entry for entry in entries}
    for entry in topics.values():
        case = load_case(entry.path)
        outcome = CHECKED.run_module(module_job(case, initial_memory(case), case.dispatch.subgroup_size or 32))
        assert (outcome.status, outcome.trace) == (Status.DONE, ()), f"{entry.name}: {outcome.detail}"
