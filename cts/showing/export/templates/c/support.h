/* ---- Whether a device supports the module: asked before it is given anything ---- */

static struct properties properties = {.sType = 1000059001};
static struct properties11 properties11 = {.sType = 50};
static struct properties12 properties12 = {.sType = 52};
static struct properties13 properties13 = {.sType = 54};
//% if matrices %//
static struct matrix_properties matrix_properties = {.sType = 1000506002};
static struct matrix2_properties matrix2_properties = {.sType = 1000593002};
//% endif %//
//% if cooperative_vectors %//
static struct vector_properties vector_properties = {.sType = 1000491001};
//% endif %//
//% if longest_vector > 4 %//
static struct long_vector_properties long_vector_properties = {.sType = 1000635001};
//% endif %//
static struct members found[COUNT(structures)], enabled[COUNT(structures)];
static struct extension *extensions;
static uint32_t extension_count, family;
static uint32_t subgroup_size;          /* the one that the module runs with */
static uint32_t required_subgroup_size; /* 0: the device has only one */
static unsigned lacking;

/* Say that the device lacks something. */
static void lack(const char *what, ...) {
    va_list arguments;
    va_start(arguments, what);
    printf("  lacks ");
    vprintf(what, arguments);
    printf("\n");
    va_end(arguments);
    lacking++;
}

static bool has_extension(const char *name) {
    for (uint32_t i = 0; i < extension_count; i++)
        if (strcmp(extensions[i].name, name) == 0) return true;
    return false;
}

static bool has_feature(const struct feature *feature) {
    return found[feature->structure].values[feature->member] != 0;
}

/* Enable a feature that the device must have. */
static void need(const struct feature *feature) {
    if (has_feature(feature)) enabled[feature->structure].values[feature->member] = 1;
    else lack("the feature %s of %s", feature->name, structures[feature->structure].name);
}

static void link_properties(void *structure, const char *extension) {
    struct header { uint32_t sType; void *pNext; } *header = structure;
    header->pNext = NULL;
    if (extension != NULL && !has_extension(extension)) return;
    header->pNext = properties.pNext;
    properties.pNext = structure;
}

static void ask(void *physical) {
    void *next = NULL;
    free(extensions);
    extension_count = 0;
    vkEnumerateDeviceExtensionProperties(physical, NULL, &extension_count, NULL);
    extensions = allocate(extension_count * sizeof *extensions);
    vkEnumerateDeviceExtensionProperties(physical, NULL, &extension_count, extensions);
    memset(found, 0, sizeof found);
    memset(enabled, 0, sizeof enabled);
    for (size_t i = COUNT(structures); i-- > 0;) {
        if (structures[i].extensions[0] != NULL && !has_extension(structures[i].extensions[0])) continue;
        found[i].sType = structures[i].sType;
        found[i].pNext = next;
        next = &found[i];
    }
    vkGetPhysicalDeviceFeatures2(physical, &found[0]);
    properties.pNext = NULL;
    link_properties(&properties11, NULL);
    link_properties(&properties12, NULL);
    link_properties(&properties13, NULL);
//% if matrices %//
    link_properties(&matrix_properties, "VK_KHR_cooperative_matrix");
    link_properties(&matrix2_properties, "VK_NV_cooperative_matrix2");
//% endif %//
//% if cooperative_vectors %//
    link_properties(&vector_properties, "VK_NV_cooperative_vector");
//% endif %//
//% if longest_vector > 4 %//
    link_properties(&long_vector_properties, "VK_EXT_shader_long_vector");
//% endif %//
    vkGetPhysicalDeviceProperties2(physical, &properties);
}

