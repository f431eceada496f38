#version 460
// Words with a half twice, and a constant between them: RADV swaps a register with the constant.
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Src { float src[]; };
layout(set = 0, binding = 1) writeonly buffer Dst { uvec4 dst[]; };
uint twice(float16_t h) { return packFloat2x16(f16vec2(h, h)); }
void main() {
    uint i = gl_GlobalInvocationID.x;
    float16_t a = float16_t(src[i]), b = float16_t(src[i + 64u]);
    float16_t sum = a + b, product = a * b;
    uint word = floatBitsToUint(src[i + 128u]);
    dst[2u * i] = uvec4(twice(sum), word, 35u, twice(product));
    dst[2u * i + 1u] = uvec4(word, twice(product), twice(product), 3u);
}
