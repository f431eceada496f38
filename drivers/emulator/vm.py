"""Scalar programs for the elements of matrices: one small stack machine, compiled once.

Callbacks and element-wise instructions arrive as rows (operation, type, a, b) of int64, in postfix order.
A value is an int64 or a float64, whichever its type asks for; conditions are 0 or 1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cts.drivers.emulator import numbers
from cts.drivers.emulator.conversions import Floats, convert
from cts.drivers.emulator.jit import device, kernel
from cts.drivers.emulator.matrices.memory import Bytes, Registers, inside, read, write
from cts.drivers.emulator.matrices.state import Ints
from cts.drivers.emulator.microscaling import extracted, unpacked
from cts.drivers.emulator.mutants import callbacks as c
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.mutants import microscaling as mx
from cts.drivers.emulator.mutants import numbers as s
from cts.drivers.emulator.number_bugs import absolute, inverted, negated, product_of, quotient_of, sum_of

#: (operations, 4): operation, type of the result, a, b.
Code = npt.NDArray[np.int64]

# Operations that push: the a-th parameter, the bits a, the a-th local, blockCoord[a] or coordInBlock[a]
# (b is 0 or 1), the field of the block at byte a (plus b bytes times the index on the stack where b is not 0).
PARAMETER, NUMBER, LOCAL, COORDINATE, MEMBER = range(5)
# Pops into the a-th local.
KEEP = 5
# Go on at the a-th operation; UNLESS pops a condition, and goes there where it does not hold.
JUMP, UNLESS = 34, 35
# Pops a value and an index: the value goes to the element of the a-th table there.
STORE = 36
# Replaces an index on top by the element of the a-th table there.
ENTRY = 33
# Replaces a pattern on top by its number, of the a-th microscaling type; pops an offset, and replaces an integer of
# type b by a bits of it.
UNPACK, EXTRACT = 37, 38
# Replaces the top. For conversions b is the source's type, and a is 1 where they saturate; a lookup takes one of
# the b elements of the table from a on.
CONVERT, BITCAST, LOOKUP, NEGATE, INVERT, NOT, ABSOLUTE, EXPONENTIAL = range(6, 14)
# Pops condition, first and second value; b is 1 where the condition is of several parts.
SELECT = 14
# Pops two operands, of type b where they are compared.
ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO, AND, OR, XOR, SHIFT_LEFT, SHIFT_RIGHT, MINIMUM, MAXIMUM = range(15, 27)
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL = range(27, 33)

#: The origin of an output for elements that do not store to it.
NOT_STORED = -1

#: What `call` returns when every access was inside the memory.
NO_FAULT = -1


@device
def float_result(operation: int, x: float, y: float) -> float:
    """Arithmetic, unrounded."""
    if operation == ADD:
        return x + y
    if operation == SUBTRACT:
        return x - y
    if operation == MULTIPLY:
        return x * y
    if operation == DIVIDE:
        return x / y
    if operation == MINIMUM:
        return y if numbers.is_less(y, x) else x
    return y if numbers.is_less(x, y) else x


@device
def float_operation(operation: int, x: float, y: float, t: int, settings: numbers.Settings, bug: int) -> float:
    """Arithmetic of a float type (NU-011). Minimum and maximum return one of their operands unchanged."""
    if operation in (MINIMUM, MAXIMUM):
        return numbers.demanded(float_result(operation, x, y), t, settings)
    if bug == m.FDIV_APPROXIMATE and operation == DIVIDE and t == numbers.FLOAT32:
        y = 1 / numbers.narrowed(1 / y, numbers.FLOAT16, numbers.NEAREST)
    if bug == m.FSUB_SWAPPED and operation == SUBTRACT:
        x, y = y, x
    value = float_result(operation, numbers.flushed(x, t, settings), numbers.flushed(y, t, settings))
    if not settings[numbers.WIDE_ARITHMETIC]:
        value = numbers.rounded(value, t, settings)
    if operation in (ADD, SUBTRACT):
        value = sum_of(x, y if operation == ADD else -y, value, t, bug)
    elif operation == DIVIDE:
        value = quotient_of(value, t, bug)
    elif operation == MULTIPLY:
        value = product_of(x, y, value, t, bug)
    return numbers.signed_zero(value, settings[numbers.ZEROS_OF + t])


@device
def truncated_quotient(x: int, y: int, bug: int) -> int:
    """Rounded towards zero; 0 where the quotient is undefined."""
    if y == 0:
        return 0
    quotient = abs(x) // abs(y)
    if (x < 0) == (y < 0):
        return quotient
    if bug == m.SDIV_FLOOR and quotient * abs(y) != abs(x):
        quotient += 1
    return -quotient


@device
def int_compared(operation: int, x: int, y: int, bug: int) -> bool:
    """A comparison by the type's own signedness."""
    if bug == m.CALLBACK_COMPARE_UNSIGNED:
        x, y = x & 0xFFFFFFFF, y & 0xFFFFFFFF
    if operation == LESS:
        return x < y
    if operation == LESS_EQUAL:
        return x <= y
    if operation == GREATER:
        return x > y
    if operation == GREATER_EQUAL:
        return x >= y
    return (x == y) == (operation == EQUAL)


