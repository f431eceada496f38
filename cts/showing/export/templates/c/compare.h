/* ---- What is wrong ---- */

static uint64_t load(const unsigned char *at, uint32_t size) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < size; i++) bits |= (uint64_t)at[i] << (8 * i);
    return bits;
}

static bool is_nan(const struct type *t, uint64_t bits) {
    uint64_t magnitude = bits & ((UINT64_C(1) << (8 * t->size - 1)) - 1);
    uint64_t infinity = ((UINT64_C(1) << t->exponent) - 1) << t->mantissa;
    if (t->exponent == 0) return false;
    return t->infinities ? magnitude > infinity : magnitude == infinity + (UINT64_C(1) << t->mantissa) - 1;
}

/* Integers in the type's numeric order, -0 just below +0. */
static int64_t ordinal(const struct type *t, uint64_t bits) {
    uint32_t width = 8 * t->size;
    bool sign = bits >> (width - 1) & 1;
    if (t->exponent != 0)
        return sign ? -(int64_t)(bits & ((UINT64_C(1) << (width - 1)) - 1)) - 1 : (int64_t)bits;
    return t->is_signed && sign ? (int64_t)bits - ((int64_t)1 << width) : (int64_t)bits;
}

static double value(const struct type *t, uint64_t bits) {
    uint64_t exponent = bits >> t->mantissa & ((UINT64_C(1) << t->exponent) - 1);
    uint64_t mantissa = bits & ((UINT64_C(1) << t->mantissa) - 1);
    int bias = (1 << (t->exponent - 1)) - 1, power = (int)(exponent ? exponent : 1) - bias - (int)t->mantissa;
    double result = (double)(exponent ? mantissa | UINT64_C(1) << t->mantissa : mantissa);
    for (; power > 0; power--) result *= 2;
    for (; power < 0; power++) result /= 2;
    return bits >> (8 * t->size - 1) & 1 ? -result : result;
}

static void print_value(const struct type *t, uint64_t bits) {
    uint64_t magnitude = t->exponent ? bits & ((UINT64_C(1) << (8 * t->size - 1)) - 1) : 0;
    char text[40];
    printf("0x%0*" PRIx64 " (", (int)(2 * t->size), bits);
    if (t->exponent == 0) {
        printf("%" PRId64 ")", ordinal(t, bits));
    } else if (is_nan(t, bits)) {
        printf("nan)");
    } else if (t->infinities && magnitude == ((UINT64_C(1) << t->exponent) - 1) << t->mantissa) {
        printf("%sinf)", bits == magnitude ? "" : "-");
    } else {
        int digits = 1, power; /* the fewest that mean this number */
        do snprintf(text, sizeof text, "%.*e", digits - 1, value(t, bits));
        while (strtod(text, NULL) != value(t, bits) && digits++ < 17);
        power = atoi(strchr(text, 'e') + 1);
        if (power >= -4 && power < 16)
            snprintf(text, sizeof text, "%.*f", digits - 1 > power ? digits - 1 - power : 1, value(t, bits));
        printf("%s)", text);
    }
}

/* Whether roundings that the program makes binding can leave this number: a multiple of a power of two. */
static bool is_multiple(const struct type *t, uint64_t bits, double step) {
    double count = value(t, bits) / step;
    return count <= -9e15 || count >= 9e15 || count == (double)(int64_t)count;
}

/* The next multiple below (-1) or above (1). */
static uint64_t next_multiple(const struct type *t, uint64_t bits, double step, int direction) {
    int64_t order = ordinal(t, bits);
    do {
        order += direction;
        bits = order >= 0 ? (uint64_t)order : UINT64_C(1) << (8 * t->size - 1) | (uint64_t)(-order - 1);
    } while (!is_multiple(t, bits, step));
    return bits;
}

enum { ANY = 1, NAN_TOO = 2, EITHER_ZERO = 4 };

/* A value that is not allowed. `lo` and `hi` bound what is; `rule` says what else it breaks. */
struct wrong {
    const struct buffer *buffer;
    const struct type *type;
    int64_t offset;
    uint64_t actual, lo, hi;
    uint32_t flags;
    bool guard;
    const char *rule;
};
static const char UNROUNDED[] = "$(unrounded)";
static const char EQUAL[] = "$(equal)";
static struct wrong *wrongs;
static size_t wrong_count, wrong_room;

static void add(struct wrong wrong) {
    if (wrong_count == wrong_room) {
        wrong_room = wrong_room ? 2 * wrong_room : 256;
        wrongs = realloc(wrongs, wrong_room * sizeof *wrongs);
        if (wrongs == NULL) stop(TROUBLE, "out of memory");
    }
    wrongs[wrong_count++] = wrong;
}

enum verdict { ALLOWED, OUTSIDE, BETWEEN };

static enum verdict judge(const struct type *t, const struct interval *n, uint64_t bits) {
    int64_t order = ordinal(t, bits);
    if (n->flags & ANY) return ALLOWED;
    if (is_nan(t, bits)) return n->flags & NAN_TOO ? ALLOWED : OUTSIDE;
    if (ordinal(t, n->lo) > order || order > ordinal(t, n->hi))
        if (t->exponent == 0 || !(n->flags & EITHER_ZERO) || (order != 0 && order != -1)) return OUTSIDE;
    return n->step == 0 || is_multiple(t, bits, n->step) ? ALLOWED : BETWEEN;
}

