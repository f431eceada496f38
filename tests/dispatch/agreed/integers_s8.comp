#version 460
// Arithmetic, comparison, shifts and vectors of int8.
#extension GL_GOOGLE_include_directive : require
#define OUT uint64_t
#define PER 26
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    int8_t x = int8_t(a), y = int8_t(b);
    int8_t q = y == int8_t(0) || y == int8_t(-1) ? int8_t(3) : y;
    int8_t s = int8_t(b & 7u);
    put(uint64_t(uint8_t(x + y)));
    put(uint64_t(uint8_t(x - y)));
    put(uint64_t(uint8_t(x * y)));
    put(uint64_t(uint8_t(x / q)));
    put(uint64_t(uint8_t(x % q)));
    put(uint64_t(uint8_t(x & y)));
    put(uint64_t(uint8_t(x | y)));
    put(uint64_t(uint8_t(x ^ y)));
    put(uint64_t(uint8_t(~x)));
    put(uint64_t(uint8_t(x << s)));
    put(uint64_t(uint8_t(x >> s)));
    put(uint64_t(uint8_t(-x)));
    put(uint64_t(uint8_t(min(x, y))));
    put(uint64_t(uint8_t(max(x, y))));
    put(uint64_t(uint8_t(clamp(x, min(y, int8_t(5)), max(y, int8_t(5))))));
    put(uint64_t(uint8_t(int8_t(x < y))));
    put(uint64_t(uint8_t(int8_t(x >= y))));
    put(uint64_t(uint8_t(int8_t(x == y))));
    put(uint64_t(uint8_t(x != y ? x : y)));
    put(uint64_t(uint8_t(abs(x))));
    put(uint64_t(uint8_t(sign(x))));
    put(uint64_t(uint8_t((i8vec3(x, y, q) * i8vec3(y, q, x)).z)));
    put(uint64_t(uint8_t((i8vec4(x) << i8vec4(0, 1, 2, 3)).w)));
    put(uint64_t(uint8_t(int8_t(lessThan(i8vec2(x, y), i8vec2(y, x)).y))));
    put(uint64_t(uint8_t(min(i8vec3(x, y, q), i8vec3(y)).z)));
    put(uint64_t(uint8_t(mix(i8vec3(x), i8vec3(y), lessThan(i8vec3(x, y, q), i8vec3(y, q, x))).y)));
}
