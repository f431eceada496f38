#version 460
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// Reductions, per-element operations, conversions, transposition and a product.
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer In { float data[]; } source;
layout(std430, set = 0, binding = 1) buffer Out { float data[]; } target;

float sum(const in float x, const in float y) { return x + y; }
float largest(const in float x, const in float y) { return max(x, y); }
float mark(const in uint row, const in uint column, const in float x, const in float factor) {
    return row == column ? -x : x * factor + float(row);
}

void main() {
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m, r;
    coopMatLoad(m, source.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowNV, sum);
    coopMatStore(r, target.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatReduceNV(r, m, gl_CooperativeMatrixReduceColumnNV, largest);
    coopMatStore(r, target.data, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowAndColumnNV, sum);
    coopMatStore(r, target.data, 512, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator> quarter;
    coopMatReduceNV(quarter, m, gl_CooperativeMatrixReduce2x2NV, largest);
    coopMatStore(quarter, target.data, 768, 8, gl_CooperativeMatrixLayoutRowMajor);
    coopMatPerElementNV(r, m, mark, 3.0);
    coopMatStore(r, target.data, 832, 16, gl_CooperativeMatrixLayoutColumnMajor);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a =
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>(m);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
    coopMatTransposeNV(b, coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(m));
    r = coopMatMulAdd(a, b, m * 2.0);
    coopMatStore(r, target.data, 1088, 16, gl_CooperativeMatrixLayoutRowMajor);
}
