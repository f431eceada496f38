#version 460
#pragma use_vulkan_memory_model
// vector_arithmetic.parts.construct_of_one_vector
// A vector made of nothing but a whole vector.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_vector : require

layout(local_size_x = 1) in;

layout(std430, set = 0, binding = 0) buffer Buffer_src { float16_t data[]; } src;
layout(std430, set = 0, binding = 1) buffer Buffer_dst { float16_t data[]; } dst;

#define Vector_float16_2 coopvecNV<float16_t, 2>

void main() {
    Vector_float16_2 x;
    coopVecLoadNV(x, src.data, 0);
    Vector_float16_2 v = Vector_float16_2(x[0], x[1]);
    coopVecStoreNV(v, dst.data, 0);
}
