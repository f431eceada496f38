#version 460
// Matrices of float32: products, inverses, determinants, parts.
#extension GL_GOOGLE_include_directive : require
#define OUT float
#define PER 22
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    mat2x3 m = mat2x3(f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5));
    mat3x2 t = transpose(m);
    mat2 p = t * m;
    mat3 q = m * t;
    put(p[1][0]);
    put(q[2][1]);
    put((m * vec2(1, 2)).z);
    put((vec3(1, 2, 3) * m).y);
    put((m * float(3))[1].y);
    put(matrixCompMult(m, m)[0][2]);
    put(outerProduct(vec3(1, 2, 3), vec2(f(i), 4))[1][2]);
    put((m + m)[1][2]);
    put((m - float(1))[0][0]);
    put((-m)[1][1]);
    put((m / float(4))[1][1]);
    mat4 d = mat4(float(2));
    d[3] = vec4(f(i), 1, 2, 3);
    d[1][2] = float(5);
    put(determinant(d));
    put(inverse(d)[3][1]);
    put(determinant(mat2(1, 2, 3, f(i))));
    put(inverse(mat2(2, 1, 1, 3))[0][1]);
    put(determinant(mat3(2, 0, 1, 1, 3, f(i), 0, 1, 4)));
    put(float(m == m));
    put(float(m != mat2x3(1)));
    mat3 big = mat3(m);
    put(big[2][2]);
    int k = int(a & 1u);
    put(m[k][int(b % 3u)]);
    m[k] = vec3(7);
    put(m[1 - k].y + m[k].x);
    put(inverse(mat3(2, 0, 1, 1, 3, 1, 0, 1, 4))[2][0]);
}
