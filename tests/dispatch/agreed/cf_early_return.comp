#version 460
// Functions that return out of loops and switches.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 3
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

uint collatz(uint x) {
    for (uint k = 0u; k < 200u; k++) {
        if (x < 2u)
            return k;
        if ((x & 1u) == 0u)
            x >>= 1;
        else {
            x = 3u * x + 1u;
            if (x > 5000u)
                return 1000u + k;
        }
    }
    return 999u;
}
uint pick(uint x, uint y) {
    if (x > y) {
        if ((x & 1u) == 1u)
            return x - y;
    } else {
        switch (y & 3u) {
        case 0u:
            return 1u;
        case 1u:
            y += 5u;
            break;
        case 2u:
            if (x == 3u)
                return 4u;
            return y;
        }
        return y * 2u;
    }
    return 77u;
}
uint nested(int x, int y) {
    uint s = 0u;
    for (int j = 0; j < x; j++)
        for (int k = 0; k < y; k++) {
            if (j * k == 15)
                return s;
            if (k > j)
                break;
            s += uint(j ^ k);
        }
    return s + 100u;
}

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    put(collatz(a & 255u));
    put(pick(a, b));
    put(nested(int(a & 31u), int(b & 7u)));
}
