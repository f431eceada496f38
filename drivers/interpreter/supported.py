"""What a module may declare: capabilities and execution modes that execution here honours or need not know."""

from __future__ import annotations

CAPABILITIES = frozenset(
    {
        "Matrix",
        "Shader",
        "Float16",
        "Float64",
        "Int8",
        "Int16",
        "Int64",
        "BFloat16TypeKHR",
        "Float8EXT",
        "StorageBuffer16BitAccess",
        "UniformAndStorageBuffer16BitAccess",
        "StoragePushConstant16",
        "StorageBuffer8BitAccess",
        "UniformAndStorageBuffer8BitAccess",
        "StoragePushConstant8",
        "WorkgroupMemoryExplicitLayoutKHR",
        "WorkgroupMemoryExplicitLayout8BitAccessKHR",
        "WorkgroupMemoryExplicitLayout16BitAccessKHR",
        "Int64Atomics",
        "AtomicFloat16AddEXT",
        "AtomicFloat32AddEXT",
        "AtomicFloat64AddEXT",
        "AtomicFloat16MinMaxEXT",
        "AtomicFloat32MinMaxEXT",
        "AtomicFloat64MinMaxEXT",
        "AtomicFloat16VectorNV",
        "PhysicalStorageBufferAddresses",
        "VariablePointersStorageBuffer",
        "VariablePointers",
        "VulkanMemoryModel",
        "VulkanMemoryModelDeviceScope",
        "GroupNonUniform",
        "DenormPreserve",
        "SignedZeroInfNanPreserve",
        "RoundingModeRTE",
        "FloatControls2",
        "ReplicatedCompositesEXT",
        "CooperativeMatrixKHR",
        "BFloat16CooperativeMatrixKHR",
        "Float8CooperativeMatrixEXT",
        "TensorAddressingNV",
        "CooperativeMatrixTensorAddressingNV",
        "CooperativeMatrixBlockLoadsNV",
        "CooperativeMatrixDecodeVectorNV",
        "CooperativeMatrixReductionsNV",
        "CooperativeMatrixConversionsNV",
        "CooperativeMatrixPerElementOperationsNV",
    }
)

EXECUTION_MODES = frozenset(
    {
        "LocalSize",
        "LocalSizeId",
        "DenormPreserve",
        "SignedZeroInfNanPreserve",
        "RoundingModeRTE",
        "FPFastMathDefault",
        "SubgroupUniformControlFlowKHR",
        "MaximallyReconvergesKHR",
    }
)
