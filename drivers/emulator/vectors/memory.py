"""Buffers and opaque matrices as the invocations reach them, every access bounds-checked."""

from __future__ import annotations

import numpy as np

from cts.case.model import GUARD_BYTES, Case
from cts.drivers.emulator.instances import Instances
from cts.drivers.emulator.matrices.access import MemoryFault
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.vectors.registers import Ints, Registers


class Memory:
    """Bytes by name: guard bytes, contents, guard bytes, both for buffers and for opaque matrices.

    Byte addresses count from the start of the guard in front. The bytes are changed in place.
    """

    def __init__(self, case: Case, spaces: dict[str, Bytes], instances: Instances) -> None:
        self._case = case
        self._instances = instances
        self.spaces = spaces

    def start(self, name: str) -> Ints:
        """The byte at which each invocation's view of the memory begins."""
        return self._instances.start(name)

    def gather(self, name: str, addresses: Ints, size: int) -> Registers:
        """Elements of `size` bytes at byte addresses of any shape, zero-extended. Raises MemoryFault."""
        self._check("read", name, addresses, size)
        memory = self.spaces[name]
        bits = np.zeros(addresses.shape, np.uint32)
        for b in range(size):
            bits |= memory[addresses + b].astype(np.uint32) << np.uint32(8 * b)
        return bits

    def scatter(self, name: str, addresses: Ints, size: int, bits: Registers) -> None:
        """Write the low `size` bytes of bit patterns to byte addresses of the same shape. Raises MemoryFault."""
        self._check("write", name, addresses, size)
        memory = self.spaces[name]
        for b in range(size):
            memory[addresses + b] = (bits >> np.uint32(8 * b)).astype(np.uint8)

    def _check(self, verb: str, name: str, addresses: Ints, size: int) -> None:
        outside = (addresses < 0) | (addresses + size > len(self.spaces[name]))
        if outside.any():
            raise self.fault(verb, name, int(addresses[outside][0]), size)

    def fault(self, verb: str, name: str, address: int, size: int) -> MemoryFault:
        """The error of an access at a byte address outside the memory."""
        contents = len(self.spaces[name]) - 2 * GUARD_BYTES
        kind = "buffer" if name in self._case.buffers else "opaque matrix"
        return MemoryFault(
            f"{verb} of {size} bytes at byte {address - GUARD_BYTES} of {kind} {name!r} ({contents} bytes and "
            f"{GUARD_BYTES} guard bytes on each side)"
        )
