"""Statements about cooperative matrices: their lists, limits and stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cts.device.queries.answers import Answers, Listing
from cts.device.queries.names import typed
from cts.device.queries.sizes import COMPUTE_STAGE, V11, at_least, bits, in_compute
from cts.device.queries.statement import Broken, Condition, is_power_of_two, of_extension, of_feature, statement

MATRIX2 = "VkPhysicalDeviceCooperativeMatrix2FeaturesNV"
PROPERTIES2 = "VkPhysicalDeviceCooperativeMatrix2PropertiesNV"
STAGES = "cooperativeMatrixSupportedStages"
_KHR, _NV = "VkPhysicalDeviceCooperativeMatrixPropertiesKHR", "VkPhysicalDeviceCooperativeMatrixPropertiesNV"
_MAINTENANCE1 = "VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT"

_WORKGROUP, _SUBGROUP = 2, 3
_BFLOAT16, _FLOAT8 = (1000141000,), (1000491002, 1000491003)
_SIZES = ("MSize", "NSize", "KSize")
_GRANULARITIES = ("MGranularity", "NGranularity", "KGranularity")
_TYPES = ("AType", "BType", "CType", "ResultType")

#: What the query of VK_EXT_cooperative_matrix_maintenance1 must list: types of A, B, C and the result. One of each row.
COMBINATIONS = (((0, 0, 0, 0), (0, 0, 1, 1)), ((7, 7, 9, 9), (7, 7, 5, 5)), ((3, 3, 5, 5),))


def _workgroups() -> tuple[str, Condition]:
    return of_feature(MATRIX2, "cooperativeMatrixWorkgroupScope")


def _flexible() -> tuple[str, Condition]:
    return of_feature(MATRIX2, "cooperativeMatrixFlexibleDimensions")


def _rows(answers: Answers, *commands: str) -> Iterator[tuple[str, dict[str, int]]]:
    for command in commands:
        for listing in answers.listings(command):
            for place, row in enumerate(listing.rows):
                yield f"{listing.about}, element {place}", row


def _no_powers_of_two(listing: Listing, names: tuple[str, ...]) -> Iterator[Broken]:
    if not any(all(is_power_of_two(row.get(name, 0)) for name in names) for row in listing.rows):
        reported = f"none of {len(listing.rows)} elements"
        yield Broken(listing.about, reported, f"an element with powers of two for all of {', '.join(names)}")


@statement("DQ-055", *of_feature("VkPhysicalDeviceCooperativeMatrixFeaturesKHR", "cooperativeMatrix"))
def one_matrix_has_powers_of_two(answers: Answers) -> Iterator[Broken]:
    for listing in answers.listings("CooperativeMatrixPropertiesKHR"):
        yield from _no_powers_of_two(listing, _SIZES)


@statement("DQ-056", *of_feature("VkPhysicalDeviceCooperativeMatrixFeaturesNV", "cooperativeMatrix"))
def one_older_matrix_has_powers_of_two(answers: Answers) -> Iterator[Broken]:
    for listing in answers.listings("CooperativeMatrixPropertiesNV"):
        yield from _no_powers_of_two(listing, _SIZES)


def _without_workgroups(command: str) -> Callable[[Answers], Iterator[Broken]]:
    def check(answers: Answers) -> Iterator[Broken]:
        if not answers.supports(MATRIX2, "cooperativeMatrixWorkgroupScope"):
            for where, row in _rows(answers, command):
                if row["scope"] != _SUBGROUP:
                    right = "3 (Subgroup), for cooperativeMatrixWorkgroupScope is not supported"
                    yield Broken(where, f"scope {row['scope']}", right)

    return check


statement("DQ-057", *of_extension("VK_KHR_cooperative_matrix"))(_without_workgroups("CooperativeMatrixPropertiesKHR"))
statement("DQ-058", *of_extension("VK_NV_cooperative_matrix2"))(_without_workgroups("FlexibleDimensionsPropertiesNV"))


@statement("DQ-059", *of_extension("VK_KHR_cooperative_matrix"))
def scopes_are_those_of_matrices(answers: Answers) -> Iterator[Broken]:
    for where, row in _rows(answers, "CooperativeMatrixPropertiesKHR", "FlexibleDimensionsPropertiesNV"):
        if row["scope"] not in (_WORKGROUP, _SUBGROUP):
            yield Broken(where, f"scope {row['scope']}", "2 (Workgroup) or 3 (Subgroup)")


@statement("DQ-060", *of_extension("VK_KHR_cooperative_matrix"))
def matrices_are_for_compute_shaders_alone(answers: Answers) -> Iterator[Broken]:
    value = answers.number(_KHR, STAGES) or 0
    if value & ~COMPUTE_STAGE:
        yield Broken(f"{_KHR}::{STAGES}", f"{value:#x}", "no bit but VK_SHADER_STAGE_COMPUTE_BIT (0x20)")


@statement(
    "DQ-061",
    "VK_KHR_cooperative_matrix and a compute queue",
    lambda a: a.has("VK_KHR_cooperative_matrix") and in_compute()[1](a),
)
def matrices_are_for_compute_shaders(answers: Answers) -> Iterator[Broken]:
    yield from bits(answers, _KHR, STAGES, COMPUTE_STAGE, "VK_SHADER_STAGE_COMPUTE_BIT")


@statement(
    "DQ-062",
    "VK_NV_cooperative_matrix and a compute queue",
    lambda a: a.has("VK_NV_cooperative_matrix") and in_compute()[1](a),
)
def older_matrices_are_for_compute_shaders(answers: Answers) -> Iterator[Broken]:
    yield from bits(answers, _NV, STAGES, COMPUTE_STAGE, "VK_SHADER_STAGE_COMPUTE_BIT")


@statement("DQ-063", *of_extension("VK_NV_cooperative_matrix2"))
def no_granularities_without_the_feature(answers: Answers) -> Iterator[Broken]:
    if not answers.supports(MATRIX2, "cooperativeMatrixFlexibleDimensions"):
        for listing in answers.listings("FlexibleDimensionsPropertiesNV"):
            if listing.total:
                yield Broken(listing.about, f"{listing.total} properties", "none: the feature is not supported")


@statement("DQ-064", *_flexible())
def granularities_are_powers_of_two(answers: Answers) -> Iterator[Broken]:
    for where, row in _rows(answers, "FlexibleDimensionsPropertiesNV"):
        for name in _GRANULARITIES:
            if not is_power_of_two(row[name]):
                yield Broken(where, f"{name} {row[name]}", "a power of two")


@statement("DQ-065", *_flexible())
def dimensions_reach_256(answers: Answers) -> Iterator[Broken]:
    yield from at_least(answers, PROPERTIES2, "cooperativeMatrixFlexibleDimensionsMaxDimension", 256)


@statement("DQ-066", *_flexible())
def granularities_are_within_the_largest_dimension(answers: Answers) -> Iterator[Broken]:
    most = answers.number(PROPERTIES2, "cooperativeMatrixFlexibleDimensionsMaxDimension") or 0
    for where, row in _rows(answers, "FlexibleDimensionsPropertiesNV"):
        for name in _GRANULARITIES:
            if row[name] > most:
                right = f"at most {most}: no matrix may have a larger dimension"
                yield Broken(where, f"{name} {row[name]}", right)


@statement("DQ-067", *_workgroups())
def workgroups_have_two_subgroups(answers: Answers) -> Iterator[Broken]:
    size = answers.number(V11, "subgroupSize") or 0
    member = "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize"
    yield from at_least(answers, PROPERTIES2, member, 2 * size, f", twice the subgroup size {size}")


@statement("DQ-068", *_workgroups())
def half_of_the_shared_memory_is_left(answers: Answers) -> Iterator[Broken]:
    member = "cooperativeMatrixWorkgroupScopeReservedSharedMemory"
    reserved = answers.number(PROPERTIES2, member)
    shared = answers.number("VkPhysicalDeviceLimits", "maxComputeSharedMemorySize") or 0
    if reserved is None or reserved > shared // 2:
        right = f"at most {shared // 2}, half of maxComputeSharedMemorySize {shared}"
        yield Broken(f"{PROPERTIES2}::{member}", str(reserved), right)


@statement("DQ-069", *_workgroups())
def workgroups_of_granularities_are_allowed(answers: Answers) -> Iterator[Broken]:
    most = answers.number(PROPERTIES2, "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize") or 0
    for where, row in _rows(answers, "FlexibleDimensionsPropertiesNV"):
        if row["scope"] == _WORKGROUP and not 1 <= row["workgroupInvocations"] <= most:
            right = f"1 to {most}, cooperativeMatrixWorkgroupScopeMaxWorkgroupSize"
            yield Broken(where, f"workgroupInvocations {row['workgroupInvocations']}", right)


def _typed(fact: str, codes: tuple[int, ...], structure: str, feature: str) -> None:
    @statement(fact, *of_extension("VK_KHR_cooperative_matrix"))
    def check(answers: Answers) -> Iterator[Broken]:
        commands = ("CooperativeMatrixPropertiesKHR", "FlexibleDimensionsPropertiesNV", "Properties2EXT")
        for where, row in _rows(answers, *commands):
            types = [name for name in _TYPES if row[name] in codes]
            if types and not answers.supports(structure, feature):
                right = f"{feature} supported, or no such element"
                yield Broken(where, f"{typed(types[0], row[types[0]])}, and {feature} is not supported", right)


_typed("DQ-070", _BFLOAT16, "VkPhysicalDeviceShaderBfloat16FeaturesKHR", "shaderBFloat16CooperativeMatrix")
_typed("DQ-071", _FLOAT8, "VkPhysicalDeviceShaderFloat8FeaturesEXT", "shaderFloat8CooperativeMatrix")


def _required(answers: Answers) -> Iterator[Listing]:
    """The questions that must have an answer; `subgroupSize` is the device's own or 0, without saturation."""
    own = answers.number(V11, "subgroupSize") or 0
    for listing in answers.listings("CooperativeMatrixProperties2EXT"):
        info = listing.info
        wide = answers.supports(MATRIX2, "cooperativeMatrixWorkgroupScope")
        if info["flags"] == 0 and info["subgroupSize"] in (0, own) and (info["scope"] == _SUBGROUP or wide):
            yield listing


def _properties2() -> tuple[str, Condition]:
    return of_feature(_MAINTENANCE1, "cooperativeMatrixProperties2")


@statement("DQ-072", *_properties2())
def required_questions_have_answers(answers: Answers) -> Iterator[Broken]:
    for listing in _required(answers):
        if not listing.total:
            yield Broken(listing.about, "no properties", "at least one")


@statement("DQ-073", *_properties2())
def required_questions_list_every_combination(answers: Answers) -> Iterator[Broken]:
    for listing in _required(answers):
        listed = {tuple(row[name] for name in _TYPES) for row in listing.rows}
        for choices in COMBINATIONS:
            if not listed.intersection(choices):
                wanted = " or ".join(", ".join(map(typed, _TYPES, types)) for types in choices)
                yield Broken(listing.about, f"none of {len(listing.rows)} elements", f"an element with {wanted}")


@statement("DQ-074", *_properties2())
def one_granularity_has_powers_of_two(answers: Answers) -> Iterator[Broken]:
    for listing in answers.listings("CooperativeMatrixProperties2EXT"):
        if listing.total:
            yield from _no_powers_of_two(listing, _GRANULARITIES)
