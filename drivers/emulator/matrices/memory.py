"""The data path: registers to and from memory, byte by byte, with every access bounds-checked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cts.drivers.emulator.jit import device, kernel
from cts.drivers.emulator.matrices.state import ACCESS, TAKE_CLAMP_VALUE, Actions, Ints, Work
from cts.drivers.emulator.mutants import matrices as m

Bytes = npt.NDArray[np.uint8]
Registers = npt.NDArray[np.uint32]

#: What `load` and `store` return when every access was inside the memory.
NO_FAULT = -1


@device
def inside(memory: Bytes, byte: int, size: int) -> bool:
    """Whether `size` bytes at `byte` lie in the memory, guard bytes included."""
    return bool(byte >= 0 and byte + size <= memory.shape[0])


@device
def read(memory: Bytes, byte: int, size: int) -> int:
    """`size` bytes, little-endian."""
    bits = 0
    for b in range(size):
        bits |= int(memory[byte + b]) << (8 * b)
    return bits


@device
def write(memory: Bytes, byte: int, size: int, bits: int) -> None:
    """`size` bytes, little-endian."""
    for b in range(size):
        memory[byte + b] = (bits >> (8 * b)) & 0xFF


@kernel(
    "int64(uint8[::1], uint8[:,::1], int64[:,::1], int32[:,::1], uint32[:,:,::1], uint32[::1], int64, int64,"
    " uint32[:,:,::1])"
)
def load(
    memory: Bytes,
    action: Actions,
    byte: Ints,
    work: Work,
    objects: Registers,
    clamp_bits: Registers,
    size: int,
    bug: int,
    result: Registers,
) -> int:
    """Fill registers (instances, invocations, slots): from memory, the Object or the clamp value (TA-038).

    Returns NO_FAULT, or instance * len(work) + work item of the first access outside the memory.
    """
    for instance in range(action.shape[0]):
        for k in range(work.shape[0]):
            invocation, slot, address = work[k, 0], work[k, 1], byte[instance, k]
            if action[instance, k] == ACCESS:
                if not inside(memory, address, size):
                    return int(instance * work.shape[0] + k)
                bits = read(memory, address, size)
                if bug == m.LOAD_SPILLS and k == 0:
                    write(memory, address, size, ~bits)
            elif action[instance, k] == TAKE_CLAMP_VALUE:
                bits = int(clamp_bits[instance])
            else:
                bits = int(objects[instance, invocation, slot])
                if bug == m.OBJECT_IGNORED:
                    bits = 0
                elif bug == m.CLIP_LOADS_CLAMP_VALUE:
                    bits = int(clamp_bits[instance])
            result[instance, invocation, slot] = bits
    return NO_FAULT


@kernel("int64(uint8[::1], uint8[:,::1], int64[:,::1], int32[:,::1], int64[::1], uint32[:,:,::1], int64, int64, int64)")
def store(
    memory: Bytes,
    action: Actions,
    byte: Ints,
    work: Work,
    instances: Ints,
    registers: Registers,
    size: int,
    last: int,
    bug: int,
) -> int:
    """Write every element that is not discarded (TA-044), scope instances in the order `instances`.

    `last` is the work item of the matrix's last element. Returns as `load` does.
    """
    for instance in instances:
        for k in range(work.shape[0]):
            if action[instance, k] != ACCESS:
                continue
            address = byte[instance, k]
            if not inside(memory, address, size):
                return int(instance * work.shape[0] + k)
            bits = int(registers[instance, work[k, 0], work[k, 1]])
            write(memory, address, size, bits)
            if bug == m.BYTE_STORE_WIDENED and size == 1 and inside(memory, address, 2):
                write(memory, address, 2, bits)
            elif bug == m.STORE_PAST_END and k == last and inside(memory, address + size, size):
                write(memory, address + size, size, bits)
    return NO_FAULT
