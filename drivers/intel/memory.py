"""The memory of Intel's code: buffers as surfaces of a binding table, and push constants in the driver's own memory."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cts.drivers.machine import memory
from cts.drivers.machine.memory import BASE, Bytes
from cts.drivers.machine.problems import Unsupported
from cts.drivers.vulkan.worker.protocol import Binding

#: Bytes of a buffer's descriptor, a surface's state, and where in it the address is (PRM, RENDER_SURFACE_STATE).
_DESCRIPTOR, _ADDRESS = 64, 32

#: Bytes between the descriptors of two sets: a multiple of 64, as ANV has it, and more than a set takes.
SET = 1 << 16


class Surface(NamedTuple):
    """A buffer's window: where it lies in the memory of all buffers, and bytes that may be accessed."""

    start: int
    size: int


class AddressSpace(memory.AddressSpace):
    """Buffers, and the driver's own memory, which holds push constants."""

    own_base = 0x4000_0000_0000

    #: The addresses of buffers by their places among descriptors.
    descriptors: Mapping[int, int] = {}

    def surfaces(self, bindings: Sequence[Binding], table: Mapping[tuple[int, int], int]) -> dict[int, Surface]:
        """The surfaces of a binding table by their index; `table` has the first of each set and binding."""
        found: dict[int, Surface] = {}
        for b in bindings:
            first = table.get((b.set, b.binding))
            if first is None:
                continue
            if b.kind.endswith("dynamic"):
                raise Unsupported("descriptors with dynamic offsets")
            size = self.memories[b.buffer].size
            found[first + b.index] = Surface(self.window(b.buffer) - BASE, size if self.exact else (size + 3) & ~3)
        return found

    def describe(self, bindings: Sequence[Binding]) -> None:
        """Place descriptors as ANV does: a set's in the order of its bindings. With other kinds among them, none."""
        if any(b.kind != "storage" for b in bindings):
            return
        counts, places, ends = {(b.set, b.binding): b.count for b in bindings}, {}, Counter[int]()
        for key in sorted(counts):
            places[key] = ends[key[0]]
            ends[key[0]] += counts[key]
        slots = ((b.set * SET + (places[b.set, b.binding] + b.index) * _DESCRIPTOR, b.buffer) for b in bindings)
        self.descriptors = {slot + _ADDRESS: self.window(buffer) for slot, buffer in slots}

    def described(self, offsets: npt.NDArray[np.int64], size: int, where: str) -> Bytes:
        """`size` bytes at each place among descriptors, uint8 (offsets, size). Raises Unsupported beside addresses."""
        found = np.zeros((len(offsets), size), np.uint8)
        for row, offset in zip(found, offsets.tolist(), strict=True):
            start, address = offset % 8, self.descriptors.get(offset & ~7)
            if address is None or start + size > 8:
                raise Unsupported("what ANV keeps of a descriptor beside a buffer's address", where)
            row[:] = np.frombuffer(address.to_bytes(8, "little"), np.uint8)[start : start + size]
        return found

    def keep(self, words: Sequence[int]) -> int:
        """Put words into the driver's own memory; their address."""
        self.own = np.frombuffer(struct.pack(f"<{len(words)}I", *words), np.uint8)
        return self.own_base
