"""Which Vulkan features a SPIR-V capability needs, and which are enabled."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

#: The Vulkan features behind SPIR-V capabilities (VK-010, VK-011). One that is not listed is not supported here. What
#: those of stages need, `stages.features` says: it is enabled for pipelines of these stages alone.
FEATURES: dict[str, tuple[str, ...]] = {
    "Matrix": (),
    "Shader": (),
    "Geometry": (),
    "GroupNonUniform": (),
    "GroupNonUniformArithmetic": (),
    "GroupNonUniformBallot": (),
    "GroupNonUniformClustered": (),
    "GroupNonUniformQuad": (),
    "GroupNonUniformRotateKHR": ("shaderSubgroupRotate",),
    "GroupNonUniformShuffle": (),
    "GroupNonUniformShuffleRelative": (),
    "GroupNonUniformVote": (),
    "DenormFlushToZero": (),
    "DenormPreserve": (),
    "RoundingModeRTE": (),
    "RoundingModeRTZ": (),
    "SignedZeroInfNanPreserve": (),
    "AtomicFloat16AddEXT": ("shaderBufferFloat16AtomicAdd",),
    "AtomicFloat16MinMaxEXT": ("shaderBufferFloat16AtomicMinMax",),
    "AtomicFloat32AddEXT": ("shaderBufferFloat32AtomicAdd",),
    "AtomicFloat32MinMaxEXT": ("shaderBufferFloat32AtomicMinMax",),
    "AtomicFloat64AddEXT": ("shaderBufferFloat64AtomicAdd",),
    "AtomicFloat64MinMaxEXT": ("shaderBufferFloat64AtomicMinMax",),
    "BFloat16CooperativeMatrixKHR": ("shaderBFloat16Type", "shaderBFloat16CooperativeMatrix", "cooperativeMatrix"),
    "BFloat16DotProductKHR": ("shaderBFloat16Type", "shaderBFloat16DotProduct"),
    "BFloat16TypeKHR": ("shaderBFloat16Type",),
    "BitcastExtractEXT": (),
    "CooperativeMatrixBlockLoadsNV": ("cooperativeMatrixBlockLoads",),
    "CooperativeMatrixConversionQCOM": ("cooperativeMatrixConversion",),
    "CooperativeMatrixConversionsEXT": ("cooperativeMatrixConversionsEXT",),
    "CooperativeMatrixConversionsNV": ("cooperativeMatrixConversions",),
    "CooperativeMatrixDecodeVectorNV": ("cooperativeMatrixDecodeVector", "cooperativeMatrixBlockLoads"),
    "CooperativeMatrixGetCoordinateEXT": ("cooperativeMatrixGetCoordinate",),
    "CooperativeMatrixKHR": ("cooperativeMatrix",),
    "CooperativeMatrixLayoutsARM": ("cooperativeMatrixArmLayouts",),
    "CooperativeMatrixPerElementOperationsNV": ("cooperativeMatrixPerElementOperations",),
    "CooperativeMatrixReductionsNV": ("cooperativeMatrixReductions",),
    "CooperativeMatrixTensorAddressingNV": ("cooperativeMatrixTensorAddressing",),
    "CooperativeVectorNV": ("cooperativeVector",),
    "CooperativeVectorTrainingNV": ("cooperativeVectorTraining",),
    "DeviceGroup": (),
    "DotProduct": ("shaderIntegerDotProduct",),
    "DotProductInput4x8Bit": ("shaderIntegerDotProduct", "shaderInt8"),
    "DotProductInput4x8BitPacked": ("shaderIntegerDotProduct",),
    "DotProductInputAll": ("shaderIntegerDotProduct",),
    "ExpectAssumeKHR": ("shaderExpectAssume",),
    "Float16": ("shaderFloat16",),
    "Float64": ("shaderFloat64",),
    "Float8CooperativeMatrixEXT": ("shaderFloat8", "shaderFloat8CooperativeMatrix", "cooperativeMatrix"),
    "Float8EXT": ("shaderFloat8",),
    "Float4EXT": ("shaderFloat4",),
    "Float6EXT": ("shaderFloat6",),
    "Float8UnsignedE8M0EXT": ("shaderFloat8UnsignedE8M0",),
    "FloatControls2": ("shaderFloatControls2",),
    "Int16": ("shaderInt16",),
    "Int64": ("shaderInt64",),
    "Int64Atomics": ("shaderBufferInt64Atomics",),
    "Int8": ("shaderInt8",),
    "LongVectorEXT": ("longVector",),
    "MXInt8EXT": ("shaderMXInt8",),
    "MeshShadingEXT": (),
    "PhysicalStorageBufferAddresses": ("bufferDeviceAddress",),
    "RayTracingKHR": (),
    "ReplicatedCompositesEXT": ("shaderReplicatedComposites",),
    "RuntimeDescriptorArray": ("runtimeDescriptorArray",),
    "Shader64BitIndexingEXT": ("shader64BitIndexing",),
    "ShaderNonUniform": (),
    "StorageBuffer16BitAccess": ("storageBuffer16BitAccess",),
    "StorageBuffer8BitAccess": ("storageBuffer8BitAccess",),
    "StorageBufferArrayDynamicIndexing": ("shaderStorageBufferArrayDynamicIndexing",),
    "StorageBufferArrayNonUniformIndexing": ("shaderStorageBufferArrayNonUniformIndexing",),
    "StoragePushConstant16": ("storagePushConstant16",),
    "StoragePushConstant8": ("storagePushConstant8",),
    "Tessellation": (),
    "TensorAddressingNV": ("cooperativeMatrixTensorAddressing",),
    "UniformAndStorageBuffer16BitAccess": ("uniformAndStorageBuffer16BitAccess", "storageBuffer16BitAccess"),
    "UniformAndStorageBuffer8BitAccess": ("uniformAndStorageBuffer8BitAccess", "storageBuffer8BitAccess"),
    "UniformBufferArrayDynamicIndexing": ("shaderUniformBufferArrayDynamicIndexing",),
    "UniformBufferArrayNonUniformIndexing": ("shaderUniformBufferArrayNonUniformIndexing",),
    "UntypedPointersKHR": ("shaderUntypedPointers",),
    "VariablePointers": ("variablePointers", "variablePointersStorageBuffer"),
    "VariablePointersStorageBuffer": ("variablePointersStorageBuffer",),
    "VulkanMemoryModel": ("vulkanMemoryModel",),
    "VulkanMemoryModelDeviceScope": ("vulkanMemoryModelDeviceScope", "vulkanMemoryModel"),
    "WorkgroupMemoryExplicitLayout16BitAccessKHR": (
        "workgroupMemoryExplicitLayout16BitAccess",
        "workgroupMemoryExplicitLayout",
    ),
    "WorkgroupMemoryExplicitLayout8BitAccessKHR": (
        "workgroupMemoryExplicitLayout8BitAccess",
        "workgroupMemoryExplicitLayout",
    ),
    "WorkgroupMemoryExplicitLayoutKHR": ("workgroupMemoryExplicitLayout",),
}

#: Features of two extensions for the same capability, of which one is enough (CM-002, DQ-017).
TWINS = {
    "cooperativeMatrixReductions": "cooperativeMatrixReductionsEXT",
    "cooperativeMatrixPerElementOperations": "cooperativeMatrixPerElementOperationsEXT",
}

#: Features for the same capability in other memory, enabled where the device has them.
WHERE_THERE: dict[str, tuple[str, ...]] = {
    "Int64Atomics": ("shaderSharedInt64Atomics",),
    **{
        f"AtomicFloat{width}{what}EXT": (f"shaderSharedFloat{width}Atomic{what}", f"shaderBufferFloat{width}Atomics")
        for width in (16, 32, 64)
        for what in ("Add", "MinMax")
    },
}

#: Bits of VkSubgroupFeatureFlagBits that capabilities need.
OPERATIONS = {
    "GroupNonUniformVote": 0x2,
    "GroupNonUniformArithmetic": 0x4,
    "GroupNonUniformBallot": 0x8,
    "GroupNonUniformShuffle": 0x10,
    "GroupNonUniformShuffleRelative": 0x20,
    "GroupNonUniformClustered": 0x40,
    "GroupNonUniformQuad": 0x80,
    "GroupNonUniformRotateKHR": 0x200,
}

#: The Vulkan features behind execution modes.
MODES = {
    "MaximallyReconvergesKHR": "shaderMaximalReconvergence",
    "SubgroupUniformControlFlowKHR": "shaderSubgroupUniformControlFlow",
}

#: Features of pipelines and commands, behind no capability of a module.
_OTHERS = (
    "computeFullSubgroups",
    "cooperativeMatrixFlexibleDimensions",
    "cooperativeMatrixProperties2",
    "cooperativeMatrixWorkgroupScope",
    "descriptorBindingPartiallyBound",
    "maintenance4",
    "subgroupSizeControl",
    "synchronization2",
)

#: All features that a module may need. Those of robust accesses are not among them: they change what a module does
#: that does not ask for them.
HARMLESS = frozenset(chain(*FEATURES.values(), *WHERE_THERE.values(), MODES.values(), _OTHERS))


def widened(needed: frozenset[str], listed: Mapping[str, bool]) -> frozenset[str]:
    """The features that a module needs, and those that a device lists and other modules may need.

    One logical device then serves most modules: to make another takes a driver up to a second.
    """
    return needed | {feature for feature in HARMLESS if listed.get(feature)}
