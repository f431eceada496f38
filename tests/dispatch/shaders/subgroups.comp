#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_rotate : require
// What each subgroup operation gives.
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer In { uint data[]; } source;
layout(std430, set = 0, binding = 1) writeonly buffer Out { uint data[][16]; } target;

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = source.data[i];
    target.data[i][0] = subgroupClusteredAdd(x, 4);
    target.data[i][1] = subgroupClusteredMax(x, 8);
    target.data[i][2] = subgroupClusteredXor(x, 2);
    target.data[i][3] = subgroupShuffleXor(x, 5);
    target.data[i][4] = subgroupShuffle(x, (gl_SubgroupInvocationID & ~7u) + 7 - (gl_SubgroupInvocationID & 7u));
    target.data[i][5] = subgroupQuadBroadcast(x, 2);
    target.data[i][6] = subgroupQuadSwapHorizontal(x);
    target.data[i][7] = subgroupQuadSwapVertical(x);
    target.data[i][8] = subgroupQuadSwapDiagonal(x);
    target.data[i][9] = subgroupClusteredRotate(x, 3, 8);
    // Only some take part from here on.
    uint r = 0;
    if ((gl_SubgroupInvocationID & 4) != 0) {
        r = subgroupClusteredAdd(x, 8);
        r += 1000 * (subgroupClusteredMin(x, 4) % 1000);
    } else if (x % 2 == 0) {
        r = subgroupAny(x > 5000) ? 1 : 0;
    }
    target.data[i][10] = r;
    uvec4 odd = subgroupBallot((x & 1) != 0);
    uint mine = odd[gl_SubgroupInvocationID / 32] >> (gl_SubgroupInvocationID % 32);
    target.data[i][11] = mine & 1;
    target.data[i][12] = subgroupInverseBallot(odd) ? 1 : 0;
    uint below = gl_SubgroupInvocationID & 7u;
    uint before = subgroupShuffle(x, max(gl_SubgroupInvocationID, 1u) - 1); // of all, so that no lane is inactive
    target.data[i][13] = below == 0 ? x : before;
    target.data[i][14] = subgroupElect() ? 1 - min(gl_SubgroupInvocationID, 1u) : 1 - uint(gl_SubgroupInvocationID > 0);
    target.data[i][15] = subgroupBroadcastFirst(gl_SubgroupInvocationID) + gl_NumSubgroups * gl_SubgroupSize;
}
