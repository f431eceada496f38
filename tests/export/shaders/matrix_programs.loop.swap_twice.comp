#version 460
#pragma use_vulkan_memory_model
// matrix_programs.loop.swap_twice
// Two carried matrices change places twice.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require

layout(local_size_x = 32) in;

layout(std430, set = 0, binding = 0) buffer Buffer_x { float data[]; } x;
layout(std430, set = 0, binding = 1) buffer Buffer_y { float data[]; } y;
layout(std430, set = 0, binding = 2) buffer Buffer_d { float data[]; } d;
layout(std430, set = 0, binding = 3) readonly buffer Parameters { uint words[]; } parameters;

#define Matrix_float_16x16_Accumulator coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

void main() {
    Matrix_float_16x16_Accumulator x0;
    coopMatLoad(x0, x.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    Matrix_float_16x16_Accumulator y0;
    coopMatLoad(y0, y.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    Matrix_float_16x16_Accumulator a = x0;
    Matrix_float_16x16_Accumulator b = y0;
    for (uint iteration = 0; iteration < parameters.words[0]; ++iteration) {
        Matrix_float_16x16_Accumulator next_a = b;
        Matrix_float_16x16_Accumulator next_b = a;
        a = next_a;
        b = next_b;
    }
    coopMatStore(a, d.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(b, d.data, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
}
