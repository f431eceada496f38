/* ---- Conversions of matrices, whose optimal layouts only the device knows ---- */

static void check_conversion(int32_t result) {
    check(result, "vkConvertCooperativeVectorMatrixNV");
    if (result != 0) stop(FAILED, "vkConvertCooperativeVectorMatrixNV returned VK_INCOMPLETE");
}

/* Bytes that a matrix takes as a destination, as the device says. */
static size_t destination_size(const struct matrix *m) {
    size_t size = 0;
    struct convert_info info = {1000491004, NULL, 0, 0, &size, 0, m->component, m->component, m->rows, m->columns,
                                m->layout, m->stride, m->layout, m->stride};
    check_conversion(vkConvertCooperativeVectorMatrixNV(device, &info));
    return size;
}

/* Bytes of a source: of a row or column-major one what its stride says; the last row may be short. */
static size_t source_size(const struct matrix *m, size_t room) {
    size_t size;
    if (m->layout >= 2) return destination_size(m);
    size = m->stride * (m->layout == 1 ? m->columns : m->rows);
    return size < room ? size : room;
}

static struct convert_info conversion_info(const struct conversion *c, size_t *size, size_t *at) {
    const struct placed *source = &placed[c->source.memory], *destination = &placed[c->destination.memory];
    const struct matrix *from = &c->source.matrix, *to = &c->destination.matrix;
    size_t source_room = source->window - c->source.offset, room = destination->window - c->destination.offset;
    struct convert_info info = {1000491004, NULL, source_size(from, source_room), 0, size, 0, from->component,
                                to->component, to->rows, to->columns, from->layout, from->stride, to->layout,
                                to->stride};
    at[0] = source->at + source->start + c->source.offset;
    at[1] = destination->at + destination->start + c->destination.offset;
    *size = destination_size(to);
    if (info.source_size > source_room || *size > room) stop(TROUBLE, "a matrix is larger than its memory");
    return info;
}
//% if host_converts %//

static void convert_on_host(const struct conversion *c) {
    size_t size, at[2];
    struct convert_info info = conversion_info(c, &size, at);
    void *source = aligned_alloc(64, (info.source_size + 63) / 64 * 64);
    void *destination = aligned_alloc(64, (size + 63) / 64 * 64);
    size_t whole = size;
    if (source == NULL || destination == NULL) stop(TROUBLE, "out of memory");
    memcpy(source, view + at[0], info.source_size);
    memcpy(destination, view + at[1], whole);
    info.source = (uint64_t)(uintptr_t)source;
    info.destination = (uint64_t)(uintptr_t)destination;
    check_conversion(vkConvertCooperativeVectorMatrixNV(device, &info));
    memcpy(view + at[1], destination, whole);
    free(source);
    free(destination);
}
//% endif %//
//% if commands_convert %//

static void record_conversion(const struct conversion *c) {
    size_t size, at[2];
    struct convert_info info = conversion_info(c, &size, at);
    info.source = base + at[0];
    info.destination = base + at[1];
    then(CONVERT);
    vkCmdConvertCooperativeVectorMatrixNV(commands, 1, &info);
}
//% endif %//
