/* A Vulkan loader and device for tests of repro.c. It has every feature, extension and property, lists the rows that
   FAKE_FOLDER/rows names, and "dispatches" by copying files over the buffers that are bound: FAKE_FOLDER/binding-N over
   what the descriptor of binding N describes, guard bytes included, and push-N over what the Nth device address in the
   push constants points to. The Nth conversion copies convert-N over its destination. Commands take effect when they are
   recorded.
   FAKE_STAGING: the device's own memory is not the host's. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct constant { uint32_t id, offset; size_t size; };
#include "vulkan.h"

enum { GUARD = 1024, BUFFERS = 16 };
static struct { unsigned char *memory; size_t size; } buffers[BUFFERS], memories[BUFFERS];
static unsigned buffer_count, memory_count;
static struct descriptor bound[64];
static bool is_bound[64];

static FILE *open_file(const char *name, unsigned number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%u", getenv("FAKE_FOLDER"), name, number);
    return fopen(path, "rb");
}

static void copy_file(FILE *file, unsigned char *to, size_t most) {
    int c;
    if (file == NULL) return;
    for (size_t i = 0; i < most && (c = getc(file)) != EOF; i++) to[i] = (unsigned char)c;
    fclose(file);
}

/* The rows of one kind: lines of numbers. */
static uint32_t read_rows(const char *kind, uint32_t *out, size_t columns, size_t bytes) {
    char path[4096], word[32];
    uint32_t rows = 0;
    FILE *file;
    snprintf(path, sizeof path, "%s/rows", getenv("FAKE_FOLDER"));
    file = fopen(path, "r");
    if (file == NULL) return 0;
    while (fscanf(file, "%31s", word) == 1) {
        bool wanted = strcmp(word, kind) == 0;
        size_t count;
        if (fscanf(file, "%zu", &count) != 1) break;
        for (size_t i = 0; i < count; i++) {
            uint32_t value;
            if (fscanf(file, "%u", &value) != 1) break;
            if (wanted && out != NULL && i < columns)
                memcpy((unsigned char *)out + rows * bytes + offsetof(struct listed_row, m) + 4 * i, &value, 4);
        }
        rows += wanted;
    }
    fclose(file);
    return rows;
}

static int32_t listed(void *device, uint32_t *count, struct listed_row *rows) {
    (void)device;
    *count = read_rows("listed", (uint32_t *)(void *)rows, 9, sizeof *rows);
    return 0;
}
static int32_t flexible(void *device, uint32_t *count, struct flexible_row *rows) {
    (void)device;
    *count = read_rows("flexible", (uint32_t *)(void *)rows, 10, sizeof *rows);
    return 0;
}
static int32_t vectors(void *device, uint32_t *count, struct vector_row *rows) {
    (void)device;
    *count = read_rows("vector", (uint32_t *)(void *)rows, 6, sizeof *rows);
    return 0;
}

