#version 460
#pragma use_vulkan_memory_model
// matrix_arithmetic.environment.multiply_then_add_strict
// A product and a sum: two roundings, never one.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require

layout(local_size_x = 32) in;

layout(std430, set = 0, binding = 0) buffer Buffer_x { float16_t data[]; } x;
layout(std430, set = 0, binding = 1) buffer Buffer_y { float16_t data[]; } y;
layout(std430, set = 0, binding = 2) buffer Buffer_d { float16_t data[]; } d;

#define Matrix_float16_16x16_Accumulator coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

void main() {
    Matrix_float16_16x16_Accumulator x0;
    coopMatLoad(x0, x.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    Matrix_float16_16x16_Accumulator y0;
    coopMatLoad(y0, y.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    precise Matrix_float16_16x16_Accumulator p = x0 * y0;
    precise Matrix_float16_16x16_Accumulator d0 = p - x0;
    coopMatStore(d0, d.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
