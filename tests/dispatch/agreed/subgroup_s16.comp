#version 460
// Subgroup operations on int16.
#extension GL_GOOGLE_include_directive : require
#define OUT int
#define PER 44
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint lane = gl_SubgroupInvocationID;
    int16_t x = int16_t(a);
    put(int(subgroupAdd(x)));
    put(int(subgroupMin(x)));
    put(int(subgroupMax(x)));
    put(int(subgroupInclusiveAdd(x)));
    put(int(subgroupExclusiveAdd(x)));
    put(int(subgroupInclusiveMin(x)));
    put(int(subgroupInclusiveMax(x)));
    put(int(subgroupClusteredAdd(x, 4)));
    put(int(subgroupClusteredMin(x, 2)));
    put(int(subgroupClusteredMax(x, 8)));
    put(int(subgroupBroadcast(x, 3)));
    put(int(subgroupBroadcastFirst(x)));
    put(int(subgroupShuffle(x, (a ^ 3u) & 7u)));
    put(int(subgroupShuffleXor(x, 5u)));
    put(int(subgroupShuffleXor(x, 2u)));
    put(int(subgroupQuadBroadcast(x, 2)));
    put(int(subgroupQuadSwapHorizontal(x)));
    put(int(subgroupQuadSwapVertical(x)));
    put(int(subgroupQuadSwapDiagonal(x)));
    put(int(subgroupRotate(x, 3u)));
    put(int(subgroupClusteredRotate(x, 1u, 4u)));
    put(int(int16_t(subgroupAllEqual(x))));
    put(int(int16_t(subgroupAllEqual(int16_t(5)))));
    put(int(subgroupMul(x)));
    put(int(subgroupAnd(x)));
    put(int(subgroupOr(x)));
    put(int(subgroupXor(x)));
    put(int(subgroupInclusiveMul(x)));
    put(int(subgroupExclusiveMul(x)));
    put(int(subgroupInclusiveAnd(x)));
    put(int(subgroupExclusiveOr(x)));
    put(int(subgroupInclusiveXor(x)));
    put(int(subgroupExclusiveXor(x)));
    put(int(subgroupClusteredMul(x, 2)));
    put(int(subgroupClusteredAnd(x, 4)));
    put(int(subgroupClusteredOr(x, 4)));
    put(int(subgroupClusteredXor(x, 8)));
    int16_t down = subgroupShuffleDown(x, 1u), up = subgroupShuffleUp(x, 2u);
    if (lane < 7u)
        put(int(down));
    else
        put(int(int16_t(0)));
    if (gl_SubgroupInvocationID >= 2u)
        put(int(up));
    else
        put(int(int16_t(0)));
    if ((a & 3u) != 0u) {
        put(int(subgroupAdd(x)));
        put(int(subgroupExclusiveAdd(x)));
        put(int(subgroupMin(x)));
        put(int(subgroupClusteredAdd(x, 4)));
        put(int(subgroupBroadcastFirst(x)));
    } else {
        put(int(subgroupInclusiveMax(x)));
        put(int(0));
        put(int(0));
        put(int(0));
        put(int(0));
    }
}