static void *handle(void) { static int thing; return &thing; }
static int32_t create_instance(const struct instance_info *i, const void *a, void **out) {
    (void)i, (void)a;
    *out = handle();
    return getenv("FAKE_NO_DRIVER") ? -9 : 0;
}
static int32_t physical_devices(void *i, uint32_t *count, void **out) {
    (void)i;
    *count = getenv("FAKE_NO_DEVICE") ? 0 : 1;
    if (*count) out[0] = handle();
    return 0;
}
static void features(void *d, struct members *chain) {
    (void)d;
    for (; chain != NULL; chain = chain->pNext)
        for (int i = 0; i < 64; i++) chain->values[i] = getenv("FAKE_NO_FEATURES") ? 0 : 1;
}
static void properties_of(void *d, void *out) {
    struct properties *p = (struct properties *)(void *)((unsigned char *)out - offsetof(struct properties, api));
    (void)d;
    p->api = 1u << 22 | 3u << 12;
    strcpy(p->name, "Fake Device");
    memset(&p->limits, 0x7f, sizeof p->limits);
    p->limits.maxStorageBufferRange = UINT32_MAX;
}
static void properties2(void *d, struct properties *p) {
    properties_of(d, &p->api);
    for (struct members *next = p->pNext; next != NULL; next = next->pNext) {
        if (next->sType == 50) ((struct properties11 *)next)->subgroupSize = 32, ((struct properties11 *)next)->operations = ~0u;
        if (next->sType == 52) memset(((struct properties12 *)next)->float_modes, 1, 60);
        if (next->sType == 54) next->values[0] = 8, next->values[1] = 64;
        if (next->sType == 1000506002) next->values[0] = COMPUTE;
        if (next->sType == 1000593002) next->values[0] = 1024, next->values[1] = 1024, next->values[2] = 0;
        if (next->sType == 1000491001) next->values[0] = COMPUTE, next->values[1] = next->values[2] = 1, next->values[3] = 512;
        if (next->sType == 1000635001) next->values[0] = 512;
    }
}
static void families(void *d, uint32_t *count, struct queue_family *out) {
    (void)d;
    *count = 1;
    out[0] = (struct queue_family){.flags = 2, .count = 1};
}
static void memory_types(void *d, struct memory_types *out) {
    (void)d;
    memset(out, 0, sizeof *out);
    out->count = getenv("FAKE_STAGING") ? 2 : 1;
    out->types[0].flags = getenv("FAKE_STAGING") ? 1 : 15;
    out->types[1].flags = 14;
}
static int32_t extension_list(void *d, const char *layer, uint32_t *count, struct extension *out) {
    static const char *names[] = {
        "VK_KHR_cooperative_matrix", "VK_NV_cooperative_matrix2", "VK_NV_cooperative_vector", "VK_EXT_shader_float8",
        "VK_NV_cooperative_matrix_decode_vector", "VK_KHR_shader_bfloat16", "VK_EXT_shader_replicated_composites",
        "VK_EXT_shader_long_vector", "VK_KHR_shader_float_controls2", "VK_EXT_robustness2"};
    (void)d, (void)layer;
    *count = sizeof names / sizeof *names;
    for (uint32_t i = 0; out != NULL && i < *count; i++) strcpy(out[i].name, names[i]);
    return 0;
}
static int32_t create_device(void *p, const struct device_info *i, const void *a, void **out) {
    (void)p, (void)i, (void)a;
    *out = handle();
    return 0;
}
static void get_queue(void *d, uint32_t f, uint32_t i, void **out) { (void)d, (void)f, (void)i; *out = handle(); }
static int32_t create_buffer(void *d, const struct buffer_info *i, const void *a, Object *out) {
    (void)d, (void)a;
    buffers[buffer_count].size = i->size;
    *out = buffer_count++;
    return 0;
}
static void requirements_of(void *d, Object b, struct requirements *out) {
    (void)d;
    *out = (struct requirements){buffers[b].size, 256, ~0u};
}
static int32_t allocate_memory(void *d, const struct memory_info *i, const void *a, Object *out) {
    (void)d, (void)a;
    memories[memory_count].memory = calloc(1, i->size);
    *out = memory_count++;
    return 0;
}
static void free_memory(void *d, Object m, const void *a) { (void)d, (void)a; free(memories[m].memory); }
static int32_t bind_memory(void *d, Object b, Object m, uint64_t at) {
    (void)d;
    buffers[b].memory = memories[m].memory + at;
    return 0;
}
static int32_t map_memory(void *d, Object m, uint64_t at, uint64_t size, uint32_t f, void **out) {
    (void)d, (void)size, (void)f;
    *out = memories[m].memory + at;
    return 0;
}
static uint64_t address_of(void *d, const struct address_info *i) {
    (void)d;
    return (uint64_t)(uintptr_t)buffers[i->buffer].memory;
}
static int32_t create_pipelines(void *d, Object c, uint32_t n, const struct pipeline_info *i, const void *a, Object *out) {
    (void)d, (void)c, (void)n, (void)i, (void)a;
    *out = 1;
    return getenv("FAKE_REFUSES") ? -13 : 0;
}
static void update(void *d, uint32_t n, const struct write *w, uint32_t c, const void *copies) {
    (void)d, (void)c, (void)copies;
    for (uint32_t i = 0; i < n; i++) bound[w[i].binding] = *w[i].buffers, is_bound[w[i].binding] = true;
}
/* Where contents begin that begin late, in the window of a binding or behind an address. */
static size_t begins(const char *kind, unsigned k) {
    char name[32];
    unsigned long long at = 0;
    FILE *file;
    snprintf(name, sizeof name, "%s-begins", kind);
    file = open_file(name, k);
    if (file == NULL) return 0;
    if (fscanf(file, "%llu", &at) != 1) at = 0;
    fclose(file);
    return (size_t)at;
}
static void push(void *c, Object l, uint32_t s, uint32_t at, uint32_t size, const void *data) {
    (void)c, (void)l, (void)s, (void)at;
    for (unsigned k = 0; k < size / 8; k++) {
        uint64_t address;
        memcpy(&address, (const unsigned char *)data + 8 * k, 8);
        copy_file(open_file("push", k), (unsigned char *)(uintptr_t)address + begins("push", k) - GUARD, SIZE_MAX);
    }
}
static void dispatch(void *c, uint32_t x, uint32_t y, uint32_t z) {
    (void)c, (void)x, (void)y, (void)z;
    for (unsigned i = 0; i < 64; i++)
        if (is_bound[i]) {
            unsigned char *contents = buffers[bound[i].buffer].memory + bound[i].offset + begins("binding", i);
            copy_file(open_file("binding", i), contents - GUARD, SIZE_MAX);
        }
}
static void copy_buffer(void *c, Object from, Object to, uint32_t n, const struct copy *r) {
    (void)c, (void)n;
    memcpy(buffers[to].memory + r->to, buffers[from].memory + r->from, r->size);
}
static size_t size_of(const struct convert_info *i) {
    size_t element = i->destination_component == 1 ? 4 : i->destination_component == 0 ? 2 : 1;
    size_t lines = i->destination_layout == 0 ? i->rows : i->columns, length = i->rows * i->columns / lines;
    return i->destination_layout >= 2 ? 64 : (lines - 1) * i->destination_stride + length * element;
}
static int32_t convert(void *d, const struct convert_info *i) {
    static unsigned number;
    (void)d;
    if (i->destination == 0) *i->destination_size = size_of(i);
    else copy_file(open_file("convert", number++), (unsigned char *)(uintptr_t)i->destination, *i->destination_size);
    return 0;
}
static void record_convert(void *c, uint32_t n, const struct convert_info *i) { (void)n; convert(c, i); }
static int32_t allocate_commands(void *d, const struct commands_info *i, void **out) {
    (void)d, (void)i;
    *out = handle();
    return 0;
}
/* Every function that makes an object of which nothing is asked, and every one that does nothing. */
static int32_t create(void *d, const void *i, const void *a, Object *out) { (void)d, (void)i, (void)a; *out = 1; return 0; }
static int32_t allocate_sets(void *d, const void *i, Object *out) { (void)d, (void)i; *out = 1; return 0; }
static void nothing(void) {}
static int32_t succeed(void) { return 0; }

