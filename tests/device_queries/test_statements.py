"""Each statement is broken by a lie, and holds of what devices really answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cts.device.queries import State, from_plain, judge
from cts.device.queries.answers import read
from cts.device.queries.statement import STATEMENTS
from cts.features.coverage.facts import facts
from tests.device_queries import devices
from tests.device_queries.mutants import LIES, change


def broken(plain: dict[str, Any]) -> dict[str, Any]:
    """The facts that answers break, with where."""
    return {j.fact: j.broken for j in judge(from_plain(plain, "test")) if j.state is State.BROKEN}


def test_every_statement_is_a_fact_and_has_a_lie() -> None:
    assert set(STATEMENTS) == {fact for fact in facts() if fact.startswith("DQ-")} == set(LIES)
    assert len(STATEMENTS) >= 40


@pytest.mark.parametrize("path", devices.FILES, ids=lambda path: path.stem)
def test_what_devices_answered_breaks_nothing(path: Path) -> None:
    judged = judge(read(path))
    assert [j for j in judged if j.state is State.BROKEN] == []
    assert sum(j.state is State.HOLDS for j in judged) >= 25


def test_of_a_device_with_everything_every_statement_holds() -> None:
    judged = judge(from_plain(devices.everything(), "test"))
    assert [j for j in judged if j.state is not State.HOLDS] == []


@pytest.mark.family("fact", sorted(LIES))
def test_a_lie_breaks_the_statement(fact: str) -> None:
    plain = devices.everything()
    LIES[fact](plain)
    found = broken(plain)
    assert fact in found
    for one in found[fact]:
        assert one.where and one.reported and one.right and one.reported != one.right


def test_a_device_without_the_extensions_is_not_asked_about_them() -> None:
    """VK-001."""
    plain = devices.newest()
    plain["extensions"], plain["lists"] = {}, []
    judged = {j.fact: j for j in judge(from_plain(plain, "test"))}
    assert judged["DQ-075"].state is State.ABSENT and judged["DQ-075"].lacks == "VK_NV_cooperative_vector"
    assert judged["DQ-001"].state is State.ABSENT
    assert judged["DQ-037"].state is State.HOLDS


def test_limits_are_those_of_the_version() -> None:
    """128 bytes of push constants are enough for Vulkan 1.3."""
    plain = devices.everything()
    change(plain, "VkPhysicalDeviceLimits", "maxPushConstantsSize", 128)
    assert "DQ-053" in broken(plain)
    change(plain, "VkPhysicalDeviceProperties", "apiVersion", 1 << 22 | 3 << 12)
    assert "DQ-053" not in broken(plain)


def test_a_component_type_of_an_unknown_extension_is_not_a_reserved_one() -> None:
    plain = devices.everything()
    for found in plain["lists"]:
        for one in found["calls"]:
            for element in one["elements"][: one["count"]]:
                if element.get("AType") == devices.BF16:
                    element["AType"] = 1000999000
    assert "DQ-012" not in broken(plain)


@pytest.mark.parametrize(
    ("lost", "holds"),
    [
        ([(devices.F16, devices.F16)], True),
        ([(devices.F16, devices.F32)], True),
        ([(devices.U8, devices.U32)], True),
        ([(devices.U8, devices.S32)], True),
        ([(devices.F16, devices.F16), (devices.F16, devices.F32)], False),
        ([(devices.U8, devices.U32), (devices.U8, devices.S32)], False),
        ([(devices.S8, devices.S32)], False),
    ],
)
def test_of_two_results_either_is_enough(lost: list[tuple[int, int]], holds: bool) -> None:
    """DQ-073: "either both FLOAT16 or both FLOAT32" is one combination."""
    plain = devices.everything()
    for found in plain["lists"]:
        if found["command"] == devices.MATRICES2:
            for one in found["calls"]:
                for element in one["elements"][: one["count"]]:
                    if (element["AType"], element["CType"]) in lost:
                        element.update(AType=devices.BF16, BType=devices.BF16)
    assert ("DQ-073" not in broken(plain)) == holds


@pytest.mark.parametrize(
    ("feature", "holds"),
    [
        ("cooperativeMatrixReductions", False),
        ("cooperativeMatrixPerElementOperations", False),
        ("cooperativeMatrixConversions", True),
    ],
)
def test_conversions_of_nv_and_ext_are_two_capabilities(feature: str, holds: bool) -> None:
    """DQ-017: CooperativeMatrixConversionsNV is another capability than CooperativeMatrixConversionsEXT (CM-002)."""
    plain = devices.everything()
    change(plain, "VkPhysicalDeviceCooperativeMatrix2FeaturesNV", feature, 0)
    assert ("DQ-017" not in broken(plain)) == holds


def test_what_is_reported_and_what_would_be_right_are_named() -> None:
    plain = devices.everything()
    LIES["DQ-065"](plain)
    (one,) = broken(plain)["DQ-065"]
    assert one.where.endswith("cooperativeMatrixFlexibleDimensionsMaxDimension")
    assert (one.reported, one.right) == ("255", "at least 256")
