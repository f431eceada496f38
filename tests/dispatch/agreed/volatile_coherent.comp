#version 460
// Memory that is coherent and volatile, and barriers.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 1
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(set = 0, binding = 2, scalar) coherent volatile restrict buffer K {
    uint k[];
};
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    k[i] = a;
    memoryBarrierBuffer();
    barrier();
    put(k[gl_WorkGroupID.x * 32u + (gl_LocalInvocationIndex ^ 1u)]);
}
