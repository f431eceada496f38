"""A form in which addresses are loaded from a buffer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.case.model import initial_memory
from cts.device.driver import Status
from cts.drivers.interpreter import Interpreter
from cts.spirv.decode import decode
from cts.spirv.forms import formed_job
from cts.spirv.lower import module_job
from cts.spirv.tools import validate
from tests.case_builder import corpus_case

PHYSICAL = "matrix_memory.storage.physical"


@pytest.mark.parametrize("name", [PHYSICAL, "per_element.extras.pointers", "vector_arithmetic.memory.physical"])
@pytest.mark.parametrize("forms", [("addresses",), ("addresses", "descriptors", "offsets", "ids")])
def test_addresses_are_loaded_and_lead_to_the_same(name: str, forms: tuple[str, ...]) -> None:
    case = corpus_case(name)
    plain = module_job(case, initial_memory(case), 32)
    job = formed_job(plain, forms, 1)
    assert plain.push_addresses and not job.push_addresses and not job.push_constants
    assert [a.of for a in job.buffers["$addresses"].addresses] == [a.of for a in plain.push_addresses]
    assert not any("PushConstant" in i.values for i in decode(job.words))
    assert not validate(job.words)
    before, after = Interpreter().run_module(plain), Interpreter().run_module(job)
    assert before.status is after.status is Status.DONE
    assert all((after.memory[b] == before.memory[b]).all() for b in plain.buffers)


def test_a_module_without_addresses_stays_as_it_is() -> None:
    case = corpus_case("matrix_memory.strided.padded_store")
    plain = module_job(case, initial_memory(case), 32)
    job = formed_job(plain, ["addresses"], 1)
    assert job.buffers.keys() == plain.buffers.keys()
    assert (job.words == plain.words).all()


def test_the_name_and_the_place_are_free() -> None:
    case = corpus_case(PHYSICAL)
    plain = module_job(case, initial_memory(case), 32)
    taken = replace(plain, buffers={**plain.buffers, "$addresses": next(iter(plain.buffers.values()))})
    for seed in range(5):
        job = formed_job(taken, ["addresses"], seed)
        assert set(job.buffers) - set(taken.buffers) == {"$addresses0"}
        assert len(job.bindings) == len(taken.bindings) + 1
