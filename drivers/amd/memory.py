"""The memory of AMD's code: buffers at addresses, and descriptors of them in the driver's own memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from cts.drivers.machine import memory
from cts.drivers.machine.memory import Bytes, Lds
from cts.drivers.machine.problems import Unsupported, Wrong
from cts.drivers.vulkan.worker.protocol import Binding, Memory

#: The address of the code, behind which its constants lie; its upper half is that of the driver's own memory.
CODE_BASE = 0xFFFF_8000_4000_0000

#: Bytes of a descriptor of a buffer.
DESCRIPTOR = 16

#: Bytes of a page.
PAGE = 4096

__all__ = ["CODE_BASE", "DESCRIPTOR", "AddressSpace", "Lds"]


class AddressSpace(memory.AddressSpace):
    """Buffers, and descriptors of them in the driver's own memory, the upper half of whose address code knows."""

    def __init__(self, memories: Sequence[Memory], exact: bool = False) -> None:
        super().__init__(memories, exact)
        self._constants = CODE_BASE, np.zeros(0, np.uint8)

    def put_constants(self, at: int, data: bytes) -> None:
        """Have the code's constants at an address."""
        self._constants = at, np.frombuffer(data, np.uint8)

    def describe(self, bindings: Sequence[Binding], push_constants: bytes = b"") -> tuple[dict[int, int], int]:
        """Write descriptor sets and push constants; the address of each set by its number, and that of the constants.

        Descriptors are those of RDNA 4 ISA, "Buffer Resource".
        """
        places: dict[int, int] = {}
        content = bytearray()
        for number in sorted({b.set for b in bindings}):
            content += bytes(-len(content) % 64)
            places[number] = self.own_base + len(content)
            at = len(content)
            for binding in sorted({(b.binding, b.count) for b in bindings if b.set == number}):
                for b in bindings:
                    if (b.set, b.binding) == (number, binding[0]):
                        self._put_descriptor(content, at + DESCRIPTOR * b.index, b)
                at += DESCRIPTOR * max(1, binding[1])
            content += bytes(at - len(content))
        content += bytes(-len(content) % 64)
        constants = self.own_base + len(content)
        content += push_constants
        # Scalar loads are of 1, 2, 4, 8 or 16 words, so that code may load more than it uses: memory is of whole pages.
        self.own = np.frombuffer(bytes(content) + bytes([memory.FILL]) * (-len(content) % PAGE), np.uint8)
        return places, constants

    def _put_descriptor(self, content: bytearray, at: int, binding: Binding) -> None:
        if binding.kind.endswith("dynamic"):
            raise Unsupported("descriptors with dynamic offsets")
        content += bytes(max(0, at + DESCRIPTOR - len(content)))
        address, size = self.window(binding.buffer), self.memories[binding.buffer].size
        # Stride 0, so that offsets are compared with bytes; the last word has a format, which untyped accesses ignore.
        struct.pack_into("<QII", content, at, address, size if self.exact else (size + 3) & ~3, 0)

    def region(self, address: int) -> tuple[int, Bytes]:
        """The memory that an address is of: where it begins, and its bytes."""
        return self._constants if address >= CODE_BASE else super().region(address)

    def read_one(self, address: int, size: int, where: str) -> bytes:
        """Bytes at one address. Raises Wrong outside memory."""
        base, data = self.region(address)
        offset = address - base
        if not 0 <= offset <= len(data) - size:
            raise Wrong(f"a load of {size} bytes at address {address:#x}, where no memory is", where)
        return data[offset : offset + size].tobytes()
