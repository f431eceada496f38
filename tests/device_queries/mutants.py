"""One lie for each statement: a change to the answers of the device that has everything, which breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tests.device_queries.devices import (
    E4M3,
    F16,
    FLEXIBLE,
    MATRICES,
    MATRICES2,
    OLDER,
    PACKED,
    PATTERN,
    S8,
    VECTORS,
    WORKGROUP,
    listing,
)

Answers: TypeAlias = dict[str, Any]
Lie: TypeAlias = Callable[[Answers], None]

LIES: dict[str, Lie] = {}

_MATRIX2 = "VkPhysicalDeviceCooperativeMatrix2FeaturesNV"
_PROPERTIES2 = "VkPhysicalDeviceCooperativeMatrix2PropertiesNV"
_V11, _V12, _V13 = (f"VkPhysicalDeviceVulkan1{n}Properties" for n in (1, 2, 3))
_F11, _F12, _F13 = (f"VkPhysicalDeviceVulkan1{n}Features" for n in (1, 2, 3))
_LIMITS = "VkPhysicalDeviceLimits"


def lie(fact: str) -> Callable[[Lie], Lie]:
    """Register the function that follows."""

    def made(change: Lie) -> Lie:
        assert fact not in LIES, fact
        LIES[fact] = change
        return change

    return made


def call(answers: Answers, command: str, length: int | None) -> dict[str, Any]:
    """The first call of a command with an array of so many elements, -1 for one less than there are."""
    calls = next(found["calls"] for found in answers["lists"] if found["command"] == command)
    wanted = calls[0]["count"] - 1 if length == -1 else length
    return next(c for c in calls if c["length"] == wanted)


def change(answers: Answers, structure: str, member: str, value: object) -> None:
    """Report a member differently, both times."""
    for round_ in answers["structures"]:
        round_[structure]["members"][member] = value


def elements(answers: Answers, command: str, place: int, **members: int) -> None:
    """Report an element differently, in all calls that have it."""
    for found in answers["lists"]:
        if found["command"] == command:
            for one in found["calls"]:
                if place < min(one["count"], one["length"] or 0):
                    one["elements"][place] |= members


def _changes(fact: str, structure: str, member: str, value: object) -> None:
    LIES[fact] = lambda answers: change(answers, structure, member, value)


def _drops(fact: str, extension: str) -> None:
    LIES[fact] = lambda answers: answers["extensions"].pop(extension)


@lie("DQ-001")
def no_command(answers: Answers) -> None:
    answers["lists"][0]["calls"] = []


@lie("DQ-002")
def short_is_success(answers: Answers) -> None:
    call(answers, VECTORS, -1)["result"] = 0


@lie("DQ-003")
def short_counts_all(answers: Answers) -> None:
    call(answers, MATRICES, -1)["count"] += 1


@lie("DQ-004")
def long_counts_the_array(answers: Answers) -> None:
    found = call(answers, FLEXIBLE, None)["count"]
    call(answers, FLEXIBLE, found + 2)["count"] += 2


@lie("DQ-005")
def one_too_many(answers: Answers) -> None:
    short = call(answers, VECTORS, 1)
    short["elements"][1]["inputType"] = S8


@lie("DQ-006")
def one_too_few(answers: Answers) -> None:
    last = call(answers, MATRICES, -1)
    last["elements"][last["count"] - 1]["scope"] = PATTERN


@lie("DQ-007")
def s_type_is_cleared(answers: Answers) -> None:
    call(answers, OLDER, 1)["elements"][0]["sType"] = 0


@lie("DQ-008")
def one_more_the_second_time(answers: Answers) -> None:
    answers["lists"][0]["calls"][1]["count"] += 1


@lie("DQ-009")
def a_part_of_something_else(answers: Answers) -> None:
    call(answers, VECTORS, 1)["elements"][0]["resultType"] = S8


@lie("DQ-010")
def another_value_the_second_time(answers: Answers) -> None:
    answers["structures"][1][_LIMITS]["members"]["maxPushConstantsSize"] += 1


@lie("DQ-012")
def a_reserved_component_type(answers: Answers) -> None:
    elements(answers, MATRICES, 0, AType=11)


@lie("DQ-029")
def no_bfloat16_type(answers: Answers) -> None:
    change(answers, "VkPhysicalDeviceShaderBfloat16FeaturesKHR", "shaderBFloat16Type", 0)


@lie("DQ-033")
def no_feature_of_matrix2(answers: Answers) -> None:
    for member in list(answers["structures"][0][_MATRIX2]["members"]):
        change(answers, _MATRIX2, member, 0)


@lie("DQ-034")
def bfloat16_of_no_use(answers: Answers) -> None:
    for member in ("shaderBFloat16CooperativeMatrix", "shaderBFloat16DotProduct"):
        change(answers, "VkPhysicalDeviceShaderBfloat16FeaturesKHR", member, 0)


@lie("DQ-035")
def atomics_of_images_that_are_sparse(answers: Answers) -> None:
    structure = "VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT"
    for member in answers["structures"][0][structure]["members"]:
        change(answers, structure, member, int(member.startswith("sparse")))


@lie("DQ-055")
def no_matrix_of_powers_of_two(answers: Answers) -> None:
    for place in range(call(answers, MATRICES, None)["count"]):
        elements(answers, MATRICES, place, KSize=24)


@lie("DQ-056")
def no_older_matrix_of_powers_of_two(answers: Answers) -> None:
    elements(answers, OLDER, 0, NSize=0)


@lie("DQ-057")
def a_workgroup_without_the_feature(answers: Answers) -> None:
    change(answers, _MATRIX2, "cooperativeMatrixWorkgroupScope", 0)
    elements(answers, MATRICES, 0, scope=WORKGROUP)


@lie("DQ-058")
def a_workgroup_of_granularities_without_the_feature(answers: Answers) -> None:
    change(answers, _MATRIX2, "cooperativeMatrixWorkgroupScope", 0)


@lie("DQ-059")
def a_matrix_of_the_device(answers: Answers) -> None:
    elements(answers, FLEXIBLE, 0, scope=1)


@lie("DQ-064")
def a_granularity_of_24(answers: Answers) -> None:
    elements(answers, FLEXIBLE, 1, NGranularity=24)


@lie("DQ-066")
def a_granularity_above_the_largest_dimension(answers: Answers) -> None:
    elements(answers, FLEXIBLE, 1, MGranularity=512)


@lie("DQ-069")
def a_workgroup_above_the_largest(answers: Answers) -> None:
    elements(answers, FLEXIBLE, call(answers, FLEXIBLE, None)["count"] - 1, workgroupInvocations=128)


@lie("DQ-072")
def nothing_for_the_own_subgroup_size(answers: Answers) -> None:
    for place, found in enumerate(answers["lists"]):
        if found["info"].get("subgroupSize") == 8 and found["info"]["flags"] == 0:
            answers["lists"][place] = listing(MATRICES2, [], **found["info"])


@lie("DQ-073")
def no_int8(answers: Answers) -> None:
    for place in range(7):
        one = next(found for found in answers["lists"] if found["command"] == MATRICES2)
        if one["calls"][4]["elements"][place]["AType"] == S8:
            elements(answers, MATRICES2, place, AType=F16, BType=F16)


@lie("DQ-074")
def no_granularity_of_powers_of_two(answers: Answers) -> None:
    for place in range(7):
        elements(answers, MATRICES2, place, MGranularity=12)


@lie("DQ-075")
def packed_inputs_are_missing(answers: Answers) -> None:
    elements(answers, VECTORS, 1, inputInterpretation=S8)


@lie("DQ-076")
def a_packed_matrix(answers: Answers) -> None:
    elements(answers, VECTORS, 4, matrixInterpretation=PACKED)


@lie("DQ-077")
def packed_bytes(answers: Answers) -> None:
    elements(answers, VECTORS, 3, inputInterpretation=PACKED, inputType=E4M3)


_changes("DQ-011", _F12, "shaderInt8", 2)
_changes("DQ-013", "VkPhysicalDevice8BitStorageFeatures", "storagePushConstant8", 0)
_changes("DQ-014", "VkPhysicalDeviceSubgroupProperties", "supportedStages", 0x30)
_changes("DQ-015", "VkPhysicalDeviceFloatControlsProperties", "roundingModeIndependence", 0)
_changes("DQ-016", "VkPhysicalDeviceSubgroupSizeControlProperties", "maxSubgroupSize", 64)
_changes("DQ-017", _MATRIX2, "cooperativeMatrixReductions", 0)
_drops("DQ-018", "VK_KHR_cooperative_matrix")
_drops("DQ-019", "VK_KHR_cooperative_matrix")
_drops("DQ-020", "VK_NV_cooperative_matrix2")
_drops("DQ-021", "VK_EXT_shader_atomic_float")
_changes("DQ-022", "VkPhysicalDeviceCooperativeMatrixFeaturesKHR", "cooperativeMatrix", 0)
_changes("DQ-023", "VkPhysicalDeviceCooperativeMatrixFeaturesNV", "cooperativeMatrix", 0)
_changes("DQ-024", "VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT", "cooperativeMatrixProperties2", 0)
_changes("DQ-025", "VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV", "cooperativeMatrixDecodeVector", 0)
_changes("DQ-026", _MATRIX2, "cooperativeMatrixBlockLoads", 0)
_changes("DQ-027", "VkPhysicalDeviceCooperativeVectorFeaturesNV", "cooperativeVector", 0)
_changes("DQ-028", "VkPhysicalDeviceShaderFloat8FeaturesEXT", "shaderFloat8", 0)
_changes("DQ-030", "VkPhysicalDeviceShaderLongVectorFeaturesEXT", "longVector", 0)
_changes("DQ-031", _F12, "scalarBlockLayout", 0)
_changes(
    "DQ-032",
    "VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR",
    "workgroupMemoryExplicitLayoutScalarBlockLayout",
    0,
)
_changes("DQ-036", "VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT", "shaderReplicatedComposites", 0)
_changes("DQ-037", "VkPhysicalDeviceFeatures2", "robustBufferAccess", 0)
_changes("DQ-038", _F13, "computeFullSubgroups", 0)
_changes("DQ-039", _F11, "storageBuffer16BitAccess", 0)
_changes("DQ-040", _F11, "variablePointersStorageBuffer", 0)
_changes("DQ-041", _V11, "subgroupSize", 12)
_changes("DQ-042", _V13, "maxSubgroupSize", 48)
_changes("DQ-043", _V13, "minSubgroupSize", 16)
_changes("DQ-044", _V11, "subgroupSize", 2)
_changes("DQ-045", _V13, "minSubgroupSize", 2)
_changes("DQ-046", _V11, "subgroupSupportedStages", 0x10)
_changes("DQ-047", _V11, "subgroupSupportedOperations", 0x80)
_changes("DQ-048", _LIMITS, "maxComputeSharedMemorySize", 16383)
_changes("DQ-049", _LIMITS, "maxComputeWorkGroupInvocations", 128)
_changes("DQ-050", _LIMITS, "maxComputeWorkGroupSize", [1024, 1024, 63])
_changes("DQ-051", _LIMITS, "maxComputeWorkGroupCount", [65535, 65534, 65535])
_changes("DQ-052", _LIMITS, "maxStorageBufferRange", (1 << 27) - 1)
_changes("DQ-053", _LIMITS, "maxPushConstantsSize", 128)
_changes("DQ-054", _V12, "shaderSignedZeroInfNanPreserveFloat16", 0)
_changes("DQ-060", "VkPhysicalDeviceCooperativeMatrixPropertiesKHR", "cooperativeMatrixSupportedStages", 0x21)
_changes("DQ-061", "VkPhysicalDeviceCooperativeMatrixPropertiesKHR", "cooperativeMatrixSupportedStages", 0)
_changes("DQ-062", "VkPhysicalDeviceCooperativeMatrixPropertiesNV", "cooperativeMatrixSupportedStages", 1)
_changes("DQ-063", _MATRIX2, "cooperativeMatrixFlexibleDimensions", 0)
_changes("DQ-065", _PROPERTIES2, "cooperativeMatrixFlexibleDimensionsMaxDimension", 255)
_changes("DQ-067", _PROPERTIES2, "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize", 8)
_changes("DQ-068", _PROPERTIES2, "cooperativeMatrixWorkgroupScopeReservedSharedMemory", 16385)
_changes("DQ-070", "VkPhysicalDeviceShaderBfloat16FeaturesKHR", "shaderBFloat16CooperativeMatrix", 0)
_changes("DQ-071", "VkPhysicalDeviceShaderFloat8FeaturesEXT", "shaderFloat8CooperativeMatrix", 0)
_changes("DQ-078", "VkPhysicalDeviceCooperativeVectorPropertiesNV", "maxCooperativeVectorComponents", 127)
_changes("DQ-079", "VkPhysicalDeviceCooperativeVectorPropertiesNV", "cooperativeVectorSupportedStages", 0x7DF)
_changes("DQ-080", "VkPhysicalDeviceShaderLongVectorPropertiesEXT", "maxVectorComponents", 4)
