"""The dispatch file as data: a module, its buffers and bindings, and what is compared afterwards."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from cts.dispatch.elements import ElementType, Number

#: Bytes that one buffer may have.
MAX_BUFFER_BYTES = 1 << 29

#: Bytes of push constants, more than any device has.
MAX_PUSH_BYTES = 1 << 16

Count: TypeAlias = Annotated[int, Meta(ge=1, le=2**32 - 1)]
Offset: TypeAlias = Annotated[int, Meta(ge=0, le=2**40)]
Shape: TypeAlias = Annotated[tuple[Annotated[int, Meta(ge=1, le=2**40)], ...], Meta(min_length=1)]


class _Data(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Address(_Data, frozen=True):
    """A 64-bit device address at byte `at`: where buffer `of` begins, plus `offset` bytes."""

    at: Offset
    of: str
    offset: Annotated[int, Meta(ge=-(2**40), le=2**40)] = 0


class Iota(_Data, frozen=True):
    """Element i holds start + step * (i mod modulo)."""

    modulo: Annotated[int, Meta(ge=1, le=2**40)] | None = None
    start: Annotated[int, Meta(ge=-(2**53), le=2**53)] = 0
    step: Annotated[int, Meta(ge=-(2**20), le=2**20)] = 1


class Random(_Data, frozen=True):
    """Elements are uniform from low to high: integers both included, floats rounded to the type."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    low: int | float
    high: int | float

    def __post_init__(self) -> None:
        for bound in (self.low, self.high):
            if not abs(bound) <= sys.float_info.max / 2:
                raise ValueError(f"{bound} is not a finite number, or too large")
        if not self.low <= self.high:
            raise ValueError(f"low is {self.low}, high is {self.high}: give a low that is not above high")


class Source(_Data, frozen=True):
    """Where elements come from. `type` beside a file reads its bytes as that type, `shape` gives it that shape."""

    file: str | None = None
    type: ElementType | None = None
    shape: Shape | None = None
    fill: Number | None = None
    values: Annotated[tuple[Number, ...], Meta(min_length=1)] | None = None
    iota: Iota | None = None
    random: Random | None = None

    def __post_init__(self) -> None:
        given = [f for f in ("file", "fill", "values", "iota", "random") if getattr(self, f) is not None]
        if len(given) != 1:
            listed = " and ".join(given) or "none"
            raise ValueError(f"give exactly one of file, fill, values, iota and random; got {listed}")
        if self.file is None and self.type is None:
            raise ValueError(f"{given[0]} needs a type, for example `type: float32`")
        if self.file is None and self.values is None and self.shape is None:
            raise ValueError(f"{given[0]} needs a shape, for example `shape: [64, 64]`")


class Buffer(Source, frozen=True):
    """Initial contents of a buffer; `addresses` are written over them."""

    addresses: tuple[Address, ...] = ()


class Expected(Source, frozen=True):
    """What a buffer holds after the run: equal within atol + rtol * |expected|."""

    atol: Annotated[float, Meta(ge=0)] = 0.0
    rtol: Annotated[float, Meta(ge=0)] = 0.0


class PushValue(_Data, frozen=True):
    """A number among the push constants, at the next multiple of its size."""

    type: ElementType
    value: Number


class PushConstants(_Data, frozen=True):
    """Push constants: `bytes` in memory order as "0x...", or `values`; `addresses` are written over them."""

    bytes: Annotated[str, Meta(pattern="^0x([0-9a-fA-F]{2})*$")] | None = None
    values: tuple[PushValue, ...] | None = None
    addresses: tuple[Address, ...] = ()

    def __post_init__(self) -> None:
        if self.bytes is not None and self.values is not None:
            raise ValueError("give bytes or values, not both")


class DispatchFile(_Data, frozen=True):
    """One dispatch of one SPIR-V compute module. Paths are relative to the file.

    `entry` may be left out where there is one GLCompute entry point. `subgroup_size` requires a size;
    without it a driver runs at its own, the interpreter at 32. `bindings` maps "set.binding", or
    "set.binding[index]" of an array of descriptors, to buffers; whether a descriptor is a storage or a
    uniform buffer, the module says. `outputs` are compared between drivers and written; `ignore` is
    not compared; every other buffer must come back unchanged.
    """

    module: str
    dispatch: tuple[Count, Count, Count]
    buffers: dict[str, Buffer]
    entry: str | None = None
    subgroup_size: Literal[1, 2, 4, 8, 16, 32, 64, 128] | None = None
    spec_constants: dict[Annotated[int, Meta(ge=0, le=2**32 - 1)], Number] = msgspec.field(default_factory=dict)
    push_constants: PushConstants | None = None
    bindings: dict[str, str] = msgspec.field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    expected: dict[str, Expected] = msgspec.field(default_factory=dict)


_BINDING = re.compile(r"(\d{1,9})\.(\d{1,9})(?:\[(\d{1,9})\])?")


def binding_of(text: str) -> tuple[int, int, int | None]:
    """Set, binding and index of a key of `bindings`. Raises ValueError."""
    match = _BINDING.fullmatch(text)
    if match is None:
        raise ValueError(f'{text!r} is no binding: "set.binding" or, in an array of descriptors, "set.binding[index]"')
    return int(match[1]), int(match[2]), None if match[3] is None else int(match[3])
