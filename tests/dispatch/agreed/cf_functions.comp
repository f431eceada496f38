#version 460
// Parameters in, out and both, structures and arrays by value.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 9
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

struct S {
    uint x;
    uvec3 y[2];
};
void bump(inout uvec2 v, in uint k) {
    v += k;
    v = v.yx;
    k = 4u;
}
void bump2(out uint x) {
    x = 17u;
}
S make(uint p, uint q) {
    S s;
    s.x = p;
    s.y[0] = uvec3(q);
    s.y[1] = uvec3(1, 2, p);
    return s;
}
void twist(inout S s) {
    s.x ^= s.y[1].z;
    s.y[0].y = s.x * 3u;
}
uint total(uint v[4]) {
    uint t = 0u;
    for (int k = 0; k < 4; k++) {
        t += v[k];
        v[k] = 0u;
    }
    return t;
}
uint fib(uint n) {
    uint p = 0u, q = 1u;
    [[unroll]] for (uint k = 0u; k < 16u; k++) {
        if (k >= n)
            break;
        uint t = p + q;
        p = q;
        q = t;
    }
    return p;
}

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uvec2 v = uvec2(a, b);
    bump(v, 3u);
    put(v.x);
    put(v.y);
    bump2(v.y);
    put(v.y);
    S s = make(a, b);
    put(s.x + s.y[1].z);
    twist(s);
    put(s.x);
    put(s.y[0].y);
    uint arr[4] = uint[4](a, b, c, 1u);
    put(total(arr));
    put(arr[1]);
    put(fib(a & 15u));
}
