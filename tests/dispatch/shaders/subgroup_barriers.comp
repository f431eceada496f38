#version 450
// Barriers of scope Subgroup, which the first subgroups of a workgroup reach more often than the last.
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) writeonly buffer Numbers { uint numbers[]; };
shared uint passed[128];

void main() {
    uint here = gl_LocalInvocationIndex, sum = 0;
    for (uint left = gl_NumSubgroups - gl_SubgroupID; left > 0; --left) {
        passed[here] = left;
        controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
        sum += passed[here ^ 1] - left + 1;
        controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
    }
    numbers[here] = 1000 + here + sum - (gl_NumSubgroups - gl_SubgroupID);
}