@device
def int_result(operation: int, x: int, y: int, t: int, bug: int) -> int:
    """Arithmetic of an integer type in enough bits."""
    if operation == ADD:
        return x + y
    if operation == SUBTRACT:
        return y - x if bug == m.FSUB_SWAPPED else x - y
    if operation == MULTIPLY:
        return (x & 0xFFFFFF) * (y & 0xFFFFFF) if bug == m.IMUL_24_BIT else x * y
    if operation == DIVIDE:
        if bug == m.UDIV_SIGNED and not t & 1:
            return truncated_quotient(numbers.wrapped(x, t | 1), numbers.wrapped(y, t | 1), bug)
        return truncated_quotient(x, y, bug)
    if operation == MODULO:
        return 0 if y == 0 else x % y
    if operation == AND:
        return x & y
    if operation == OR:
        return x | y
    if operation == XOR:
        return x ^ y
    if operation == SHIFT_LEFT:
        return x << (y & 31)
    if operation == SHIFT_RIGHT:
        if bug == m.CALLBACK_SHIFT_LOGICAL:
            x &= (1 << numbers.width_of(t)) - 1
        return x >> (y & 31)
    first = int_compared(int(np.int64(LESS)), x, y, bug)
    return x if first == (operation == MINIMUM) else y


@device
def int_operation(operation: int, x: int, y: int, t: int, bug: int) -> int:
    """Arithmetic of an integer type: wraps at its width (NU-004)."""
    value = int_result(operation, x, y, t, bug)
    if bug == m.CALLBACK_NARROW_UNWRAPPED:
        return numbers.wrapped(value, numbers.INT32) if t & 1 else value & 0xFFFFFFFF
    if bug == m.IADD_SATURATES and operation == ADD and t < numbers.UINT32:
        width = numbers.width_of(t)
        high = (1 << (width - 1)) - 1 if t & 1 else (1 << width) - 1
        return min(max(value, -high - 1 if t & 1 else 0), high)
    return numbers.wrapped(value, t)


@device
def float_compared(operation: int, x: float, y: float, bug: int) -> bool:
    """A comparison, false with a NaN but for NOT_EQUAL."""
    if bug == s.CALLBACK_COMPARES_UNORDERED and (math.isnan(x) or math.isnan(y)):
        return True
    if operation == LESS:
        return bool(x < y)
    if operation == LESS_EQUAL:
        return bool(x <= y)
    if operation == GREATER:
        return not x <= y if bug == s.CALLBACK_GREATER_UNORDERED else bool(x > y)
    if operation == GREATER_EQUAL:
        return bool(x >= y)
    return bool((x == y) == (operation == EQUAL))


