"""The corpus on the drivers of this repository: both agree with the oracle, and every mutant is found."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from cts.case.oracle.expectation import Expectation
from cts.device.driver import Described
from cts.drivers import emulator
from cts.judging.judge import Attempt, OpenDriver, judge
from cts.judging.verdict import Verdict
from cts.plugins import registry
from tests.case_builder import corpus_cases

CASES = corpus_cases()
VARIANTS = [f"emulator:{v.name}" for v in emulator.create.variants()]


@cache
def expected(name: str) -> Expectation:
    return registry.oracle().expect(CASES[name])


@cache
def opened(spec: str) -> OpenDriver:
    driver = registry.driver(spec)
    return OpenDriver(spec, driver, driver.capabilities())


def attempt(spec: str, name: str) -> Attempt:
    return judge(opened(spec), CASES[name], expected(name))


def findings(spec: str, names: Iterable[str] = CASES) -> Iterator[str]:
    """The cases that a driver does not pass."""
    return (name for name in names if attempt(spec, name).verdict is not Verdict.PASS)


def stems(text: str) -> frozenset[str]:
    """How the words of a text begin: "conversion" and "conversions" are one."""
    return frozenset(word[:5] for word in re.findall("[a-z0-9]{3,}", text.lower()))


@cache
def vocabulary() -> tuple[dict[str, frozenset[str]], Counter[str]]:
    """The stems of each case's name and description, and in how many cases each occurs."""
    by_name = {name: stems(f"{name} {case.description}") for name, case in CASES.items()}
    return by_name, Counter(stem for found in by_name.values() for stem in found)


def likeliest_first(mutant: Described) -> list[str]:
    """All cases, those first that are called like the mutant: only the time to the first finding depends on it."""
    by_name, count = vocabulary()
    wanted = stems(f"{mutant.name} {mutant.area} {mutant.description}")
    score = {name: sum(math.log(len(CASES) / count[s]) for s in wanted & found) for name, found in by_name.items()}
    return sorted(CASES, key=score.__getitem__, reverse=True)


@pytest.mark.family("name", CASES)
@pytest.mark.parametrize("driver", ["emulator", "interpreter"])
def test_driver_agrees_with_the_oracle(driver: str, name: str) -> None:
    result = attempt(driver, name)
    assert result.verdict is Verdict.PASS, f"{result.detail} {result.divergence}"


@pytest.mark.parametrize("variant", VARIANTS)
def test_variant_agrees_with_the_oracle(variant: str) -> None:
    """Cases that name another size of subgroups are not for it."""
    listed = opened(variant).capabilities
    others = {n for n, case in CASES.items() if case.dispatch.subgroup_size not in (None, listed.subgroup_size)}
    assert len(others) < 20 and all(listed.missing(CASES[name]) for name in others)
    assert list(findings(variant, CASES.keys() - others)) == []


@pytest.mark.family("mutant", emulator.create.mutants(), ids=lambda mutant: mutant.name)
def test_corpus_finds_the_mutant(mutant: Described) -> None:
    """A bug that somebody could think of deserves a case that stays, not only a lucky draw."""
    assert any(findings(f"emulator:mutant={mutant.name}", likeliest_first(mutant)))
