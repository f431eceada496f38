#version 460
#pragma use_vulkan_memory_model
// tensor_addressing.clip.with_dimensions
// A clip of a view with dimensions of its own.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;

layout(std430, set = 0, binding = 0) buffer Buffer_src { float16_t data[]; } src;
layout(std430, set = 0, binding = 1) buffer Buffer_dst { float16_t data[]; } dst;

#define Layout_2D_Undefined tensorLayoutNV<2, gl_CooperativeMatrixClampModeUndefinedNV>
#define View_2D_10 tensorViewNV<2, true, 1, 0>
#define Matrix_float16_16x16_Accumulator coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

void main() {
    Layout_2D_Undefined t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeUndefinedNV);
    Layout_2D_Undefined t1 = setTensorLayoutDimensionNV(t, 20, 20);
    Layout_2D_Undefined t2 = sliceTensorLayoutNV(t1, 1, 12, 2, 9);
    View_2D_10 v = createTensorViewNV(2, true, 1, 0);
    View_2D_10 v1 = setTensorViewDimensionsNV(v, 12, 9);
    View_2D_10 v2 = setTensorViewClipNV(v1, 1, 7, 6, 8);
    Matrix_float16_16x16_Accumulator z = Matrix_float16_16x16_Accumulator(-7.0hf);
    Matrix_float16_16x16_Accumulator m = z;
    coopMatLoadTensorNV(m, src.data, 0, t2, v2);
    coopMatStore(m, dst.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
