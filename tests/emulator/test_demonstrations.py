"""Small cases whose expected memory is written by hand, and the mutants that each of them finds.

demonstrations/*.yaml: `expected` lists the numbers in a buffer after the run; buffers not listed,
and every guard byte, must be as they were. `kills` names mutants that must not get that far. Where
`inexact` is true, that is what the emulator leaves without options; variants are judged by the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
import pytest
import yaml  # noqa: TID251

from cts.case.model import GUARD_BYTES, AnyInstruction, Case, encode, initial_memory, loads_case
from cts.device.driver import Driver, Job, Outcome, Status
from cts.drivers.emulator import create
from cts.judging.compare import compare
from cts.plugins import registry

MAX_INSTRUCTIONS = 9


@dataclass(frozen=True)
class Demonstration:
    case: Case
    expected: dict[str, Any]
    kills: tuple[str, ...]
    inexact: bool


@cache
def demonstrations() -> dict[str, Demonstration]:
    found = {}
    for path in sorted((Path(__file__).parent / "demonstrations").glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text())["demonstrations"]:
            expected, kills, inexact = entry.pop("expected"), entry.pop("kills"), entry.pop("inexact", False)
            # JSON is YAML without the aliases that a case may not have.
            case = loads_case(msgspec.json.encode({"schema": 1, **entry}).decode(), f"{path.name}: {entry['name']}")
            assert case.name not in found, f"two demonstrations are named {case.name}"
            found[case.name] = Demonstration(case, expected, tuple(kills), inexact)
    return found


def kills() -> list[tuple[str, str]]:
    """The mutants and the demonstrations that show them."""
    return [(mutant, name) for name, d in demonstrations().items() for mutant in d.kills]


def run(driver: Driver, case: Case) -> Outcome:
    def module() -> Any:
        raise AssertionError("the emulator runs cases, not modules")

    return driver.run(Job(case, initial_memory(case), module))


@cache
def expected_memory(name: str) -> dict[str, Any]:
    demonstration = demonstrations()[name]
    memory = initial_memory(demonstration.case)
    for buffer, numbers in demonstration.expected.items():
        contents = encode(demonstration.case.buffers[buffer].type, numbers).view(np.uint8)
        memory[buffer][GUARD_BYTES:-GUARD_BYTES] = contents
    return memory


def differing(name: str, outcome: Outcome) -> list[str]:
    """The buffers that are not as expected, guard bytes included."""
    return [b for b, data in expected_memory(name).items() if not np.array_equal(outcome.memory[b], data)]


@pytest.mark.family("name", demonstrations, parts=6)
def test_expected_memory(name: str) -> None:
    outcome = run(create({}), demonstrations()[name].case)
    assert outcome.status is Status.DONE, outcome.detail
    assert differing(name, outcome) == []


@pytest.mark.parametrize("variant", [v.name for v in create.variants()])
def test_every_variant_gives_the_expected_memory(variant: str) -> None:
    driver = registry.driver(f"emulator:{variant}")
    for name, demonstration in demonstrations().items():
        if demonstration.case.dispatch.subgroup_size not in (None, driver.capabilities().subgroup_size):
            continue  # a variant of another size has no such case
        outcome = run(driver, demonstration.case)
        assert outcome.status is Status.DONE, (name, outcome.detail)
        if demonstration.inexact:
            assert compare(demonstration.case, registry.oracle().expect(demonstration.case), outcome.memory) is None, (
                name
            )
        else:
            assert differing(name, outcome) == [], name


@pytest.mark.family(("mutant", "name"), kills, parts=8)
def test_mutant_is_seen(mutant: str, name: str) -> None:
    outcome = run(create({"mutant": mutant}), demonstrations()[name].case)
    assert outcome.status is Status.CRASH or differing(name, outcome)


def test_every_mutant_has_a_demonstration() -> None:
    assert sorted(m.name for m in create.mutants()) == sorted(mutant for mutant, _ in kills())


@pytest.mark.family("name", demonstrations, parts=6)
def test_demonstrations_are_minimal(name: str) -> None:
    assert len(demonstrations()[name].case.program) <= MAX_INSTRUCTIONS


@pytest.mark.family("name", demonstrations, parts=6)
def test_oracle_agrees(name: str) -> None:
    case, oracle = demonstrations()[name].case, registry.oracle()
    assert oracle.violations(case) == []
    expectation = oracle.expect(case)
    assert compare(case, expectation, expected_memory(name)) is None
    for matrix, bits in run(create({}), case).matrices.items():
        spread = expectation.spreads.get(matrix)
        certain = np.ones(bits.shape, bool) if spread is None else (spread.lo == spread.hi) & (spread.flags == 0)
        np.testing.assert_array_equal(bits[certain], expectation.matrices[matrix][certain], matrix)


@pytest.mark.family(("mutant", "name"), kills, parts=8)
def test_oracle_rejects_mutant(mutant: str, name: str) -> None:
    case = demonstrations()[name].case
    outcome = run(create({"mutant": mutant}), case)
    assert outcome.status is Status.CRASH or compare(case, registry.oracle().expect(case), outcome.memory)


def test_every_instruction_is_demonstrated() -> None:
    used = {type(instruction) for d in demonstrations().values() for instruction in d.case.program}
    assert used == set(get_args(AnyInstruction))