/* One buffer's contents: intervals, then groups of equal bits, then all bytes that have one allowed value. */
static void compare_contents(const struct buffer *b, const unsigned char *actual) {
    unsigned char *expected = allocate(b->size), *elsewhere = allocate(b->size);
    fill(expected, b->expected.count ? &b->expected : &b->initial, b->type->size);
    for (size_t g = 0; g < 2 * b->interval_groups; g++) {
        const struct intervals *group = &b->intervals[g / 2];
        const struct type *t = group->type;
        for (size_t i = 0; i < group->count; i++) {
            const struct interval *n = &group->elements[i];
            uint64_t bits = load(actual + n->offset, t->size), lo = n->lo, hi = n->hi;
            memset(elsewhere + n->offset, 1, t->size);
            if (judge(t, n, bits) != (g % 2 ? BETWEEN : OUTSIDE)) continue;
            if (g % 2) {
                lo = next_multiple(t, bits, n->step, -1);
                hi = next_multiple(t, bits, n->step, 1);
            }
            add((struct wrong){b, t, (int64_t)n->offset, bits, lo, hi, n->flags, false, g % 2 ? UNROUNDED : NULL});
        }
    }
    for (size_t g = 0; g < b->identical_groups; g++) {
        const struct identical *group = &b->identical[g];
        for (size_t i = 0; i < group->count; i++) {
            uint64_t bits = load(actual + group->members[i].offset, group->type->size);
            uint64_t first = load(actual + group->members[i].first, group->type->size);
            if (bits != first && !(is_nan(group->type, bits) && is_nan(group->type, first)))
                add((struct wrong){b, group->type, (int64_t)group->members[i].offset, bits, first, first, 0, false,
                                   EQUAL});
        }
    }
    for (size_t at = 0; at < b->size; at += b->type->size) {
        bool wrong = false;
        for (size_t i = at; i < at + b->type->size; i++) wrong = wrong || (!elsewhere[i] && actual[i] != expected[i]);
        if (wrong) {
            uint64_t want = load(expected + at, b->type->size);
            add((struct wrong){b, b->type, (int64_t)at, load(actual + at, b->type->size), want, want, 0, false, NULL});
        }
    }
    free(expected);
    free(elsewhere);
}

static void compare_guards(const struct buffer *b, const unsigned char *all) {
    for (size_t side = 0; side < 2; side++)
        for (size_t k = 0; k < GUARD; k++) {
            size_t at = side ? GUARD + b->size + k : k;
            if (all[at] != guard(k))
                add((struct wrong){b, &types[UINT8], (int64_t)at - GUARD, all[at], guard(k), guard(k), 0, true, NULL});
        }
}

static size_t total_of(const struct wrong *w) {
    size_t most = w->guard ? GUARD : w->buffer->size / w->buffer->type->size;
    if (w->guard || !w->buffer->interval_groups) return most;
    for (size_t i = 0; i < w->buffer->interval_groups; i++)
        if (w->buffer->intervals[i].count > most) most = w->buffer->intervals[i].count;
    return most;
}

static void print_counts(void) {
    for (size_t i = 0; i < wrong_count;) {
        const struct wrong *w = &wrongs[i];
        size_t count = 0;
        while (i < wrong_count && wrongs[i].buffer == w->buffer && wrongs[i].guard == w->guard) i++, count++;
        printf("%zu of %zu %s %s differ\n", count, total_of(w), w->guard ? "guard bytes around" : "elements of",
               w->buffer->name);
    }
}

static void print_wrong(const struct wrong *w, bool first) {
    size_t element = (size_t)w->offset / w->buffer->type->size, rest = element / w->buffer->components;
    size_t coordinates[MAX_RANK] = {0};
    printf(first ? "first: " : "  ");
    if (w->guard) {
        printf("guard byte at byte %" PRId64 " of %s", w->offset, w->buffer->name);
    } else {
        for (size_t i = w->buffer->rank; i-- > 0; rest /= w->buffer->shape[i])
            coordinates[i] = rest % w->buffer->shape[i];
        printf("%s[", w->buffer->name);
        for (size_t i = 0; i < w->buffer->rank; i++) printf("%s%zu", i ? ", " : "", coordinates[i]);
        if (w->buffer->components > 1) printf(", %zu", element % w->buffer->components);
        printf("], element %zu, byte %" PRId64 " (%s)", element, w->offset, w->type->name);
    }
    printf(first ? "\n  expected " : ": expected ");
    print_value(w->type, w->lo);
    if (w->lo != w->hi) {
        printf(" to ");
        print_value(w->type, w->hi);
    }
    if (w->rule != NULL) printf(", %s", w->rule);
    if (w->flags & NAN_TOO) printf(" or NaN");
    if (w->flags & EITHER_ZERO) printf(" or either zero");
    printf(first ? "\n  actual   " : ", actual ");
    print_value(w->type, w->actual);
    printf("\n");
}

/* Compare all memory with what is allowed, and say what differs. */
static enum status compare(void) {
    for (size_t i = 0; i < CASE_BUFFERS; i++) compare_contents(&buffers[i], view + placed[i].at + GUARD);
    for (size_t i = 0; i < CASE_BUFFERS; i++) compare_guards(&buffers[i], view + placed[i].at);
    for (size_t i = CASE_BUFFERS; i < COUNT(buffers); i++)
        if (memcmp(view + placed[i].at, placed[i].before, placed[i].size) != 0) {
            printf("a store out of bounds changed the buffer of run-time values\n");
            return FAILED;
        }
    if (wrong_count == 0) return PASSED;
    print_counts();
    for (size_t i = 0; i < wrong_count && i < SHOWN; i++) {
        if (i == 1) printf("then:\n");
        print_wrong(&wrongs[i], i == 0);
    }
    if (wrong_count > SHOWN) printf("  and %zu more\n", wrong_count - SHOWN);
    free(wrongs);
    return FAILED;
}