static Function get(void *parent, const char *name) {
    static const struct { const char *name; Function function; } table[] = {
        {"vkCreateInstance", (Function)create_instance}, {"vkEnumeratePhysicalDevices", (Function)physical_devices},
        {"vkGetPhysicalDeviceFeatures2", (Function)features}, {"vkGetPhysicalDeviceProperties", (Function)properties_of},
        {"vkGetPhysicalDeviceProperties2", (Function)properties2},
        {"vkGetPhysicalDeviceQueueFamilyProperties", (Function)families},
        {"vkGetPhysicalDeviceMemoryProperties", (Function)memory_types},
        {"vkEnumerateDeviceExtensionProperties", (Function)extension_list}, {"vkCreateDevice", (Function)create_device},
        {"vkGetDeviceProcAddr", (Function)get}, {"vkGetDeviceQueue", (Function)get_queue},
        {"vkCreateBuffer", (Function)create_buffer}, {"vkGetBufferMemoryRequirements", (Function)requirements_of},
        {"vkAllocateMemory", (Function)allocate_memory}, {"vkFreeMemory", (Function)free_memory},
        {"vkBindBufferMemory", (Function)bind_memory}, {"vkMapMemory", (Function)map_memory},
        {"vkGetBufferDeviceAddress", (Function)address_of}, {"vkCreateComputePipelines", (Function)create_pipelines},
        {"vkUpdateDescriptorSets", (Function)update}, {"vkCmdPushConstants", (Function)push},
        {"vkCmdDispatch", (Function)dispatch}, {"vkCmdCopyBuffer", (Function)copy_buffer},
        {"vkConvertCooperativeVectorMatrixNV", (Function)convert},
        {"vkCmdConvertCooperativeVectorMatrixNV", (Function)record_convert},
        {"vkAllocateCommandBuffers", (Function)allocate_commands}, {"vkAllocateDescriptorSets", (Function)allocate_sets},
        {"vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", (Function)listed},
        {"vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV", (Function)flexible},
        {"vkGetPhysicalDeviceCooperativeVectorPropertiesNV", (Function)vectors},
    };
    (void)parent;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0) return table[i].function;
    if (strncmp(name, "vkCreate", 8) == 0) return (Function)create;
    if (strncmp(name, "vkDestroy", 9) == 0 || strncmp(name, "vkCmd", 5) == 0) return nothing;
    return (Function)succeed;
}

Function vkGetInstanceProcAddr(void *instance, const char *name) { return get(instance, name); }
