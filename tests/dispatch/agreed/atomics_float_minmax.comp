#version 460
// Atomic minima and maxima of float32.
#extension GL_GOOGLE_include_directive : require
#define OUT float
#define PER 3
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(set = 0, binding = 2, scalar) buffer K {
    float k[];
};
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    atomicMin(k[0], f(i));
    atomicMax(k[1], f(i));
    put(atomicMax(k[8 + i], f(i)));
    put(atomicMin(k[8 + i], -3.0));
    put(k[8 + i]);
}
