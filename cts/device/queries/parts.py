"""Statements about single values: booleans, enumerations, and members that several structures report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from cts.device.capability_aliases import CAPABILITY_ALIASES
from cts.device.queries.answers import Answers
from cts.device.queries.statement import Broken, statement

#: The structures whose members another one has taken over: each with that, and members that have other names there.
Parts: TypeAlias = dict[str, tuple[str, dict[str, str]]]

FEATURES: Parts = {
    "VkPhysicalDevice16BitStorageFeatures": ("VkPhysicalDeviceVulkan11Features", {}),
    "VkPhysicalDeviceVariablePointersFeatures": ("VkPhysicalDeviceVulkan11Features", {}),
    "VkPhysicalDevice8BitStorageFeatures": ("VkPhysicalDeviceVulkan12Features", {}),
    "VkPhysicalDeviceShaderFloat16Int8Features": ("VkPhysicalDeviceVulkan12Features", {}),
    "VkPhysicalDeviceScalarBlockLayoutFeatures": ("VkPhysicalDeviceVulkan12Features", {}),
    "VkPhysicalDeviceBufferDeviceAddressFeatures": ("VkPhysicalDeviceVulkan12Features", {}),
    "VkPhysicalDeviceVulkanMemoryModelFeatures": ("VkPhysicalDeviceVulkan12Features", {}),
    "VkPhysicalDeviceSubgroupSizeControlFeatures": ("VkPhysicalDeviceVulkan13Features", {}),
    "VkPhysicalDeviceMaintenance4Features": ("VkPhysicalDeviceVulkan13Features", {}),
}
_PREFIXED = {
    "supportedStages": "subgroupSupportedStages",
    "supportedOperations": "subgroupSupportedOperations",
    "quadOperationsInAllStages": "subgroupQuadOperationsInAllStages",
}
SUBGROUPS: Parts = {"VkPhysicalDeviceSubgroupProperties": ("VkPhysicalDeviceVulkan11Properties", _PREFIXED)}
FLOATS: Parts = {"VkPhysicalDeviceFloatControlsProperties": ("VkPhysicalDeviceVulkan12Properties", {})}
SIZES: Parts = {"VkPhysicalDeviceSubgroupSizeControlProperties": ("VkPhysicalDeviceVulkan13Properties", {})}

#: Features of VK_NV_cooperative_matrix2, and those of VK_EXT_cooperative_matrix_maintenance1 for the same capabilities.
TWINS = {f"c{old[1:].removesuffix('NV')}": f"c{new[1:]}" for old, new in CAPABILITY_ALIASES}
MATRIX2 = "VkPhysicalDeviceCooperativeMatrix2FeaturesNV"
MAINTENANCE1 = "VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT"

#: Members of properties that are VkBool32; of features all are, and these of elements of lists.
_VECTORS = "VkPhysicalDeviceCooperativeVectorPropertiesNV"
_BOOLEANS = (
    (_VECTORS, "cooperativeVectorTrainingFloat16Accumulation"),
    (_VECTORS, "cooperativeVectorTrainingFloat32Accumulation"),
    ("VkPhysicalDeviceSubgroupProperties", "quadOperationsInAllStages"),
)
_IN_ELEMENTS = ("saturatingAccumulation", "transpose")

#: Values of VkScopeKHR. VkComponentTypeKHR begins with 11; extensions number theirs from the first number on.
_SCOPES = (1, 2, 3, 5)
_COMPONENTS, _FIRST_OF_EXTENSIONS = 11, 1_000_000_000


@statement("DQ-011")
def booleans_are_true_or_false(answers: Answers) -> Iterator[Broken]:
    for name, structure in answers.structures[0].items():
        for member, value in structure.members.items():
            boolean = "Features" in name or (name, member) in _BOOLEANS
            if (boolean or ("FloatControls" in name and member.startswith("shader"))) and value not in (0, 1):
                yield Broken(f"{name}::{member}", str(value), "0 or 1")
    for listing in answers.lists:
        for place, row in enumerate(listing.rows):
            for member in _IN_ELEMENTS:
                if row.get(member, 0) not in (0, 1):
                    yield Broken(f"{listing.about}, element {place}", f"{member} {row[member]}", "0 or 1")


@statement("DQ-012")
def enumerations_have_no_reserved_values(answers: Answers) -> Iterator[Broken]:
    for listing in answers.lists:
        for place, row in enumerate(listing.rows):
            for member, value in row.items():
                where = f"{listing.about}, element {place}"
                if member.endswith(("Type", "Interpretation")) and member != "sType":
                    if _COMPONENTS <= value < _FIRST_OF_EXTENSIONS:
                        right = f"a VkComponentTypeKHR: below {_COMPONENTS}, or one of an extension"
                        yield Broken(where, f"{member} {value}", right)
                elif member == "scope" and value not in _SCOPES:
                    yield Broken(where, f"scope {value}", "a VkScopeKHR: 1, 2, 3 or 5")
    for member in ("denormBehaviorIndependence", "roundingModeIndependence"):
        reported = answers.number("VkPhysicalDeviceFloatControlsProperties", member)
        if reported is not None and reported not in (0, 1, 2):
            where = f"VkPhysicalDeviceFloatControlsProperties::{member}"
            yield Broken(where, str(reported), "a VkShaderFloatControlsIndependence: 0, 1 or 2")


@statement("DQ-013")
def features_are_reported_alike(answers: Answers) -> Iterator[Broken]:
    yield from _different(answers, FEATURES)


@statement("DQ-014")
def subgroups_are_reported_alike(answers: Answers) -> Iterator[Broken]:
    yield from _different(answers, SUBGROUPS)


@statement("DQ-015")
def float_controls_are_reported_alike(answers: Answers) -> Iterator[Broken]:
    yield from _different(answers, FLOATS)


@statement("DQ-016")
def subgroup_sizes_are_reported_alike(answers: Answers) -> Iterator[Broken]:
    yield from _different(answers, SIZES)


def _different(answers: Answers, parts: Parts) -> Iterator[Broken]:
    for part, (whole, renamed) in parts.items():
        for member, value in answers.members(part).items():
            there = renamed.get(member, member)
            if answers.members(whole).get(there) != value:
                reported = f"{value}, and {whole}::{there} {answers.members(whole).get(there)}"
                yield Broken(f"{part}::{member}", reported, "the same value in both")


@statement(
    "DQ-017",
    "VK_NV_cooperative_matrix2 together with VK_EXT_cooperative_matrix_maintenance1",
    lambda a: bool(a.members(MATRIX2) and a.members(MAINTENANCE1)),
)
def capabilities_of_two_names_are_reported_alike(answers: Answers) -> Iterator[Broken]:
    for feature, twin in TWINS.items():
        first, second = answers.number(MATRIX2, feature), answers.number(MAINTENANCE1, twin)
        if first != second:
            reported = f"{first}, and {MAINTENANCE1}::{feature} {second}"
            yield Broken(f"{MATRIX2}::{feature}", reported, "the same value in both: it is the same SPIR-V capability")
