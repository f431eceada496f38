#version 460
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_NV_cooperative_matrix_decode_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
// Blocks of 32 four-bit numbers with a scale, decoded one by one or four at a time.
layout(local_size_x = 32) in;
struct Block { float16_t scale; uint8_t nibbles[16]; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Blocks { Block block; };
layout(std430, set = 0, binding = 0) readonly buffer In { Block blocks[]; } source;
layout(std430, set = 0, binding = 1) buffer Out { float16_t data[]; } target;

f16vec4 unpack_vector(const in Blocks at, const in uint coordinates[2], const in uint inside[2]) {
    f16vec4 v;
    for (uint n = 0; n < 4; ++n) {
        uint k = inside[1] + n;
        uint packed_ = uint(at.block.nibbles[k & 15]);
        uint nibble = k < 16 ? packed_ & 15 : packed_ >> 4;
        v[n] = at.block.scale * float16_t(int(nibble) - 8) + float16_t(coordinates[0] & 1);
    }
    return v;
}

float16_t unpack(const in Blocks at, const in uint coordinates[2], const in uint inside[2]) {
    uint k = inside[1];
    uint packed_ = uint(at.block.nibbles[k & 15]);
    uint nibble = k < 16 ? packed_ & 15 : packed_ >> 4;
    return at.block.scale * float16_t(int(nibble) - 8) + float16_t(coordinates[0] & 1);
}

void main() {
    tensorLayoutNV<2> blocks = createTensorLayoutNV(2);
    blocks = setTensorLayoutBlockSizeNV(blocks, 1, 32);
    blocks = setTensorLayoutDimensionNV(blocks, 16, 64);
    blocks = sliceTensorLayoutNV(blocks, 0, 16, 16, 32);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseA> m;
    coopMatLoadTensorNV(m, source.blocks, 0, blocks, unpack, unpack_vector);
    coopMatStore(m, target.data, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
