"""One buffer's contents as a wrong program leaves them: with its guard bytes, and elements that stores race for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.base.memory import GUARD_BYTES, guard_pattern
from cts.case.model import Buffer, ComponentType
from cts.case.oracle.expectation import Allowed, Freedom
from cts.reference.common.memory import Memory
from cts.reference.numeric.arrays import I64, U8, Bits, Mask
from cts.reference.numeric.value import Value, where


class GuardedMemory(Memory):
    """A buffer of which a wrong program reads and writes the guard bytes around it, too.

    Beyond them both raise IndexError. Of numbers that are not exact the guard has the nearest one, and of those that
    may be any it stays as it was.
    """

    beyond = GUARD_BYTES

    def __init__(self, buffer: Buffer, contents: U8 | None = None) -> None:
        super().__init__(buffer, contents)
        self.guards: U8 = np.tile(guard_pattern(), 2)
        #: Elements to which one store had several values, by their first bytes. Loads read the last one.
        self.raced: dict[int, set[bytes]] = {}

    def load(self, byte: I64, component: ComponentType) -> Value:
        outside = self._outside(byte, component.size)
        if (byte % component.size).any():
            return self._unaligned(byte, component)
        if not outside.any():
            return super().load(byte, component)
        bytes_ = self.guards[self._places(byte, outside, component.size)]
        bits = np.ascontiguousarray(bytes_).view(component.bits_dtype)[..., 0]
        return where(outside, Value(component, bits), super().load(np.where(outside, 0, byte), component))

    def store(self, byte: I64, accessed: Mask | None, value: Value) -> None:
        component = value.component
        assert component is not None
        outside = self._outside(byte, component.size)
        if accessed is not None:
            outside = outside & accessed
        self._race(byte, True if accessed is None else accessed, value.bits)
        if not outside.any():
            super().store(byte, accessed, value)
            return
        shape = np.broadcast_shapes(outside.shape, value.shape)
        written, bits, unknown = (
            np.broadcast_to(a, shape) for a in (outside, value.bits, value.flags & Freedom.ANY != 0)
        )
        written = written & ~unknown
        places = self._places(np.broadcast_to(byte, shape), written, component.size)[written]
        self.guards[places] = bits[written][:, None].copy().view(np.uint8)
        kept = ~outside if accessed is None else ~outside & accessed
        super().store(np.where(outside, 0, byte), kept, value)

    def _race(self, byte: I64, accessed: Mask | bool, bits: Bits) -> None:
        """Note where elements of one store have different values: any of them may stay, and none of earlier stores."""
        stored, byte, bits = np.broadcast_arrays(accessed, byte, bits)
        byte, bits = byte[stored], bits[stored]
        if self.raced:
            for place in byte.tolist():
                self.raced.pop(place, None)
        order = np.argsort(byte, kind="stable")
        byte, bits = byte[order], bits[order]
        raced = byte[1:][(byte[1:] == byte[:-1]) & (bits[1:] != bits[:-1])]
        for place, value in zip(byte[several := np.isin(byte, raced)].tolist(), bits[several], strict=True):
            self.raced.setdefault(place, set()).add(value.tobytes())

    def _unaligned(self, byte: I64, component: ComponentType) -> Value:
        """Components at any byte offsets, such as the fields of a block that is read elsewhere."""
        if self.layers or len(self.rows) > 1:
            raise IndexError("half of a number that is not exact")
        front, behind = np.split(self.guards, 2)
        whole = np.concatenate([front, self.rows[0, : self.size], behind])
        places = byte[..., None] + GUARD_BYTES + np.arange(component.size)
        if (places < 0).any() or (places >= len(whole)).any():
            raise IndexError("not of a guard")
        return Value(component, whole[places].view(component.bits_dtype)[..., 0])

    def allowed(self, sets: int = 1) -> Allowed:
        return replace(super().allowed(sets), guards=self.guards, raced=self.raced)

    def _outside(self, byte: I64, size: int) -> Mask:
        outside = (byte < 0) | (byte > self.size - size)
        return outside if outside.any() else np.zeros((1, 1, 1, 1), bool)

    def _places(self, byte: I64, outside: Mask, size: int) -> I64:
        """The guard bytes of components, (..., size)."""
        behind = byte >= self.size
        wrong = (byte < -GUARD_BYTES) | (~behind & (byte > -size)) | (byte > self.size + GUARD_BYTES - size)
        if (outside & wrong).any():
            raise IndexError("not of a guard")
        first = np.where(outside, byte + GUARD_BYTES - self.size * behind, 0)
        places: I64 = first[..., None] + np.arange(size)
        return places
