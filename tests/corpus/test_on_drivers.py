"""The corpus on the drivers of this repository: both agree with the oracle, and every mutant is found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import cts.cases
from cts.drivers import emulator
from cts.judging.judge import Attempt, OpenDriver, judge
from cts.model import Case, load_case
from cts.oracle.expectation import Expectation
from cts.plugins import registry
from cts.verdict import Verdict

CASES: dict[str, Case] = {c.name: c for c in map(load_case, sorted(Path(cts.cases.__file__).parent.rglob("*.yaml")))}
VARIANTS = [f"emulator:{v.name}" for v in emulator.create.variants()]


@cache
def expected(name: str) -> Expectation:
    return registry.oracle().expect(CASES[name])


def attempt(spec: str, name: str) -> Attempt:
    driver = registry.driver(spec)
    return judge(OpenDriver(spec, driver, driver.capabilities()), CASES[name], expected(name))


def findings(spec: str) -> Iterator[str]:
    """The cases that a driver does not pass."""
    return (name for name in CASES if attempt(spec, name).verdict is not Verdict.PASS)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("driver", ["emulator", "interpreter"])
def test_driver_agrees_with_the_oracle(driver: str, name: str) -> None:
    result = attempt(driver, name)
    assert result.verdict is Verdict.PASS, f"{result.detail} {result.divergence}"


@pytest.mark.parametrize("variant", VARIANTS)
def test_variant_agrees_with_the_oracle(variant: str) -> None:
    assert list(findings(variant)) == []


@pytest.mark.parametrize("mutant", [m.name for m in emulator.create.mutants()])
def test_corpus_finds_the_mutant(mutant: str) -> None:
    """A bug that somebody could think of deserves a case that stays, not only a lucky draw."""
    assert any(findings(f"emulator:mutant={mutant}"))
