#version 460
#pragma use_vulkan_memory_model
// tensor_addressing.constness.mixed
// Literals, specialization constants and run-time values within each instruction.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;

layout(constant_id = 0) const uint t1_dims_1 = 17u;
layout(constant_id = 1) const uint t2_strides_0 = 20u;
layout(constant_id = 2) const uint t3_span_1 = 16u;
layout(constant_id = 3) const uint v1_dims_0 = 16u;
layout(constant_id = 4) const uint v2_col_offset = 2u;

layout(std430, set = 0, binding = 0) buffer Buffer_src { float16_t data[]; } src;
layout(std430, set = 0, binding = 1) buffer Buffer_dst { float16_t data[]; } dst;
layout(std430, set = 0, binding = 2) readonly buffer Parameters { uint words[]; } parameters;

#define Layout_2D_Repeat tensorLayoutNV<2, gl_CooperativeMatrixClampModeRepeatNV>
#define View_2D_10 tensorViewNV<2, true, 1, 0>
#define Matrix_float16_16x16_Accumulator coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

void main() {
    Layout_2D_Repeat t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeRepeatNV);
    Layout_2D_Repeat t1 = setTensorLayoutDimensionNV(t, parameters.words[0], t1_dims_1);
    Layout_2D_Repeat t2 = setTensorLayoutStrideNV(t1, t2_strides_0, 1);
    Layout_2D_Repeat t3 = sliceTensorLayoutNV(t2, parameters.words[1], 16, 9, t3_span_1);
    View_2D_10 v = createTensorViewNV(2, true, 1, 0);
    View_2D_10 v1 = setTensorViewDimensionsNV(v, v1_dims_0, parameters.words[2]);
    View_2D_10 v2 = setTensorViewClipNV(v1, 1, parameters.words[3], v2_col_offset, 12);
    Matrix_float16_16x16_Accumulator z = Matrix_float16_16x16_Accumulator(-7.0hf);
    Matrix_float16_16x16_Accumulator m = z;
    coopMatLoadTensorNV(m, src.data, 0, t3, v2);
    coopMatStore(m, dst.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
