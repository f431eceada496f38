/* $(title)
 *
$(about)
 *
 * Build: cc -std=c11 -Wall -Wextra -O2 -o repro repro.c -ldl
 * Run:   ./repro [DEVICE]     DEVICE, or the variable REPRO_DEVICE, is an index or a part of a device's name.
 *        Without one, the first device that supports all that the module needs.
 * Exit status: 0 all memory is as the specification allows, 1 it is not (or the driver crashed, hung or refused
 *        the module), 77 no Vulkan loader or device, or none that supports the module, 2 anything else.
 *
 * The loader is opened with dlopen; nothing else is needed. The module, its data and what must come out of it
 * are below, then what little of Vulkan is needed, then the program: support, run, compare, main.
 *
 * The case:
 *
$(case)
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum status { PASSED = 0, FAILED = 1, TROUBLE = 2, UNSUPPORTED = 77 };
enum { GUARD = $(guard_bytes), SHOWN = 16, MAX_RANK = $(max_rank) };

/* A component type: its size in bytes, and of floating-point types the bits of exponent and mantissa. */
struct type { const char *name; uint32_t size; bool is_signed; uint32_t exponent, mantissa; bool infinities; };
enum { $(type_names) };
static const struct type types[] = {
//% for t in types %//
    {$(t)},
//% endfor %//
};

/* `count` elements: one by one, or in runs of equal ones. */
struct run { size_t count; uint32_t bits; };
struct data { size_t count; const void *elements; const struct run *runs; };
/* Elements that may be anything from `lo` to `hi`, or only the multiples of `step`; flags: 1 any, 2 or NaN,
   4 or either zero. */
struct interval { size_t offset; uint32_t lo, hi, flags; double step; };
struct intervals { const struct type *type; size_t count; const struct interval *elements; };
/* Elements whose bits must be those of the first of their group, or NaNs like it. */
struct member { size_t offset, first; };
struct identical { const struct type *type; size_t count; const struct member *members; };
struct buffer {
    const char *name;
    const struct type *type;
    size_t size; /* in bytes, without its guards */
    size_t rank;
    uint32_t components;
    const size_t *shape;
    struct data initial, expected; /* no expected elements: as before the run */
    size_t interval_groups;
    const struct intervals *intervals;
    size_t identical_groups;
    const struct identical *identical;
//% if late %//
    size_t begins_at; /* bytes of the buffer before its contents, which nothing accesses */
//% endif %//
};
struct binding { uint32_t binding, type; size_t memory; };
struct structure { const char *name; uint32_t sType; const char *extensions[4]; };
struct constant { uint32_t id, offset; size_t size; }; /* VkSpecializationMapEntry */
struct feature { const char *name; size_t structure, member; };
//% if push_addresses %//
struct push_address { size_t at, memory; uint64_t offset; };
//% endif %//
//% if matrices %//
struct matrix_need { const char *text; char use; uint32_t scope, sizes[2], codes[2]; };
//% endif %//
//% if mul_adds %//
struct mul_add_need { const char *text; uint32_t scope, sizes[3]; bool saturating; uint32_t codes[4][2]; };
//% endif %//
//% if vectors %//
struct vector_need { const char *text; uint32_t components, codes[2]; };
//% endif %//
//% if vector_muls %//
struct vector_mul_need {
    const char *text;
    uint32_t input, interpretation, matrix, bias;
    bool no_bias;
    uint32_t result;
    bool transpose;
};
//% endif %//
//% if converts %//
struct matrix { uint32_t component, layout, rows, columns; size_t stride; };
//% endif %//
//% if opaque %//
struct opaque { struct matrix matrix; size_t offset; bool zero; };
//% endif %//
//% if conversions %//
struct place { size_t memory, offset; struct matrix matrix; };
struct conversion { struct place source, destination; };
//% endif %//

/* ---- The module, its data, and the expected results ---- */

$(data)

//% include "c/vulkan.h" %//

/* ---- Helpers ---- */

_Noreturn static void stop(enum status status, const char *why) {
    printf("%s: %s\n", status == FAILED ? "FAIL" : status == UNSUPPORTED ? "UNSUPPORTED" : "TROUBLE", why);
    exit(status);
}

/* Out of memory is not a bug; any other error of a valid call is the driver's. */
static void check(int32_t result, const char *call) {
    if (result >= 0) return;
    printf("%s returned VkResult %d\n", call, (int)result);
    stop(result == -1 || result == -2 ? TROUBLE : FAILED, call);
}

