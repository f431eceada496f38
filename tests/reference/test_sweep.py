"""Sweeps are judged as their sets are, one by one."""

from __future__ import annotations

import pytest

from cts.model.sweep import Sweep
from cts.plugins import registry
from cts.reference.sweeping import judged_together
from tests.generators.samples import sample
from tests.reference.sweeps import assert_as_by_case, delivered_at_run_time, perturbed

SETS = 12


@pytest.mark.parametrize("area", ["tensor_addressing", "block_loads", "matrix_memory"])
def test_generated_programs_of_memory(area: str) -> None:
    together = kinds = 0
    for number, case in enumerate(sample(60, area=area)):
        template = delivered_at_run_time(case)
        if not judged_together(template):
            continue
        swept = assert_as_by_case(Sweep(template, perturbed(template, SETS, number)))
        together += 1
        kinds += len(swept.exclusions) > 0 and len(swept.valid) > 1
    assert together >= 4 and kinds >= 2


@pytest.mark.parametrize("area", registry.names("cts.areas"))
def test_generated_programs_of_every_area(area: str) -> None:
    for number, case in enumerate(sample(6, area=area)):
        assert_as_by_case(Sweep(case, perturbed(case, 3, number)))
