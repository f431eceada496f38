#version 460
// Arrays and matrices indexed by values, structures of arrays, swizzles that are assigned to.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 12
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

const uint LUT[8] = uint[](3u, 1u, 4u, 1u, 5u, 9u, 2u, 6u);
struct Q {
    uint x;
    vec2 y;
};
struct P {
    Q q[3];
};
struct D {
    P p[2];
};
D deep = D(P[2](P(Q[3](Q(1u, vec2(0)), Q(2u, vec2(0)), Q(3u, vec2(0)))),
                P(Q[3](Q(11u, vec2(0)), Q(12u, vec2(0)), Q(13u, vec2(0))))));
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint t[8];
    for (int k = 0; k < 8; k++)
        t[k] = a >> k;
    uint m[3][4];
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 4; k++)
            m[j][k] = uint(j * 10 + k) + (b & 7u);
    put(t[a & 7u]);
    put(m[a % 3u][b & 3u]);
    t[b & 7u] = 99u;
    uint u[8] = t;
    u[0] += 1u;
    put(t[0] + 2u * u[0]);
    put(LUT[a & 7u]);
    vec4 v = vec4(1, 2, 3, 4);
    v[b & 3u] = 9.0;
    put(uint(v.x + 10.0 * v.y + 100.0 * v.z + 1000.0 * v.w));
    put(uint(v[a & 3u]));
    uvec4 w = uvec4(a, b, c, 5u);
    w.zx = w.yw;
    put(w.x ^ w.z);
    w.wzy += w.xxx;
    put(w.w + w.y);
    mat3 mm = mat3(1);
    mm[a % 3u][b % 3u] = 5.0;
    put(uint(mm[0].x + mm[1].y * 3.0 + mm[2].z * 7.0 + mm[0][1] + mm[2][0]));
    put(uint(t == u));
    put(m[2].length());
    put(deep.p[a & 1u].q[b % 3u].x);
}
