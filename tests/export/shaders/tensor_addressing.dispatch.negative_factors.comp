#version 460
#pragma use_vulkan_memory_model
// tensor_addressing.dispatch.negative_factors
// Offsets move by whole periods from workgroup to workgroup, one of them backwards: all tiles are equal.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;

layout(constant_id = 0) const uint t2_offset_1 = 3u;

layout(std430, set = 0, binding = 0) buffer Buffer_src { float16_t data[]; } src;
layout(std430, set = 0, binding = 1) buffer Buffer_dst { float16_t data[]; } dst;
layout(std430, set = 0, binding = 2) readonly buffer Parameters { uint words[]; } parameters;

#define Layout_2D_Repeat tensorLayoutNV<2, gl_CooperativeMatrixClampModeRepeatNV>
#define Matrix_float16_16x16_Accumulator coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

void main() {
    Layout_2D_Repeat t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeRepeatNV);
    Layout_2D_Repeat t1 = setTensorLayoutDimensionNV(t, 5, 7);
    Layout_2D_Repeat t2 = sliceTensorLayoutNV(t1, parameters.words[0] + gl_WorkGroupID.x * 5u, 16, t2_offset_1
        - gl_WorkGroupID.x * 7u, 16);
    Matrix_float16_16x16_Accumulator z = Matrix_float16_16x16_Accumulator(-7.0hf);
    Matrix_float16_16x16_Accumulator m = z;
    coopMatLoadTensorNV(m, src.data, 0, t2);
    coopMatStore(m, dst.data, gl_WorkGroupID.x * 256u, 16, gl_CooperativeMatrixLayoutRowMajor);
}
