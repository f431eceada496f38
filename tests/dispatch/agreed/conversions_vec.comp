#version 460
// Conversions of vectors.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 10
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    vec3 v = vec3(f(i), f(i + 1), f(i + 2));
    ivec3 k = ivec3(v);
    uvec3 u = uvec3(abs(v));
    put(uint(k.y));
    put(u.z);
    f16vec3 h = f16vec3(v);
    put(uint(int(h.x)));
    dvec3 d = dvec3(v);
    put(uint(int(d.y * 2.5lf)));
    i64vec3 l = i64vec3(k) * 1000000007l;
    put(uint(l.x >> 3));
    bvec3 z = bvec3(k);
    put(uint(z.x) + uint(z.y) * 2u + uint(z.z) * 4u);
    put(uint(any(z)) + 2u * uint(all(z)) + 4u * uint(not(z).x));
    put(uint(i8vec3(k).x));
    put(uint(u8vec2(u.xy).y));
    put(uint(int(i16vec4(k, 3).z)));
}
