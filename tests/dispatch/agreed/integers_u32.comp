#version 460
// Arithmetic, comparison, shifts and vectors of uint32.
#extension GL_GOOGLE_include_directive : require
#define OUT uint64_t
#define PER 24
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint x = uint(a), y = uint(b);
    uint q = y == uint(0) ? uint(3) : y;
    uint s = uint(b & 31u);
    put(uint64_t(uint(x + y)));
    put(uint64_t(uint(x - y)));
    put(uint64_t(uint(x * y)));
    put(uint64_t(uint(x / q)));
    put(uint64_t(uint(x % q)));
    put(uint64_t(uint(x & y)));
    put(uint64_t(uint(x | y)));
    put(uint64_t(uint(x ^ y)));
    put(uint64_t(uint(~x)));
    put(uint64_t(uint(x << s)));
    put(uint64_t(uint(x >> s)));
    put(uint64_t(uint(-x)));
    put(uint64_t(uint(min(x, y))));
    put(uint64_t(uint(max(x, y))));
    put(uint64_t(uint(clamp(x, min(y, uint(5)), max(y, uint(5))))));
    put(uint64_t(uint(uint(x < y))));
    put(uint64_t(uint(uint(x >= y))));
    put(uint64_t(uint(uint(x == y))));
    put(uint64_t(uint(x != y ? x : y)));
    put(uint64_t(uint((uvec3(x, y, q) * uvec3(y, q, x)).z)));
    put(uint64_t(uint((uvec4(x) << uvec4(0, 1, 2, 3)).w)));
    put(uint64_t(uint(uint(lessThan(uvec2(x, y), uvec2(y, x)).y))));
    put(uint64_t(uint(min(uvec3(x, y, q), uvec3(y)).z)));
    put(uint64_t(uint(mix(uvec3(x), uvec3(y), lessThan(uvec3(x, y, q), uvec3(y, q, x))).y)));
}
