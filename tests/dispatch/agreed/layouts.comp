#version 460
// Blocks in std140, std430 and scalar layout, row-major matrices, nested structures.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 15
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

struct In2 {
    float x;
    uint y;
};
layout(set = 0, binding = 2, std140) uniform U140 {
    vec3 v;
    mat2x3 m;
    layout(row_major) mat3x2 r;
    uint arr[3];
    In2 s[2];
} std;
layout(set = 0, binding = 3, scalar) readonly buffer Sc {
    uint8_t b[9];
    float16_t h[5];
    double d;
    layout(row_major) mat3 rm;
    uint64_t q;
} sc;
struct N {
    uint k;
    vec3 w[2];
};
layout(set = 0, binding = 4, std430) readonly buffer B430 {
    uvec3 pad;
    N n[2];
    N tail[];
} s430;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint g = gl_WorkGroupID.x * 0u;
    put(uint(std.v.z));
    put(floatBitsToUint(std.m[1][2]));
    put(floatBitsToUint(std.r[1][0]));
    put(std.arr[2]);
    put(std.s[1].y);
    put(uint(sc.h[3]));
    put(uint(sc.b[a & 7u]));
    put(floatBitsToUint(float(sc.d * 2.0lf)));
    put(floatBitsToUint(sc.rm[2].x));
    put(uint(sc.q >> 5));
    put(s430.n[1].k);
    put(uint(s430.n[0].w[1].y));
    put(s430.tail.length());
    put(s430.tail[a & 3u].k);
    put(floatBitsToUint((sc.rm * vec3(1, 2, 3)).y));
}
