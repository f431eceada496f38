"""Why instructions without a handler have none, by patterns of their names."""

from __future__ import annotations

from fnmatch import fnmatchcase

#: Patterns of opcodes and what they are part of, each of which is out of the interpreter's scope as a whole.
OUT_OF_SCOPE: dict[str, tuple[str, ...]] = {
    "images and samplers": (
        "OpImage*",
        "OpSampledImage",
        "OpTypeImage",
        "OpTypeSampler",
        "OpTypeSampledImage",
        "OpConstantSampler",
        "OpSamplerImageAddressingModeNV",
        "OpConvert*ToImageNV",
        "OpConvert*ToSamplerNV",
        "OpConvert*ToSampledImageNV",
        "OpConvertImageToUNV",
        "OpConvertSamplerToUNV",
        "OpConvertSampledImageToUNV",
        "OpFragment*FetchAMD",
        "Op*AttachmentReadEXT",
    ),
    "derivatives": ("OpDPd[xy]*", "OpFwidth*"),
    "fragment shaders": (
        "OpKill",
        "OpTerminateInvocation",
        "OpDemoteToHelperInvocation",
        "OpIsHelperInvocationEXT",
        "Op*InvocationInterlockEXT",
    ),
    "geometry and mesh shaders": ("OpEmit*Vertex", "OpEnd*Primitive", "OpWritePackedPrimitiveIndices4x8NV"),
    "ray tracing": (
        "OpRayQuery*",
        "OpTypeRayQueryKHR",
        "OpTypeAccelerationStructureKHR",
        "OpConvertUToAccelerationStructureKHR",
        "OpTrace*",
        "OpExecuteCallable*",
        "OpIgnoreIntersection*",
        "OpTerminateRay*",
        "OpReportIntersectionKHR",
        "OpHitObject*",
        "OpTypeHitObject*",
        "OpReorderThread*",
        "OpFetchMicroTriangle*",
    ),
    "untyped pointers of OpenCL kernels": (
        "OpUntypedPrefetchKHR",
        "OpUntypedGroupAsyncCopyKHR",
        "OpUntypedVariableLengthArrayINTEL",
    ),
    "raw access chains": ("OpRawAccessChainNV",),
    "the predecessor of OpTypeCooperativeMatrixKHR": (
        "OpTypeCooperativeMatrixNV",
        "OpCooperativeMatrixLoadNV",
        "OpCooperativeMatrixStoreNV",
        "OpCooperativeMatrixMulAddNV",
        "OpCooperativeMatrixLengthNV",
    ),
    "tensors and graphs of Arm": ("Op*ARM",),
    "work graphs of AMD": ("Op*AMDX",),
    "group operations of AMD": ("OpGroup*AMD",),
    "OpenCL kernels": (
        "OpGroup[!DMN]*",
        "Op*ReserveId",
        "OpEnqueue*",
        "OpGetDefaultQueue",
        "OpGetKernel*",
        "OpBuildNDRange",
        "Op*UserEvent",
        "Op*Event*",
        "Op*Pipe*",
        "Op*NamedBarrier*",
        "OpTypeOpaque",
        "OpTypeQueue",
        "OpLifetime*",
        "OpSizeOf",
        "OpSatConvert*",
        "OpGenericCastToPtr*",
        "OpPtrCastToGeneric",
        "OpGenericPtrMemSemantics",
        "OpIsFinite",
        "OpIsNormal",
        "OpSignBitSet",
        "OpLessOrGreater",
        "OpAtomicFlag*",
    ),
    "Intel's and Altera's FPGAs and GPUs": ("Op*INTEL", "Op*ALTERA"),
}


def reason(opcode: str) -> str:
    """The unsupported feature that an opcode belongs to; "" if it belongs to no known one."""
    for description, patterns in OUT_OF_SCOPE.items():
        if any(fnmatchcase(opcode, pattern) for pattern in patterns):
            return description
    return ""
