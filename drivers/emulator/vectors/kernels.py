"""The code that runs for every product, rounding and atomic addition: compiled, unlike the other modules."""

from __future__ import annotations

import math

import numpy as np

from cts.drivers.emulator import numbers
from cts.drivers.emulator.jit import device, kernel
from cts.drivers.emulator.matrices.memory import Bytes, inside, read, write
from cts.drivers.emulator.matrices.products import Floats, Ints, accumulated
from cts.drivers.emulator.matrices.registers import Registers
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.mutants import vectors as v
from cts.drivers.emulator.number_bugs import term_of

#: The piece of a vector within which some bugs are right, and that of others.
PIECE = 8
TILE = 64

#: What `accumulate` returns when every access was inside the memory.
NO_FAULT = -1


@kernel("void(float64[::1], int64, int64, boolean, uint32[::1])")
def patterns(values: Floats, t: int, rounding: int, saturate: bool, result: Registers) -> None:
    """Bit patterns of values, rounded to the float type t."""
    for n in range(values.shape[0]):
        result[n] = numbers.pattern(values[n], t, rounding, saturate, int(np.int64(m.NONE)))


@device
def padding_of(k: int, optimal: bool, bug: int) -> float:
    """What a bug adds to a sum from behind the end of a row."""
    return math.nan if bug == v.VECTOR_PADDING_NAN and optimal and k % PIECE else 0.0


@kernel(
    "void(float64[:,::1], float64[:,::1], float64[:,::1], boolean, int64, int64, int64, int64[::1], int64,"
    " uint32[:,::1])"
)
def multiply(
    inputs: Floats,
    matrix: Floats,
    bias: Floats,
    optimal: bool,
    t: int,
    order: int,
    precision: int,
    settings: numbers.Settings,
    bug: int,
    result: Registers,
) -> None:
    """A matrix (M, K) times inputs (invocations, K), plus biases (invocations, M) (NU-010), as bits of type t."""
    k_size = inputs.shape[1]
    terms = np.empty(max(k_size, 1))
    count = k_size // PIECE * PIECE if bug == v.VECTOR_K_TAIL_DROPPED else k_size
    if bug == v.VECTOR_ACCUMULATOR_FLOAT16 and t == numbers.FLOAT32:
        bug = int(np.int64(m.ACCUMULATOR_FLOAT16))
    for i in range(inputs.shape[0]):
        for j in range(matrix.shape[0]):
            for k in range(count):
                terms[k] = term_of(inputs[i, k], matrix[j, k], bug)
            value = accumulated(terms, count, bias[i, j], t, order, precision, settings, bug)
            value = numbers.signed_zero(
                numbers.flushed(value + padding_of(k_size, optimal, bug), t, settings), settings[numbers.SUM_ZEROS]
            )
            result[i, j] = numbers.pattern(value, t, settings[numbers.ROUNDING], bool(t < 0), int(np.int64(m.NONE)))


@kernel("int64(uint8[::1], int64[::1], float64[::1], int64, int64[::1], int64)")
def accumulate(memory: Bytes, addresses: Ints, values: Floats, t: int, settings: numbers.Settings, bug: int) -> int:
    """Atomic additions, one after the other, of values (n,) to floats of type t at bytes (n,) (CV-020, CV-021).

    Returns NO_FAULT, or which access was the first outside the memory.
    """
    size = numbers.width_of(t) // 8
    half = t == numbers.FLOAT32 and (bug == v.OUTER_PRODUCT_ROUNDS_TO_FLOAT16 or bug == v.REDUCE_SUM_IN_FLOAT16)
    for n in range(addresses.shape[0]):
        if not inside(memory, addresses[n], size):
            return n
        value = numbers.number(read(memory, addresses[n], size), t, int(np.int64(m.NONE))) + values[n]
        if half:
            value = numbers.narrowed(value, numbers.FLOAT16, numbers.NEAREST)
        value = numbers.signed_zero(numbers.flushed(value, t, settings), settings[numbers.SUM_ZEROS])
        bits = numbers.pattern(value, t, settings[numbers.ROUNDING], bool(t < 0), int(np.int64(m.NONE)))
        write(memory, addresses[n], size, bits)
    return NO_FAULT
