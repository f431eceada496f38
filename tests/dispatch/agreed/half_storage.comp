#version 460
// Buffers of components of 8 and 16 bits.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 4
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(set = 0, binding = 2, scalar) buffer K {
    float16_t h[];
};
layout(set = 0, binding = 3, scalar) buffer SK {
    int8_t s[];
};
layout(set = 0, binding = 4, scalar) buffer L {
    uint16_t t[];
};
layout(set = 0, binding = 5, std430) buffer VV {
    f16vec3 v[];
};
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    put(uint(float16BitsToUint16(h[i] * 2.0hf)));
    put(uint(s[i]) + uint(t[i]));
    h[i] = float16_t(3);
    s[i] = int8_t(a);
    t[i] = uint16_t(b);
    put(uint(s[i]));
    put(uint(v[i & 3u].y));
}
