#version 460
// A switch in a loop: breaks of either, continues, a return.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 2
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    uint r = a, n = 0u;
    for (;;) {
        if (n++ > 40u)
            break;
        switch (r & 7u) {
        case 0u:
            r += 13u;
            continue;
        case 1u:
            r = r * 5u + 1u;
            break;
        case 2u: {
            uint z = r;
            while (z > 100u) {
                z >>= 2;
                if (z == 77u)
                    break;
            }
            r ^= z;
        } break;
        case 3u:
            r -= 7u;
        case 4u:
            r += b & 31u;
            break;
        default:
            r = (r << 3) | (r >> 29);
            if (n > (b & 15u)) {
                put(r);
                put(n);
                return;
            }
        }
    }
    put(r);
    put(n);
}
