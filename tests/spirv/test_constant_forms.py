"""A form in which the module has the values of specialization constants."""

from __future__ import annotations

import pytest

from cts.case.model import initial_memory
from cts.device.driver import Status
from cts.drivers.interpreter import Interpreter
from cts.spirv.decode import decode
from cts.spirv.forms import formed_job
from cts.spirv.lower import module_job
from cts.spirv.tools import validate
from tests.case_builder import corpus_case

#: Numbers of several types, a workgroup's size, and constants that others are computed from.
NAMES = ["per_element.extras.structures", "per_element.extras.vectors", "matrix_memory.dispatch.size_constant"]


@pytest.mark.parametrize("forms", [("constants",), ("constants", "variables", "order", "groups", "ids")])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_in_the_module(name: str, forms: tuple[str, ...]) -> None:
    case = corpus_case(name)
    plain = module_job(case, initial_memory(case), 32)
    job = formed_job(plain, forms, 1)
    assert plain.spec_constants and not job.spec_constants
    assert "SpecId" in {v for i in decode(plain.words) for v in i.values}
    assert "SpecId" not in {v for i in decode(job.words) for v in i.values}
    assert not validate(job.words)
    before, after = Interpreter().run_module(plain), Interpreter().run_module(job)
    assert before.status is after.status is Status.DONE, after.detail
    assert all((after.memory[b] == before.memory[b]).all() for b in plain.buffers)


def test_a_module_without_specialization_constants_stays_as_it_is() -> None:
    case = corpus_case("matrix_memory.strided.padded_store")
    plain = module_job(case, initial_memory(case), 32)
    assert not plain.spec_constants
    assert (formed_job(plain, ["constants"], 1).words == plain.words).all()
