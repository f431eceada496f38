#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
// A tiled product of matrices without cooperative matrices: C = A * B, tiles of 16x16 in shared memory.
layout(local_size_x = 16, local_size_y = 16) in;
layout(constant_id = 0) const uint K = 64;
layout(std430, set = 0, binding = 0) readonly buffer A { float16_t data[]; } a;
layout(std430, set = 0, binding = 1) readonly buffer B { float16_t data[]; } b;
layout(std430, set = 0, binding = 2) writeonly buffer C { float data[]; } c;
shared float tile_a[16][16];
shared float tile_b[16][17];

void main() {
    uint columns = gl_NumWorkGroups.x * 16, row = gl_GlobalInvocationID.y, column = gl_GlobalInvocationID.x;
    uvec2 at = gl_LocalInvocationID.xy;
    float sum = 0.0;
    for (uint k = 0; k < K; k += 16) {
        tile_a[at.y][at.x] = float(a.data[row * K + k + at.x]);
        tile_b[at.y][at.x] = float(b.data[(k + at.y) * columns + column]);
        barrier();
        for (uint i = 0; i < 16; ++i)
            sum = fma(tile_a[at.y][i], tile_b[i][at.x], sum);
        barrier();
    }
    c.data[row * columns + column] = sum;
}