static void check_limits(void) {
    uint32_t invocations = local_size[0] * local_size[1] * local_size[2];
    uint32_t low = properties13.minSubgroupSize, high = properties13.maxSubgroupSize;
    uint32_t shared = properties.limits.maxComputeSharedMemorySize, wanted = module_subgroup_size;
    for (int i = 0; i < 3; i++) {
        if (local_size[i] > properties.limits.maxComputeWorkGroupSize[i])
            lack("workgroups of %u in dimension %d", local_size[i], i);
        if (workgroups[i] > properties.limits.maxComputeWorkGroupCount[i])
            lack("%u workgroups in dimension %d", workgroups[i], i);
    }
    if (invocations > properties.limits.maxComputeWorkGroupInvocations)
        lack("workgroups of %u invocations", invocations);
    if (wanted == 0) wanted = properties11.subgroupSize;
    if (wanted < low || wanted > high)
        lack("the subgroup size %u, for which the module is made (it has %u to %u)", wanted, low, high);
    subgroup_size = wanted;
    required_subgroup_size = low != high ? wanted : 0;
    if (required_subgroup_size != 0) need(&required_size);
//% if matrices %//
    if (wanted != 0 && local_size[0] % wanted != 0)
        lack("a subgroup size that divides the workgroup's %u invocations", local_size[0]);
//% endif %//
//% if workgroup_scope %//
    shared -= matrix2_properties.reserved_shared;
    if (invocations > matrix2_properties.max_workgroup)
        lack("matrices of Workgroup scope with %u invocations", invocations);
    if (wanted != 0 && (invocations % wanted != 0 || ((invocations / wanted) & (invocations / wanted - 1)) != 0))
        lack("matrices of Workgroup scope with %u invocations, no power of two subgroups", invocations);
//% endif %//
    if (shared_bytes > shared) lack("%u bytes of workgroup memory", shared_bytes);
    if (push_bytes > properties.limits.maxPushConstantsSize) lack("%u bytes of push constants", push_bytes);
    if ((properties11.operations & subgroup_operations) != subgroup_operations)
        lack("subgroup operations 0x%x", subgroup_operations & ~properties11.operations);
//% for mode in float_modes %//
    if (!properties12.float_modes[$(mode.index)]) lack("$(mode.name)");
//% endfor %//
//% if longest_vector > 4 %//
    if (long_vector_properties.max_components < $(longest_vector)) lack("vectors of $(longest_vector) components");
//% endif %//
//% if descriptors %//
    uint32_t counts[2] = {0, 0};
    for (size_t i = 0; i < COUNT(bindings); i++) {
        bool uniform = bindings[i].type == UNIFORM;
        size_t most = uniform ? properties.limits.maxUniformBufferRange : properties.limits.maxStorageBufferRange;
        counts[uniform]++;
        if (bindings[i].memory < COUNT(buffers) && buffers[bindings[i].memory].size$(" + buffers[bindings[i].memory].begins_at" if late) > most)
            lack("buffers of %zu bytes", buffers[bindings[i].memory].size$(" + buffers[bindings[i].memory].begins_at" if late));
    }
    if (counts[0] > properties.limits.maxPerStageDescriptorStorageBuffers) lack("%u storage buffers", counts[0]);
    if (counts[1] > properties.limits.maxPerStageDescriptorUniformBuffers) lack("%u uniform buffers", counts[1]);
//% endif %//
}
//% if matrices %//

struct row { uint32_t m, n, k, a, b, c, result, saturating, scope, invocations; bool flexible; };
static struct row *rows;
static size_t row_count;

