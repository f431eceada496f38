/* The tensor addressing of SPV_NV_cooperative_matrix2 as its specification writes it: one matrix
 * element at a time (TA-030..TA-036). The yardstick of bench/oracle.py.
 *
 * Ambiguities follow the reading of the oracle: mirroring compares with the dimension's size (AM-01).
 */
#include <stdint.h>
#include <string.h>

#define MAX_DIM 5

enum { UNDEFINED, CONSTANT, CLAMP_TO_EDGE, REPEAT, REPEAT_MIRRORED };
enum { OK, SKIP, CLAMPED, DISCARD, UNDEFINED_BEHAVIOUR };

typedef struct {
    uint32_t ldim, clamp_mode;
    uint32_t block_size[MAX_DIM], layout_dimension[MAX_DIM], stride[MAX_DIM], offset[MAX_DIM], span[MAX_DIM];
} tensor_layout;

typedef struct {
    uint32_t vdim, has_dimensions;
    uint32_t permutation[MAX_DIM], view_dimension[MAX_DIM], view_stride[MAX_DIM];
    uint32_t clip_row_offset, clip_row_span, clip_col_offset, clip_col_span;
} tensor_view;

static uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* The remainder of OpSMod for b > 0: never negative. */
static int32_t smod(int32_t a, int32_t b)
{
    int32_t r = a % b;
    return r < 0 ? r + b : r;
}

static uint32_t matrix_coord_to_linear(uint32_t row, uint32_t col, uint32_t n) { return row * n + col; }

static int matrix_coord_to_linear_with_view(const tensor_view *v, uint32_t row, uint32_t col, uint32_t n,
                                            uint32_t *index)
{
    if (row < v->clip_row_offset || row >= v->clip_row_offset + v->clip_row_span ||
        col < v->clip_col_offset || col >= v->clip_col_offset + v->clip_col_span)
        return SKIP;
    row -= v->clip_row_offset;
    col -= v->clip_col_offset;
    *index = row * min_u32(n, v->clip_col_span) + col;
    return OK;
}

static void linear_to_view_coord(const tensor_layout *t, const tensor_view *v, uint32_t index, uint32_t *coord)
{
    const uint32_t *dimensions = v->has_dimensions ? v->view_dimension : t->span;
    for (int32_t dim = (int32_t)v->vdim - 1; dim >= 0; --dim) {
        uint32_t i = v->permutation[dim];
        coord[i] = index % dimensions[i];
        index /= dimensions[i];
    }
}

static uint32_t view_coord_to_linear(const tensor_layout *t, const tensor_view *v, const uint32_t *coord)
{
    uint32_t stride[MAX_DIM];
    if (v->has_dimensions) {
        memcpy(stride, v->view_stride, sizeof stride);
    } else {
        stride[v->vdim - 1] = 1;
        for (int32_t dim = (int32_t)v->vdim - 2; dim >= 0; --dim)
            stride[dim] = stride[dim + 1] * t->span[dim + 1];
    }
    uint32_t index = 0;
    for (int32_t dim = (int32_t)v->vdim - 1; dim >= 0; --dim)
        index += coord[dim] * stride[dim];
    return index;
}

static void linear_to_span_coord(const tensor_layout *t, uint32_t index, uint32_t *coord)
{
    for (int32_t dim = (int32_t)t->ldim - 1; dim >= 0; --dim) {
        coord[dim] = index % t->span[dim];
        index /= t->span[dim];
    }
}

static int span_coord_to_tensor_coord(const tensor_layout *t, const uint32_t *span_coord, int store,
                                      uint32_t *block_coord, uint32_t *coord_in_block)
{
    for (uint32_t dim = 0; dim < t->ldim; ++dim) {
        uint32_t size = t->layout_dimension[dim];
        int32_t c = (int32_t)(span_coord[dim] + t->offset[dim]);
        if (c < 0 || (uint32_t)c >= size) {
            uint32_t mode = t->clamp_mode;
            if (store && mode != UNDEFINED)
                mode = CONSTANT;
            switch (mode) {
            case UNDEFINED:
                return UNDEFINED_BEHAVIOUR;
            case CONSTANT:
                return store ? DISCARD : CLAMPED;
            case CLAMP_TO_EDGE:
                c = c < 0 ? 0 : (int32_t)(size - 1);
                break;
            case REPEAT:
                c = smod(c, (int32_t)size);
                break;
            case REPEAT_MIRRORED:
                if (size == 1)
                    return UNDEFINED_BEHAVIOUR;
                c = smod(c, (int32_t)(2 * size - 2));
                c = (uint32_t)c >= size ? (int32_t)(2 * size - 2) - c : c;
                break;
            }
        }
        coord_in_block[dim] = (uint32_t)c % t->block_size[dim];
        block_coord[dim] = (uint32_t)c / t->block_size[dim];
    }
    return OK;
}

static uint32_t tensor_coord_to_linear(const tensor_layout *t, const uint32_t *block_coord)
{
    uint32_t index = 0;
    for (uint32_t dim = 0; dim < t->ldim; ++dim)
        index += block_coord[dim] * t->stride[dim];
    return index;
}

static int matrix_coord_to_tensor_element(const tensor_layout *t, uint32_t row, uint32_t col, uint32_t n, int store,
                                          uint32_t *index)
{
    uint32_t span_coord[MAX_DIM], block_coord[MAX_DIM], coord_in_block[MAX_DIM];
    linear_to_span_coord(t, matrix_coord_to_linear(row, col, n), span_coord);
    int status = span_coord_to_tensor_coord(t, span_coord, store, block_coord, coord_in_block);
    if (status == OK)
        *index = tensor_coord_to_linear(t, block_coord);
    return status;
}

static int matrix_coord_to_tensor_element_with_view(const tensor_layout *t, const tensor_view *v, uint32_t row,
                                                    uint32_t col, uint32_t n, int store, uint32_t *index)
{
    uint32_t linear, view_coord[MAX_DIM], span_coord[MAX_DIM], block_coord[MAX_DIM], coord_in_block[MAX_DIM];
    int status = matrix_coord_to_linear_with_view(v, row, col, n, &linear);
    if (status != OK)
        return status;
    linear_to_view_coord(t, v, linear, view_coord);
    linear = view_coord_to_linear(t, v, view_coord);
    linear_to_span_coord(t, linear, span_coord);
    status = span_coord_to_tensor_coord(t, span_coord, store, block_coord, coord_in_block);
    if (status == OK)
        *index = tensor_coord_to_linear(t, block_coord);
    return status;
}

/* Indices and statuses of `sets` matrices of m x n; `v` may be null, else it holds a view per set. */
void matrix_elements(const tensor_layout *t, const tensor_view *v, uint32_t sets, uint32_t m, uint32_t n,
                     uint32_t store, uint32_t *index, uint8_t *status)
{
    for (uint32_t set = 0; set < sets; ++set)
        for (uint32_t row = 0; row < m; ++row)
            for (uint32_t col = 0; col < n; ++col, ++index, ++status)
                *status = (uint8_t)(v ? matrix_coord_to_tensor_element_with_view(&t[set], &v[set], row, col, n,
                                                                                (int)store, index)
                                      : matrix_coord_to_tensor_element(&t[set], row, col, n, (int)store, index));
}
