/* ---- One dispatch ---- */

/* A piece of memory: everything, guard bytes included, lies at `at`; the module sees what begins `start` later. */
struct placed { size_t at, size, start, window; unsigned char *before; };
static struct placed placed[MEMORY_COUNT];
static void *device, *queue, *commands;
static Object memory, staging_memory, arena, staging, command_pool, fence, set_layout, layout, pipeline;
//% if descriptors %//
static Object descriptor_pool;
//% endif %//
static unsigned char *view; /* the arena, or the staging buffer, as the host sees it */
static size_t arena_size;
//% if addressable %//
static uint64_t base; /* the device address of the arena */
//% endif %//

static void create_device(void *physical) {
    const float priority = 1;
    const char *names[4 * COUNT(structures)];
    struct queue_info queues = {2, NULL, 0, family, 1, &priority};
    struct device_info info = {3, NULL, 0, 1, &queues, 0, NULL, 0, names, NULL};
    for (size_t i = COUNT(structures); i-- > 0;) {
        bool used = i == 0; /* VkPhysicalDeviceFeatures2 leads the others */
        for (size_t m = 0; m < COUNT(enabled[i].values); m++) used = used || enabled[i].values[m];
        if (!used) continue;
        enabled[i].sType = structures[i].sType;
        enabled[i].pNext = (void *)info.pNext;
        info.pNext = &enabled[i];
        for (const char *const *name = structures[i].extensions; *name != NULL; name++) {
            bool there = false;
            for (uint32_t k = 0; k < info.extension_count; k++) there = there || strcmp(names[k], *name) == 0;
            if (!there) names[info.extension_count++] = *name;
        }
    }
    check(vkCreateDevice(physical, &info, NULL, &device), "vkCreateDevice");
#define LOAD(result, name, parameters) \
    name = (result (*) parameters)vkGetDeviceProcAddr(device, #name); \
    if (name == NULL) stop(UNSUPPORTED, "the device has no " #name);
    DEVICE_FUNCTIONS(LOAD)
#undef LOAD
    vkGetDeviceQueue(device, family, 0, &queue);
}

enum { HOST = 0x4000, TRANSFER = 0x1000, SHADER = 0x800 };
static uint64_t stage; /* of the last command */
//% if commands_convert %//
static const uint64_t CONVERT = UINT64_C(1) << 44;
//% endif %//

/* What comes next sees all memory that the last command has written. */
static void then(uint64_t next) {
    struct barrier barrier = {46, NULL, 0x10000, 0x18000};
    if (stage == HOST) {
        stage = next; /* what the host has written is visible to a submission as it is */
        return;
    }
//% if commands_convert %//
    if ((stage | next) & CONVERT) {
        struct barrier2 wide = {1000314000, NULL, stage, stage == CONVERT ? 0x1800 : 0x18000,
                                next, next == CONVERT ? 0x1800 : 0x18000};
        struct dependency_info info = {1000314003, NULL, 0, 1, &wide, 0, NULL, 0, NULL};
        vkCmdPipelineBarrier2(commands, &info);
        stage = next;
        return;
    }
//% endif %//
    vkCmdPipelineBarrier(commands, (uint32_t)stage, (uint32_t)next, 0, 1, &barrier, 0, NULL, 0, NULL);
    stage = next;
}

//% if converts %//
//% include "c/convert.h" %//

//% endif %//
static Object create_buffer(uint32_t usage, uint32_t type, size_t size, Object *allocated) {
    struct buffer_info info = {12, NULL, 0, size, usage, 0, 0, NULL};
    struct requirements required;
    struct memory_info allocation = {5, NULL, 0, type};
    Object buffer = 0;
//% if addressable %//
    struct memory_flags flags = {1000060000, NULL, 2, 0};
    if (usage & 0x20000) allocation.pNext = &flags;
//% endif %//
    check(vkCreateBuffer(device, &info, NULL, &buffer), "vkCreateBuffer");
    vkGetBufferMemoryRequirements(device, buffer, &required);
    allocation.size = required.size;
    check(vkAllocateMemory(device, &allocation, NULL, allocated), "vkAllocateMemory");
    check(vkBindBufferMemory(device, buffer, *allocated, 0), "vkBindBufferMemory");
    return buffer;
}

/* The host reads and writes coherent memory. Where that is not the device's own, work is done in a copy of it. */
static void create_memory(void *physical) {
    enum { LOCAL = 1, VISIBLE = 2, COHERENT = 4, CACHED = 8 };
    uint32_t usage = 0x33$(" | 0x20000" if addressable else "") /* transfers, uniform and storage buffers$(", addresses" if addressable else "") */;
    struct buffer_info info = {12, NULL, 0, 256, usage, 0, 0, NULL};
    struct requirements required;
    struct memory_types types;
    Object probe = 0;
    int host = -1, local = -1, best = -1;
    void *mapped = NULL;
    check(vkCreateBuffer(device, &info, NULL, &probe), "vkCreateBuffer");
    vkGetBufferMemoryRequirements(device, probe, &required);
    vkDestroyBuffer(device, probe, NULL);
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    for (uint32_t i = 0; i < types.count; i++) {
        uint32_t flags = types.types[i].flags;
        int rank = (flags & CACHED ? 2 : 0) + (flags & LOCAL ? 1 : 0);
        if (!(required.types >> i & 1)) continue;
        if ((flags & VISIBLE) && (flags & COHERENT) && rank > best) {
            best = rank;
            host = (int)i;
        }
        if ((flags & LOCAL) && (local < 0 || (types.types[local].flags & VISIBLE & ~flags))) local = (int)i;
    }
    if (host < 0) stop(TROUBLE, "no memory type is visible and coherent");
    if ((types.types[host].flags & LOCAL) || local < 0) {
        arena = create_buffer(usage, (uint32_t)host, arena_size, &memory);
        check(vkMapMemory(device, memory, 0, arena_size, 0, &mapped), "vkMapMemory");
    } else {
        arena = create_buffer(usage, (uint32_t)local, arena_size, &memory);
        staging = create_buffer(3, (uint32_t)host, arena_size, &staging_memory);
        check(vkMapMemory(device, staging_memory, 0, arena_size, 0, &mapped), "vkMapMemory");
    }
    view = mapped;
//% if addressable %//
    base = vkGetBufferDeviceAddress(device, &(struct address_info){1000244001, NULL, arena});
//% endif %//
}

static void place(size_t index, size_t size, size_t start, size_t window) {
    struct placed *p = &placed[index];
//% if late %//
    if (start > SIZE_MAX / 2 && arena_size < -start) arena_size = -start; /* the window begins in other memory */
//% endif %//
    arena_size += (256 - (arena_size + start) % 256) % 256; /* every window begins aligned for any device */
    *p = (struct placed){arena_size, size, start, window, allocate(size)};
    arena_size += size;
}

/* Where everything lies, and what it holds before the run. */
static void place_all(void) {
    for (size_t i = 0; i < COUNT(buffers); i++) {
        const struct buffer *b = &buffers[i];
        place(i, b->size + 2 * GUARD, GUARD$(" - b->begins_at" if late), $("b->begins_at + " if late)$("b->size" if robust else "b->size + GUARD"));
        for (size_t k = 0; k < GUARD; k++) placed[i].before[k] = placed[i].before[GUARD + b->size + k] = guard(k);
        fill(placed[i].before + GUARD, &b->initial, b->type->size);
    }
//% if opaque %//
    for (size_t i = 0; i < COUNT(opaque); i++) {
        size_t size = opaque[i].offset + destination_size(&opaque[i].matrix);
        place(COUNT(buffers) + i, size, 0, size);
        memset(placed[COUNT(buffers) + i].before, opaque[i].zero ? 0 : 0xA5, size);
    }
//% endif %//
}

static void create_pipeline(void) {
    struct module_info module_info = {16, NULL, 0, sizeof module_words, module_words};
    struct required_size size = {1000225001, NULL, required_subgroup_size};
//% if descriptors %//
    struct slot slots[COUNT(bindings)];
    struct set_layout_info set_info = {32, NULL, 0, COUNT(slots), slots};
//% else %//
    struct set_layout_info set_info = {32, NULL, 0, 0, NULL};
//% endif %//
//% if push_bytes %//
    struct push_range push = {COMPUTE, 0, sizeof push_constants};
    struct layout_info layout_info = {30, NULL, 0, 1, &set_layout, 1, &push};
//% else %//
    struct layout_info layout_info = {30, NULL, 0, 1, &set_layout, 0, NULL};
//% endif %//
//% if constants %//
    struct specialization specialization = {COUNT(constants), constants, sizeof constant_data, constant_data};
//% endif %//
    struct pipeline_info info = {
        29, NULL, 0,
        {18, required_subgroup_size ? &size : NULL, 0, COMPUTE, 0, ENTRY, $("&specialization" if constants else "NULL")},
        0, 0, -1,
    };
    int32_t result;
//% if descriptors %//
    for (size_t i = 0; i < COUNT(bindings); i++)
        slots[i] = (struct slot){bindings[i].binding, bindings[i].type, 1, COMPUTE, NULL};
//% endif %//
    check(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set_layout), "vkCreateDescriptorSetLayout");
    check(vkCreatePipelineLayout(device, &layout_info, NULL, &layout), "vkCreatePipelineLayout");
    check(vkCreateShaderModule(device, &module_info, NULL, &info.stage.module), "vkCreateShaderModule");
    info.layout = layout;
    result = vkCreateComputePipelines(device, 0, 1, &info, NULL, &pipeline);
    vkDestroyShaderModule(device, info.stage.module, NULL);
    check(result, "vkCreateComputePipelines");
}
//% if descriptors %//

static Object create_descriptors(void) {
    struct pool_size sizes[2] = {{STORAGE, COUNT(bindings)}, {UNIFORM, COUNT(bindings)}};
    struct pool_info pool = {33, NULL, 0, 1, 2, sizes};
    struct set_info set_info = {34, NULL, 0, 1, &set_layout};
    Object set = 0;
    check(vkCreateDescriptorPool(device, &pool, NULL, &descriptor_pool), "vkCreateDescriptorPool");
    set_info.pool = descriptor_pool;
    check(vkAllocateDescriptorSets(device, &set_info, &set), "vkAllocateDescriptorSets");
    for (size_t i = 0; i < COUNT(bindings); i++) {
        const struct placed *p = &placed[bindings[i].memory];
        struct descriptor descriptor = {arena, p->at + p->start, p->window};
        struct write write = {35, NULL, set, bindings[i].binding, 0, 1, bindings[i].type, NULL, &descriptor, NULL};
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    }
    return set;
}
//% endif %//

static void begin(void) {
    struct command_pool_info pool = {39, NULL, 0, family};
    struct commands_info info = {40, NULL, 0, 0, 1};
    struct begin_info begin_info = {42, NULL, 1, NULL};
    struct copy copy = {0, 0, arena_size};
    check(vkCreateCommandPool(device, &pool, NULL, &command_pool), "vkCreateCommandPool");
    info.pool = command_pool;
    check(vkAllocateCommandBuffers(device, &info, &commands), "vkAllocateCommandBuffers");
    check(vkBeginCommandBuffer(commands, &begin_info), "vkBeginCommandBuffer");
    stage = HOST;
    if (!staging) return;
    vkCmdCopyBuffer(commands, staging, arena, 1, &copy);
    stage = TRANSFER;
}

static void submit(void) {
    struct copy copy = {0, 0, arena_size};
    struct submit_info info = {4, NULL, 0, NULL, NULL, 1, &commands, 0, NULL};
    struct fence_info fence_info = {8, NULL, 0};
    int32_t result;
    if (staging) {
        then(TRANSFER);
        vkCmdCopyBuffer(commands, arena, staging, 1, &copy);
    }
    then(HOST);
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    check(vkCreateFence(device, &fence_info, NULL, &fence), "vkCreateFence");
    check(vkQueueSubmit(queue, 1, &info, fence), "vkQueueSubmit");
    result = vkWaitForFences(device, 1, &fence, 1, WHOLE_SUBMISSION * UINT64_C(1000000000));
    if (result == TIMEOUT) stop(FAILED, "the device did not finish within 60 seconds");
    check(result, "vkWaitForFences");
    vkDestroyFence(device, fence, NULL);
    vkDestroyCommandPool(device, command_pool, NULL);
}

static void dispatch($("Object set" if descriptors else "void")) {
//% if push_bytes %//
    unsigned char push[sizeof push_constants];
    memcpy(push, push_constants, sizeof push);
//% if push_addresses %//
    for (size_t i = 0; i < COUNT(push_addresses); i++) {
        const struct placed *p = &placed[push_addresses[i].memory];
        uint64_t address = base + p->at + p->start + push_addresses[i].offset;
        memcpy(push + push_addresses[i].at, &address, sizeof address);
    }
//% endif %//
    vkCmdPushConstants(commands, layout, COMPUTE, 0, sizeof push_constants, push);
//% endif %//
    then(SHADER);
    vkCmdBindPipeline(commands, 1, pipeline);
//% if descriptors %//
    vkCmdBindDescriptorSets(commands, 1, layout, 0, 1, &set, 0, NULL);
//% endif %//
    vkCmdDispatch(commands, workgroups[0], workgroups[1], workgroups[2]);
}

static void run(void *physical) {
    place_all();
    create_memory(physical);
    for (size_t i = 0; i < MEMORY_COUNT; i++) memcpy(view + placed[i].at, placed[i].before, placed[i].size);
//% if descriptors %//
    Object set = create_descriptors();
//% endif %//
//% for step in steps %//
    $(step);
//% endfor %//
}

static void clean_up(void) {
//% if descriptors %//
    vkDestroyDescriptorPool(device, descriptor_pool, NULL);
//% endif %//
    vkDestroyPipeline(device, pipeline, NULL);
    vkDestroyPipelineLayout(device, layout, NULL);
    vkDestroyDescriptorSetLayout(device, set_layout, NULL);
    vkDestroyBuffer(device, arena, NULL);
    vkFreeMemory(device, memory, NULL);
    if (staging) {
        vkDestroyBuffer(device, staging, NULL);
        vkFreeMemory(device, staging_memory, NULL);
    }
    vkDestroyDevice(device, NULL);
    for (size_t i = 0; i < MEMORY_COUNT; i++) free(placed[i].before);
}
