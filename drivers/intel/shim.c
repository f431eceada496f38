/* A graphics device of Intel that is not there: answers what Mesa's ANV asks of the kernel until a pipeline is compiled.
 *
 * Preloaded into the process that loads libvulkan_intel.so: CTS_INTEL_CHIP names the chip. libdrm is told of one PCI
 * device; what is opened there is a file in memory, so that buffers can be mapped, and the calls on it are answered here
 * as the kernel's i915 driver would. Nothing is ever executed. A call that is not known ends the process with its number.
 * Numbers and structures are those of the kernel's interface (include/uapi/drm/drm.h and i915_drm.h).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the device is opened by: this spelling is nobody else's. */
#define NODE "/dev/./null"

/* Bytes of the file that all buffers lie in, which takes memory only where it is written. */
#define FILE_SIZE (1ull << 44)

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct chip {
    const char *name;
    uint16_t id;
    uint8_t local, slices, subslices, units;
};

/* PCI id; whether it has memory of its own; slices, subslices of each and execution units of each of those. */
static const struct chip CHIPS[] = {
    {"lnl", 0x64a0, 0, 2, 4, 8},
    {"bmg", 0xe20b, 1, 5, 4, 8},
    {"ptl", 0xb080, 0, 2, 6, 8},
    {"dg2", 0x56a0, 1, 8, 4, 16},
};

static const struct chip *chip;
static ino_t device_inode;
static uint32_t handles;
static uint64_t used = 1 << 20;

/* Where each buffer lies in the file, by its handle. */
static uint64_t *places;

static void __attribute__((noreturn)) end(const char *what, unsigned long number) {
    fprintf(stderr, "cts: the shim of Intel's devices does not know %s 0x%lx\n", what, number);
    _exit(70);
}

static const struct chip *the_chip(void) {
    if (chip == NULL) {
        const char *wanted = getenv("CTS_INTEL_CHIP");
        for (unsigned n = 0; n < COUNT(CHIPS); n++)
            if (wanted == NULL || strcmp(wanted, CHIPS[n].name) == 0) {
                chip = &CHIPS[n];
                break;
            }
        if (chip == NULL) {
            fprintf(stderr, "cts: the shim of Intel's devices has no chip %s\n", wanted);
            _exit(70);
        }
    }
    return chip;
}

/* --- what libdrm says ------------------------------------------------------------------------------------------------ */

struct pci_place { uint16_t domain; uint8_t bus, dev, func; };
struct pci_device { uint16_t vendor, device, subvendor, subdevice; uint8_t revision; };
struct drm_device {
    char **nodes;
    int available, bus_type;
    void *bus, *device;
};

static char node[] = NODE, none[] = "";
static char *nodes[] = {none, none, node, none};
static struct pci_place place = {0, 3, 0, 0};
static struct pci_device pci = {0x8086, 0, 0x8086, 0, 4};
static struct drm_device device = {nodes, 1 << 2, 0, &place, &pci};

int drmGetDevices2(uint32_t flags, struct drm_device **devices, int most) {
    (void)flags;
    pci.device = the_chip()->id;
    if (devices != NULL && most > 0)
        devices[0] = &device;
    return 1;
}

int drmGetDevices(struct drm_device **devices, int most) { return drmGetDevices2(0, devices, most); }

int drmGetDevice2(int fd, uint32_t flags, struct drm_device **one) {
    (void)fd;
    return drmGetDevices2(flags, one, 1) - 1;
}

void drmFreeDevices(struct drm_device **devices, int count) { (void)devices, (void)count; }

void drmFreeDevice(struct drm_device **one) { (void)one; }

/* --- the file behind the device -------------------------------------------------------------------------------------- */

static int opened(void) {
    int fd = memfd_create("intel", MFD_CLOEXEC);
    struct stat found;
    if (fd < 0 || ftruncate(fd, FILE_SIZE) != 0 || fstat(fd, &found) != 0)
        return -1;
    device_inode = found.st_ino;
    return fd;
}

typedef int (*open_function)(const char *, int, ...);

