#version 460
// Ballots and votes.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 16
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    bool p = (a & 3u) != 1u;
    uvec4 z = subgroupBallot(p);
    put(z.x);
    put(z.y);
    put(subgroupBallotBitCount(z));
    put(subgroupBallotInclusiveBitCount(z));
    put(subgroupBallotExclusiveBitCount(z));
    put(subgroupBallotFindLSB(z));
    put(subgroupBallotFindMSB(z));
    put(uint(subgroupInverseBallot(z)));
    put(uint(subgroupBallotBitExtract(z, b & 7u)));
    put(uint(subgroupAll(p)));
    put(uint(subgroupAny(p)));
    put(uint(subgroupElect()));
    put(uint(subgroupAll(gl_SubgroupInvocationID < 9u)));
    if (p) {
        put(subgroupBallot((b & 1u) == 1u).x);
        put(uint(subgroupElect()));
    } else {
        put(uint(subgroupAny((b & 1u) == 0u)));
        put(subgroupBallotFindLSB(subgroupBallot(true)));
    }
    subgroupBarrier();
    subgroupMemoryBarrier();
    subgroupMemoryBarrierShared();
    put(subgroupBallot(true).x);
}
