#version 460
// Lengths of runtime arrays.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 4
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(set = 0, binding = 2, scalar) buffer O {
    uint pad;
    uint x[];
} others[2];
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    put(src.length());
    put(dst.length());
    put(others[1].x.length());
    put(others[nonuniformEXT(b & 1u)].x[1]);
}
