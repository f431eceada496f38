"""Every generated case lowers to a valid module: `lower` raises where spirv-val refuses it."""

from hypothesis import given, settings

from cts.capabilities import everything
from cts.generators.tensor_addressing import cases
from cts.model import Case, dynamics, initial_memory
from cts.spirv.lower import PARAMETERS, module_job


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(cases(everything()))
def test_generated_cases_validate(case: Case) -> None:
    memory = initial_memory(case)
    job = module_job(case, memory, 32)
    parameters = {PARAMETERS} if any(dynamics(case)) else set()
    assert job.buffers.keys() == memory.keys() | parameters
    bound = set(job.bindings.values()) | {a.of for a in job.push_addresses}
    assert bound == job.buffers.keys()
