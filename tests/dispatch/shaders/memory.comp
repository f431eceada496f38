#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_nonuniform_qualifier : require
// Structs with every layout, narrow types, uniform blocks, arrays of descriptors, device addresses, atomics.
layout(local_size_x = 16) in;
struct Item {
    uint8_t kind;
    float16_t weight;
    i16vec3 place;
    double wide;
    mat3x2 turn;
};
layout(std140, set = 0, binding = 0) uniform Settings {
    vec3 scale;
    uint count;
    mat2x3 bend;
    float table[4];
} settings;
layout(scalar, set = 0, binding = 1) readonly buffer Items { Item items[]; } source;
layout(std430, set = 1, binding = 2) readonly buffer Tables { uint data[]; } tables[3];
layout(buffer_reference) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Node { uint value; Node next; };
layout(push_constant) uniform Push { Node head; uint64_t total; } push;
layout(std430, set = 0, binding = 3) buffer Out {
    uint hits;
    int lowest;
    float results[];
} target;
shared uint staged[16];

void main() {
    uint i = gl_LocalInvocationIndex;
    Item item = source.items[i];
    vec3 place = vec3(item.place) * settings.scale;
    vec2 turned = item.turn * place;
    vec3 bent = settings.bend * turned;
    staged[i] = tables[nonuniformEXT(i % 3)].data[i];
    barrier();
    uint other = staged[15 - i];
    Node node = push.head;
    for (uint k = 0; k < i % 3; ++k)
        node = node.next;
    float value = bent.x + bent.y * 2.0 + bent.z * 4.0 + float(item.weight) * float(item.kind) + float(item.wide);
    value += settings.table[i % 4] + float(other) + float(node.value) + float(source.items.length());
    target.results[i] = value;
    if (i < settings.count) {
        atomicAdd(target.hits, i + uint(push.total));
        atomicMin(target.lowest, int(item.place.x));
    }
}
