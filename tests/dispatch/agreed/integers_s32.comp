#version 460
// Arithmetic, comparison, shifts and vectors of int32.
#extension GL_GOOGLE_include_directive : require
#define OUT uint64_t
#define PER 26
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    int x = int(a), y = int(b);
    int q = y == int(0) || y == int(-1) ? int(3) : y;
    int s = int(b & 31u);
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
    put(uint64_t(uint(clamp(x, min(y, int(5)), max(y, int(5))))));
    put(uint64_t(uint(int(x < y))));
    put(uint64_t(uint(int(x >= y))));
    put(uint64_t(uint(int(x == y))));
    put(uint64_t(uint(x != y ? x : y)));
    put(uint64_t(uint(abs(x))));
    put(uint64_t(uint(sign(x))));
    put(uint64_t(uint((ivec3(x, y, q) * ivec3(y, q, x)).z)));
    put(uint64_t(uint((ivec4(x) << ivec4(0, 1, 2, 3)).w)));
    put(uint64_t(uint(int(lessThan(ivec2(x, y), ivec2(y, x)).y))));
    put(uint64_t(uint(min(ivec3(x, y, q), ivec3(y)).z)));
    put(uint64_t(uint(mix(ivec3(x), ivec3(y), lessThan(ivec3(x, y, q), ivec3(y, q, x))).y)));
}
