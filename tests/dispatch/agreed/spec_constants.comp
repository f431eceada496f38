#version 460
// Specialization constants of all types, and operations on them.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 18
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32, local_size_x_id = 20) in;

layout(constant_id = 0) const uint A = 3u;
layout(constant_id = 1) const int B = -7;
layout(constant_id = 2) const bool C = false;
layout(constant_id = 3) const float X = 1.5;
layout(constant_id = 4) const uint N = 4u;
layout(constant_id = 5) const uint64_t L = 5ul;
layout(constant_id = 6) const double D = 2.5lf;
layout(constant_id = 7) const int16_t J = int16_t(5);
const uint E = (A * 5u + 7u) / 2u - (A << 2) + (A >> 1) + (A & 6u) + (A | 9u) + (A ^ 5u) + ~A % 11u;
const int F = -B * 3 % 5 + (B >> 1) + (B < 0 ? 10 : 20);
const uvec3 V = uvec3(A, A + 1u, 7u);
const uint G = V.z + V.x * V.y;
const bool H = C == (A > 2u);
const uint P = uint(A == 3u) + uint(B);
const uvec4 Q = V.xyzz + A;
const int64_t R = int64_t(B) * 3l;
const uint T2 = C ? A : E;
uint arr[N];

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    put(A);
    put(uint(B));
    put(C ? 1u : 0u);
    put(E);
    put(uint(F));
    put(uint(arr.length()));
    arr[a % N] = 5u;
    put(arr[a % N]);
    put(gl_WorkGroupSize.x);
    put(V.y);
    put(G);
    put(H ? 1u : 0u);
    put(uint(L >> 3));
    put(uint(D * 4.0lf));
    put(uint(J));
    put(P);
    put(uint(Q.z));
    put(uint(R));
    put(T2);
}
