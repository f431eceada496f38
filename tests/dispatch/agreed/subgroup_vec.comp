#version 460
// Subgroup operations on vectors and bools.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 11
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uvec3 v = uvec3(a & 255u, b & 255u, c & 255u);
    vec2 w = vec2(floor(f(i)), 1.0);
    put(subgroupAdd(v).y);
    put(subgroupInclusiveAdd(v).z);
    put(subgroupShuffleXor(v, 1u).x);
    put(uint(subgroupMax(w).x + 100.0));
    put(subgroupQuadBroadcast(v, 1u).y);
    bvec2 z = bvec2(a & 1u, b & 1u);
    put(uint(subgroupAnd(z.x)));
    put(uint(subgroupOr(z).y));
    put(uint(subgroupXor(z).y));
    put(uint(subgroupShuffle(z, 3u).x));
    put(subgroupClusteredAdd(v, 2u).x);
    put(uint(subgroupBroadcast(z.y, 2u)));
}
