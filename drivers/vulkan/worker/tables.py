"""Structures of features and properties, in which a feature or property lives, as lists of their members.

Every feature structure is a header and VkBool32 members, and the property structures wanted here are a
header and 32-bit members. Nothing here needs Vulkan: exports that do not run anything read these tables, too.
"""

from __future__ import annotations

from typing import NamedTuple


class Table(NamedTuple):
    """A structure of 32-bit members. `extension` must be supported, and enabled to use a feature; "": core."""

    name: str
    s_type: int
    extension: str
    members: tuple[str, ...]


def _table(name: str, s_type: int, extension: str, members: str) -> Table:
    return Table(name, s_type, extension, tuple(members.split()))


#: Where each feature lives (VK-001..VK-006). The core ones are those of Vulkan 1.3.
FEATURES = (
    _table(
        "VkPhysicalDeviceFeatures2",
        1000059000,
        "",
        "robustBufferAccess fullDrawIndexUint32 imageCubeArray independentBlend geometryShader "
        "tessellationShader sampleRateShading dualSrcBlend logicOp multiDrawIndirect "
        "drawIndirectFirstInstance depthClamp depthBiasClamp fillModeNonSolid depthBounds wideLines "
        "largePoints alphaToOne multiViewport samplerAnisotropy textureCompressionETC2 "
        "textureCompressionASTC_LDR textureCompressionBC occlusionQueryPrecise pipelineStatisticsQuery "
        "vertexPipelineStoresAndAtomics fragmentStoresAndAtomics shaderTessellationAndGeometryPointSize "
        "shaderImageGatherExtended shaderStorageImageExtendedFormats shaderStorageImageMultisample "
        "shaderStorageImageReadWithoutFormat shaderStorageImageWriteWithoutFormat "
        "shaderUniformBufferArrayDynamicIndexing shaderSampledImageArrayDynamicIndexing "
        "shaderStorageBufferArrayDynamicIndexing shaderStorageImageArrayDynamicIndexing shaderClipDistance "
        "shaderCullDistance shaderFloat64 shaderInt64 shaderInt16 shaderResourceResidency "
        "shaderResourceMinLod sparseBinding sparseResidencyBuffer sparseResidencyImage2D "
        "sparseResidencyImage3D sparseResidency2Samples sparseResidency4Samples sparseResidency8Samples "
        "sparseResidency16Samples sparseResidencyAliased variableMultisampleRate inheritedQueries",
    ),
    _table(
        "VkPhysicalDeviceVulkan11Features",
        49,
        "",
        "storageBuffer16BitAccess uniformAndStorageBuffer16BitAccess storagePushConstant16 "
        "storageInputOutput16 multiview multiviewGeometryShader multiviewTessellationShader "
        "variablePointersStorageBuffer variablePointers protectedMemory samplerYcbcrConversion "
        "shaderDrawParameters",
    ),
    _table(
        "VkPhysicalDeviceVulkan12Features",
        51,
        "",
        "samplerMirrorClampToEdge drawIndirectCount storageBuffer8BitAccess uniformAndStorageBuffer8BitAccess "
        "storagePushConstant8 shaderBufferInt64Atomics shaderSharedInt64Atomics shaderFloat16 shaderInt8 "
        "descriptorIndexing shaderInputAttachmentArrayDynamicIndexing "
        "shaderUniformTexelBufferArrayDynamicIndexing shaderStorageTexelBufferArrayDynamicIndexing "
        "shaderUniformBufferArrayNonUniformIndexing shaderSampledImageArrayNonUniformIndexing "
        "shaderStorageBufferArrayNonUniformIndexing shaderStorageImageArrayNonUniformIndexing "
        "shaderInputAttachmentArrayNonUniformIndexing shaderUniformTexelBufferArrayNonUniformIndexing "
        "shaderStorageTexelBufferArrayNonUniformIndexing descriptorBindingUniformBufferUpdateAfterBind "
        "descriptorBindingSampledImageUpdateAfterBind descriptorBindingStorageImageUpdateAfterBind "
        "descriptorBindingStorageBufferUpdateAfterBind descriptorBindingUniformTexelBufferUpdateAfterBind "
        "descriptorBindingStorageTexelBufferUpdateAfterBind descriptorBindingUpdateUnusedWhilePending "
        "descriptorBindingPartiallyBound descriptorBindingVariableDescriptorCount runtimeDescriptorArray "
        "samplerFilterMinmax scalarBlockLayout imagelessFramebuffer uniformBufferStandardLayout "
        "shaderSubgroupExtendedTypes separateDepthStencilLayouts hostQueryReset timelineSemaphore "
        "bufferDeviceAddress bufferDeviceAddressCaptureReplay bufferDeviceAddressMultiDevice "
        "vulkanMemoryModel vulkanMemoryModelDeviceScope vulkanMemoryModelAvailabilityVisibilityChains "
        "shaderOutputViewportIndex shaderOutputLayer subgroupBroadcastDynamicId",
    ),
    _table(
        "VkPhysicalDeviceVulkan13Features",
        53,
        "",
        "robustImageAccess inlineUniformBlock descriptorBindingInlineUniformBlockUpdateAfterBind "
        "pipelineCreationCacheControl privateData shaderDemoteToHelperInvocation shaderTerminateInvocation "
        "subgroupSizeControl computeFullSubgroups synchronization2 textureCompressionASTC_HDR "
        "shaderZeroInitializeWorkgroupMemory dynamicRendering shaderIntegerDotProduct maintenance4",
    ),
    _table(
        "VkPhysicalDeviceRobustness2FeaturesEXT",
        1000286000,
        "VK_EXT_robustness2",
        "robustBufferAccess2 robustImageAccess2 nullDescriptor",
    ),
    _table(
        "VkPhysicalDeviceCooperativeMatrixFeaturesKHR",
        1000506000,
        "VK_KHR_cooperative_matrix",
        "cooperativeMatrix cooperativeMatrixRobustBufferAccess",
    ),
    _table(
        "VkPhysicalDeviceCooperativeMatrix2FeaturesNV",
        1000593000,
        "VK_NV_cooperative_matrix2",
        "cooperativeMatrixWorkgroupScope cooperativeMatrixFlexibleDimensions cooperativeMatrixReductions"
        " cooperativeMatrixConversions cooperativeMatrixPerElementOperations cooperativeMatrixTensorAddressing"
        " cooperativeMatrixBlockLoads",
    ),
    # Members that the structure before has under the same name carry a suffix here: features go by name.
    _table(
        "VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT",
        1000659000,
        "VK_EXT_cooperative_matrix_maintenance1",
        "cooperativeMatrixProperties2 cooperativeMatrixReductionsEXT cooperativeMatrixConversionsEXT"
        " cooperativeMatrixPerElementOperationsEXT cooperativeMatrixGetCoordinate",
    ),
    _table(
        "VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV",
        1000689000,
        "VK_NV_cooperative_matrix_decode_vector",
        "cooperativeMatrixDecodeVector",
    ),
    _table(
        "VkPhysicalDeviceCooperativeMatrixLayoutsFeaturesARM",
        1000670000,
        "VK_ARM_cooperative_matrix_layouts",
        "cooperativeMatrixArmLayouts",
    ),
    _table(
        "VkPhysicalDeviceCooperativeMatrixConversionFeaturesQCOM",
        1000172000,
        "VK_QCOM_cooperative_matrix_conversion",
        "cooperativeMatrixConversion",
    ),
    _table(
        "VkPhysicalDeviceShaderOCPMicroscalingTypesFeaturesEXT",
        1000672000,
        "VK_EXT_shader_ocp_microscaling_types",
        "shaderFloat4 shaderFloat6 shaderFloat8UnsignedE8M0 shaderMXInt8",
    ),
    _table(
        "VkPhysicalDeviceCooperativeVectorFeaturesNV",
        1000491000,
        "VK_NV_cooperative_vector",
        "cooperativeVector cooperativeVectorTraining",
    ),
    _table(
        "VkPhysicalDeviceShaderFloat8FeaturesEXT",
        1000567000,
        "VK_EXT_shader_float8",
        "shaderFloat8 shaderFloat8CooperativeMatrix",
    ),
    _table(
        "VkPhysicalDeviceShaderBfloat16FeaturesKHR",
        1000141000,
        "VK_KHR_shader_bfloat16",
        "shaderBFloat16Type shaderBFloat16DotProduct shaderBFloat16CooperativeMatrix",
    ),
    _table(
        "VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT",
        1000564000,
        "VK_EXT_shader_replicated_composites",
        "shaderReplicatedComposites",
    ),
    _table(
        "VkPhysicalDeviceShader64BitIndexingFeaturesEXT",
        1000627000,
        "VK_EXT_shader_64bit_indexing",
        "shader64BitIndexing",
    ),
    _table(
        "VkPhysicalDeviceShaderUntypedPointersFeaturesKHR",
        1000387000,
        "VK_KHR_shader_untyped_pointers",
        "shaderUntypedPointers",
    ),
    _table("VkPhysicalDeviceShaderLongVectorFeaturesEXT", 1000635000, "VK_EXT_shader_long_vector", "longVector"),
    _table(
        "VkPhysicalDeviceShaderFloatControls2FeaturesKHR",
        1000528000,
        "VK_KHR_shader_float_controls2",
        "shaderFloatControls2",
    ),
    _table(
        "VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR",
        1000336000,
        "VK_KHR_workgroup_memory_explicit_layout",
        "workgroupMemoryExplicitLayout workgroupMemoryExplicitLayoutScalarBlockLayout"
        " workgroupMemoryExplicitLayout8BitAccess workgroupMemoryExplicitLayout16BitAccess",
    ),
    _table(
        "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT",
        1000260000,
        "VK_EXT_shader_atomic_float",
        "shaderBufferFloat32Atomics shaderBufferFloat32AtomicAdd shaderBufferFloat64Atomics"
        " shaderBufferFloat64AtomicAdd shaderSharedFloat32Atomics shaderSharedFloat32AtomicAdd"
        " shaderSharedFloat64Atomics shaderSharedFloat64AtomicAdd shaderImageFloat32Atomics"
        " shaderImageFloat32AtomicAdd sparseImageFloat32Atomics sparseImageFloat32AtomicAdd",
    ),
    _table(
        "VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT",
        1000273000,
        "VK_EXT_shader_atomic_float2",
        "shaderBufferFloat16Atomics shaderBufferFloat16AtomicAdd shaderBufferFloat16AtomicMinMax"
        " shaderBufferFloat32AtomicMinMax shaderBufferFloat64AtomicMinMax"
        " shaderSharedFloat16Atomics shaderSharedFloat16AtomicAdd shaderSharedFloat16AtomicMinMax"
        " shaderSharedFloat32AtomicMinMax shaderSharedFloat64AtomicMinMax"
        " shaderImageFloat32AtomicMinMax sparseImageFloat32AtomicMinMax",
    ),
    _table(
        "VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR",
        1000416000,
        "VK_KHR_shader_subgroup_rotate",
        "shaderSubgroupRotate shaderSubgroupRotateClustered",
    ),
    _table(
        "VkPhysicalDeviceShaderExpectAssumeFeaturesKHR", 1000544000, "VK_KHR_shader_expect_assume", "shaderExpectAssume"
    ),
    _table(
        "VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR",
        1000434000,
        "VK_KHR_shader_maximal_reconvergence",
        "shaderMaximalReconvergence",
    ),
    _table(
        "VkPhysicalDeviceMeshShaderFeaturesEXT",
        1000328000,
        "VK_EXT_mesh_shader",
        "taskShader meshShader multiviewMeshShader primitiveFragmentShadingRateMeshShader meshShaderQueries",
    ),
    _table(
        "VkPhysicalDeviceRayTracingPipelineFeaturesKHR",
        1000347000,
        "VK_KHR_ray_tracing_pipeline",
        "rayTracingPipeline rayTracingPipelineShaderGroupHandleCaptureReplay"
        " rayTracingPipelineShaderGroupHandleCaptureReplayMixed rayTracingPipelineTraceRaysIndirect"
        " rayTraversalPrimitiveCulling",
    ),
    _table(
        "VkPhysicalDeviceAccelerationStructureFeaturesKHR",
        1000150013,
        "VK_KHR_acceleration_structure",
        "accelerationStructure accelerationStructureCaptureReplay accelerationStructureIndirectBuild"
        " accelerationStructureHostCommands descriptorBindingAccelerationStructureUpdateAfterBind",
    ),
    _table(
        "VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR",
        1000323000,
        "VK_KHR_shader_subgroup_uniform_control_flow",
        "shaderSubgroupUniformControlFlow",
    ),
    _table("VkPhysicalDeviceMaintenance5FeaturesKHR", 1000470000, "VK_KHR_maintenance5", "maintenance5"),
    _table("VkPhysicalDeviceShaderObjectFeaturesEXT", 1000482000, "VK_EXT_shader_object", "shaderObject"),
    _table(
        "VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR",
        1000269000,
        "VK_KHR_pipeline_executable_properties",
        "pipelineExecutableInfo",
    ),
)