@device
def unary(operation: int, ints: Ints, floats: Floats, top: int, t: int, settings: numbers.Settings, bug: int) -> None:
    """Operations on the value on top of the stack."""
    if operation == INVERT:
        ints[top] = numbers.wrapped(~ints[top], t)
    elif operation == EXPONENTIAL:
        x = numbers.flushed(floats[top], t, settings)
        value = 2.0**x if bug == m.CALLBACK_EXP_BASE_TWO else math.exp(x)
        floats[top] = value if settings[numbers.WIDE_ARITHMETIC] else numbers.rounded(value, t, settings)
    elif t < numbers.UINT8:
        value = negated(floats[top], bug) if operation == NEGATE else absolute(floats[top], bug)
        floats[top] = numbers.demanded(value, t, settings)
    elif operation == NEGATE:
        value = numbers.wrapped(-ints[top], t)
        ints[top] = -(value + 1) if bug == m.SNEGATE_SATURATES and t & 1 and value == ints[top] != 0 else value
    else:
        ints[top] = numbers.wrapped(abs(ints[top]), t)


@device
def binary(
    operation: int, ints: Ints, floats: Floats, top: int, t: int, b: int, settings: numbers.Settings, bug: int
) -> None:
    """Operations on the two values on top of the stack; the result replaces the lower one, at `top`."""
    if operation >= LESS:
        if b < numbers.UINT8:
            ints[top] = float_compared(operation, floats[top], floats[top + 1], bug)
        else:
            ints[top] = int_compared(operation, ints[top], ints[top + 1], bug)
    elif t < numbers.UINT8:
        floats[top] = float_operation(operation, floats[top], floats[top + 1], t, settings, bug)
    elif t <= numbers.INT32:
        ints[top] = int_operation(operation, ints[top], ints[top + 1], t, bug)
    elif operation == AND:
        ints[top] &= ints[top + 1]
    else:
        ints[top] |= ints[top + 1]


@device
def push(bits: int, t: int, ints: Ints, floats: Floats, slot: int, bug: int) -> None:
    """The value behind a bit pattern."""
    if t < numbers.UINT8:
        floats[slot] = numbers.number(bits, t, bug)
    elif t <= numbers.INT32:
        ints[slot] = numbers.wrapped(bits, t)
    else:
        ints[slot] = bits


