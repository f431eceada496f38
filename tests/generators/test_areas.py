"""Every area's cases are well-formed, valid, within the driver's capabilities, and survive YAML."""

from __future__ import annotations

import pytest
from generator_devices import FIXED, LAVAPIPE, NVIDIA
from generator_samples import sample

from cts import registry
from cts.capabilities import Capabilities, everything
from cts.model import dumps_case, loads_case, resolve

EXAMPLES = 300
DEVICES = {"everything": everything(), "lavapipe": LAVAPIPE, "nvidia": NVIDIA, "fixed": FIXED}

#: Areas that need more than a device of fixed shapes or lavapipe has.
IMPOSSIBLE = {
    ("reductions", "fixed"),
    ("tensor_addressing", "lavapipe"),
    ("tensor_addressing", "fixed"),
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


@pytest.mark.parametrize("area", MATRIX_AREAS)
def test_cases_survive_yaml(area: str) -> None:
    for case in sample(EXAMPLES, everything(), area)[::10]:
        assert loads_case(dumps_case(case)) == case