static int passed(const char *name, const char *path, int flags, mode_t mode) {
    if (strcmp(path, NODE) == 0)
        return opened();
    return ((open_function)dlsym(RTLD_NEXT, name))(path, flags, mode);
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;                                      \
        va_end(more);                                                                                                  \
        return passed(#name, path, flags, mode);                                                                       \
    }

OPEN(open)
OPEN(open64)

static uint32_t new_buffer(uint64_t size) {
    uint32_t handle = __atomic_add_fetch(&handles, 1, __ATOMIC_SEQ_CST);
    uint64_t bytes = (size + 0xffff) & ~0xffffull;
    if (places == NULL)
        places = mmap(NULL, 1 << 25, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (handle >= (1 << 22))
        end("how to have more buffers than", handle);
    places[handle] = __atomic_fetch_add(&used, bytes, __ATOMIC_SEQ_CST);
    return handle;
}

/* --- calls of DRM ---------------------------------------------------------------------------------------------------- */

struct version { int major, minor, patch; size_t name_length; char *name; size_t date_length; char *date; size_t text_length; char *text; };

static void text_into(char *to, size_t *length, const char *text) {
    size_t all = strlen(text);
    if (to != NULL)
        memcpy(to, text, *length < all ? *length : all);
    *length = all;
}

static int version(struct version *v) {
    v->major = 1, v->minor = 6, v->patch = 0;
    text_into(v->name, &v->name_length, "i915");
    text_into(v->date, &v->date_length, "20260101");
    text_into(v->text, &v->text_length, "not there");
    return 0;
}

static int capability(uint64_t *c) {
    /* Objects of synchronisation, with and without timelines; import and export of buffers. */
    c[1] = c[0] == 0x13 || c[0] == 0x14 ? 1 : c[0] == 0x5 ? 3 : 0;
    return 0;
}

static int refused(int why) {
    errno = why;
    return -1;
}

/* --- calls of i915 --------------------------------------------------------------------------------------------------- */

struct parameter { int32_t number; int *value; };

static int parameter(struct parameter *p) {
    switch (p->number) {
    case 4: *p->value = the_chip()->id; return 0;
    case 32: *p->value = 4; return 0;            /* revision */
    case 18: *p->value = 3; return 0;            /* page tables of its own, full */
    case 28: *p->value = 10; return 0;           /* commands it lets through */
    case 30: case 40: *p->value = 4; return 0;   /* mappings: offsets */
    case 51: *p->value = 19200000; return 0;     /* Hz of time stamps */
    case 33: *p->value = the_chip()->slices * the_chip()->subslices; return 0;
    case 34: *p->value = the_chip()->slices * the_chip()->subslices * the_chip()->units; return 0;
    case 46: *p->value = (1 << the_chip()->slices) - 1; return 0;
    case 47: *p->value = (1 << the_chip()->subslices) - 1; return 0;
    case 56: *p->value = 0; return 0;            /* user pointers that are probed */
    case 6: case 11: case 17: case 27: *p->value = 0; return 0; /* fences, video engines, a common cache */
    default: *p->value = 1; return 0;            /* all the rest are yes or no */
    }
}

struct item { uint64_t what; int32_t length; uint32_t flags; uint64_t data; };
struct query { uint32_t count, flags; uint64_t items; };

struct topology { uint16_t flags, slices, subslices, units, subslices_at, subslice_stride, units_at, unit_stride; uint8_t data[]; };

static int32_t topology(struct topology *t) {
    const struct chip *c = the_chip();
    /* As the kernel has it since Xe-HPG: one slice with all subslices. */
    unsigned subslices = c->slices * c->subslices, stride = (c->units + 7) / 8;
    unsigned subslices_at = 1, units_at = subslices_at + (subslices + 7) / 8, all = units_at + subslices * stride;
    if (t == NULL)
        return sizeof *t + all;
    memset(t, 0, sizeof *t + all);
    t->slices = 1, t->subslices = subslices, t->units = c->units;
    t->subslices_at = subslices_at, t->subslice_stride = units_at - subslices_at, t->units_at = units_at, t->unit_stride = stride;
    t->data[0] = 1;
    for (unsigned n = 0; n < subslices; n++)
        t->data[subslices_at + n / 8] |= 1 << n % 8;
    memset(t->data + units_at, 0xff, subslices * stride);
    return sizeof *t + all;
}

struct engine { uint16_t class, instance; uint32_t reserved; uint64_t flags, capabilities; uint16_t logical; uint16_t padding[3]; uint64_t more[3]; };
struct engines { uint32_t count, reserved[3]; struct engine engine[3]; };

static int32_t engines(struct engines *e) {
    if (e != NULL) {
        memset(e, 0, sizeof *e);
        e->count = 3;
        e->engine[1].class = 1; /* copies */
        e->engine[2].class = 4; /* compute */
    }
    return sizeof *e;
}

struct region { uint16_t class, instance; uint32_t reserved; uint64_t probed, unallocated, more[8]; };
struct regions { uint32_t count, reserved[3]; struct region region[2]; };

static int32_t regions(struct regions *r) {
    unsigned count = 1 + the_chip()->local;
    if (r != NULL) {
        memset(r, 0, sizeof *r - (2 - count) * sizeof *r->region);
        r->count = count;
        for (unsigned n = 0; n < count; n++) {
            r->region[n].class = n;
            r->region[n].probed = r->region[n].unallocated = 16ull << 30;
            r->region[n].more[0] = r->region[n].more[1] = 16ull << 30; /* what the processor sees of it */
        }
    }
    return (int32_t)(sizeof *r - (2 - count) * sizeof *r->region);
}

static int32_t answered(uint64_t what, void *to) {
    switch (what & 0xff) {
    case 1: case 6: return topology(to);
    case 2: return engines(to);
    case 4: return regions(to);
    default: return -EINVAL; /* as a kernel that does not have it */
    }
}

static int query(struct query *q) {
    struct item *items = (struct item *)(uintptr_t)q->items;
    for (uint32_t n = 0; n < q->count; n++) {
        int32_t length = answered(items[n].what, NULL);
        if (length > 0 && items[n].length > 0)
            length = items[n].length < length ? -EINVAL : answered(items[n].what, (void *)(uintptr_t)items[n].data);
        items[n].length = length;
    }
    return 0;
}

struct create { uint64_t size; uint32_t handle; };
struct map { uint32_t handle, padding; uint64_t offset; };
struct user_pointer { uint64_t address, size; uint32_t flags, handle; };
struct context_parameter { uint32_t context, size; uint64_t number, value; };

static int context_parameter(struct context_parameter *p) {
    p->value = p->number == 3 ? 1ull << 48 : 0; /* bytes of addresses; the others are no or zero */
    return 0;
}

static int user_pointer(struct user_pointer *u) {
    if (u->size == 0)
        return refused(EINVAL);
    u->handle = new_buffer(u->size);
    return 0;
}

static int of_i915(unsigned long request, unsigned number, void *argument) {
    switch (number) {
    case 0x06: return parameter(argument);
    case 0x39: return query(argument);
    case 0x1b: case 0x3c: {
        struct create *c = argument;
        c->handle = new_buffer(c->size);
        return 0;
    }
    case 0x24: {
        struct map *m = argument;
        m->offset = places[m->handle];
        return 0;
    }
    case 0x33: return user_pointer(argument);
    case 0x2d: case 0x3a: *(uint32_t *)((char *)argument + (number == 0x3a ? 12 : 0)) = 1; return 0; /* context, space */
    case 0x34: return context_parameter(argument);
    case 0x23: ((uint64_t *)argument)[0] = ((uint64_t *)argument)[1] = 1ull << 48; return 0;
    case 0x31: return refused(EINVAL);                                          /* registers */
    case 0x36: case 0x37: case 0x38: return refused(EINVAL);                    /* counters of performance */
    case 0x17: case 0x1f: case 0x21: case 0x22: case 0x26: case 0x29: case 0x2c: case 0x2e: case 0x2f: case 0x30:
    case 0x32: case 0x35: case 0x3b: return 0; /* states of buffers and contexts, submissions and waits */
    default: end("the call of i915", request);
    }
}

static int of_drm(unsigned long request, unsigned number, void *argument) {
    switch (number) {
    case 0x00: return version(argument);
    case 0x0c: return capability(argument);
    case 0xbf: *(uint32_t *)argument = __atomic_add_fetch(&handles, 1, __ATOMIC_SEQ_CST); return 0;
    case 0x09: case 0xc0: case 0xc3: case 0xc4: case 0xc5: case 0xca: case 0xcb: case 0xcc: case 0xcd: return 0;
    case 0x2d: case 0x2e: case 0xc1: case 0xc2: return refused(EINVAL); /* files of other processes */
    default: end("the call of DRM", request);
    }
}

typedef int (*ioctl_function)(int, unsigned long, ...);

int ioctl(int fd, unsigned long request, ...) {
    static ioctl_function next;
    va_list more;
    va_start(more, request);
    void *argument = va_arg(more, void *);
    va_end(more);
    struct stat found;
    if ((request >> 8 & 0xff) == 'd' && device_inode != 0 && fstat(fd, &found) == 0 && found.st_ino == device_inode) {
        unsigned number = request & 0xff;
        return number >= 0x40 && number < 0xa0 ? of_i915(request, number - 0x40, argument) : of_drm(request, number, argument);
    }
    if (next == NULL)
        next = (ioctl_function)dlsym(RTLD_NEXT, "ioctl");
    return next(fd, request, argument);
}
