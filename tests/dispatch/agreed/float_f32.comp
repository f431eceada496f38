#version 460
// Arithmetic and functions of float32 that are not transcendental.
#extension GL_GOOGLE_include_directive : require
#define OUT float
#define PER 45
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    float x = float(f(i)), y = float(f(i + 7u)), z = float(abs(f(i + 13u)) + 0.5);
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
    put(mod(x, z));
    put(min(x, y));
    put(max(x, y));
    put(clamp(x, float(-1), float(2)));
    put(mix(x, y, z));
    put(step(x, y));
    put(smoothstep(float(-1), float(3), x));
    put(sqrt(abs(x)));
    put(inversesqrt(z));
    put(fma(x, y, z));
    put(float(x < y));
    put(float(x != x));
    put(x > y ? x : z);
    put(float(isnan(x)));
    put(float(isinf(x)));
    put(dot(vec3(x, y, z), vec3(y, z, x)));
    put(length(vec3(x, y, z)));
    put(distance(vec2(x, y), vec2(z, y)));
    put(cross(vec3(x, y, z), vec3(z, x, y)).y);
    put(normalize(vec3(x, y, z)).x);
    put(faceforward(vec2(x, y), vec2(y, z), vec2(z, x)).y);
    put(reflect(vec2(x, y), vec2(0, 1)).y);
    put(refract(normalize(vec2(x, z)), vec2(0, 1), float(0.7)).x);
    put((vec3(x) * vec3(x, y, z)).y);
    put((vec4(x, y, z, x) * y).w);
    put(length(x));
    put(round(x + float(0.25)));
    float whole;
    put(modf(x, whole));
    put(whole);
    int e;
    put(frexp(x, e));
    put(float(e));
    put(ldexp(x, 3));
    put(ldexp(vec2(x), ivec2(-2, 1)).x);
}
