"""Statements about extensions and features: which need which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cts.device.queries.answers import Answers
from cts.device.queries.statement import Broken, Check, of_extension, of_version, state, statement

_MATRIX2 = "VkPhysicalDeviceCooperativeMatrix2FeaturesNV"
_BFLOAT16 = "VkPhysicalDeviceShaderBfloat16FeaturesKHR"
_V12 = "VkPhysicalDeviceVulkan12Features"
_LAYOUT = "VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR"

#: Extensions that need another one.
DEPENDENCIES = {
    "DQ-018": ("VK_NV_cooperative_matrix2", "VK_KHR_cooperative_matrix"),
    "DQ-019": ("VK_EXT_cooperative_matrix_maintenance1", "VK_KHR_cooperative_matrix"),
    "DQ-020": ("VK_NV_cooperative_matrix_decode_vector", "VK_NV_cooperative_matrix2"),
    "DQ-021": ("VK_EXT_shader_atomic_float2", "VK_EXT_shader_atomic_float"),
}

#: Extensions whose devices must support a feature, and its structure.
REQUIRED = {
    "DQ-022": ("VK_KHR_cooperative_matrix", "VkPhysicalDeviceCooperativeMatrixFeaturesKHR", "cooperativeMatrix"),
    "DQ-023": ("VK_NV_cooperative_matrix", "VkPhysicalDeviceCooperativeMatrixFeaturesNV", "cooperativeMatrix"),
    "DQ-024": (
        "VK_EXT_cooperative_matrix_maintenance1",
        "VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT",
        "cooperativeMatrixProperties2",
    ),
    "DQ-025": (
        "VK_NV_cooperative_matrix_decode_vector",
        "VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV",
        "cooperativeMatrixDecodeVector",
    ),
    "DQ-026": ("VK_NV_cooperative_matrix_decode_vector", _MATRIX2, "cooperativeMatrixBlockLoads"),
    "DQ-027": ("VK_NV_cooperative_vector", "VkPhysicalDeviceCooperativeVectorFeaturesNV", "cooperativeVector"),
    "DQ-028": ("VK_EXT_shader_float8", "VkPhysicalDeviceShaderFloat8FeaturesEXT", "shaderFloat8"),
    "DQ-029": ("VK_KHR_shader_bfloat16", _BFLOAT16, "shaderBFloat16Type"),
    "DQ-030": ("VK_EXT_shader_long_vector", "VkPhysicalDeviceShaderLongVectorFeaturesEXT", "longVector"),
    "DQ-031": ("VK_EXT_shader_long_vector", _V12, "scalarBlockLayout"),
}

#: The other extensions that the suite uses, each with its one required feature.
OTHERS = {
    "VK_EXT_shader_replicated_composites": (
        "VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT",
        "shaderReplicatedComposites",
    ),
    "VK_EXT_shader_64bit_indexing": ("VkPhysicalDeviceShader64BitIndexingFeaturesEXT", "shader64BitIndexing"),
    "VK_KHR_shader_untyped_pointers": ("VkPhysicalDeviceShaderUntypedPointersFeaturesKHR", "shaderUntypedPointers"),
    "VK_KHR_shader_float_controls2": ("VkPhysicalDeviceShaderFloatControls2FeaturesKHR", "shaderFloatControls2"),
    "VK_KHR_shader_subgroup_rotate": ("VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR", "shaderSubgroupRotate"),
    "VK_KHR_shader_expect_assume": ("VkPhysicalDeviceShaderExpectAssumeFeaturesKHR", "shaderExpectAssume"),
    "VK_KHR_shader_maximal_reconvergence": (
        "VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR",
        "shaderMaximalReconvergence",
    ),
    "VK_KHR_shader_subgroup_uniform_control_flow": (
        "VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR",
        "shaderSubgroupUniformControlFlow",
    ),
    "VK_KHR_workgroup_memory_explicit_layout": (_LAYOUT, "workgroupMemoryExplicitLayout"),
}

#: Features that a version of Vulkan requires, of those that the suite uses; the structures of 1.0 to 1.3 are reported.
OF_VERSIONS = {
    "DQ-037": ((1, 0), ("VkPhysicalDeviceFeatures2 robustBufferAccess",)),
    "DQ-038": (
        (1, 3),
        (
            f"{_V12} vulkanMemoryModel vulkanMemoryModelDeviceScope bufferDeviceAddress",
            "VkPhysicalDeviceVulkan13Features subgroupSizeControl computeFullSubgroups maintenance4 synchronization2"
            " shaderIntegerDotProduct",
        ),
    ),
    "DQ-039": (
        (1, 4),
        (
            "VkPhysicalDeviceFeatures2 shaderInt16",
            "VkPhysicalDeviceVulkan11Features storageBuffer16BitAccess variablePointers variablePointersStorageBuffer",
            f"{_V12} scalarBlockLayout shaderInt8 storageBuffer8BitAccess",
        ),
    ),
}


def _missing(answers: Answers, structure: str, features: Iterable[str], why: str) -> Iterator[Broken]:
    for feature in features:
        value = answers.number(structure, feature)
        if value != 1:
            reported = "not reported" if value is None else str(value)
            yield Broken(f"{structure}::{feature}", reported, f"1, for {why}")


def _depends(extension: str, other: str) -> Check:
    def check(answers: Answers) -> Iterator[Broken]:
        if not answers.has(other):
            yield Broken(extension, f"listed, and {other} not", f"{other} listed as well, or neither")

    return check


def _requires(extension: str, structure: str, feature: str) -> Check:
    return lambda answers: _missing(answers, structure, [feature], f"{extension} is listed")


def _of_version(number: tuple[int, int], structures: tuple[str, ...]) -> Check:
    def check(answers: Answers) -> Iterator[Broken]:
        for text in structures:
            structure, *features = text.split()
            yield from _missing(answers, structure, features, f"Vulkan {number[0]}.{number[1]} is supported")

    return check


for _fact, (_extension, _other) in DEPENDENCIES.items():
    state(_fact, _depends(_extension, _other), *of_extension(_extension))
for _fact, (_extension, _structure, _feature) in REQUIRED.items():
    state(_fact, _requires(_extension, _structure, _feature), *of_extension(_extension))
for _fact, (_number, _structures) in OF_VERSIONS.items():
    state(_fact, _of_version(_number, _structures), *of_version(*_number))


@statement(
    "DQ-032",
    "VK_EXT_shader_long_vector together with VK_KHR_workgroup_memory_explicit_layout",
    lambda a: a.has("VK_EXT_shader_long_vector") and a.has("VK_KHR_workgroup_memory_explicit_layout"),
)
def long_vectors_are_laid_out_in_workgroup_memory(answers: Answers) -> Iterator[Broken]:
    feature = "workgroupMemoryExplicitLayoutScalarBlockLayout"
    yield from _missing(answers, _LAYOUT, [feature], "both extensions are listed")


@statement("DQ-033", *of_extension("VK_NV_cooperative_matrix2"))
def matrix2_has_a_feature(answers: Answers) -> Iterator[Broken]:
    yield from _none_of(answers, _MATRIX2, list(answers.members(_MATRIX2)))


@statement("DQ-034", *of_extension("VK_KHR_shader_bfloat16"))
def bfloat16_is_of_use(answers: Answers) -> Iterator[Broken]:
    yield from _none_of(answers, _BFLOAT16, ["shaderBFloat16CooperativeMatrix", "shaderBFloat16DotProduct"])


@statement(
    "DQ-035",
    "VK_EXT_shader_atomic_float",
    lambda a: a.has("VK_EXT_shader_atomic_float") or a.has("VK_EXT_shader_atomic_float2"),
)
def atomics_have_a_feature(answers: Answers) -> Iterator[Broken]:
    for number in ("", "2"):
        structure = f"VkPhysicalDeviceShaderAtomicFloat{number}FeaturesEXT"
        if answers.has(f"VK_EXT_shader_atomic_float{number}"):
            features = [f for f in answers.members(structure) if not f.startswith("sparse")]
            yield from _none_of(answers, structure, features)


def _none_of(answers: Answers, structure: str, features: list[str]) -> Iterator[Broken]:
    if not any(answers.supports(structure, feature) for feature in features):
        right = f"at least one of {', '.join(features) or 'its features'}"
        yield Broken(structure, "no feature is supported", right)


@statement("DQ-036", "any of the extensions", lambda a: any(map(a.has, OTHERS)))
def other_extensions_have_their_features(answers: Answers) -> Iterator[Broken]:
    for extension, (structure, feature) in OTHERS.items():
        if answers.has(extension):
            yield from _missing(answers, structure, [feature], f"{extension} is listed")


@statement("DQ-040")
def variable_pointers_can_be_enabled(answers: Answers) -> Iterator[Broken]:
    structure = "VkPhysicalDeviceVulkan11Features"
    if answers.supports(structure, "variablePointers"):
        why = "variablePointers is supported, and cannot be enabled without it"
        yield from _missing(answers, structure, ["variablePointersStorageBuffer"], why)