#: Properties beside those of core structures (VK-002, VK-003, VK-005).
PROPERTIES = (
    _table(
        "VkPhysicalDeviceCooperativeMatrixPropertiesKHR",
        1000506002,
        "VK_KHR_cooperative_matrix",
        "cooperativeMatrixSupportedStages",
    ),
    _table(
        "VkPhysicalDeviceCooperativeMatrix2PropertiesNV",
        1000593002,
        "VK_NV_cooperative_matrix2",
        "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize cooperativeMatrixFlexibleDimensionsMaxDimension"
        " cooperativeMatrixWorkgroupScopeReservedSharedMemory",
    ),
    _table(
        "VkPhysicalDeviceCooperativeVectorPropertiesNV",
        1000491001,
        "VK_NV_cooperative_vector",
        "cooperativeVectorSupportedStages cooperativeVectorTrainingFloat16Accumulation"
        " cooperativeVectorTrainingFloat32Accumulation maxCooperativeVectorComponents",
    ),
    # Arrays of three are three members here.
    _table(
        "VkPhysicalDeviceMeshShaderPropertiesEXT",
        1000328001,
        "VK_EXT_mesh_shader",
        "maxTaskWorkGroupTotalCount maxTaskWorkGroupCountX maxTaskWorkGroupCountY maxTaskWorkGroupCountZ"
        " maxTaskWorkGroupInvocations maxTaskWorkGroupSizeX maxTaskWorkGroupSizeY maxTaskWorkGroupSizeZ"
        " maxTaskPayloadSize maxTaskSharedMemorySize maxTaskPayloadAndSharedMemorySize"
        " maxMeshWorkGroupTotalCount maxMeshWorkGroupCountX maxMeshWorkGroupCountY maxMeshWorkGroupCountZ"
        " maxMeshWorkGroupInvocations maxMeshWorkGroupSizeX maxMeshWorkGroupSizeY maxMeshWorkGroupSizeZ"
        " maxMeshSharedMemorySize maxMeshPayloadAndSharedMemorySize maxMeshOutputMemorySize"
        " maxMeshPayloadAndOutputMemorySize maxMeshOutputComponents maxMeshOutputVertices maxMeshOutputPrimitives"
        " maxMeshOutputLayers maxMeshMultiviewViewCount meshOutputPerVertexGranularity"
        " meshOutputPerPrimitiveGranularity maxPreferredTaskWorkGroupInvocations"
        " maxPreferredMeshWorkGroupInvocations prefersLocalInvocationVertexOutput"
        " prefersLocalInvocationPrimitiveOutput prefersCompactVertexOutput prefersCompactPrimitiveOutput",
    ),
    _table(
        "VkPhysicalDeviceRayTracingPipelinePropertiesKHR",
        1000347001,
        "VK_KHR_ray_tracing_pipeline",
        "shaderGroupHandleSize maxRayRecursionDepth maxShaderGroupStride shaderGroupBaseAlignment"
        " shaderGroupHandleCaptureReplaySize maxRayDispatchInvocationCount shaderGroupHandleAlignment"
        " maxRayHitAttributeSize",
    ),
    _table(
        "VkPhysicalDeviceShaderLongVectorPropertiesEXT", 1000635001, "VK_EXT_shader_long_vector", "maxVectorComponents"
    ),
)

