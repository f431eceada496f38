"""Typed buffers and their initial contents."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from msgspec import Meta, Struct

from cts.base.memory import splitmix64
from cts.case.model.component import Bits, ComponentType, Number, encode
from cts.case.model.operand import StorageClass

#: The largest buffer a case may declare, in bytes.
MAX_BUFFER_BYTES = 1 << 28


class _Data(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


#: What NumPy computes contents with.
_Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Iota(_Data, frozen=True):
    """Component i holds start + step * (i mod modulo), a number."""

    start: _Int64 = 0
    step: _Int64 = 1
    modulo: Annotated[int, Meta(ge=1)] | None = None


class Counter(_Data, frozen=True):
    """Component i holds the bit pattern (start + step * (i mod modulo)) mod 2^width.

    Tells where a component came from even in types too narrow for an iota of numbers.
    """

    start: _Int64 = 0
    step: _Int64 = 1
    modulo: Annotated[int, Meta(ge=1)] | None = None


class RandomBits(_Data, frozen=True):
    """Component i holds low bits of splitmix64(seed, i): any bit pattern, NaNs included."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Random(_Data, frozen=True):
    """Component i holds (low + splitmix64(seed, i) mod (high - low + 1)) / 2^halvings, a number."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    low: _Int64
    high: _Int64
    halvings: Annotated[int, Meta(ge=0, le=149)] = 0

    def __post_init__(self) -> None:
        if not 0 <= self.high - self.low < 2**63:
            raise ValueError(f"high is {self.high}: give one that is not below low, {self.low}")


class Data(_Data, frozen=True):
    """Exactly one source of initial contents. Component i of a `cycle` holds its number i mod its length."""

    fill: Number | None = None
    values: tuple[Number, ...] | None = None
    cycle: Annotated[tuple[Number, ...], Meta(min_length=1)] | None = None
    iota: Iota | None = None
    counter: Counter | None = None
    random: Random | None = None
    random_bits: RandomBits | None = None

    def __post_init__(self) -> None:
        kinds = [f for f in self.__struct_fields__ if getattr(self, f) is not None]
        if len(kinds) != 1:
            raise ValueError(
                f"give exactly one of {', '.join(self.__struct_fields__)}; got {', '.join(kinds) or 'none'}"
            )


#: NumPy itself limits dimensions, to 32 in its older versions.
Shape: TypeAlias = Annotated[tuple[Annotated[int, Meta(ge=1)], ...], Meta(max_length=16)]


#: Contents that begin late begin at a multiple of this, so that aligned addresses in a buffer stay aligned.
BEGIN_ALIGNMENT = 256

#: How far into a buffer byte offsets must work (TA-042).
MAX_REACH = 1 << 32


class Buffer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A buffer of prod(shape) elements (pointees), each `components` components of `type`.

    The innermost extent of `shape` is last. The shape is for readers and reports; memory is flat. The contents begin
    `begins_at` bytes after the buffer's start as the program sees it, and the program may not access the bytes before
    them: so byte offsets are large without all the memory (VK-066).
    """

    type: ComponentType
    shape: Shape
    data: Data
    components: Annotated[int, Meta(ge=1, le=4)] = 1
    storage: StorageClass = StorageClass.StorageBuffer
    begins_at: Annotated[int, Meta(ge=0, lt=MAX_REACH, multiple_of=BEGIN_ALIGNMENT)] = 0

    def __post_init__(self) -> None:
        if type(self.data) is not Data:
            raise ValueError(f"data is {self.data!r}: write data={_as_data(self.data)}")
        if self.components == 3:
            raise ValueError("components must be 1, 2 or 4: a 3-vector has no tight array stride")

    @property
    def element_size(self) -> int:
        """Bytes of one element (pointee)."""
        return self.type.size * self.components

    @property
    def elements(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def size(self) -> int:
        """Bytes of the contents."""
        return self.elements * self.element_size

    @property
    def reach(self) -> int:
        """Bytes from where the program sees the buffer begin to the end of its contents."""
        return self.begins_at + self.size


def _as_data(given: object) -> str:
    """What was probably meant, in Python."""
    match given:
        case Iota() | Counter() | Random():
            return f"Data({type(given).__name__.lower()}={given!r})"
        case RandomBits():
            return f"Data(random_bits={given!r})"
        case int() | float():
            return f"Data(fill={given})"
        case list() | tuple():
            return "Data(values=(...))"
    return "Data(...), with one of " + ", ".join(Data.__struct_fields__)


def _repeated(period: Bits, count: int) -> Bits:
    """So many components that repeat these."""
    return np.tile(period, -(-count // len(period)))[:count]


def initial_bits(buffer: Buffer) -> Bits:
    """The buffer's initial components as bit patterns, 1-D, dtype `buffer.type.bits_dtype`.

    Raises ValueError for numbers that the type does not represent, and for a wrong number of values.
    """
    data, component = buffer.data, buffer.type
    count = buffer.elements * buffer.components
    if data.fill is not None:
        return np.repeat(encode(component, [data.fill]), count)
    if data.values is not None:
        if len(data.values) != count:
            raise ValueError(f"values has {len(data.values)} numbers where the buffer has {count} components")
        return encode(component, data.values)
    if data.cycle is not None:
        return _repeated(encode(component, data.cycle), count)
    periodic = data.iota or data.counter
    if periodic is not None and periodic.modulo is not None:
        # One period is computed and then repeated: so even buffers of many megabytes are cheap.
        index = np.arange(min(periodic.modulo, count), dtype=np.int64)
    else:
        index = np.arange(count, dtype=np.int64)
    if data.iota is not None:
        return _repeated(encode(component, data.iota.start + data.iota.step * index), count)
    if data.counter is not None:
        return _repeated((data.counter.start + data.counter.step * index).astype(component.bits_dtype), count)
    if data.random is not None:
        span = np.uint64(data.random.high - data.random.low + 1)
        whole = data.random.low + (splitmix64(data.random.seed, index.astype(np.uint64)) % span).astype(np.int64)
        return encode(component, whole if not data.random.halvings else np.ldexp(whole, -data.random.halvings))
    assert data.random_bits is not None
    return splitmix64(data.random_bits.seed, index.astype(np.uint64)).astype(component.bits_dtype)
