#version 460
// Workgroup memory of explicit layout, in blocks that share it.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shared_memory_block : require
#define OUT uint
#define PER 2
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

shared T1 {
    uint x[32];
} tile;
shared T2 {
    uint8_t y[128];
} bytes;
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    tile.x[gl_LocalInvocationIndex] = a;
    barrier();
    put(bytes.y[gl_LocalInvocationIndex * 4u + 1u]);
    put(tile.x[31u - gl_LocalInvocationIndex]);
}