@kernel(
    "int64(int64[:,::1], int64[::1], int64[::1], uint32[:,::1], float64[:,::1], uint8[::1], int64[::1],"
    " int64[:,:,::1], uint8[::1], int64[:,::1], int64, uint32[::1], float64[::1])"
)
def call(
    code: Code,
    table: Ints,
    settings: numbers.Settings,
    parameters: Registers,
    wide: Floats,
    memory: Bytes,
    blocks: Ints,
    coordinates: Ints,
    tables: Bytes,
    origins: Ints,
    bug: int,
    result: Registers,
    wide_result: Floats,
) -> int:
    """Run a program once for each of n elements.

    `parameters` (count, n) are bit patterns; `wide` (count, n) are their values before rounding, NaN for
    those that have no other value; (0, 0) where none has. Decode functions also get `memory`, the byte
    of each element's block (n,), and blockCoord and coordInBlock (n, 2, rank). `tables` holds the memory of the
    buffers that are read as tables or written, `origins` (tables, n) the byte of each one's first element there, for
    each element of the matrix. Results are bit patterns
    (n,), and their values before rounding where `wide_result` is (n,). Returns NO_FAULT, or the element
    whose access was outside.
    """
    ints, floats = np.zeros(256, np.int64), np.zeros(256, np.float64)
    local_ints, local_floats = np.zeros(256, np.int64), np.zeros(256, np.float64)
    first = np.zeros(code.shape[0], np.int64)
    t = 0
    for n in range(result.shape[0]):
        size, following, stores = 0, 0, 0
        while following < code.shape[0]:
            step = following
            following += 1
            operation, t, a, b = code[step, 0], code[step, 1], code[step, 2], code[step, 3]
            if operation == PARAMETER:
                push(int(np.int64(parameters[a, n])), t, ints, floats, size, bug)
                if wide.shape[0] and t < numbers.UINT8 and not math.isnan(wide[a, n]):
                    floats[size] = wide[a, n]
                size += 1
            elif operation == NUMBER:
                push(a, t, ints, floats, size, bug)
                size += 1
            elif operation == LOCAL:
                ints[size], floats[size] = local_ints[a], local_floats[a]
                size += 1
            elif operation == COORDINATE:
                ints[size] = numbers.wrapped(coordinates[n, b, a], t)
                size += 1
            elif operation == MEMBER:
                address = blocks[n] + a
                if b:
                    size -= 1
                    address += ints[size] * b
                width = numbers.width_of(t) // 8
                if not inside(memory, address, width):
                    return n
                push(read(memory, address, width), t, ints, floats, size, bug)
                if bug == m.DECODE_BYTES_UNSIGNED and t == numbers.INT8:
                    ints[size] &= 0xFF
                size += 1
            elif operation == ENTRY:
                index, width = ints[size - 1], numbers.width_of(t) // 8
                if n == 0:
                    first[step] = index
                elif bug == c.TABLE_INDEX_UNIFORM:
                    index = first[step]
                table_number = 0 if bug == c.TABLE_ALWAYS_FIRST else a
                address = origins[table_number, n] + index * (4 if bug == c.TABLE_STRIDE_WORDS else width)
                if not inside(tables, address, width):
                    return n
                push(read(tables, address, width), t, ints, floats, size - 1, bug)
            elif operation == STORE:
                size -= 2
                width = numbers.width_of(t) // 8
                address = origins[a, n] + ints[size] * width
                if origins[a, n] == NOT_STORED or (bug == c.OUTPUT_ONLY_FIRST and stores):
                    continue
                stores += 1
                if not inside(tables, address, width):
                    return n
                if t < numbers.UINT8:
                    bits = numbers.pattern(floats[size + 1], t, settings[numbers.ROUNDING_OF + t], bool(t < 0), bug)
                else:
                    bits = ints[size + 1] & ((1 << numbers.width_of(t)) - 1)
                write(tables, address, width, bits)
            elif operation == KEEP:
                size -= 1
                local_ints[a], local_floats[a] = ints[size], floats[size]
            elif operation == JUMP:
                following = a
            elif operation == UNLESS:
                size -= 1
                holds = ints[size]
                if n == 0:
                    first[step] = holds
                elif bug == c.BODY_BRANCH_UNIFORM:
                    holds = first[step]
                if not holds:
                    following = a
            elif operation == CONVERT:
                convert(ints, floats, size - 1, t, b, a != 0, settings, bug)
            elif operation == BITCAST:
                bits = ints[size - 1] & 0xFFFFFFFF
                if b < numbers.UINT8:
                    bits = numbers.pattern(floats[size - 1], b, settings[numbers.ROUNDING_OF + b], bool(t < 0), bug)
                if bug == m.BITCAST_CONVERTS and (b ^ t) == 1 and bits >> (numbers.width_of(b) - 1):
                    bits = 0
                push(bits & ((1 << numbers.width_of(t)) - 1), t, ints, floats, size - 1, bug)
            elif operation == UNPACK:
                floats[size - 1] = unpacked(ints[size - 1], a, settings, bug)
            elif operation == EXTRACT:
                size -= 1
                if n == 0:
                    first[step] = ints[size]
                offset = first[step] if bug == mx.EXTRACT_OFFSET_OF_FIRST else ints[size]
                ints[size - 1] = extracted(ints[size - 1], offset, a, b, bug)
            elif operation == LOOKUP:
                index = ints[size - 1]
                push(table[a + index] if 0 <= index < b else 0, t, ints, floats, size - 1, bug)
            elif operation == SELECT:
                size -= 2
                if not ints[size - 1]:
                    ints[size], floats[size] = ints[size + 1], floats[size + 1]
                ints[size - 1], floats[size - 1] = ints[size], floats[size]
            elif operation == NOT:
                before = code[step - 1, 0]
                ordered = LESS <= before <= GREATER_EQUAL and code[step - 1, 3] < numbers.UINT8
                ints[size - 1] = inverted(ints[size - 1], floats[size - 1], floats[size], ordered, bug)
            elif operation < SELECT:
                unary(operation, ints, floats, size - 1, t, settings, bug)
            else:
                size -= 1
                binary(operation, ints, floats, size - 1, t, b, settings, bug)
        if t < numbers.UINT8:
            if wide_result.shape[0]:
                wide_result[n] = floats[0]
            result[n] = numbers.pattern(floats[0], t, settings[numbers.ROUNDING_OF + t], bool(t < 0), bug)
        else:
            result[n] = ints[0] & ((1 << numbers.width_of(t)) - 1)
    return NO_FAULT
