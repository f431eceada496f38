#version 460
// Arithmetic and functions of float64.
#extension GL_GOOGLE_include_directive : require
#define OUT double
#define PER 10
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    double x = double(f(i)), y = double(f(i + 3));
    put(x * y + 1.0lf / (abs(y) + 1.0lf));
    put(double(int64_t(x * 1e12lf)));
    put(double(uint64_t(abs(x) * 1e15lf)));
    put(sqrt(abs(x)));
    put(floor(x) + ceil(y) + trunc(x) + roundEven(y));
    put(x < y ? 1.0lf : 2.0lf);
    put(double(float(x) * 0.1));
    put(mod(x, 3.0lf));
    put(fma(x, y, x));
    dmat2 m = dmat2(x, y, 1, 2);
    put((m * dvec2(x, 1)).y);
}
