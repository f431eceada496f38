#version 460
#pragma use_vulkan_memory_model
// matrix_programs.loop.per_element_and_reduce
// Per-element operation and reduction in each of three turns.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;

layout(std430, set = 0, binding = 0) buffer Buffer_x { float data[]; } x;
layout(std430, set = 0, binding = 1) buffer Buffer_d { float data[]; } d;
layout(std430, set = 0, binding = 2) readonly buffer Parameters { uint words[]; } parameters;

#define Matrix_float_16x16_Accumulator coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

float most(const in float x, const in float y) {
    return max(x, y);
}

float f(const in uint row, const in uint col, const in float value, const in float m) {
    return (m - value) + float(col);
}

void main() {
    Matrix_float_16x16_Accumulator x0;
    coopMatLoad(x0, x.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    Matrix_float_16x16_Accumulator s = x0;
    for (uint iteration = 0; iteration < parameters.words[0]; ++iteration) {
        Matrix_float_16x16_Accumulator m;
        coopMatReduceNV(m, s, gl_CooperativeMatrixReduceRowNV, most);
        Matrix_float_16x16_Accumulator t;
        coopMatPerElementNV(t, s, f, m);
        s = t;
    }
    coopMatStore(s, d.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
