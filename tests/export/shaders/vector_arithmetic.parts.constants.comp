#version 460
#pragma use_vulkan_memory_model
// vector_arithmetic.parts.constants
// A constant with a value for each component, one of spec values, one composed at run time, and a null one.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_vector : require

layout(local_size_x = 1) in;

layout(constant_id = 0) const int c1_values_1 = 8;

layout(std430, set = 0, binding = 0) buffer Buffer_dst { int data[]; } dst;
layout(std430, set = 0, binding = 1) readonly buffer Parameters { uint words[]; } parameters;

#define Vector_int_3 coopvecNV<int, 3>

void main() {
    Vector_int_3 c0 = Vector_int_3(3, -4, 5);
    Vector_int_3 c1 = Vector_int_3(7, c1_values_1, 9);
    Vector_int_3 c2 = Vector_int_3(int(parameters.words[0]), 11, int(parameters.words[1]));
    Vector_int_3 c3 = Vector_int_3(0);
    coopVecStoreNV(c0, dst.data, 0);
    coopVecStoreNV(c1, dst.data, 16);
    coopVecStoreNV(c2, dst.data, 32);
    coopVecStoreNV(c3, dst.data, 48);
}
