#version 460
// 20 float32 instructions for each element.
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer In { float data[]; } source;
layout(std430, set = 0, binding = 1) writeonly buffer Out { float data[]; } target;

void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = source.data[i];
    float y = x * 1.5 + 0.25;
    float z = y * y - x;
    y = z * 0.5 + y * 0.75;
    x = x - y * 0.125;
    z = z * x + y;
    y = y * x - z * 0.3;
    x = (x + y) * 0.5 + z;
    target.data[i] = x * 0.9 - y * z;
}
