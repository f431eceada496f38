#version 460
// Short-circuit logic with side effects, and vectors of bool.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 4
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

bool side(inout uint s) {
    s += 50u;
    return s > 60u;
}
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    bool p = (a & 1u) == 1u, q = (b & 2u) == 2u;
    uint s = 0u;
    if (p && f(i) > 0.0 || q && side(s))
        s += 1u;
    if (!(p ^^q))
        s += 100u;
    s += p == q ? 1000u : 5000u;
    bvec4 v = bvec4(p, q, p || q, p && q);
    s += any(v) ? 7u : 0u;
    if (all(v)) {
        if (p != q)
            s = 1u;
        else
            s *= 3u;
    }
    put(s);
    uvec3 u = mix(uvec3(1, 2, 3), uvec3(a, b, c), bvec3(p, q, !p));
    put(u.x ^ u.y ^ u.z);
    put(uint(equal(uvec2(a, b), uvec2(a, c)).y));
    put(uint(notEqual(vec2(f(i), 1), vec2(1)).x));
}
