"""Statements about subgroups, float controls, and the limits of compute shaders that the suite relies on."""

from __future__ import annotations

from collections.abc import Iterator

from cts.device.queries.answers import Answers
from cts.device.queries.statement import Broken, Check, Condition, is_power_of_two, of_version, state, statement

COMPUTE_STAGE = 0x20
COMPUTE_QUEUE = 0x2
_BASIC, _QUAD = 0x1, 0x80

V11, V12, V13 = (f"VkPhysicalDeviceVulkan1{n}Properties" for n in (1, 2, 3))
_LIMITS = "VkPhysicalDeviceLimits"

#: Required limits: the member, what is required of Vulkan 1.3, and of 1.4.
LIMITS: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    "DQ-048": ("maxComputeSharedMemorySize", (16384,), (16384,)),
    "DQ-049": ("maxComputeWorkGroupInvocations", (128,), (256,)),
    "DQ-050": ("maxComputeWorkGroupSize", (128, 128, 64), (256, 256, 64)),
    "DQ-051": ("maxComputeWorkGroupCount", (65535, 65535, 65535), (65535, 65535, 65535)),
    "DQ-052": ("maxStorageBufferRange", (1 << 27,), (1 << 27,)),
    "DQ-053": ("maxPushConstantsSize", (128,), (256,)),
}


def in_compute() -> tuple[str, Condition]:
    """The condition that a device has a queue for compute shaders."""
    return "a compute queue", lambda a: any(flags & COMPUTE_QUEUE for flags in a.queues)


def in_quads() -> tuple[str, Condition]:
    """The condition that a device has quad operations."""
    return "quad operations", lambda a: bool((a.number(V11, "subgroupSupportedOperations") or 0) & _QUAD)


def bits(answers: Answers, structure: str, member: str, wanted: int, name: str) -> Iterator[Broken]:
    """Break where a bit mask lacks a bit."""
    value = answers.number(structure, member) or 0
    if value & wanted != wanted:
        yield Broken(f"{structure}::{member}", f"{value:#x}", f"{name} ({wanted:#x}) among the bits")


def at_least(answers: Answers, structure: str, member: str, least: int, why: str = "") -> Iterator[Broken]:
    """Break where a limit is too small, or not reported."""
    value = answers.number(structure, member)
    if value is None or value < least:
        reported = "not reported" if value is None else str(value)
        yield Broken(f"{structure}::{member}", reported, f"at least {least}{why}")


def _power(answers: Answers, structure: str, member: str) -> Iterator[Broken]:
    value = answers.number(structure, member) or 0
    if not is_power_of_two(value):
        yield Broken(f"{structure}::{member}", str(value), "a power of two")


@statement("DQ-041", *in_compute())
def the_subgroup_size_is_a_power_of_two(answers: Answers) -> Iterator[Broken]:
    yield from _power(answers, V11, "subgroupSize")


@statement("DQ-042", *in_compute())
def the_limits_of_subgroup_sizes_are_powers_of_two(answers: Answers) -> Iterator[Broken]:
    yield from _power(answers, V13, "minSubgroupSize")
    yield from _power(answers, V13, "maxSubgroupSize")


@statement("DQ-043")
def subgroup_sizes_are_in_order(answers: Answers) -> Iterator[Broken]:
    smallest, largest = answers.number(V13, "minSubgroupSize"), answers.number(V13, "maxSubgroupSize")
    size = answers.number(V11, "subgroupSize")
    if smallest is None or largest is None or size is None or not smallest <= size <= largest:
        reported = f"{smallest}, with subgroupSize {size} and maxSubgroupSize {largest}"
        yield Broken(f"{V13}::minSubgroupSize", reported, "minSubgroupSize <= subgroupSize <= maxSubgroupSize")


@statement("DQ-044", *in_quads())
def quads_fit_into_a_subgroup(answers: Answers) -> Iterator[Broken]:
    yield from at_least(answers, V11, "subgroupSize", 4)


@statement("DQ-045", *in_quads())
def quads_fit_into_the_smallest_subgroup(answers: Answers) -> Iterator[Broken]:
    yield from at_least(answers, V13, "minSubgroupSize", 4)


@statement("DQ-046", *in_compute())
def compute_shaders_have_subgroups(answers: Answers) -> Iterator[Broken]:
    yield from bits(answers, V11, "subgroupSupportedStages", COMPUTE_STAGE, "VK_SHADER_STAGE_COMPUTE_BIT")


@statement("DQ-047", *in_compute())
def subgroups_have_basic_operations(answers: Answers) -> Iterator[Broken]:
    yield from bits(answers, V11, "subgroupSupportedOperations", _BASIC, "VK_SUBGROUP_FEATURE_BASIC_BIT")


def _limit(member: str, of_13: tuple[int, ...], of_14: tuple[int, ...]) -> Check:
    def check(answers: Answers) -> Iterator[Broken]:
        newer = answers.api >= (1, 4)
        wanted = of_14 if newer else of_13
        value = answers.members(_LIMITS).get(member, 0)
        have = tuple(value) if isinstance(value, tuple) else (value,)
        if len(have) < len(wanted) or any(int(h) < w for h, w in zip(have, wanted, strict=False)):
            least = ", ".join(map(str, wanted))
            reported = ", ".join(map(str, have))
            yield Broken(f"{_LIMITS}::{member}", reported, f"at least {least} of Vulkan 1.{4 if newer else 3}")

    return check


for _fact, _row in LIMITS.items():
    state(_fact, _limit(*_row))


@statement("DQ-054", *of_version(1, 4))
def floats_keep_signed_zeros_infinities_and_nans(answers: Answers) -> Iterator[Broken]:
    halves = answers.supports("VkPhysicalDeviceVulkan12Features", "shaderFloat16")
    for width in (16, 32) if halves else (32,):
        member = f"shaderSignedZeroInfNanPreserveFloat{width}"
        if answers.number(V12, member) != 1:
            yield Broken(f"{V12}::{member}", str(answers.number(V12, member)), "1, for Vulkan 1.4 is supported")
