"""Bugs of every area: the explanation of a failing case names the instruction and lists the fact that is broken."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from cts.drivers.emulator.mutants.catalogue import mutants
from cts.features.instructions import INSTRUCTIONS
from cts.findings.explain import explain
from cts.findings.explain.model import INSTRUMENTED, MEMORY
from cts.running.opening import open_driver
from cts.showing.report.html import page_of_failure
from tests.case_builder import corpus_case
from tests.explain.drivers import ORACLE, device

TABLE = Path(__file__).with_name("mutants.txt")
CAUSES = Path(__file__).with_name("causes.txt")

#: Those of addressing whose wrong elements are not read elsewhere: a value, and what is stored wrongly or not at all.
UNREAD = {"clamp-value-zero", "clip-width-remaining", "store-repeat-wraps", "order-ignored-on-store"}

MUTANTS = [tuple(line.split()) for line in TABLE.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]


def test_the_table_is_of_all_areas() -> None:
    areas = Counter(case.partition(".")[0] for _, case, _, _, _ in MUTANTS)
    assert len(MUTANTS) >= 40
    assert len({mutant for mutant, *_ in MUTANTS}) == len(MUTANTS)
    assert {
        "tensor_addressing", "matrix_memory", "matrix_arithmetic", "conversions", "reductions", "per_element",
        "block_loads", "matrix_programs", "vector_arithmetic", "vector_multiply", "vector_training",
        "vector_conversions",
    } == set(areas)  # fmt: skip


@pytest.mark.parametrize(("mutant", "name", "op", "fact", "before"), MUTANTS, ids=[m[0] for m in MUTANTS])
def test_the_instruction_and_the_fact(mutant: str, name: str, op: str, fact: str, before: str) -> None:
    found = explain(corpus_case(name), open_driver(f"emulator:mutant={mutant}"), ORACLE)
    assert found.op == op
    assert fact in found.facts[: int(before) + 1]
    assert found.suspects[0].why
    if found.instruction is not None:
        assert type(corpus_case(name).program[found.instruction]).__name__ == op
    page = page_of_failure(corpus_case(name), found, ORACLE)
    heading = re.search(r'<h2 id="what">(.*?)</h2>', page)
    assert heading is not None and re.sub("<[^>]*>", "", heading[1]) == f"{op}: {found.facts[0]}"
    if name.startswith("tensor_addressing.") and found.wrong:
        assert set(re.findall(r'data-mark="(\w+)"', page)) & {"wrong", "untouched"}
        assert ('data-mark="instead"' in page) == (mutant not in UNREAD)


def test_every_mutant_has_a_cause_of_known_instructions_and_facts() -> None:
    rows = [line.split() for line in CAUSES.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert [row[0] for row in rows] == [m.name for m in mutants()]
    page = (Path(__file__).parents[2] / "docs" / "facts.md").read_text(encoding="utf-8")
    facts = set(re.findall(r"^\| ([A-Z]{2}-\d{3}b?) ", page, re.M))
    for name, kind, ops, broken in rows:
        assert kind in ("address", "value", "flow"), name
        assert set(ops.split("|")) <= {*INSTRUCTIONS, "conversions", "*"}, name
        for fact in broken.split("|"):
            assert [f for f in facts if f == fact or (fact.endswith("*") and f.startswith(fact[:-1]))], (name, fact)


def test_the_first_fact_is_the_right_one_of_most() -> None:
    assert sum(before == "0" for *_, before in MUTANTS) >= 37


#: A few that say the same of a device, which shows nothing but memory.
ON_DEVICES = [m for m in MUTANTS if m[0] in {
    "slice-replaces-offset", "perm-inverse", "clip-width-remaining", "copy-array-neighbour", "mul-add-c-dropped",
    "transpose-within-tiles", "extra-matrices-swapped", "if-inverted", "convert-in-place", "vector-bias-ignored",
    "reduce-sum-tail-dropped", "conversion-ties-away",
}]  # fmt: skip


@pytest.mark.parametrize(("mutant", "name", "op", "fact"), [m[:4] for m in ON_DEVICES], ids=[m[0] for m in ON_DEVICES])
def test_the_same_of_a_device(mutant: str, name: str, op: str, fact: str) -> None:
    found = explain(corpus_case(name), device(mutant), ORACLE)
    assert found.op == op
    assert fact in found.facts
    assert found.how in (INSTRUMENTED, MEMORY)
