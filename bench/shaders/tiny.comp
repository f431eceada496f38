#version 460
// Little work: 32 invocations, each with a loop of 64 steps of scalar arithmetic and buffer accesses.
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer Source { uint data[]; } source;
layout(std430, set = 0, binding = 1) buffer Result { uint data[]; } result;

void main() {
    uint i = gl_GlobalInvocationID.x, n = source.data.length();
    uint sum = 0;
    for (uint k = 0; k < 64; k++) {
        uint x = source.data[(i + k) % n];
        x ^= x << 13;
        x ^= x >> 17;
        if ((x & 1u) == 0u)
            sum += x * 3u;
        else
            sum -= k;
        result.data[i] = sum;
    }
}
