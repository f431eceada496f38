#version 460
// Subgroup operations of those invocations that got there.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_maximal_reconvergence : require
#define OUT uint
#define PER 6
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() [[maximally_reconverges]] {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint r = 0u;
    if ((a & 1u) == 0u)
        r = subgroupAdd(a & 255u);
    else
        r = subgroupMax(b & 255u) + 1000u;
    put(r);
    r = 0u;
    for (uint k = 0u; k < (a & 7u); k++)
        r += subgroupAdd(1u);
    put(r);
    r = 0u;
    switch (a & 3u) {
    case 0u:
        r = subgroupAdd(1u);
        break;
    case 1u:
        r = 100u + subgroupAdd(1u);
    case 2u:
        r += 1000u + subgroupAdd(2u);
        break;
    default:
        r = uint(bitCount(subgroupBallot(true).x)) + 5u;
    }
    put(r);
    put(subgroupAdd(1u));
    uint done = 0u;
    while (done == 0u) {
        uint first = subgroupBroadcastFirst(a & 3u);
        if (first == (a & 3u)) {
            r = subgroupAdd(b & 15u);
            done = 1u;
        }
    }
    put(r);
    if ((b & 1u) == 0u) {
        put(subgroupElect() ? 1u : 0u);
        return;
    }
    put(subgroupAdd(1u) + 50u);
}
