#version 460
// Atomic addition and exchange of float32.
#extension GL_GOOGLE_include_directive : require
#define OUT float
#define PER 4
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(set = 0, binding = 2, scalar) buffer K {
    float k[];
};
shared float t;
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    atomicAdd(k[0], float(int(a & 7u)));
    put(atomicExchange(k[8 + i], f(i)));
    put(atomicAdd(k[8 + i], 2.0));
    put(k[8 + i]);
    if (gl_LocalInvocationIndex == 0)
        t = 0.0;
    barrier();
    atomicAdd(t, 1.0);
    barrier();
    put(t);
}
