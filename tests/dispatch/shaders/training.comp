#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
// One layer in a layout for inferencing, whose outer products with its input are summed in one for training.
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer In { float16_t data[]; } source;
layout(std430, set = 0, binding = 1) readonly buffer Weights { float16_t data[]; } weights;
layout(std430, set = 0, binding = 2) buffer Gradient { float16_t data[]; } gradient;

void main() {
    coopvecNV<float16_t, 8> x;
    coopVecLoadNV(x, source.data, 16 * gl_GlobalInvocationID.x);
    coopvecNV<float16_t, 6> y;
    coopVecMatMulNV(y, x, gl_ComponentTypeFloat16NV, weights.data, 0, gl_ComponentTypeFloat16NV, 6, 8,
                    gl_CooperativeVectorMatrixLayoutInferencingOptimalNV, false, 0);
    coopVecOuterProductAccumulateNV(y, x, gradient.data, 0, 0, gl_CooperativeVectorMatrixLayoutTrainingOptimalNV,
                                    gl_ComponentTypeFloat32NV);
}
