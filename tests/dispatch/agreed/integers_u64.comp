#version 460
// Arithmetic, comparison, shifts and vectors of uint64.
#extension GL_GOOGLE_include_directive : require
#define OUT uint64_t
#define PER 24
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint64_t x = uint64_t(packUint2x32(uvec2(a, b))), y = uint64_t(packUint2x32(uvec2(b >> 3, a * 7u)));
    uint64_t q = y == uint64_t(0) ? uint64_t(3) : y;
    uint64_t s = uint64_t(b & 63u);
    put(uint64_t(uint64_t(x + y)));
    put(uint64_t(uint64_t(x - y)));
    put(uint64_t(uint64_t(x * y)));
    put(uint64_t(uint64_t(x / q)));
    put(uint64_t(uint64_t(x % q)));
    put(uint64_t(uint64_t(x & y)));
    put(uint64_t(uint64_t(x | y)));
    put(uint64_t(uint64_t(x ^ y)));
    put(uint64_t(uint64_t(~x)));
    put(uint64_t(uint64_t(x << s)));
    put(uint64_t(uint64_t(x >> s)));
    put(uint64_t(uint64_t(-x)));
    put(uint64_t(uint64_t(min(x, y))));
    put(uint64_t(uint64_t(max(x, y))));
    put(uint64_t(uint64_t(clamp(x, min(y, uint64_t(5)), max(y, uint64_t(5))))));
    put(uint64_t(uint64_t(uint64_t(x < y))));
    put(uint64_t(uint64_t(uint64_t(x >= y))));
    put(uint64_t(uint64_t(uint64_t(x == y))));
    put(uint64_t(uint64_t(x != y ? x : y)));
    put(uint64_t(uint64_t((u64vec3(x, y, q) * u64vec3(y, q, x)).z)));
    put(uint64_t(uint64_t((u64vec4(x) << u64vec4(0, 1, 2, 3)).w)));
    put(uint64_t(uint64_t(uint64_t(lessThan(u64vec2(x, y), u64vec2(y, x)).y))));
    put(uint64_t(uint64_t(min(u64vec3(x, y, q), u64vec3(y)).z)));
    put(uint64_t(uint64_t(mix(u64vec3(x), u64vec3(y), lessThan(u64vec3(x, y, q), u64vec3(y, q, x))).y)));
}
