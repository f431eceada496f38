"""Which modules a device supports, by its rows and limits, and which features they need."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from cts.device.job import Address, Memory, ModuleJob
from cts.drivers.vulkan import features, support
from cts.drivers.vulkan.module_facts import Matrix, Multiplication
from cts.drivers.vulkan.worker import tables
from cts.drivers.vulkan.worker.protocol import MatrixRow
from tests.vulkan_driver.devices import (
    F16,
    F32,
    LAVAPIPE,
    NOTHING,
    S8,
    S32,
    examine,
    matrix,
    missing,
    row,
    varied,
    with_rows,
)

#: What checks accesses, and those of matrices.
ROBUST = ("robustBufferAccess", "cooperativeMatrixRobustBufferAccess")


@pytest.mark.parametrize(
    ("candidate", "supported"),
    [
        (matrix(F16, 16, 32, "A"), True),
        (matrix(F16, 32, 16, "A"), False),
        (matrix(F16, 32, 8, "B"), True),
        (matrix(F16, 16, 8, "B"), False),
        (matrix(F32, 16, 8, "Accumulator"), True),
        (matrix(F16, 16, 8, "Accumulator"), False),
        (matrix(F32, 32, 16, "Accumulator"), False),
        (matrix(F32, 16, 8, "Accumulator", "Workgroup"), False),
    ],
)
def test_exact_rows(candidate: Matrix, supported: bool) -> None:
    """VK-020."""
    text = missing(with_rows(LAVAPIPE, row()), candidate)
    assert (text == "") == supported, text
    assert supported or str(candidate) in text


@pytest.mark.parametrize(
    ("candidate", "supported"),
    [
        (matrix(F16, 48, 64, "A"), True),
        (matrix(F16, 48, 16, "A"), False),
        (matrix(F16, 64, 24, "B"), True),
        (matrix(F32, 16, 1024, "Accumulator"), True),
        (matrix(F32, 16, 1032, "Accumulator"), False),
        (matrix(F32, 8, 8, "Accumulator"), False),
    ],
)
def test_flexible_rows(candidate: Matrix, supported: bool) -> None:
    """VK-021, and VK-023 for the largest dimension (1024 on this device)."""
    device = with_rows(LAVAPIPE, row(flexible=True))
    facts = replace(NOTHING, matrices=(candidate,))
    found = examine(device, facts)
    assert (found.missing == ()) == supported, found.missing
    assert not supported or "cooperativeMatrixFlexibleDimensions" in found.features


def test_flexible_dimensions_are_enabled_only_where_needed() -> None:
    device = with_rows(LAVAPIPE, row(), row(flexible=True))
    exact = examine(device, replace(NOTHING, matrices=(matrix(F16, 16, 32, "A"),)))
    larger = examine(device, replace(NOTHING, matrices=(matrix(F16, 32, 32, "A"),)))
    assert "cooperativeMatrixFlexibleDimensions" not in exact.features
    assert "cooperativeMatrixFlexibleDimensions" in larger.features


SIGNED = frozenset(f"Matrix{m}SignedComponentsKHR" for m in ("A", "B", "C", "Result"))


@pytest.mark.parametrize(
    ("types", "saturating", "mask", "supported"),
    [
        ((3, 3, 5, 5), False, SIGNED, True),
        ((3, 3, 5, 5), False, frozenset(), False),
        ((7, 7, 9, 9), False, frozenset(), True),
        ((7, 7, 9, 9), False, SIGNED, False),
        ((3, 7, 5, 5), False, SIGNED - {"MatrixBSignedComponentsKHR"}, True),
        ((3, 3, 5, 5), False, SIGNED | {"SaturatingAccumulationKHR"}, False),
        ((3, 3, 5, 5), True, SIGNED | {"SaturatingAccumulationKHR"}, True),
        ((3, 3, 5, 5), True, SIGNED, False),
    ],
)
def test_operand_masks(
    types: tuple[int, int, int, int], saturating: bool, mask: frozenset[str], supported: bool
) -> None:
    """VK-022: the bits are set if and only if the row says so."""
    a, b, c = matrix(S8, 16, 32, "A"), matrix(S8, 32, 8, "B"), matrix(S32, 16, 8, "Accumulator")
    device = with_rows(LAVAPIPE, row(types=types, saturating=saturating))
    text = missing(device, a, b, c, multiplications=(Multiplication(a, b, c, c, mask),))
    assert (text == "") == supported, text
    assert supported or "VK-022" in text


def test_a_product_must_match_one_row() -> None:
    """VK-020, VK-021: every type is supported, but by different rows."""
    a, b, c = matrix(F16, 16, 32, "A"), matrix(F16, 32, 8, "B"), matrix(F32, 16, 8, "Accumulator")
    product = Multiplication(a, b, c, c, frozenset())
    apart = with_rows(LAVAPIPE, row(types=(0, 0, 0, 0)), row(n=16, k=8))
    together = with_rows(LAVAPIPE, row(types=(0, 0, 0, 0)), row())
    assert "product of" in missing(
        with_rows(LAVAPIPE, row(types=(0, 0, 0, 0)), row(k=64)), a, b, multiplications=(product,)
    )
    assert missing(apart, a, b, multiplications=(product,)) != ""
    assert missing(together, a, b, c, multiplications=(product,)) == ""


@pytest.mark.parametrize(
    ("local", "words"),
    [
        ((32, 1, 1), ""),
        ((16, 1, 1), "with 16 invocations (VK-020"),
        ((24, 1, 1), "no power-of-two multiple"),
        ((128, 1, 1), "at most 64"),
    ],
)
def test_workgroup_scope(local: tuple[int, int, int], words: str) -> None:
    """VK-024, VK-025."""
    properties = LAVAPIPE.properties | {
        "VkPhysicalDeviceCooperativeMatrix2PropertiesNV": {
            "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize": 64,
            "cooperativeMatrixFlexibleDimensionsMaxDimension": 256,
            "cooperativeMatrixWorkgroupScopeReservedSharedMemory": 1024,
        }
    }
    device = msgspec.structs.replace(
        with_rows(
            LAVAPIPE,
            *(row(flexible=True, scope=2, invocations=n) for n in (24, 32, 128)),
            cooperativeMatrixWorkgroupScope=True,
        ),
        properties=properties,
    )
    wanted = matrix(F16, 16, 32, "A", "Workgroup")
    text = missing(device, wanted, local_size=local)
    assert (text == "") == (words == "")
    assert words in text
    assert "workgroup memory" in missing(device, wanted, local_size=(32, 1, 1), shared_bytes=32 * 1024)
    off = with_rows(device, *device.matrices, cooperativeMatrixWorkgroupScope=False)
    assert "feature cooperativeMatrixWorkgroupScope" in missing(off, wanted, local_size=(32, 1, 1))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"capabilities": frozenset({"Shader", "TensorAddressingNV"})}, "feature cooperativeMatrixTensorAddressing"),
        ({"capabilities": frozenset({"Shader", "Kernel"})}, "capability Kernel"),
        ({"sets_block_size": True}, "feature cooperativeMatrixBlockLoads"),
        ({"local_size": (2048, 1, 1)}, "workgroup size 2048 in x"),
        ({"local_size": (64, 64, 1)}, "4096 invocations"),
        ({"float_modes": frozenset({("DenormFlushToZero", 64)})}, "execution mode DenormFlushToZero for 64 bits"),
        ({"shared_bytes": 1 << 20}, "bytes of workgroup memory"),
    ],
)
def test_other_needs(changes: dict[str, object], words: str) -> None:
    assert words in missing(LAVAPIPE, **changes)


@pytest.mark.parametrize("capability", [c for c, needed in features.FEATURES.items() if needed])
def test_each_capability_needs_its_features(capability: str) -> None:
    """VK-010, VK-011, VK-013."""
    needed = features.FEATURES[capability]
    facts = replace(NOTHING, capabilities=frozenset({"Shader", capability}))
    has = examine(with_rows(LAVAPIPE, **dict.fromkeys(needed, True)), facts)
    assert has.missing == ()
    assert has.features - set(features.WHERE_THERE.get(capability, ())) == set(needed)
    for absent in needed:
        lacks = with_rows(LAVAPIPE, **{**dict.fromkeys(needed, True), absent: False})
        assert examine(lacks, facts).missing == (f"feature {absent}",)


def test_long_vectors_have_a_limit() -> None:
    """VK-013."""
    eight = {"longest_vector": 8}
    able = msgspec.structs.replace(
        LAVAPIPE,
        properties=LAVAPIPE.properties | {"VkPhysicalDeviceShaderLongVectorPropertiesEXT": {"maxVectorComponents": 8}},
    )
    assert missing(LAVAPIPE, **eight) == "a vector of 8 components (at most 4, VK-013)"
    assert missing(able, **eight) == ""
    assert "at most 8" in missing(able, longest_vector=9)


def test_matrices_need_the_compute_stage() -> None:
    """VK-041."""
    wanted = matrix(F16, 16, 32, "A")
    device = with_rows(LAVAPIPE, row())
    name = "VkPhysicalDeviceCooperativeMatrixPropertiesKHR"
    stages = {"cooperativeMatrixSupportedStages": 0x10}
    elsewhere = msgspec.structs.replace(device, properties=device.properties | {name: stages})
    assert "in compute shaders (VK-041)" in missing(elsewhere, wanted)


@pytest.mark.parametrize("minor", range(7))
def test_matrices_below_spirv_1_6_need_full_subgroups(minor: int) -> None:
    """VK-042."""
    device = with_rows(LAVAPIPE, row())
    facts = replace(NOTHING, matrices=(matrix(F16, 16, 32, "A"),), version=(1, minor))
    found = examine(device, facts)
    assert found.missing == () and found.misuse == ""
    assert found.full_subgroups == ("computeFullSubgroups" in found.features) == (minor < 6)
    unable = examine(with_rows(device, row(), computeFullSubgroups=False), facts)
    assert unable.missing == (() if minor == 6 else ("feature computeFullSubgroups",))
    plain = examine(device, replace(NOTHING, version=(1, minor), local_size=(7, 1, 1)))
    assert plain.missing == () and not plain.full_subgroups


@pytest.mark.parametrize(
    ("scope", "local", "words"),
    [
        ("Subgroup", (8, 3, 1), ""),
        (
            "Subgroup",
            (12, 1, 1),
            "subgroup size 8 (VK-026); right would be 16 in x, or a subgroup size that divides 12",
        ),
        ("Subgroup", (4, 8, 1), "4x8x1 invocations, whose size in x is no multiple of the subgroup size 8 (VK-026)"),
        ("Subgroup", (7, 1, 1), "(VK-026); right would be 8 in x"),
        ("Workgroup", (4, 8, 1), "(VK-025)"),
    ],
)
def test_partial_subgroups_are_a_misuse(scope: str, local: tuple[int, int, int], words: str) -> None:
    wanted = matrix(F16, 16, 32, "A", scope)
    found = examine(with_rows(LAVAPIPE, row()), replace(NOTHING, matrices=(wanted,), local_size=local)).misuse
    assert (found == "") == (words == "") and words in found
    assert examine(LAVAPIPE, replace(NOTHING, local_size=local)).misuse == ""


def test_too_many_physical_buffers_are_said_to_be_too_many() -> None:
    """Their addresses are push constants, of which devices have 128 bytes or little more."""
    most = LAVAPIPE.properties["VkPhysicalDeviceLimits"]["maxPushConstantsSize"]
    assert most == 256
    for count in (32, 33):
        job = ModuleJob(
            np.zeros(5, np.uint32),
            (1, 1, 1),
            {"b": Memory(np.zeros(16, np.uint8), 0, 16)},
            {},
            push_constants=bytes(8 * count),
            push_addresses=tuple(Address(8 * i, "b") for i in range(count)),
        )
        found = support.examine(LAVAPIPE, NOTHING, job).missing
        wanted = "264 bytes of push constants, 33 of them 8-byte addresses of physical buffers (at most 256)"
        assert found == (() if count == 32 else (wanted,))


QUERIED = "cooperativeMatrixProperties2"
FLEXIBLE = "cooperativeMatrixFlexibleDimensions"


@pytest.mark.parametrize(
    ("rows", "flexible", "needs"),
    [
        ([row(required=0)], False, {QUERIED}),
        ([row(required=0), row()], False, set()),
        ([row(required=0, m=8)], True, {QUERIED, FLEXIBLE}),
        ([row(required=0, m=8)], False, None),
        ([row(required=0, m=8), row(m=8, flexible=True)], True, {FLEXIBLE}),
        ([row(required=0, m=32)], True, None),
        ([row(required=8)], False, None),
    ],
)
def test_rows_of_the_properties2_query(rows: list[MatrixRow], flexible: bool, needs: set[str] | None) -> None:
    """VK-028b: exact sizes, or granularities where dimensions are flexible; the way with the fewest features."""
    device = with_rows(LAVAPIPE, *rows, **{FLEXIBLE: flexible, QUERIED: True})
    a, b, c = matrix(F16, 16, 32, "A"), matrix(F16, 32, 8, "B"), matrix(F32, 16, 8, "Accumulator")
    for facts in (
        replace(NOTHING, matrices=(a,)),
        replace(NOTHING, matrices=(a, b, c), multiplications=(Multiplication(a, b, c, c, frozenset()),)),
    ):
        found = examine(device, facts)
        assert (found.missing == ()) == (needs is not None), found.missing
        assert needs is None or found.features == needs | {"vulkanMemoryModel"}


def test_rows_of_the_properties2_query_are_for_one_subgroup_size() -> None:
    """VK-028: the size that the pipeline requires."""
    device = with_rows(varied(LAVAPIPE, 8, 32), row(required=16), **{QUERIED: True})
    facts = replace(NOTHING, matrices=(matrix(F16, 16, 32, "A"),), local_size=(32, 1, 1))
    assert examine(device, facts, 16).missing == ()
    assert "VK-028" in examine(device, facts, 32).missing[0]
    workgroup = with_rows(
        LAVAPIPE,
        row(required=0, scope=2, invocations=32),
        **{QUERIED: True, "cooperativeMatrixWorkgroupScope": True},
    )
    scoped = matrix(F16, 16, 32, "A", "Workgroup")
    assert "matrix 16x32 float16 A at Workgroup scope with 16 inv" in missing(workgroup, scoped, local_size=(16, 1, 1))
    assert "matrix" not in missing(workgroup, scoped, local_size=(32, 1, 1))


def test_a_subgroup_size_is_required_only_where_there_are_several() -> None:
    varying = varied(LAVAPIPE, 8, 32)
    assert examine(LAVAPIPE, NOTHING, 8).subgroup_size is None
    assert examine(LAVAPIPE, NOTHING, 16).missing == ("subgroup size 16 (has 8)",)
    assert examine(varying, NOTHING, 16).subgroup_size == 16
    assert examine(varying, NOTHING).subgroup_size == 8
    assert "subgroupSizeControl" in examine(varying, NOTHING).features
    assert "subgroupSizeControl" not in examine(LAVAPIPE, NOTHING).features


def test_every_feature_of_the_table_is_known_to_the_worker() -> None:
    known = {name for table in tables.FEATURES for name in table.members}
    for needed in features.FEATURES.values():
        assert known.issuperset(needed), needed


@pytest.mark.parametrize(
    ("robust", "robust2", "lacking", "asked", "missing_"),
    [
        (False, False, (), set(), ()),
        (True, False, (), {"robustBufferAccess", "cooperativeMatrixRobustBufferAccess"}, ()),
        (True, False, ("cooperativeMatrixRobustBufferAccess",), {"robustBufferAccess"}, ()),
        (True, True, (), {*ROBUST, "robustBufferAccess2"}, ()),
        (True, True, ROBUST[1:], {*ROBUST, "robustBufferAccess2"}, (f"feature {ROBUST[1]}",)),
    ],
)
def test_robustness(
    robust: bool, robust2: bool, lacking: tuple[str, ...], asked: set[str], missing_: tuple[str, ...]
) -> None:
    """VK-060 and VK-061: matrices are checked by a feature of their own, without which robust2 is not what it says."""
    device = with_rows(LAVAPIPE, row(), robustBufferAccess2=True, **dict.fromkeys(lacking, False))
    job = ModuleJob(np.zeros(5, np.uint32), (1, 1, 1), {}, {}, robust=robust, robust2=robust2)
    found = support.examine(device, replace(NOTHING, matrices=(matrix(F16, 16, 32, "A"),)), job)
    assert {f for f in found.features if "obust" in f} == asked
    assert found.missing == missing_


def test_one_set_of_features_serves_most_modules() -> None:
    """Whatever modules need that are not robust, the same features are enabled: those that the device lists."""
    listed = LAVAPIPE.features
    alike = features.widened(frozenset(), listed)
    for capability, needed in features.FEATURES.items():
        if all(listed.get(feature) for feature in needed):
            assert features.widened(frozenset(needed), listed) == alike, capability
    assert all(listed[feature] for feature in alike) and "shaderInt64" in alike
    assert alike.isdisjoint(ROBUST) and features.widened(frozenset(ROBUST), listed) == alike | set(ROBUST)
    assert features.widened(frozenset({"shaderInt8"}), {}) == {"shaderInt8"}
