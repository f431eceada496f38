#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
// Reductions and scans of whole subgroups of 32, of floats, vectors and bits, with some invocations inactive.
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer In { ivec2 data[]; } source;
layout(std430, set = 0, binding = 1) writeonly buffer Out { ivec2 data[][8]; } target;

void main() {
    uint i = gl_GlobalInvocationID.x;
    ivec2 x = source.data[i];
    for (int k = 0; k < 8; ++k)
        target.data[i][k] = ivec2(-1);
    target.data[i][0] = subgroupAdd(x);
    target.data[i][1] = ivec2(subgroupExclusiveAdd(vec2(x)));
    if (x.x % 3 != 0) {
        target.data[i][2] = subgroupInclusiveAdd(x);
        target.data[i][3] = subgroupMin(x);
        target.data[i][4] = subgroupExclusiveMax(x);
        uvec4 who = subgroupBallot(true);
        target.data[i][5] = ivec2(subgroupBallotBitCount(who), subgroupBallotExclusiveBitCount(who));
        target.data[i][6] = ivec2(subgroupBallotFindLSB(who), subgroupBallotFindMSB(who));
    }
    target.data[i][7] = subgroupAnd(x) + subgroupOr(x) * 3;
}
