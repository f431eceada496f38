"""The memory of Intel's code: buffers as surfaces of a binding table, and push constants in the driver's own memory."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cts.drivers.machine import memory
from cts.drivers.machine.memory import BASE
from cts.drivers.machine.problems import Unsupported
from cts.drivers.vulkan.worker.protocol import Binding


class Surface(NamedTuple):
    """A buffer's window: where it lies in the memory of all buffers, and bytes that may be accessed."""

    start: int
    size: int


class AddressSpace(memory.AddressSpace):
    """Buffers, and the driver's own memory, which holds push constants."""

    own_base = 0x4000_0000_0000

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

    def keep(self, words: Sequence[int]) -> int:
        """Put words into the driver's own memory; their address."""
        self.own = np.frombuffer(struct.pack(f"<{len(words)}I", *words), np.uint8)
        return self.own_base
