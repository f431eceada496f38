#version 460
// Vectors of integers, whole and by parts.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 17
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    ivec4 x = ivec4(a, b, c, 7) >> 4, y = ivec4(b, c, a, -3) >> 5;
    put(uint((x * y).y));
    put(uint((x / max(abs(y), ivec4(1))).z));
    put(uint((x % max(abs(y), 1)).w));
    put(uint((x + 5 - y).x));
    put(uint((-x).x));
    put(uint((~x).y));
    put(uint((x & y | 3 ^ x).z));
    put(uint((x << (y & 7)).x));
    put(uint(x.wzyx.y));
    put(uint(greaterThanEqual(x, y).z));
    put(uint(x == y));
    put(uint(clamp(x, -5, 900).x));
    put(uint(sign(x).y + sign(x).w));
    put(uint(abs(y).w));
    x++;
    --y;
    put(uint(x.x + y.x));
    x += y;
    x <<= 2;
    put(uint(x.z));
    put(uint(mix(x, y, bvec4(1, 0, 1, 0)).y));
}