#: The structures of VK_NV_cooperative_matrix, which came before VK_KHR_cooperative_matrix: reported, never enabled.
OLDER = (
    _table(
        "VkPhysicalDeviceCooperativeMatrixFeaturesNV",
        1000249000,
        "VK_NV_cooperative_matrix",
        "cooperativeMatrix cooperativeMatrixRobustBufferAccess",
    ),
    _table(
        "VkPhysicalDeviceCooperativeMatrixPropertiesNV",
        1000249002,
        "VK_NV_cooperative_matrix",
        "cooperativeMatrixSupportedStages",
    ),
)

#: The structures whose members those of Vulkan 1.1 to 1.3 have taken over: reported, to be compared with these.
PARTS = (
    _table(
        "VkPhysicalDevice16BitStorageFeatures",
        1000083000,
        "",
        "storageBuffer16BitAccess uniformAndStorageBuffer16BitAccess storagePushConstant16 storageInputOutput16",
    ),
    _table(
        "VkPhysicalDevice8BitStorageFeatures",
        1000177000,
        "",
        "storageBuffer8BitAccess uniformAndStorageBuffer8BitAccess storagePushConstant8",
    ),
    _table(
        "VkPhysicalDeviceVariablePointersFeatures", 1000120000, "", "variablePointersStorageBuffer variablePointers"
    ),
    _table("VkPhysicalDeviceShaderFloat16Int8Features", 1000082000, "", "shaderFloat16 shaderInt8"),
    _table("VkPhysicalDeviceScalarBlockLayoutFeatures", 1000221000, "", "scalarBlockLayout"),
    _table(
        "VkPhysicalDeviceBufferDeviceAddressFeatures",
        1000257000,
        "",
        "bufferDeviceAddress bufferDeviceAddressCaptureReplay bufferDeviceAddressMultiDevice",
    ),
    _table(
        "VkPhysicalDeviceVulkanMemoryModelFeatures",
        1000211000,
        "",
        "vulkanMemoryModel vulkanMemoryModelDeviceScope vulkanMemoryModelAvailabilityVisibilityChains",
    ),
    _table("VkPhysicalDeviceSubgroupSizeControlFeatures", 1000225002, "", "subgroupSizeControl computeFullSubgroups"),
    _table("VkPhysicalDeviceMaintenance4Features", 1000413000, "", "maintenance4"),
    _table(
        "VkPhysicalDeviceSubgroupProperties",
        1000094000,
        "",
        "subgroupSize supportedStages supportedOperations quadOperationsInAllStages",
    ),
    _table(
        "VkPhysicalDeviceSubgroupSizeControlProperties",
        1000225000,
        "",
        "minSubgroupSize maxSubgroupSize maxComputeWorkgroupSubgroups requiredSubgroupSizeStages",
    ),
    _table(
        "VkPhysicalDeviceFloatControlsProperties",
        1000197000,
        "",
        "denormBehaviorIndependence roundingModeIndependence "
        "shaderSignedZeroInfNanPreserveFloat16 shaderSignedZeroInfNanPreserveFloat32 "
        "shaderSignedZeroInfNanPreserveFloat64 shaderDenormPreserveFloat16 shaderDenormPreserveFloat32 "
        "shaderDenormPreserveFloat64 shaderDenormFlushToZeroFloat16 shaderDenormFlushToZeroFloat32 "
        "shaderDenormFlushToZeroFloat64 shaderRoundingModeRTEFloat16 shaderRoundingModeRTEFloat32 "
        "shaderRoundingModeRTEFloat64 shaderRoundingModeRTZFloat16 shaderRoundingModeRTZFloat32 "
        "shaderRoundingModeRTZFloat64",
    ),
)

#: Extensions that an extension needs enabled as well (VK-001); those in Vulkan 1.3 are left out.
DEPENDENCIES = {
    "VK_EXT_shader_atomic_float2": ("VK_EXT_shader_atomic_float",),
    "VK_KHR_acceleration_structure": ("VK_KHR_deferred_host_operations",),
    "VK_KHR_ray_tracing_pipeline": ("VK_KHR_acceleration_structure", "VK_KHR_deferred_host_operations"),
    "VK_NV_cooperative_matrix2": ("VK_KHR_cooperative_matrix",),
    "VK_ARM_cooperative_matrix_layouts": ("VK_KHR_cooperative_matrix",),
    "VK_QCOM_cooperative_matrix_conversion": ("VK_KHR_cooperative_matrix",),
    "VK_EXT_cooperative_matrix_maintenance1": ("VK_KHR_cooperative_matrix",),
    "VK_NV_cooperative_matrix_decode_vector": ("VK_KHR_cooperative_matrix", "VK_NV_cooperative_matrix2"),
}

#: What a device needs for its matrices of cooperative vectors to be converted by a command (VK-053, VK-056).
CONVERSIONS = frozenset({"cooperativeVector", "bufferDeviceAddress", "synchronization2"})
