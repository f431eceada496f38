"""The optional abilities of a device that instructions need."""

from __future__ import annotations

import enum


class Feature(enum.Enum):
    """Optional abilities of a device, by the Vulkan feature that grants them."""

    TENSOR_ADDRESSING = "cooperativeMatrixTensorAddressing"
    BLOCK_LOADS = "cooperativeMatrixBlockLoads"
    WORKGROUP_SCOPE = "cooperativeMatrixWorkgroupScope"
    BUFFER_DEVICE_ADDRESS = "bufferDeviceAddress"
    ARM_LAYOUTS = "cooperativeMatrixArmLayouts"
    ARRAY_CONVERSIONS = "cooperativeMatrixConversion"
    REDUCTIONS = "cooperativeMatrixReductions"
    CONVERSIONS = "cooperativeMatrixConversions"
    #: What VK_NV_cooperative_matrix2 alone has beside these, and what VK_EXT_cooperative_matrix_maintenance1 alone has.
    TRANSPOSES = "cooperativeMatrixConversions of VK_NV_cooperative_matrix2"
    CONVERSIONS_EXT = "cooperativeMatrixConversions of VK_EXT_cooperative_matrix_maintenance1"
    GET_COORDINATE = "cooperativeMatrixGetCoordinate"
    PER_ELEMENT = "cooperativeMatrixPerElementOperations"
    DECODE_VECTOR = "cooperativeMatrixDecodeVector"
    LONG_VECTOR = "longVector"
    REPLICATED_COMPOSITES = "shaderReplicatedComposites"
    VARIABLE_POINTERS = "variablePointers"
    FLOAT_CONTROLS_2 = "shaderFloatControls2"
    MAINTENANCE_4 = "maintenance4"
    COOPERATIVE_VECTOR = "cooperativeVector"
    COOPERATIVE_VECTOR_TRAINING = "cooperativeVectorTraining"
    TRAINING_FLOAT16 = "cooperativeVectorTrainingFloat16Accumulation"
    TRAINING_FLOAT32 = "cooperativeVectorTrainingFloat32Accumulation"
    ATOMIC_FLOAT32_ADD = "shaderBufferFloat32AtomicAdd"
    ATOMIC_FLOAT16_ADD = "shaderBufferFloat16AtomicAdd"
    ROBUST_BUFFER_ACCESS = "robustBufferAccess"
    ROBUST_BUFFER_ACCESS_2 = "robustBufferAccess2"
    ROBUST_MATRIX_ACCESS = "cooperativeMatrixRobustBufferAccess"
    FLOAT4 = "shaderFloat4"
    FLOAT6 = "shaderFloat6"
    FLOAT8_UNSIGNED_E8M0 = "shaderFloat8UnsignedE8M0"
    MXINT8 = "shaderMXInt8"
    DEVICE_SCOPE = "vulkanMemoryModelDeviceScope"


#: What modules with SPV_EXT_cooperative_matrix_maintenance1 alone can do (MX-001).
MAINTENANCE_1 = frozenset({Feature.CONVERSIONS_EXT, Feature.GET_COORDINATE})