/* The matrix types and products that the device lists. */
static void list_matrices(void *instance, void *physical) {
    int32_t (*listed)(void *, uint32_t *, struct listed_row *) = NULL;
    int32_t (*flexible)(void *, uint32_t *, struct flexible_row *) = NULL;
    struct listed_row *some = NULL;
    struct flexible_row *more = NULL;
    uint32_t counts[2] = {0, 0};
    if (has_extension("VK_KHR_cooperative_matrix"))
        listed = (int32_t (*)(void *, uint32_t *, struct listed_row *))
            vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    if (has_extension("VK_NV_cooperative_matrix2"))
        flexible = (int32_t (*)(void *, uint32_t *, struct flexible_row *))
            vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV");
    if (listed != NULL && listed(physical, &counts[0], NULL) == 0) {
        some = allocate(counts[0] * sizeof *some);
        for (uint32_t i = 0; i < counts[0]; i++) some[i].sType = 1000506001;
        if (listed(physical, &counts[0], some) != 0) counts[0] = 0;
    }
    if (flexible != NULL && flexible(physical, &counts[1], NULL) == 0) {
        more = allocate(counts[1] * sizeof *more);
        for (uint32_t i = 0; i < counts[1]; i++) more[i].sType = 1000593001;
        if (flexible(physical, &counts[1], more) != 0) counts[1] = 0;
    }
    free(rows);
    row_count = 0;
    rows = allocate(((size_t)counts[0] + counts[1]) * sizeof *rows);
    for (uint32_t i = 0; i < counts[0]; i++)
        rows[row_count++] = (struct row){some[i].m, some[i].n, some[i].k, some[i].a, some[i].b, some[i].c,
                                         some[i].result, some[i].saturating, some[i].scope, 0, false};
    for (uint32_t i = 0; i < counts[1]; i++)
        rows[row_count++] = (struct row){more[i].m, more[i].n, more[i].k, more[i].a, more[i].b, more[i].c,
                                         more[i].result, more[i].saturating, more[i].scope, more[i].invocations, true};
    free(some);
    free(more);
}

static bool is_one_of(uint32_t code, const uint32_t codes[2]) { return code == codes[0] || code == codes[1]; }

/* 0: the row does not cover these sizes; 1: it lists them; 2: they need flexible dimensions. */
static int fits(const struct row *row, const uint32_t *sizes, const uint32_t *units, size_t count) {
    uint32_t invocations = local_size[0] * local_size[1] * local_size[2];
    bool equal = true, multiple = true;
    for (size_t i = 0; i < count; i++) {
        equal = equal && sizes[i] == units[i];
        multiple = multiple && units[i] != 0 && sizes[i] % units[i] == 0;
    }
    if (!row->flexible) return equal ? 1 : 0;
    if (row->scope == 2 && row->invocations != invocations) return 0;
    return multiple ? 2 : 0;
}

static int covers(const struct row *row, const struct matrix_need *need) {
    uint32_t units[2] = {need->use == 'B' ? row->k : row->m, need->use == 'A' ? row->k : row->n};
    bool listed = need->use == 'A'   ? is_one_of(row->a, need->codes)
                  : need->use == 'B' ? is_one_of(row->b, need->codes)
                                     : is_one_of(row->c, need->codes) || is_one_of(row->result, need->codes);
    return listed && row->scope == need->scope ? fits(row, need->sizes, units, 2) : 0;
}
//% if mul_adds %//

static int multiplies(const struct row *row, const struct mul_add_need *need) {
    uint32_t units[3] = {row->m, row->n, row->k}, types[4] = {row->a, row->b, row->c, row->result};
    if (row->scope != need->scope || (row->saturating != 0) != need->saturating) return 0;
    for (int i = 0; i < 4; i++)
        if (!is_one_of(types[i], need->codes[i])) return 0;
    return fits(row, need->sizes, units, 3);
}
//% endif %//

static void check_matrices(void) {
    bool need_flexible = false;
    uint32_t largest = matrix2_properties.max_dimension != 0 ? matrix2_properties.max_dimension : UINT32_MAX;
    if (!(matrix_properties.stages & COMPUTE)) lack("cooperative matrices in compute shaders");
    for (size_t i = 0; i < COUNT(matrix_needs); i++) {
        const struct matrix_need *need = &matrix_needs[i];
        int best = 0;
        for (size_t r = 0; r < row_count; r++) {
            int way = covers(&rows[r], need);
            if (way != 0 && (best == 0 || way < best)) best = way;
        }
        if (need->sizes[0] > largest || need->sizes[1] > largest) lack("dimensions of a matrix %s", need->text);
        else if (best == 0) lack("a matrix %s", need->text);
        need_flexible = need_flexible || best == 2;
    }
//% if mul_adds %//
    for (size_t i = 0; i < COUNT(mul_add_needs); i++) {
        int best = 0;
        for (size_t r = 0; r < row_count; r++) {
            int way = multiplies(&rows[r], &mul_add_needs[i]);
            if (way != 0 && (best == 0 || way < best)) best = way;
        }
        if (best == 0) lack("the %s", mul_add_needs[i].text);
        need_flexible = need_flexible || best == 2;
    }
//% endif %//
    if (need_flexible) need(&flexible_dimensions);
}
//% endif %//
//% if cooperative_vectors %//

