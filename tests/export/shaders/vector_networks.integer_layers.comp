#version 460
#pragma use_vulkan_memory_model
// vector_networks.integer_layers
// Two layers of int8 weights, of which the second reads the first one's clamped sums as bytes.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_vector : require

layout(local_size_x = 5) in;

layout(std430, set = 0, binding = 0) buffer Buffer_x { int8_t data[]; } x;
layout(std430, set = 0, binding = 1) buffer Buffer_w0 { int8_t data[]; } w0;
layout(std430, set = 0, binding = 2) buffer Buffer_b0 { int data[]; } b0;
layout(std430, set = 0, binding = 3) buffer Buffer_w1 { int8_t data[]; } w1;
layout(std430, set = 0, binding = 4) buffer Buffer_y { int data[]; } y;

#define Vector_int8_13 coopvecNV<int8_t, 13>
#define Vector_int_12 coopvecNV<int, 12>
#define Vector_int_3 coopvecNV<int, 3>

void main() {
    Vector_int8_13 x0;
    coopVecLoadNV(x0, x.data, gl_LocalInvocationIndex * 16u);
    Vector_int_12 h0;
    coopVecMatMulAddNV(h0, x0, gl_ComponentTypeSignedInt8NV, w0.data, 0, gl_ComponentTypeSignedInt8NV,
        b0.data, 0, gl_ComponentTypeSignedInt32NV, 12, 13, gl_CooperativeVectorMatrixLayoutRowMajorNV, false,
        16);
    Vector_int_12 zero = Vector_int_12(0);
    Vector_int_12 r = max(h0, zero);
    Vector_int_12 seven = Vector_int_12(7);
    Vector_int_12 s = r >> seven;
    Vector_int_3 h1;
    coopVecMatMulNV(h1, s, gl_ComponentTypeSignedInt8NV, w1.data, 0, gl_ComponentTypeSignedInt8NV, 3, 12,
        gl_CooperativeVectorMatrixLayoutRowMajorNV, false, 16);
    coopVecStoreNV(h1, y.data, gl_LocalInvocationIndex * 16u);
}
