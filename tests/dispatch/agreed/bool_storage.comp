#version 460
// Bools in variables of all kinds.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 4
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

struct S {
    bvec2 v;
    uint k;
};
shared bool shb[32];
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    bool arr[4] = bool[4](a > b, true, false, c > a);
    shb[gl_LocalInvocationIndex] = a > b;
    barrier();
    put(uint(arr[a & 3u]));
    put(uint(shb[gl_LocalInvocationIndex ^ 3u]));
    S s = S(bvec2(a > c, b > c), 4u);
    S t = s;
    t.v = not(s.v);
    put(uint(t.v.x) + 2u * uint(s.v.y));
    put(uint(t == s));
}
