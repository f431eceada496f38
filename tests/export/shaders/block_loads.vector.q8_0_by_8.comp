#version 460
#pragma use_vulkan_memory_model
// block_loads.vector.q8_0_by_8
// Q8_0 with a function of 8 lanes beside the scalar one; which is called is free.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_long_vector : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_NV_cooperative_matrix_decode_vector : require

layout(local_size_x = 32) in;

layout(std430, set = 0, binding = 0) buffer Buffer_src { uint16_t data[]; } src;
layout(std430, set = 0, binding = 1) buffer Buffer_d { float16_t data[]; } d;

#define Layout_2D_Undefined tensorLayoutNV<2, gl_CooperativeMatrixClampModeUndefinedNV>
#define Matrix_float16_16x64_B coopmat<float16_t, gl_ScopeSubgroup, 16, 64, gl_MatrixUseB>

layout(buffer_reference, std430, buffer_reference_align = 2) buffer Block_f { float16_t d; int8_t qs[32]; };

float16_t f(const in Block_f block, const in uint blockCoord[2], const in uint coordInBlock[2]) {
    return float16_t(float(block.d) * float(block.qs[coordInBlock[1]]));
}

vector<float16_t, 8> v(const in Block_f block, const in uint blockCoord[2], const in uint coordInBlock[2]) {
    vector<float16_t, 8> lanes;
    for (uint lane = 0; lane < 8; ++lane) {
        lanes[lane] = float16_t(float(block.d) * float(block.qs[coordInBlock[1] + lane]));
    }
    return lanes;
}

void main() {
    Layout_2D_Undefined t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeUndefinedNV);
    Layout_2D_Undefined t1 = setTensorLayoutBlockSizeNV(t, 1, 32);
    Layout_2D_Undefined t2 = setTensorLayoutDimensionNV(t1, 16, 64);
    Matrix_float16_16x64_B z = Matrix_float16_16x64_B(-7.0hf);
    Matrix_float16_16x64_B m = z;
    coopMatLoadTensorNV(m, src.data, 0, t2, f, v);
    coopMatStore(m, d.data, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
}
