#version 460
// Arrays of storage and uniform buffers, indexed by values that differ.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 4
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(set = 1, binding = 3, scalar) buffer O {
    uint x[];
} st[4];
layout(set = 2, binding = 0, std140) uniform UU {
    uvec4 v[2];
} un[3];
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    put(st[nonuniformEXT(a & 3u)].x[b & 7u]);
    put(un[nonuniformEXT(b % 3u)].v[a & 1u].y);
    st[nonuniformEXT(a & 3u)].x[8 + i] = a;
    put(st[2].x[0]);
    put(un[1].v[0].x);
}
