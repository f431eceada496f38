"""LDS accesses: DS (RDNA 4 ISA, "LDS"). Addresses are bytes; each lane has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cts.drivers.amd.formats import Array
from cts.drivers.amd.listing import M0, Instruction, Operand
from cts.drivers.amd.operands import registers
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Pending, Wave


class Shape(NamedTuple):
    """What a load or store moves: bytes in memory, and how a register has them.

    A value of less than 32 bits fills its register, signed or not, or goes to half `half` of it.
    """

    size: int
    signed: bool = False
    half: int | None = None


#: By what follows "load_" or "store_" of a mnemonic, LDS's and global memory's.
LOADS = {
    "b32": Shape(4), "b64": Shape(8), "b96": Shape(12), "b128": Shape(16),
    "u8": Shape(1), "i8": Shape(1, signed=True), "u16": Shape(2), "i16": Shape(2, signed=True),
    "u8_d16": Shape(1, half=0), "i8_d16": Shape(1, signed=True, half=0), "u16_d16": Shape(2, half=0),
    "u8_d16_hi": Shape(1, half=1), "i8_d16_hi": Shape(1, signed=True, half=1), "u16_d16_hi": Shape(2, half=1),
    "d16_u8": Shape(1, half=0), "d16_i8": Shape(1, signed=True, half=0), "d16_b16": Shape(2, half=0),
    "d16_hi_u8": Shape(1, half=1), "d16_hi_i8": Shape(1, signed=True, half=1), "d16_hi_b16": Shape(2, half=1),
}  # fmt: skip
STORES = {
    "b8": Shape(1), "b16": Shape(2), "b32": Shape(4), "b64": Shape(8), "b96": Shape(12), "b128": Shape(16),
    "b8_d16_hi": Shape(1, half=1), "b16_d16_hi": Shape(2, half=1),
    "d16_hi_b8": Shape(1, half=1), "d16_hi_b16": Shape(2, half=1),
}  # fmt: skip

_LDS_LOADS = {f"ds_load_{name}": LOADS[name] for name in LOADS if not name.startswith("d16")}
_LDS_STORES = {f"ds_store_{name}": STORES[name] for name in STORES if not name.startswith("d16")}


def loaded(data: Array, shape: Shape) -> Array:
    """Bytes of memory, (lanes, size), as words or halves of registers: (registers, lanes)."""
    if shape.size >= 4:
        return np.ascontiguousarray(data).view(np.uint32).T
    wide: Any = np.uint32 if shape.half is None else np.uint16
    values: Any = np.ascontiguousarray(data).view(np.uint8 if shape.size == 1 else np.uint16)[:, 0]
    if shape.signed:
        signed = values.view(np.int8 if shape.size == 1 else np.int16)
        values = signed.astype(np.int32 if wide is np.uint32 else np.int16).view(wide)
    extended: Array = values.astype(wide)
    return extended[None]


def deliver(target: Operand, values: Array, shape: Shape, mask: Array) -> Callable[[Wave], None]:
    """What writes loaded values to the registers of the lanes that asked for them."""

    def write(w: Wave) -> None:
        for n, row in enumerate(values, target.number):
            into = w.v[n] if shape.half is None else w.halves[shape.half][n]
            into[mask] = row

    return write


def stored(w: Wave, source: Operand, shape: Shape) -> Array:
    """The bytes that active lanes store: (active lanes, size)."""
    if shape.size >= 4:
        words = w.v[source.number : source.number + shape.size // 4].T[w.mask]
        return np.ascontiguousarray(words).view(np.uint8)
    halves = w.halves[shape.half or 0][source.number][w.mask]
    return np.ascontiguousarray(halves).view(np.uint8).reshape(-1, 2)[:, : shape.size]


def _done(where: str) -> Pending:
    """A store, which the counter of LDS accesses counts as well."""
    return Pending(frozenset(), where, lambda w: None)


def _offsets(w: Wave, address: Operand, offset: int) -> Array:
    # The sum wraps around: compilers fold negative parts into the register.
    own: Array = w.v[address.number][w.mask] + np.uint32(offset)
    return own.astype(np.int64)


@instruction(*_LDS_LOADS, counter="ds")
def _load(i: Instruction, _: Context) -> Run:
    shape, (target, address) = _LDS_LOADS[i.mnemonic], i.operands
    offset, written, where = i.number("offset"), registers(target), i.where

    def run(w: Wave) -> None:
        values = loaded(w.group.lds.read(_offsets(w, address, offset), shape.size, where), shape)
        w.issue("ds", Pending(written, where, deliver(target, values, shape, w.mask)))

    return run


@instruction(*_LDS_STORES, outs=0)
def _store(i: Instruction, _: Context) -> Run:
    shape, (address, source) = _LDS_STORES[i.mnemonic], i.operands
    offset, where = i.number("offset"), i.where

    def run(w: Wave) -> None:
        w.group.lds.write(_offsets(w, address, offset), stored(w, source, shape), where)
        w.issue("ds", _done(where))

    return run


_PAIRS = {
    f"_2addr{stride}_b{bits}": (bits // 8, (64 if stride else 1) * bits // 8)
    for stride in ("", "_stride64")
    for bits in (32, 64)
}


@instruction(*(f"ds_load{name}" for name in _PAIRS), counter="ds")
def _load_two(i: Instruction, _: Context) -> Run:
    """Two values at offsets that count elements, or 64 of them."""
    size, unit = _PAIRS[i.mnemonic.removeprefix("ds_load")]
    target, address = i.operands
    offsets, written, where = [i.number(f"offset{n}") * unit for n in (0, 1)], registers(target), i.where
    shape = Shape(2 * size)

    def run(w: Wave) -> None:
        both = [w.group.lds.read(_offsets(w, address, o), size, where) for o in offsets]
        values = loaded(np.concatenate(both, axis=1), shape)
        w.issue("ds", Pending(written, where, deliver(target, values, shape, w.mask)))

    return run


@instruction(*(f"ds_store{name}" for name in _PAIRS), outs=0)
def _store_two(i: Instruction, _: Context) -> Run:
    size, unit = _PAIRS[i.mnemonic.removeprefix("ds_store")]
    address, *sources = i.operands
    offsets, where, shape = [i.number(f"offset{n}") * unit for n in (0, 1)], i.where, Shape(size)

    def run(w: Wave) -> None:
        for offset, source in zip(offsets, sources, strict=True):
            w.group.lds.write(_offsets(w, address, offset), stored(w, source, shape), where)
        w.issue("ds", _done(where))

    return run


def _own(w: Wave, offset: int) -> Array:
    """A word of each active lane behind another, from where M0 says on."""
    own: Array = np.flatnonzero(w.mask).astype(np.int64) * 4 + ((w.s[M0] & 0xFFFF) + offset)
    return own


@instruction("ds_load_addtid_b32", counter="ds")
def _load_own(i: Instruction, _: Context) -> Run:
    """What a compiler has put aside: the address is M0's low half, the offset, and four times the lane's number."""
    target, offset, where = i.operands[0], i.number("offset"), i.where

    def run(w: Wave) -> None:
        values = loaded(w.group.lds.read(_own(w, offset), 4, where), Shape(4))
        w.issue("ds", Pending(registers(target), where, deliver(target, values, Shape(4), w.mask)))

    return run


@instruction("ds_store_addtid_b32", outs=0)
def _store_own(i: Instruction, _: Context) -> Run:
    source, offset, where = i.operands[0], i.number("offset"), i.where

    def run(w: Wave) -> None:
        w.group.lds.write(_own(w, offset), stored(w, source, Shape(4)), where)
        w.issue("ds", _done(where))

    return run
