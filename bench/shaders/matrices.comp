#version 460
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
// A tile of 64 x 64 elements of C = A * B for each workgroup of one subgroup, 64 deep.
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer A { float16_t data[]; } a;
layout(std430, set = 0, binding = 1) readonly buffer B { float16_t data[]; } b;
layout(std430, set = 0, binding = 2) buffer C { float data[]; } c;

void main() {
    uint columns = gl_NumWorkGroups.x * 64, row = gl_WorkGroupID.y * 64, column = gl_WorkGroupID.x * 64;
    coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < 64; k += 16) {
        coopmat<float16_t, gl_ScopeSubgroup, 64, 16, gl_MatrixUseA> left;
        coopmat<float16_t, gl_ScopeSubgroup, 16, 64, gl_MatrixUseB> right;
        coopMatLoad(left, a.data, row * 64 + k, 64, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(right, b.data, k * columns + column, columns, gl_CooperativeMatrixLayoutRowMajor);
        sum = coopMatMulAdd(left, right, sum);
    }
    coopMatStore(sum, c.data, row * columns + column, columns, gl_CooperativeMatrixLayoutRowMajor);
}
