"""Every instruction that there is has a test."""

from __future__ import annotations

from cts.drivers.amd import isa
from cts.drivers.amd.registry import INSTRUCTIONS
from tests.amd import (
    test_compute_instructions,
    test_flow,
    test_lds_instructions,
    test_memory_instructions,
    test_packed_instructions,
    test_products,
    test_rdna3_instructions,
    test_scalar_instructions,
    test_vector_instructions,
)
from tests.amd.tables import mnemonics

#: Modules whose `CASES` are all run.
TABLES = (
    test_compute_instructions,
    test_flow,
    test_lds_instructions,
    test_memory_instructions,
    test_packed_instructions,
    test_products,
    test_rdna3_instructions,
    test_scalar_instructions,
    test_vector_instructions,
)


def test_every_instruction_has_a_test() -> None:
    isa.load()
    tested: set[str] = set().union(*(mnemonics(case) for module in TABLES for case in module.CASES))
    assert sorted(INSTRUCTIONS.keys() - tested) == []


def test_every_case_runs_an_instruction() -> None:
    for module in TABLES:
        assert all(mnemonics(case) for case in module.CASES), module.__name__
