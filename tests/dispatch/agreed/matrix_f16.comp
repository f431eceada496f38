#version 460
// Matrices of float16: products, inverses, determinants, parts.
#extension GL_GOOGLE_include_directive : require
#define OUT float16_t
#define PER 22
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    f16mat2x3 m = f16mat2x3(f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5));
    f16mat3x2 t = transpose(m);
    f16mat2 p = t * m;
    f16mat3 q = m * t;
    put(p[1][0]);
    put(q[2][1]);
    put((m * f16vec2(1, 2)).z);
    put((f16vec3(1, 2, 3) * m).y);
    put((m * float16_t(3))[1].y);
    put(matrixCompMult(m, m)[0][2]);
    put(outerProduct(f16vec3(1, 2, 3), f16vec2(f(i), 4))[1][2]);
    put((m + m)[1][2]);
    put((m - float16_t(1))[0][0]);
    put((-m)[1][1]);
    put((m / float16_t(4))[1][1]);
    f16mat4 d = f16mat4(float16_t(2));
    d[3] = f16vec4(f(i), 1, 2, 3);
    d[1][2] = float16_t(5);
    put(determinant(d));
    put(inverse(d)[3][1]);
    put(determinant(f16mat2(1, 2, 3, f(i))));
    put(inverse(f16mat2(2, 1, 1, 3))[0][1]);
    put(determinant(f16mat3(2, 0, 1, 1, 3, f(i), 0, 1, 4)));
    put(float16_t(m == m));
    put(float16_t(m != f16mat2x3(1)));
    f16mat3 big = f16mat3(m);
    put(big[2][2]);
    int k = int(a & 1u);
    put(m[k][int(b % 3u)]);
    m[k] = f16vec3(7);
    put(m[1 - k].y + m[k].x);
    put(inverse(f16mat3(2, 0, 1, 1, 3, 1, 0, 1, 4))[2][0]);
}
