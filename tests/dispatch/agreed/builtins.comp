#version 460
// The built-in variables of compute shaders.
#extension GL_GOOGLE_include_directive : require
#define OUT uint
#define PER 19
#define INVOCATIONS 48
#include "common.glsl"
layout(local_size_x = 4, local_size_y = 4, local_size_z = 3) in;

void main() {
    uint i = me();
    uint a = src[i], b = src[i + 192u], c = src[i ^ 1u];
    put(gl_NumWorkGroups.x + 10u * gl_NumWorkGroups.y + 100u * gl_NumWorkGroups.z);
    put(gl_WorkGroupID.x);
    put(gl_LocalInvocationID.x);
    put(gl_LocalInvocationID.y);
    put(gl_LocalInvocationID.z);
    put(gl_GlobalInvocationID.x);
    put(gl_GlobalInvocationID.y);
    put(gl_GlobalInvocationID.z);
    put(gl_LocalInvocationIndex);
    put(gl_WorkGroupSize.y);
    put(gl_SubgroupSize);
    put(gl_NumSubgroups);
    put(gl_SubgroupID);
    put(gl_SubgroupInvocationID);
    put(gl_SubgroupEqMask.x);
    put(gl_SubgroupGeMask.x & 0xffu);
    put(gl_SubgroupGtMask.x & 0xffu);
    put(gl_SubgroupLeMask.x);
    put(gl_SubgroupLtMask.x);
}
