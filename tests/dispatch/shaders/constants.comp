#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
// Arithmetic of cooperative vectors with constants of equal components: what optimisers fold.
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer In { float16_t data[]; } source;
layout(std430, set = 0, binding = 1) writeonly buffer Out { float16_t data[]; } target;
#define Vec coopvecNV<float16_t, 8>

void main() {
    uint i = gl_GlobalInvocationID.x;
    Vec x;
    coopVecLoadNV(x, source.data, 16 * i);
    coopVecStoreNV(x + Vec(3.0hf), target.data, 96 * i);
    coopVecStoreNV(x * Vec(2.0hf), target.data, 96 * i + 16 * 1);
    coopVecStoreNV(Vec(5.0hf) - x, target.data, 96 * i + 16 * 2);
    coopVecStoreNV(x + Vec(1.0hf) + Vec(7.0hf), target.data, 96 * i + 16 * 3);
    coopVecStoreNV(max(x, Vec(-1.0hf)) - Vec(2.0hf) - Vec(6.0hf), target.data, 96 * i + 16 * 4);
    coopVecStoreNV(-x + Vec(9.0hf) * x, target.data, 96 * i + 16 * 5);
}
