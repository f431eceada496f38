"""The corpus on the drivers of this repository: both agree with the oracle, and every mutant is found."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import cts.cases
from cts import registry
from cts.compare import compare
from cts.driver import Job, Outcome, Status
from cts.drivers import emulator
from cts.expectation import Expectation
from cts.model import Case, initial_memory, load_case
from cts.spirv.lower import module_job

CASES: dict[str, Case] = {c.name: c for c in map(load_case, sorted(Path(cts.cases.__file__).parent.rglob("*.yaml")))}
VARIANTS = [f"emulator:{v.name}" for v in emulator.create.variants()]


@cache
def expected(name: str) -> Expectation:
    return registry.oracle().expect(CASES[name])


def outcome(spec: str, name: str) -> Outcome:
    driver, case = registry.driver(spec), CASES[name]
    memory, subgroup_size = initial_memory(case), driver.capabilities().subgroup_size
    return driver.run(Job(case, memory, lambda: module_job(case, memory, subgroup_size)))


def disagrees(spec: str, name: str) -> bool:
    result = outcome(spec, name)
    return result.status is not Status.DONE or compare(CASES[name], expected(name), result.memory) is not None


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("driver", ["emulator", "interpreter"])
def test_driver_agrees_with_the_oracle(driver: str, name: str) -> None:
    result = outcome(driver, name)
    assert result.status is Status.DONE, result.detail
    assert compare(CASES[name], expected(name), result.memory) is None


@pytest.mark.parametrize("variant", VARIANTS)
def test_variant_agrees_with_the_oracle(variant: str) -> None:
    assert [name for name in CASES if disagrees(variant, name)] == []


@pytest.mark.parametrize("mutant", [m.name for m in emulator.create.mutants()])
def test_corpus_finds_the_mutant(mutant: str) -> None:
    """A bug that somebody could think of deserves a case that stays, not only a lucky draw."""
    assert any(disagrees(f"emulator:mutant={mutant}", name) for name in CASES)
