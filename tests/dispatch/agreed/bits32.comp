#version 460
// Bit fields, counts, and arithmetic with carries and high halves.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 25
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    int si = int(a);
    uint o = b & 15u, n = (b >> 8) & 15u;
    put(bitfieldExtract(a, int(o), int(n)));
    put(uint(bitfieldExtract(si, int(o), int(n))));
    put(bitfieldInsert(a, b, int(o), int(n)));
    put(bitfieldReverse(a));
    put(uint(bitCount(a)));
    put(uint(findLSB(a)));
    put(uint(findMSB(a)));
    put(uint(findMSB(si)));
    put(uint(findMSB(-1)));
    put(uint(findLSB(0)));
    put(uint(findMSB(0u)));
    uint hi, lo, carry;
    put(uaddCarry(a, b, carry));
    put(carry);
    put(usubBorrow(a, b, carry));
    put(carry);
    umulExtended(a, b, hi, lo);
    put(hi);
    put(lo);
    int shi, slo;
    imulExtended(si, int(b), shi, slo);
    put(uint(shi));
    put(uint(slo));
    put(bitfieldExtract(uvec3(a, b, c), 3, 7).y);
    put(bitfieldReverse(uvec2(a, b)).y);
    put(uint(bitCount(ivec4(a, b, c, 1)).z));
    put(bitfieldExtract(a, 0, 32));
    put(bitfieldInsert(a, b, 0, 32));
    put(bitfieldInsert(a, b, 31, 0));
}
