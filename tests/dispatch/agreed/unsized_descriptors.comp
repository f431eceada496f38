#version 460
// An array of descriptors without a length.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 2
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(set = 1, binding = 0, scalar) buffer O {
    uint x[];
} st[];
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    put(st[nonuniformEXT(a & 1u)].x[b & 7u]);
    put(st[1].x.length());
}
