#version 460
// Dot products of packed and unpacked integers, saturating ones too.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_integer_dot_product : require
#define OUT uint
#define PER 11
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    i8vec4 p = i8vec4(unpack8(int(a))), q = i8vec4(unpack8(int(b)));
    u8vec4 r = unpack8(b);
    put(uint(dotEXT(p, q)));
    put(dotEXT(r, r));
    put(uint(dotEXT(p, r)));
    put(uint(dotPacked4x8EXT(int(a), int(b))));
    put(dotPacked4x8EXT(a, b));
    put(uint(dotPacked4x8EXT(int(a), b)));
    put(uint(dotAccSatEXT(p, q, 0x7fffff00)));
    put(dotAccSatEXT(r, r, 0xffffff00u));
    put(uint(dotPacked4x8AccSatEXT(int(a), int(b), 0x7fffff00)));
    i16vec2 s = i16vec2(unpack16(int(a)));
    put(uint(dotEXT(s, s)));
    put(uint(dotEXT(ivec3(a & 7u, b & 7u, 3), ivec3(-1, 2, 3))));
}