/* The types and products of cooperative vectors that the device lists. */
static void check_vectors(void *instance, void *physical) {
    int32_t (*listed)(void *, uint32_t *, struct vector_row *) = NULL;
    struct vector_row *list = NULL;
    uint32_t count = 0;
    if (has_extension("VK_NV_cooperative_vector"))
        listed = (int32_t (*)(void *, uint32_t *, struct vector_row *))
            vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeVectorPropertiesNV");
    if (listed != NULL && listed(physical, &count, NULL) == 0) {
        list = allocate(count * sizeof *list);
        for (uint32_t i = 0; i < count; i++) list[i].sType = 1000491002;
        if (listed(physical, &count, list) != 0) count = 0;
    }
//% if vectors %//
    if (!(vector_properties.stages & COMPUTE)) lack("cooperative vectors in compute shaders");
    for (size_t i = 0; i < COUNT(vector_needs); i++) {
        const struct vector_need *need = &vector_needs[i];
        bool there = false;
        for (uint32_t r = 0; r < count; r++)
            for (int c = 0; c < 2; c++)
                there = there || list[r].input == need->codes[c] || list[r].result == need->codes[c];
        if (!there || need->components > vector_properties.max_components) lack("a %s", need->text);
    }
//% endif %//
//% if vector_muls %//
    for (size_t i = 0; i < COUNT(vector_mul_needs); i++) {
        const struct vector_mul_need *need = &vector_mul_needs[i];
        bool there = false;
        for (uint32_t r = 0; r < count; r++)
            there = there || (list[r].input == need->input && list[r].input_interpretation == need->interpretation &&
                              list[r].matrix == need->matrix && list[r].result == need->result &&
                              (need->no_bias || list[r].bias == need->bias) &&
                              (list[r].transpose != 0 || !need->transpose));
        if (!there) lack("the %s", need->text);
    }
//% endif %//
//% for what in accumulations %//
    if (!vector_properties.$(what)) lack("training that accumulates in $(what)");
//% endfor %//
//% if conversion_codes %//
    for (size_t i = 0; i < COUNT(converted); i++) {
        bool there = converted[i] == 1; /* float32 may always be converted */
        for (uint32_t r = 0; r < count; r++) there = there || list[r].matrix == converted[i];
        if (!there) lack("conversions of matrices of component type %u", converted[i]);
    }
//% endif %//
    free(list);
}
//% endif %//

/* Whether the module may be given to a device; says what it lacks where not. */
static bool supports(void *instance, void *physical) {
    struct queue_family families[64];
    uint32_t count = COUNT(families);
    lacking = 0;
    /* An older device does not know these structures. */
    vkGetPhysicalDeviceProperties(physical, &properties.api);
    if (properties.api < (1u << 22 | 3u << 12)) {
        lack("Vulkan 1.3");
        return false;
    }
    ask(physical);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (family = 0; family < count && !(families[family].flags & 2); family++) continue;
    if (family == count) lack("a queue with compute");
    for (size_t i = 0; i != COUNT(features); i++) need(&features[i]);
    check_limits();
//% if matrices %//
    list_matrices(instance, physical);
    check_matrices();
//% endif %//
//% if cooperative_vectors %//
    check_vectors(instance, physical);
//% endif %//
//% if not matrices and not cooperative_vectors %//
    (void)instance;
//% endif %//
    return lacking == 0;
}
