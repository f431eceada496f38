#version 460
// Infinities, NaNs and signed zeros.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 14
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    float inf = uintBitsToFloat(0x7f800000u | (a & 0x80000000u)), nan = uintBitsToFloat(0x7fc00000u),
          zero = uintBitsToFloat(a & 0x80000000u), x = f(i);
    put(uint(isinf(inf)));
    put(uint(isnan(nan)));
    put(uint(nan == nan));
    put(uint(nan != nan));
    put(uint(nan < x));
    put(uint(!(nan < x)));
    put(uint(x / zero == inf));
    put(floatBitsToUint(inf));
    put(floatBitsToUint(x + inf));
    put(floatBitsToUint(-zero));
    put(uint(zero == -zero));
    put(floatBitsToUint(abs(zero)));
    put(uint(inf > x) + 2u * uint(inf < x));
    put(uint(isnan(sqrt(-1.0 - abs(x)))));
}
