#version 460
// Subgroup operations on float16.
#extension GL_GOOGLE_include_directive : require
#define OUT float16_t
#define PER 32
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint lane = gl_SubgroupInvocationID;
    float16_t x = float16_t(floor(f(i)));
    put((subgroupAdd(x)));
    put((subgroupMin(x)));
    put((subgroupMax(x)));
    put((subgroupInclusiveAdd(x)));
    put((subgroupExclusiveAdd(x)));
    put((subgroupInclusiveMin(x)));
    put((subgroupInclusiveMax(x)));
    put((subgroupClusteredAdd(x, 4)));
    put((subgroupClusteredMin(x, 2)));
    put((subgroupClusteredMax(x, 8)));
    put((subgroupBroadcast(x, 3)));
    put((subgroupBroadcastFirst(x)));
    put((subgroupShuffle(x, (a ^ 3u) & 7u)));
    put((subgroupShuffleXor(x, 5u)));
    put((subgroupShuffleXor(x, 2u)));
    put((subgroupQuadBroadcast(x, 2)));
    put((subgroupQuadSwapHorizontal(x)));
    put((subgroupQuadSwapVertical(x)));
    put((subgroupQuadSwapDiagonal(x)));
    put((subgroupRotate(x, 3u)));
    put((subgroupClusteredRotate(x, 1u, 4u)));
    put((float16_t(subgroupAllEqual(x))));
    put((float16_t(subgroupAllEqual(float16_t(5)))));
    put((subgroupMul(float16_t(1) + sign(x))));
    put((subgroupInclusiveMul(float16_t(1) + sign(x))));
    float16_t down = subgroupShuffleDown(x, 1u), up = subgroupShuffleUp(x, 2u);
    if (lane < 7u)
        put((down));
    else
        put((float16_t(0)));
    if (gl_SubgroupInvocationID >= 2u)
        put((up));
    else
        put((float16_t(0)));
    if ((a & 3u) != 0u) {
        put((subgroupAdd(x)));
        put((subgroupExclusiveAdd(x)));
        put((subgroupMin(x)));
        put((subgroupClusteredAdd(x, 4)));
        put((subgroupBroadcastFirst(x)));
    } else {
        put((subgroupInclusiveMax(x)));
        put(float16_t(0));
        put(float16_t(0));
        put(float16_t(0));
        put(float16_t(0));
    }
}
