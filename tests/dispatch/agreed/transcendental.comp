#version 460
// Transcendental functions of float32.
#extension GL_GOOGLE_include_directive : require
#define OUT float
#define PER 22
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    float x = f(i), y = f(i + 7u);
    put(radians(x));
    put(degrees(x));
    put(sin(x));
    put(cos(x));
    put(tan(x / 40));
    put(asin(x / 33));
    put(acos(x / 33));
    put(atan(x));
    put(atan(y, x));
    put(sinh(x / 8));
    put(cosh(x / 8));
    put(tanh(x / 8));
    put(asinh(x));
    put(acosh(abs(x) + 1));
    put(atanh(x / 33));
    put(pow(abs(x) + .1, y / 16));
    put(exp(x / 4));
    put(log(abs(x) + .1));
    put(exp2(x / 4));
    put(log2(abs(x) + .1));
    put(atan(vec3(x, y, 1), vec3(1, x, y)).z);
    put(sin(vec2(x, y)).y);
}
