#version 460
// Push constants of every width. Indices of arrays among them must be uniform (Vulkan, Push Constant Interface).
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 6
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(push_constant, scalar) uniform PC {
    uint8_t b;
    float16_t h;
    mat2 m;
    uvec2 arr[2];
    uint64_t l;
    int16_t i;
} pc;
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    put(uint(pc.b));
    put(uint(pc.h * 4.0hf));
    put(floatBitsToUint(pc.m[1].x));
    put(pc.arr[gl_WorkGroupID.x & 1u].y);
    put(uint(pc.l >> 8));
    put(uint(pc.i));
}
