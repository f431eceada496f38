#version 460
// Memory of a workgroup: a tree of sums, atomics, arrays of arrays.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 5
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

shared uint tile[32];
shared uint total, most;
struct ST {
    uint x;
    float y[4];
};
shared ST s;
shared uint grid[4][8];
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint l = gl_LocalInvocationIndex;
    tile[l] = a & 0xffffu;
    if (l == 0u) {
        total = 0u;
        most = 0u;
        s.x = 3u;
        s.y[2] = 1.5;
    }
    barrier();
    for (uint k = 16u; k > 0u; k >>= 1) {
        if (l < k)
            tile[l] += tile[l + k];
        barrier();
    }
    put(tile[0]);
    atomicAdd(total, b & 255u);
    atomicMax(most, b & 255u);
    barrier();
    put(total);
    put(most);
    put(s.x + uint(s.y[2] * 2.0));
    grid[l & 3u][l >> 2] = a;
    barrier();
    put(grid[(l + 1u) & 3u][l >> 2]);
    memoryBarrierShared();
    groupMemoryBarrier();
}
