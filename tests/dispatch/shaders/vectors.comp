#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
// A two-layer network on cooperative vectors, whose second layer only some invocations evaluate.
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer In { float16_t data[]; } source;
layout(std430, set = 0, binding = 1) readonly buffer Weights { float16_t data[]; } weights;
layout(std430, set = 0, binding = 2) readonly buffer Biases { float16_t data[]; } biases;
layout(std430, set = 0, binding = 3) writeonly buffer Out { float16_t data[]; } target;

void main() {
    uint i = gl_GlobalInvocationID.x;
    coopvecNV<float16_t, 8> x;
    coopVecLoadNV(x, source.data, 16 * i);
    coopvecNV<float16_t, 16> hidden;
    coopVecMatMulAddNV(hidden, x, gl_ComponentTypeFloat16NV, weights.data, 0, gl_ComponentTypeFloat16NV,
                       biases.data, 0, gl_ComponentTypeFloat16NV, 16, 8, gl_CooperativeVectorMatrixLayoutRowMajorNV,
                       false, 16);
    hidden = max(hidden, coopvecNV<float16_t, 16>(0.0hf));
    if (hidden[i % 16] > 0.0hf) {
        coopvecNV<float16_t, 4> y;
        coopVecMatMulNV(y, hidden, gl_ComponentTypeFloat16NV, weights.data, 256, gl_ComponentTypeFloat16NV, 4, 16,
                        gl_CooperativeVectorMatrixLayoutColumnMajorNV, false, 8);
        y = clamp(y, coopvecNV<float16_t, 4>(-100.0hf), coopvecNV<float16_t, 4>(100.0hf)) * 2.0hf;
        y[3] = y[0] + y[1];
        coopVecStoreNV(y, target.data, 8 * i);
    }
}
