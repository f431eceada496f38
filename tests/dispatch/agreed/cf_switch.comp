#version 460
// A switch with cases that fall through, a loop and a return within it.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 1
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint r = 0u;
    switch (a % 7u) {
    case 0u:
        r = 5u;
        break;
    case 1u:
    case 2u:
        r += 7u;
    case 3u:
        r += b;
        break;
    case 4u:
        return;
    case 5u:
        r = 9u;
        for (uint k = 0u; k < (b & 7u); k++) {
            if (k == 5u)
                break;
            r = r * 3u + k;
        }
        break;
    default:
        r = 11u;
    }
    dst[i] = r + 1u;
}
