#version 460
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// Tensor layouts and views: slices beyond the edges with a clamp mode, a transposing view, a clip, a strided tensor.
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer In { float16_t data[]; } source;
layout(std430, set = 0, binding = 1) buffer Out { float16_t data[]; } target;
layout(push_constant) uniform Push { int row; int column; } push;

void main() {
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;

    tensorLayoutNV<2, gl_CooperativeMatrixClampModeMirrorRepeatNV> mirrored =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeMirrorRepeatNV);
    mirrored = setTensorLayoutDimensionNV(mirrored, 20, 24);
    mirrored = sliceTensorLayoutNV(mirrored, push.row, 16, push.column, 16);
    coopMatLoadTensorNV(m, source.data, 0, mirrored);
    tensorLayoutNV<2> plain = createTensorLayoutNV(2);
    plain = setTensorLayoutDimensionNV(plain, 16, 16);
    coopMatStoreTensorNV(m, target.data, 0, plain);

    tensorLayoutNV<3, gl_CooperativeMatrixClampModeConstantNV> deep =
        createTensorLayoutNV(3, gl_CooperativeMatrixClampModeConstantNV);
    deep = setTensorLayoutDimensionNV(deep, 2, 20, 12);
    deep = setTensorLayoutStrideNV(deep, 240, 1, 20);
    deep = setTensorLayoutClampValueNV(deep, 0x4500);
    deep = sliceTensorLayoutNV(deep, 1, 1, 0, 16, 0, 16);
    tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> flat_ =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    flat_ = setTensorLayoutDimensionNV(flat_, 20, 24);
    flat_ = sliceTensorLayoutNV(flat_, 2, 16, 3, 16);
    coopMatLoadTensorNV(m, source.data, 0, flat_, transposed);
    coopMatStoreTensorNV(m, target.data, 256, plain);
    coopMatLoadTensorNV(m, source.data, 0, deep);
    coopMatStoreTensorNV(m, target.data, 512, plain);

    tensorViewNV<2> clipped = createTensorViewNV(2);
    clipped = setTensorViewClipNV(clipped, 4, 8, 2, 12);
    m = coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(float16_t(-1));
    tensorLayoutNV<2> small = createTensorLayoutNV(2);
    small = setTensorLayoutDimensionNV(small, 20, 24);
    small = sliceTensorLayoutNV(small, 0, 8, 0, 12);
    coopMatLoadTensorNV(m, source.data, 0, small, clipped);
    coopMatStoreTensorNV(m, target.data, 768, plain);
}
