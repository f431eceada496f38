"""Programs of both scopes on devices whose limits are lower than those of the emulator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.case.model import Case, MatrixShape, Scope, types_of
from cts.device.capabilities import Capabilities, Feature, everything, workgroup_bytes
from cts.plugins import registry
from tests.generators.devices import NVIDIA
from tests.generators.samples import sample
from tests.generators.scope_situations import scope_situations

AREAS = ("matrix_memory", "matrix_programs")

#: Only two subgroups may have a matrix together, and most of the memory is not for programs.
TIGHT = replace(everything(), workgroup_scope_subgroups=2, max_workgroup_bytes=8192, workgroup_scope_reserved=7680)


def scopes(case: Case) -> set[Scope]:
    return {t.scope for t in types_of(case).values() if isinstance(t, MatrixShape)}


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("device", [TIGHT, NVIDIA], ids=["tight", "nvidia"])
def test_a_device_gets_both_scopes_within_its_limits(area: str, device: Capabilities) -> None:
    cases = sample(800, device, area)
    found = [case for case in cases if len(scopes(case)) == 2]
    assert len(found) > 20
    assert [device.missing(case) for case in cases if device.missing(case)] == []


def test_the_reserved_memory_is_not_used_beside_workgroup_scope() -> None:
    most = dict.fromkeys(Scope, 0)
    for case in sample(1500, TIGHT, "matrix_memory"):
        scope = Scope.Workgroup if Scope.Workgroup in scopes(case) else Scope.Subgroup
        most[scope] = max(most[scope], workgroup_bytes(case))
    assert most == {Scope.Subgroup: 8192, Scope.Workgroup: 512}


@pytest.mark.parametrize("area", AREAS)
def test_a_device_without_workgroup_scope_gets_one_scope(area: str) -> None:
    device = replace(everything(), features=frozenset(Feature) - {Feature.WORKGROUP_SCOPE})
    assert {scope for case in sample(400, device, area) for scope in scopes(case)} == {Scope.Subgroup}


def test_what_is_beyond_one_subgroup_needs_a_power_of_two() -> None:
    """VK-025."""
    for area in AREAS:
        assert {c.dispatch.subgroups for c in sample(1000, area=area) if len(scopes(c)) == 2} == {1, 2, 4, 8}


@pytest.mark.parametrize("area", AREAS)
def test_there_is_no_store_of_one_scope_before_a_load_of_the_other_without_a_barrier(area: str) -> None:
    oracle = registry.oracle()
    mixed = [c for c in sample(1000, area=area) if "both scopes, subgroups several" in scope_situations(c)]
    assert mixed and [oracle.violations(c) for c in mixed if oracle.violations(c)] == []
