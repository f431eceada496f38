"""Every generated case lowers to a valid module: `lower` raises where spirv-val refuses it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cts.base.choices import strategy
from cts.case.model import Case, case_dynamic_operands, initial_memory
from cts.device.capabilities import everything
from cts.plugins.registry import area, names
from cts.spirv.lower import PARAMETERS, module_job


@pytest.mark.parametrize("name", names("cts.areas"))
def test_generated_cases_validate(name: str) -> None:
    @settings(max_examples=100, derandomize=True, deadline=None, database=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        validates(data.draw(cases))

    cases = strategy(area(name)(everything()))
    check()


def validates(case: Case) -> None:
    memory = initial_memory(case)
    job = module_job(case, memory, 32)
    parameters = {PARAMETERS} if any(case_dynamic_operands(case)) else set()
    assert job.buffers.keys() == memory.keys() | parameters
    bound = set(job.bindings.values()) | {a.of for a in job.push_addresses}
    converted = {place.of for c in job.conversions for place in (c.source, c.destination)}
    assert bound <= job.buffers.keys() | job.opaque.keys()
    assert (job.buffers.keys() | job.opaque.keys()) - bound <= converted
