#version 460
// The sum of 256 numbers by a tree in shared memory.
layout(local_size_x = 256) in;
layout(std430, set = 0, binding = 0) readonly buffer In { uint data[]; } source;
layout(std430, set = 0, binding = 1) writeonly buffer Out { uint data[]; } target;
shared uint partial[256];

void main() {
    uint i = gl_LocalInvocationIndex;
    partial[i] = source.data[gl_GlobalInvocationID.x];
    barrier();
    for (uint half_ = 128; half_ > 0; half_ /= 2) {
        if (i < half_)
            partial[i] += partial[i + half_];
        barrier();
    }
    if (i == 0)
        target.data[gl_WorkGroupID.x] = partial[0];
}
