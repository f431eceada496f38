#version 460
// Atomics and barriers of the Vulkan memory model.
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#define OUT uint
#define PER 4
#define INVOCATIONS 32
#include "common.glsl"
layout(local_size_x = 32) in;

layout(set = 0, binding = 2, scalar) buffer K {
    uint k[];
};
void main() {
    uint i = me();
    uint a = src[i], b = src[i + 128u], c = src[i ^ 1u];
    put(atomicAdd(k[8 + i], a, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease));
    atomicStore(k[8 + i], b, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
    put(atomicLoad(k[8 + i], gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire));
    put(atomicCompSwap(k[8 + i], b, 3u, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease,
                       gl_StorageSemanticsBuffer, gl_SemanticsAcquire));
    memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
    put(k[8 + i]);
}
