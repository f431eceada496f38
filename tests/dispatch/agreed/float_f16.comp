#version 460
// Arithmetic and functions of float16 that are not transcendental.
#extension GL_GOOGLE_include_directive : require
#define OUT float16_t
#define PER 44
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    float16_t x = float16_t(f(i)), y = float16_t(f(i + 7u)), z = float16_t(abs(f(i + 13u)) + 0.5);
    put(x + y);
    put(x - y);
    put(x * y);
    put(x / z);
    put(-x);
    put(abs(x));
    put(sign(x));
    put(floor(x));
    put(ceil(x));
    put(trunc(x));
    put(roundEven(x));
    put(fract(x));
    put(min(x, y));
    put(max(x, y));
    put(clamp(x, float16_t(-1), float16_t(2)));
    put(mix(abs(x), abs(y), fract(z))); // without a difference, which would magnify roundings
    put(step(x, y));
    put(smoothstep(float16_t(-1), float16_t(3), x));
    put(sqrt(abs(x)));
    put(inversesqrt(z));
    put(fma(x, y, z));
    put(float16_t(x < y));
    put(float16_t(x != x));
    put(x > y ? x : z);
    put(float16_t(isnan(x)));
    put(float16_t(isinf(x)));
    put(dot(f16vec3(x, y, z), f16vec3(y, z, x)));
    put(length(f16vec3(x, y, z)));
    put(distance(f16vec2(x, y), f16vec2(z, y)));
    put(cross(f16vec3(x, y, z), f16vec3(z, x, y)).y);
    put(normalize(f16vec3(x, y, z)).x);
    put(faceforward(f16vec2(x, y), f16vec2(y, z), f16vec2(z, x)).y);
    put(reflect(f16vec2(x, y), f16vec2(0, 1)).y);
    put(refract(normalize(f16vec2(x, z)), f16vec2(0, 1), float16_t(0.7)).x);
    put((f16vec3(x) * f16vec3(x, y, z)).y);
    put((f16vec4(x, y, z, x) * y).w);
    put(length(x));
    put(round(x + float16_t(0.25)));
    float16_t whole;
    put(modf(x, whole));
    put(whole);
    int e;
    put(frexp(x, e));
    put(float16_t(e));
    put(ldexp(x, 3));
    put(ldexp(f16vec2(x), ivec2(-2, 1)).x);
}
