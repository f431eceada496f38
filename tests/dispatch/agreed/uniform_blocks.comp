#version 460
// Uniform buffers of several sets.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 4
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

struct SS {
    uint x;
    uint y;
};
layout(set = 0, binding = 2, std140) uniform UU {
    uvec4 u[4];
};
layout(set = 3, binding = 1, std140) uniform VV {
    mat2x4 m;
    float f;
    SS s;
} v;
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    put(u[0].x);
    put(uint(v.m[b & 1u].z));
    put(uint(v.f));
    put(v.s.y);
}
