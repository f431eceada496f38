#version 460
#pragma use_vulkan_memory_model
// matrix_memory.workgroup.exchange_between_subgroups
// Each of two subgroups stores a tile and, behind the barrier, loads the other one.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 64) in;

layout(std430, set = 0, binding = 0) workgroupcoherent buffer Buffer_src { float16_t data[]; } src;
layout(std430, set = 0, binding = 1) workgroupcoherent buffer Buffer_s { float16_t data[]; } s;
layout(std430, set = 0, binding = 2) workgroupcoherent buffer Buffer_dst { float16_t data[]; } dst;
shared float16_t part_of_s[512];

#define Matrix_float16_16x16_Accumulator coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

void workgroupBarrier() {
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

void main() {
    const uint workgroup = gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y *
        gl_WorkGroupID.z);
    for (uint element = gl_LocalInvocationIndex; element < 512; element += 64)
        part_of_s[element] = s.data[workgroup * 512u + element];
    workgroupBarrier();
    Matrix_float16_16x16_Accumulator m;
    coopMatLoad(m, src.data, gl_SubgroupID * 256u, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(m, part_of_s, gl_SubgroupID * 256u, 16, gl_CooperativeMatrixLayoutRowMajor);
    workgroupBarrier();
    Matrix_float16_16x16_Accumulator n;
    coopMatLoad(n, part_of_s, 256u - gl_SubgroupID * 256u, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(n, dst.data, gl_SubgroupID * 256u, 16, gl_CooperativeMatrixLayoutRowMajor);
    workgroupBarrier();
    for (uint element_2 = gl_LocalInvocationIndex; element_2 < 512; element_2 += 64)
        s.data[workgroup * 512u + element_2] = part_of_s[element_2];
}
