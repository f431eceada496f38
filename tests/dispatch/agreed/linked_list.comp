#version 460
// Physical pointers: a list, arrays of pointers, pointers as integers.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 9
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(buffer_reference) buffer Node;
struct E {
    uint x;
    uint y;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Node {
    uint value;
    uint pad;
    Node next;
    E scratch[];
};
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words {
    uint x[4];
};
layout(push_constant, scalar) uniform PC {
    Node head;
    uint k;
} pc;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    Node n = pc.head;
    uint s = 0u, hops = 0u;
    while (uint64_t(n) != 0ul && hops < 9u) {
        s += n.value * (hops + 1u);
        hops++;
        n = n.next;
    }
    put(s);
    put(hops);
    Words base2 = Words(uint64_t(pc.head));
    put(base2[1].x[0]);
    Node base = pc.head;
    put(uint(uint64_t(base.next) - uint64_t(base)));
    uvec2 bits = uvec2(base.next);
    put(Node(bits).value);
    Words w = Words(uint64_t(base));
    put(w.x[1]);
    put(w[0].x[0]);
    pc.head.scratch[i + 64u].y = a;
    put(pc.head.scratch[i + 64u].y);
    Node two[2] = Node[2](pc.head, pc.head.next);
    put(two[b & 1u].value);
}
