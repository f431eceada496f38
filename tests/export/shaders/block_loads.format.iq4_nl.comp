#version 460
#pragma use_vulkan_memory_model
// block_loads.format.iq4_nl
// IQ4_NL: nibbles that index a table of 16 values.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;

layout(std430, set = 0, binding = 0) buffer Buffer_src { uint16_t data[]; } src;
layout(std430, set = 0, binding = 1) buffer Buffer_d { float16_t data[]; } d;

#define Layout_2D_Undefined tensorLayoutNV<2, gl_CooperativeMatrixClampModeUndefinedNV>
#define Matrix_float16_16x64_B coopmat<float16_t, gl_ScopeSubgroup, 16, 64, gl_MatrixUseB>

layout(buffer_reference, std430, buffer_reference_align = 2) buffer Block_f { float16_t d; uint8_t qs[16]; };

float16_t f(const in Block_f block, const in uint blockCoord[2], const in uint coordInBlock[2]) {
    uint i = coordInBlock[1];
    uint q = (uint(block.qs[i % 16u]) >> (4u * (i / 16u))) & 15u;
    float[16] table = float[16](-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0);
    return float16_t(float(block.d) * table[q]);
}

void main() {
    Layout_2D_Undefined t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeUndefinedNV);
    Layout_2D_Undefined t1 = setTensorLayoutBlockSizeNV(t, 1, 32);
    Layout_2D_Undefined t2 = setTensorLayoutDimensionNV(t1, 16, 64);
    Matrix_float16_16x64_B z = Matrix_float16_16x64_B(-7.0hf);
    Matrix_float16_16x64_B m = z;
    coopMatLoadTensorNV(m, src.data, 0, t2, f);
    coopMatStore(m, d.data, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
}
