#version 460
// Numbers packed into words and unpacked, of every width. What may be rounded in several ways is exact, or rounded at last.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 24
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

float half_of(uint k) { return float(int(src[k & 511u]) >> 21) / 32.0; } // -32 to 32, exact in float16

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    put(packHalf2x16(vec2(half_of(i), half_of(i + 1))));
    put(packUnorm4x8(vec4(f(i), .5, f(i + 2) / 32, 2)));
    put(packSnorm4x8(vec4(f(i), -.5, f(i + 2) / 32, -2)));
    put(packUnorm2x16(vec2(f(i) / 32, .31)));
    put(packSnorm2x16(vec2(f(i) / 32, -.3)));
    put(floatBitsToUint(unpackHalf2x16(packHalf2x16(vec2(half_of(i), 3))).x));
    put(floatBitsToUint(round(unpackUnorm4x8(a).z * 255)));
    put(floatBitsToUint(round(unpackSnorm4x8(a).w * 127)));
    put(floatBitsToUint(round(unpackUnorm2x16(a).y * 65535)));
    put(floatBitsToUint(round(unpackSnorm2x16(a).x * 32767)));
    uint64_t w = packUint2x32(uvec2(a, b));
    put(unpackUint2x32(w).y);
    put(uint(unpack16(w).z));
    put(uint(unpack8(a).y));
    put(pack32(u8vec4(a, b, c, 7)));
    put(pack32(u16vec2(a, b)));
    put(uint(unpack32(pack64(u16vec4(a, b, c, 9))).y));
    put(uint(pack16(u8vec2(a, b))));
    double d = packDouble2x32(uvec2(a, b & 0x3fffffffu));
    put(unpackDouble2x32(d).x);
    put(floatBitsToUint(float(double(f(i)) * 3.0lf)));
    put(packFloat2x16(f16vec2(f(i), f(i + 1))));
    put(floatBitsToUint(float(unpackFloat2x16(a & 0x3fff3fffu).y)));
    put(uint(float16BitsToUint16(float16_t(f(i)))));
    put(uint(doubleBitsToUint64(double(f(i))) >> 32));
    put(uint(halfBitsToUint16(uint16BitsToHalf(uint16_t(a & 0x3fffu)))));
}
