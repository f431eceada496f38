#version 460
#pragma use_vulkan_memory_model
// tensor_addressing.memory.physical_offsets
// Physical pointers, each moved by a base offset.
// glslang -V --target-env vulkan1.3 -o shader.spv shader.comp
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;

layout(std430, set = 0, binding = 0) readonly buffer Parameters { uint words[]; } parameters;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Reference_src { float16_t data[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Reference_dst { float16_t data[]; };
layout(push_constant) uniform Addresses { Reference_src src; Reference_dst dst; } addresses;

#define Layout_2D_Undefined tensorLayoutNV<2, gl_CooperativeMatrixClampModeUndefinedNV>
#define Matrix_float16_16x16_Accumulator coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

void main() {
    Layout_2D_Undefined t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeUndefinedNV);
    Layout_2D_Undefined t1 = setTensorLayoutDimensionNV(t, 16, 16);
    Matrix_float16_16x16_Accumulator z = Matrix_float16_16x16_Accumulator(-7.0hf);
    Matrix_float16_16x16_Accumulator m = z;
    coopMatLoadTensorNV(m, addresses.src.data, parameters.words[0], t1);
    coopMatStoreTensorNV(m, addresses.dst.data, 8, t1);
}
