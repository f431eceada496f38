"""Every area's cases are well-formed, valid, within the driver's capabilities, and survive YAML."""

from __future__ import annotations

import pytest

from cts.base.choices import Recorded
from cts.base.errors import NothingToGenerate
from cts.case.model import dumps_case, loads_case, resolve
from cts.device.capabilities import Capabilities, everything
from cts.plugins import registry
from tests.generators.devices import FIXED, LAVAPIPE, NVIDIA
from tests.generators.samples import sample

EXAMPLES = 300
DEVICES = {"everything": everything(), "lavapipe": LAVAPIPE, "nvidia": NVIDIA, "fixed": FIXED}

#: Areas of which a device can run nothing.
IMPOSSIBLE = {
    ("block_loads", "lavapipe"),
    ("block_loads", "fixed"),
    ("conversions", "fixed"),
    ("per_element", "fixed"),
    ("reductions", "fixed"),
}

#: Areas of cooperative vectors, which these devices lack, have a test of their own.
MATRIX_AREAS = [area for area in registry.names("cts.areas") if not area.startswith("vector_")]

PAIRS = [(area, device) for area in MATRIX_AREAS for device in DEVICES]


@pytest.mark.parametrize(("area", "device"), [p for p in PAIRS if p not in IMPOSSIBLE])
def test_cases_are_valid_and_within_the_capabilities(area: str, device: str) -> None:
    capabilities: Capabilities = DEVICES[device]
    oracle = registry.oracle()
    cases = sample(EXAMPLES, capabilities, area)
    assert len(cases) == EXAMPLES
    for case in cases:
        assert resolve(case)[1] == [], dumps_case(case)
        assert capabilities.missing(case) == [], dumps_case(case)
        assert oracle.violations(case) == [], dumps_case(case)


@pytest.mark.parametrize(("area", "device"), sorted(IMPOSSIBLE))
def test_a_device_that_can_run_nothing_is_told_so(area: str, device: str) -> None:
    with pytest.raises(NothingToGenerate, match=r"the driver has no .* of moderate size"):
        registry.area(area)(DEVICES[device])


@pytest.mark.parametrize("area", MATRIX_AREAS)
def test_cases_survive_yaml(area: str) -> None:
    for case in sample(EXAMPLES, everything(), area)[::10]:
        assert loads_case(dumps_case(case)) == case


#: The most instructions that the simplest case of an area has.
SIMPLEST = {
    "tensor_addressing": 2,
    "matrix_memory": 2,
    "matrix_arithmetic": 4,
    "conversions": 3,
    "reductions": 3,
    "per_element": 3,
    "block_loads": 6,
    "matrix_programs": 7,
    "kernels": 10,
    "compute": 2,
}


@pytest.mark.parametrize("area", MATRIX_AREAS)
def test_the_simplest_case_is_simple(area: str) -> None:
    found = registry.area(area)(everything())(Recorded.again(()))
    assert len(found.program) <= SIMPLEST[area], dumps_case(found)
    assert "dynamic" not in dumps_case(found) and "spec" not in dumps_case(found)