static void *allocate(size_t size) {
    void *memory = calloc(1, size ? size : 1);
    if (memory == NULL) stop(TROUBLE, "out of memory");
    return memory;
}

/* Byte k of the guard before, and of the guard behind, every buffer. */
static unsigned char guard(size_t k) { return (unsigned char)(k * 167 + 89); }

static void fill(unsigned char *to, const struct data *data, size_t size) {
    if (data->elements != NULL) {
        memcpy(to, data->elements, data->count * size);
        return;
    }
    for (const struct run *run = data->runs; run->count > 0; run++)
        for (size_t i = 0; i < run->count; i++, to += size)
            for (size_t k = 0; k < size; k++) to[k] = (unsigned char)(run->bits >> (8 * k));
}

//% include "c/support.h" %//

//% include "c/run.h" %//

//% include "c/compare.h" %//

/* ---- Main ---- */

static void *open_loader(void) {
    const char *names[] = {"libvulkan.so.1", "libvulkan.so", "libvulkan.dylib", "libvulkan.1.dylib"};
    void *loader = NULL;
    /* Drivers that compile for the processor may look for the functions of libm in the program itself. */
    (void)dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    for (size_t i = 0; i < COUNT(names) && loader == NULL; i++) loader = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (loader == NULL) stop(UNSUPPORTED, "there is no Vulkan loader");
    *(void **)&vkGetInstanceProcAddr = dlsym(loader, "vkGetInstanceProcAddr");
    if (vkGetInstanceProcAddr == NULL) stop(UNSUPPORTED, "the Vulkan loader has no vkGetInstanceProcAddr");
    return loader;
}

static void *create_instance(void) {
    struct application_info application = {0, NULL, "repro", 1, NULL, 0, 1u << 22 | 3u << 12};
    struct instance_info info = {1, NULL, 0, &application, 0, NULL, 0, NULL};
    void *instance = NULL;
    vkCreateInstance = (int32_t (*)(const struct instance_info *, const void *, void **))
        vkGetInstanceProcAddr(NULL, "vkCreateInstance");
    if (vkCreateInstance == NULL || vkCreateInstance(&info, NULL, &instance) != 0)
        stop(UNSUPPORTED, "vkCreateInstance: there is no Vulkan driver");
#define LOAD(result, name, parameters) \
    name = (result (*) parameters)vkGetInstanceProcAddr(instance, #name); \
    if (name == NULL) stop(UNSUPPORTED, "the Vulkan loader has no " #name);
    INSTANCE_FUNCTIONS(LOAD)
#undef LOAD
    return instance;
}

static bool is_wanted(const char *wanted, uint32_t index, const char *name) {
    char *end = NULL;
    unsigned long number;
    if (wanted == NULL || *wanted == '\0') return true;
    number = strtoul(wanted, &end, 10);
    return *end == '\0' ? number == index : strstr(name, wanted) != NULL;
}

int main(int argc, char **argv) {
    const char *wanted = argc > 1 ? argv[1] : getenv("REPRO_DEVICE");
    bool only_pipeline = getenv("REPRO_PIPELINE") != NULL; /* for compilers without their devices */
    void *loader = open_loader(), *instance = create_instance(), *physical[64];
    uint32_t count = COUNT(physical);
    enum status status = UNSUPPORTED;
    if (vkEnumeratePhysicalDevices(instance, &count, physical) < 0) count = 0;
    for (uint32_t i = 0; i < count && status == UNSUPPORTED; i++) {
        vkGetPhysicalDeviceProperties(physical[i], &properties.api);
        if (!is_wanted(wanted, i, properties.name)) continue;
        printf("device %u: %s\n", i, properties.name);
        if (!supports(instance, physical[i])) continue;
        printf("  driver: %s %s, subgroups of %u\n", properties12.name, properties12.info, subgroup_size);
        fflush(stdout); /* in case the driver crashes */
        create_device(physical[i]);
        create_pipeline();
        if (only_pipeline) {
            status = PASSED;
        } else {
            run(physical[i]);
            status = compare();
        }
        clean_up();
    }
    if (status == UNSUPPORTED) printf("UNSUPPORTED: %s\n", count ? "no such device supports the module" : "no device");
    else if (only_pipeline) printf("PASS: the pipeline was made, and not run\n");
    else printf("%s\n", status == PASSED ? "PASS" : "FAIL");
    free(extensions);
//% if matrices %//
    free(rows);
//% endif %//
    vkDestroyInstance(instance, NULL);
    dlclose(loader);
    return status;
}
