"""Memory as compiled code sees it: buffers at addresses, a driver's own memory, and what a workgroup shares."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cts.drivers.machine.problems import Wrong
from cts.drivers.vulkan.worker.protocol import Address, Memory

Bytes: TypeAlias = npt.NDArray[np.uint8]
Addresses: TypeAlias = npt.NDArray[np.uint64]

#: The address of the buffers. Of the 48 bits of a descriptor's address RADV takes bit 46 for itself: code clears it
#: before scalar loads.
BASE = 0x1000_0000_0000

#: Bytes between buffers that belong to none, and what they hold.
GAP = 4096
FILL = 0xA5

#: Windows of buffers are aligned so.
ALIGNMENT = 256


class AddressSpace:
    """The buffers of a parameter set one after the other, with gaps between; and the driver's `own` memory.

    `exact`: accesses end with the windows of buffers, else with the next multiple of four (robustBufferAccess2).
    """

    #: The address of what the driver itself keeps.
    own_base = 0xFFFF_8000_0010_0000

    def __init__(self, memories: Sequence[Memory], exact: bool = False) -> None:
        self.memories = tuple(memories)
        self.exact = exact
        self.starts: list[int] = []
        end = GAP
        for memory in memories:
            end += max(0, -memory.start)
            end += -(end + memory.start) % ALIGNMENT
            self.starts.append(end)
            end += len(memory.data) + GAP
        self.data: Bytes = np.full(end, FILL, np.uint8)
        self.before: list[bytes] = []
        for start, memory in zip(self.starts, memories, strict=True):
            contents = self.patched(memory.data, memory.addresses)
            self.data[start : start + len(contents)] = np.frombuffer(contents, np.uint8)
            self.before.append(contents)
        self.own: Bytes = np.zeros(0, np.uint8)

    def window(self, buffer: int) -> int:
        """The address that a buffer's descriptor or pointer has."""
        return BASE + self.starts[buffer] + self.memories[buffer].start

    def patched(self, data: bytes, addresses: tuple[Address, ...]) -> bytes:
        """Bytes with device addresses filled in."""
        filled = bytearray(data)
        for a in addresses:
            struct.pack_into("<Q", filled, a.at, self.window(a.buffer) + a.offset)
        return bytes(filled)

    def read(self, addresses: Addresses, size: int, where: str) -> Bytes:
        """`size` bytes at each address, uint8 (addresses, size). Raises Wrong outside memory."""
        data, offsets = self._located(addresses, size, where)
        bytes_read: Bytes = data[offsets[:, None] + np.arange(size)]
        return bytes_read

    def write(self, addresses: Addresses, values: Bytes, where: str) -> None:
        """Write rows of bytes at addresses, the last lane winning. Raises Wrong outside memory."""
        data, offsets = self._located(addresses, values.shape[1], where)
        if data is not self.data:
            raise Wrong("a store to the driver's own memory", where)
        data[offsets[:, None] + np.arange(values.shape[1])] = values

    def region(self, address: int) -> tuple[int, Bytes]:
        """The memory that an address is of: where it begins, and its bytes."""
        return (self.own_base, self.own) if address >= self.own_base else (BASE, self.data)

    def _located(self, addresses: Addresses, size: int, where: str) -> tuple[Bytes, npt.NDArray[np.int64]]:
        base, data = self.region(int(addresses[0])) if len(addresses) else (BASE, self.data)
        offsets = (addresses - np.uint64(base)).astype(np.int64)
        if len(offsets):
            low, high = int(offsets.min()), int(offsets.max())
            if low < 0 or high + size > len(data):
                bad = int(addresses[(offsets < 0) | (offsets + size > len(data))][0])
                raise Wrong(f"an access of {size} bytes at address {bad:#x}, where no memory is", where)
        return data, offsets

    def after(self) -> tuple[bytes | None, ...]:
        """What each buffer holds now, None where it is as it was; addresses count as what was filled in for them.

        Raises Wrong where memory between buffers was written.
        """
        beyond = np.ones(len(self.data), np.bool_)
        results: list[bytes | None] = []
        for start, memory, before in zip(self.starts, self.memories, self.before, strict=True):
            size = len(memory.data)
            beyond[start : start + size] = False
            now = bytearray(self.data[start : start + size].tobytes())
            if now == before:
                results.append(None)
                continue
            for a in memory.addresses:
                if now[a.at : a.at + 8] == before[a.at : a.at + 8]:
                    now[a.at : a.at + 8] = memory.data[a.at : a.at + 8]
            results.append(bytes(now))
        stray = np.flatnonzero(beyond & (self.data != FILL))
        if len(stray):
            raise Wrong(f"a store outside every buffer, at address {BASE + int(stray[0]):#x}")
        return tuple(results)


class Lds:
    """The LDS of a workgroup, to which an access beyond it is a finding.

    Loads may go up to a multiple of `unit` bytes, of which hardware gives whole ones: what nothing wrote is there.
    """

    def __init__(self, size: int, fill: int = FILL, unit: int = 1) -> None:
        self.size = size
        self.data: Bytes = np.full(-(-size // unit) * unit, fill, np.uint8)

    def read(self, offsets: npt.NDArray[Any], size: int, where: str) -> Bytes:
        """`size` bytes at each offset."""
        self._check(offsets, size, where, len(self.data))
        bytes_read: Bytes = self.data[offsets[:, None] + np.arange(size)]
        return bytes_read

    def write(self, offsets: npt.NDArray[Any], values: Bytes, where: str) -> None:
        """Write rows of bytes at offsets, the last lane winning."""
        self._check(offsets, values.shape[1], where, self.size)
        self.data[offsets[:, None] + np.arange(values.shape[1])] = values

    def _check(self, offsets: npt.NDArray[Any], size: int, where: str, end: int) -> None:
        if len(offsets) and int(offsets.max()) + size > end:
            what = f"an access of {size} bytes at byte {int(offsets.max())} of the workgroup's {self.size} bytes of LDS"
            raise Wrong(what, where)
