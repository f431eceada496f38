#version 460
// Nested loops with breaks, continues and different numbers of turns.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 2
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint r = a;
    for (uint k = 0u; k < (a & 15u); ++k) {
        if ((r & 3u) == 1u) {
            r += 3u;
            continue;
        }
        for (uint j = k;; j++) {
            r = r * 1664525u + j;
            if (j > (b & 7u) + k)
                break;
            if ((r & 64u) != 0u)
                continue;
            r ^= j;
        }
        if ((r >> 20) == 77u)
            break;
    }
    uint n = 0u;
    while (r > 1u && n < 20u) {
        r = (r & 1u) == 0u ? r / 2u : r * 3u + 1u;
        n++;
    }
    do {
        n += 5u;
        r >>= 3;
    } while ((r & 5u) == 5u);
    put(r);
    put(n);
}
