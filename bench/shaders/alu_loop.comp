#version 460
// A loop of 32 turns with 8 integer instructions in each.
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer In { uint data[]; } source;
layout(std430, set = 0, binding = 1) writeonly buffer Out { uint data[]; } target;

void main() {
    uint i = gl_GlobalInvocationID.x, x = source.data[i];
    for (uint turn = 0; turn < 32; ++turn) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x += turn * 7;
    }
    target.data[i] = x;
}
