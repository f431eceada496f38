#version 460
// Every atomic operation on integers of 32 and 64 bits.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 7
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(set = 0, binding = 2, scalar) buffer K {
    uint k[];
};
layout(set = 0, binding = 3, scalar) buffer SK {
    int sk[];
};
layout(set = 0, binding = 4, scalar) buffer L {
    uint64_t l[];
};
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    atomicAdd(k[0], a & 7u);
    atomicMin(k[1], a);
    atomicMax(k[2], a);
    atomicAnd(k[3], a | 0xff00ff0fu);
    atomicOr(k[4], a & 0xf0f0u);
    atomicXor(k[5], a);
    atomicMin(sk[0], int(a));
    atomicMax(sk[1], int(a));
    atomicAdd(sk[2], int(b) >> 10);
    atomicExchange(k[8 + i], a);
    put(atomicCompSwap(k[8 + i], a, b));
    put(atomicExchange(k[8 + i], 4u));
    put(atomicAdd(k[8 + i], 6u));
    put(atomicCompSwap(k[8 + i], 3u, 5u));
    put(atomicAdd(sk[8 + i], -5));
    atomicAdd(l[0], uint64_t(a) << 20);
    atomicMax(l[1], uint64_t(a) * 5ul);
    atomicXor(l[2], packUint2x32(uvec2(a, b)));
    put(uint(atomicCompSwap(l[8 + i], 0ul, 77ul)));
    put(uint(atomicExchange(l[8 + i], 4ul)));
    atomicMin(l[3], uint64_t(b) * 9ul);
    atomicAnd(l[4], ~(1ul << (a & 63u)));
    atomicOr(l[5], 1ul << (b & 63u));
}
