"""Matrix multiplication: every result element is a sum over K, in the order and precision of a variant."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cts.drivers.emulator import numbers as n
from cts.drivers.emulator.jit import device, kernel
from cts.drivers.emulator.matrices.registers import Registers
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.number_bugs import term_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Orders of accumulation, and the options that ask for them
FORWARD, REVERSED, BLOCKED, TREE = range(4)
ORDERS = {"forward": FORWARD, "reversed": REVERSED, "blocked": BLOCKED, "tree": TREE}
# Precision of partial sums: that of the result, float32, or no rounding before the end
OF_RESULT, OF_FLOAT32, EXACT = range(3)
PRECISIONS = {"result": OF_RESULT, "float32": OF_FLOAT32, "exact": EXACT}

#: Products that a BLOCKED sum adds up before they are added to the rest.
BLOCK = 4
#: The tile within which some bugs are right, and that of others.
TILE = 8
WIDE_TILE = 32


@device
def step(x: float, t: int, precision: int, settings: n.Settings, bug: int) -> float:
    """A partial sum as the accumulator holds it (NU-010)."""
    if bug == m.ACCUMULATOR_FLOAT16:
        return n.rounded(x, int(np.int64(n.FLOAT16)), settings)
    if bug == m.ACCUMULATOR_BFLOAT16:
        return n.rounded(x, int(np.int64(n.BFLOAT16)), settings)
    if precision == EXACT:
        return x
    return n.rounded(x, t if precision == OF_RESULT else n.FLOAT32, settings)


@device
def tree_sum(terms: Floats, count: int, t: int, precision: int, settings: n.Settings, bug: int) -> float:
    """Neighbours first, then pairs of pairs; changes `terms`."""
    while count > 1:
        for i in range(count // 2):
            terms[i] = step(terms[2 * i] + terms[2 * i + 1], t, precision, settings, bug)
        if count % 2:
            terms[count // 2] = terms[count - 1]
        count = (count + 1) // 2
    return float(terms[0])


@device
def accumulated(
    terms: Floats, count: int, c: float, t: int, order: int, precision: int, settings: n.Settings, bug: int
) -> float:
    """C plus the products; changes `terms`."""
    if count == 0:
        return c
    if order == FORWARD and precision == EXACT and bug == m.NONE:  # what `step` would do, fast
        for k in range(count):
            c += terms[k]
        return c
    if order == TREE:
        return step(tree_sum(terms, count, t, precision, settings, bug) + c, t, precision, settings, bug)
    if order == REVERSED:
        total = 0.0
        for k in range(count - 1, -1, -1):
            total = step(total + terms[k], t, precision, settings, bug)
        return step(total + c, t, precision, settings, bug)
    size = BLOCK if order == BLOCKED else 1
    total = c
    for first in range(0, count, size):
        part = 0.0
        for k in range(first, min(first + size, count)):
            part = step(part + terms[k], t, precision, settings, bug) if size > 1 else terms[k]
        total = step(total + part, t, precision, settings, bug)
    return total


@device
def last_product(k: int, bug: int) -> int:
    """How many of K products enter."""
    if bug == m.K_TAIL_DROPPED:
        return k // TILE * TILE
    return k - 1 if bug == m.K_LAST_DROPPED else k


@device
def row_of(i: int, bug: int) -> int:
    """The row of A behind row i of the result."""
    return i % WIDE_TILE if bug == m.M_SECOND_TILE else i


@device
def column_of(j: int, bug: int) -> int:
    """The column of B behind column j of the result."""
    return j % WIDE_TILE if bug == m.N_SECOND_TILE else j


@device
def numbers_of(bits: Registers, t: int, settings: n.Settings, bug: int) -> Floats:
    """The values of a matrix of floats."""
    rows, cols = bits.shape
    values = np.empty((rows, cols))
    for i in range(rows):
        for j in range(cols):
            values[i, j] = n.flushed(n.number(int(np.int64(bits[i, j])), t, bug), t, settings)
    return values


@device
def by_column(b: Registers, bug: int) -> Registers:
    """B (K, N) as (N, K)."""
    if bug == m.MUL_ADD_B_TRANSPOSED and b.shape[0] == b.shape[1]:
        return b
    columns = np.empty((b.shape[1], b.shape[0]), np.uint32)
    for k in range(b.shape[0]):
        for j in range(b.shape[1]):
            columns[j, k] = b[k, j]
    return columns


@device
def float_products(
    a: Registers, b: Registers, c: Registers, types: Ints, order: int, precision: int, settings: n.Settings, bug: int,
    result: Registers,
) -> None:  # fmt: skip
    """One instance; `types` are those of A, B, C and the result."""
    rows, k_size = a.shape
    t = types[3]
    left = numbers_of(a, types[0], settings, bug)
    right = numbers_of(
        by_column(b, bug), types[0] if bug == m.FLOAT8_TYPES_OF_A and types[1] >= n.E4M3 else types[1], settings, bug
    )
    terms = np.empty(max(k_size, 1))
    count = last_product(k_size, bug)
    for i in range(rows):
        for j in range(c.shape[1]):
            start = n.flushed(n.number(int(np.int64(c[i, j])), types[2], bug), types[2], settings)
            if bug == m.MUL_ADD_C_DROPPED:
                start = 0.0
            elif bug == m.C_NARROWED and t == n.FLOAT32:
                start = n.rounded(start, int(np.int64(n.FLOAT16)), settings)
            row, column = row_of(i, bug), column_of(j, bug)
            for k in range(count):
                terms[k] = term_of(left[row, k], right[column, k], bug)
                if bug == m.PRODUCTS_NARROWED:
                    terms[k] = n.rounded(terms[k], int(np.int64(n.FLOAT16)), settings)
            used = 0 if bug == m.M_TAIL_UNMULTIPLIED and i >= rows // TILE * TILE else count
            value = accumulated(terms, used, start, t, order, precision, settings, bug)
            if bug == m.K_PADDING_NAN and k_size % TILE:
                value = math.nan
            value = n.signed_zero(n.flushed(value, t, settings), settings[n.SUM_ZEROS])
            result[i, j] = n.pattern(value, t, settings[n.ROUNDING], bool(t < 0), bug)


@device
def clamped(value: int, t: int, bug: int) -> int:
    """Saturation to an integer type (NU-002)."""
    if bug == m.SATURATION_SIGNED:
        t |= 1
    width = n.width_of(t)
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if t & 1 else (0, (1 << width) - 1)
    return min(value, high) if bug == m.SATURATION_HIGH_ONLY else min(max(value, low), high)


@device
def int_products(
    a: Registers, b: Registers, c: Registers, types: Ints, saturate: bool, bug: int, result: Registers
) -> None:
    """One instance: exact, then wrapped or saturated (NU-001, NU-002)."""
    rows, k_size = a.shape
    count = last_product(k_size, bug)
    columns = by_column(b, bug)
    if bug == m.SATURATION_IGNORED:
        saturate = False
    elif bug == m.SATURATION_ALWAYS:
        saturate = True
    both_8 = n.width_of(types[0]) == 8 and n.width_of(types[1]) == 8
    saturates = bug == m.INT8_PAIRS_SATURATE and both_8
    wraps = bug == m.INT8_PAIRS_WRAP and both_8 and bool(types[0] & types[1] & 1)
    pairs = saturates or wraps
    for i in range(rows):
        for j in range(c.shape[1]):
            total = pair = 0
            row, column = row_of(i, bug), column_of(j, bug)
            for k in range(count):
                left, right = int(np.int64(a[row, k])), int(np.int64(columns[column, k]))
                pair += n.wrapped(left, types[0]) * n.wrapped(right, types[1])
                if saturates:
                    pair = min(max(pair, -32768), 32767)
                elif wraps:
                    pair = (pair + 32768) % 65536 - 32768
                if k % 2 or not pairs:
                    total, pair = total + pair, 0
            total += pair
            if bug == m.M_TAIL_UNMULTIPLIED and i >= rows // TILE * TILE:
                total = 0
            if bug != m.MUL_ADD_C_DROPPED:
                total += n.wrapped(int(np.int64(c[i, j])), types[2])
            if saturate:
                total = clamped(total, types[3], bug)
            result[i, j] = total & ((1 << n.width_of(types[3])) - 1)


@kernel(
    "void(uint32[:,:,::1], uint32[:,:,::1], uint32[:,:,::1], int64[::1], int64, int64, boolean, int64[::1], int64,"
    " uint32[:,:,::1])"
)
def mul_add(
    a: Registers,
    b: Registers,
    c: Registers,
    types: Ints,
    order: int,
    precision: int,
    saturate: bool,
    settings: n.Settings,
    bug: int,
    result: Registers,
) -> None:
    """A * B + C for every instance: (instances, M, K), (instances, K, N), (instances, M, N).

    `types` (4,) are A's, B's, C's and the result's, integers with the sign that the operand mask gives them.
    """
    for instance in range(a.shape[0]):
        if types[3] < n.UINT8:
            float_products(
                a[instance], b[instance], c[instance], types, order, precision, settings, bug, result[instance]
            )
        else:
            int_products(a[instance], b[instance], c[instance], types, saturate, bug, result[instance])


def read_as(types: tuple[int, ...], declared: tuple[int, ...], bug: int) -> Ints:
    """The types with which the operand mask reads the operands; `declared` are those of the matrix types."""
    a, b, c, result = types
    if bug == m.A_SIGN_IGNORED and a >= n.UINT8:
        a &= ~1
    elif bug == m.B_SIGN_IGNORED and b >= n.UINT8:
        b &= ~1
    elif bug == m.SIGNS_FROM_TYPES:
        a, b = declared[:2]
    elif bug == m.B_SIGN_OF_A and a >= n.UINT8:
        b = (b & ~1) | (a & 1)
    return np.array([a, b, c, result], np.int64)
