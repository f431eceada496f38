"""Atomic operations on LDS, buffers and global memory (RDNA 4 ISA, "Atomic Memory Operations").

Lanes take their turns from the lowest one on: hardware has some order, and no program may depend on which one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from cts.drivers.amd.formats import Array
from cts.drivers.amd.isa.lds import Shape, deliver, loaded
from cts.drivers.amd.isa.scalar_alu import signed
from cts.drivers.amd.isa.vector_memory import Place, buffer_place, global_place
from cts.drivers.amd.listing import Instruction, Operand
from cts.drivers.amd.operands import registers
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Pending, Wave
from cts.drivers.machine.problems import Unsupported

#: Memory before and the operand, as patterns; what memory holds after it.
Change: TypeAlias = Callable[[int, int], int]


def _integer(bits: int) -> dict[str, Change]:
    mask = (1 << bits) - 1

    def larger(a: int, b: int) -> int:
        return max(a, b, key=lambda x: signed(x, bits))

    def smaller(a: int, b: int) -> int:
        return min(a, b, key=lambda x: signed(x, bits))

    return {
        f"add_u{bits}": lambda a, b: a + b & mask,
        f"sub_u{bits}": lambda a, b: a - b & mask,
        f"rsub_u{bits}": lambda a, b: b - a & mask,
        f"min_i{bits}": smaller,
        f"max_i{bits}": larger,
        f"min_u{bits}": min,
        f"max_u{bits}": max,
        f"and_b{bits}": lambda a, b: a & b,
        f"or_b{bits}": lambda a, b: a | b,
        f"xor_b{bits}": lambda a, b: a ^ b,
        f"inc_u{bits}": lambda a, b: 0 if a >= b else a + 1,
        f"dec_u{bits}": lambda a, b: b if a == 0 or a > b else a - 1,
        f"swap_b{bits}": lambda a, b: b,
    }


def _float(compute: Callable[[Any, Any], Any]) -> Change:
    def change(a: int, b: int) -> int:
        x, y = (np.uint32(v).view(np.float32) for v in (a, b))
        return int(np.float32(compute(x, y)).view(np.uint32))

    return change


def _extreme(sign: int) -> Callable[[Any, Any], Any]:
    """The larger or smaller number; of a NaN and a number the number, and -0 is less than 0."""

    def choose(x: Any, y: Any) -> Any:
        if np.isnan(x) or np.isnan(y):
            return y if np.isnan(x) else x
        key = (sign * x, bool(np.signbit(x)) != (sign > 0)), (sign * y, bool(np.signbit(y)) != (sign > 0))
        return x if key[0] >= key[1] else y

    return choose


def _halves(a: int, b: int) -> int:
    low, high = (struct.unpack("<2e", struct.pack("<I", v)) for v in (a, b))
    pair = [np.float16(np.float16(x) + np.float16(y)) for x, y in zip(low, high, strict=True)]
    return int(np.array(pair, np.float16).view(np.uint32)[0])


_FLOATS: dict[str, Change] = {
    "add_f32": _float(lambda x, y: x + y),
    "min_num_f32": _float(_extreme(-1)),
    "max_num_f32": _float(_extreme(1)),
    "pk_add_f16": _halves,
}
CHANGES: dict[str, Change] = {**_integer(32), **_integer(64), **_FLOATS}

#: The names of RDNA 3.
_OLDER = {"min_f32": "min_num_f32", "max_f32": "max_num_f32"}

_ALL = (*CHANGES, *_OLDER)
_COMPARED = ("cmpswap_b32", "cmpswap_b64")


def _change(name: str) -> tuple[Change, int]:
    """The operation, and its bytes."""
    return CHANGES[_OLDER.get(name, name)], 8 if name.endswith("64") else 4


def _values(w: Wave, operand: Operand, size: int, first: int = 0) -> list[int]:
    """The patterns of active lanes."""
    words = w.v[operand.number + first : operand.number + first + size // 4].astype(np.uint64)
    row = words[0] if size == 4 else words[0] | words[1] << np.uint64(32)
    values: list[int] = row[w.mask].tolist()
    return values


def _exchange(
    places: Array, inside: Array, size: int, read: Any, write: Any, change: Callable[[int, int], int], where: str
) -> Array:
    """Change memory lane by lane; what it held before, bytes of (lanes, size)."""
    before = np.zeros((len(places), size), np.uint8)
    for n in np.flatnonzero(inside):
        at = places[n : n + 1]
        before[n] = read(at, size, where)[0]
        after = change(int(n), int.from_bytes(before[n].tobytes(), "little"))
        write(at, np.frombuffer(after.to_bytes(size, "little"), np.uint8)[None], where)
    return before


def _compared(w: Wave, data: Operand, size: int, second: Operand | None = None) -> Callable[[int, int], int]:
    """A store of the first value where memory holds the second one."""
    new = _values(w, data, size)
    wanted = _values(w, second, size) if second else _values(w, data, size, size // 4)
    return lambda n, old: new[n] if old == wanted[n] else old


# Buffers and global memory. Those that return what memory held count as loads.


def _returns(i: Instruction) -> bool:
    return i.modifiers.get("th") == "TH_ATOMIC_RETURN" or i.flag("glc")


def _memory(i: Instruction, data: Operand, target: Operand | None, name: str, place: Place) -> Run:
    compares, where = name in _COMPARED, i.where
    size = 8 if name.endswith("64") else 4
    operation = None if compares else _change(name)[0]

    def run(w: Wave) -> None:
        addresses, within = place(w)
        inside = np.ones(len(addresses), np.bool_) if within is None else within >= size
        if operation is None:
            change = _compared(w, data, size)
        else:
            values = _values(w, data, size)
            change = lambda n, old: operation(old, values[n])  # noqa: E731 - one of two
        memory = w.group.memory
        before = _exchange(addresses, inside, size, memory.read, memory.write, change, where)
        if target is not None:
            shape = Shape(size)
            written = frozenset(sorted(registers(target))[: size // 4])
            w.issue("load", Pending(written, where, deliver(target, loaded(before, shape), shape, w.mask)))

    return run


@instruction(*(f"buffer_atomic_{name}" for name in (*_ALL, *_COMPARED)), updates=True, counter="load")
def _buffer(i: Instruction, _: Context) -> Run:
    name, data = i.mnemonic.removeprefix("buffer_atomic_"), i.operands[0]
    size = 8 if name.endswith("64") else 4
    return _memory(i, data, data if _returns(i) else None, name, buffer_place(i, i.operands[1:4], size))


@instruction(*(f"global_atomic_{name}" for name in (*_ALL, *_COMPARED)), updates=True, counter="load")
def _global(i: Instruction, _: Context) -> Run:
    name, returns = i.mnemonic.removeprefix("global_atomic_"), _returns(i)
    if len(i.operands) != 3 + returns:
        raise Unsupported(f"{len(i.operands)} operands")
    address, data, base = i.operands[-3:]
    return _memory(i, data, i.operands[0] if returns else None, name, global_place(i, address, base))


# LDS.

_LDS_NAMES = {name.replace("swap", "storexchg"): name for name in _ALL}


def _ds_names() -> list[str]:
    plain = [f"ds_{name}" for name in _LDS_NAMES if not name.startswith("storexchg")]
    returning = [f"ds_{'_rtn_'.join(name.rsplit('_', 1))}" for name in _LDS_NAMES]
    return [*plain, *returning]


def _lds(i: Instruction, operands: tuple[Operand, ...], target: Operand | None, name: str) -> Run:
    address, data, *second = operands
    compares = bool(second)
    size = 8 if name.endswith("64") else 4
    operation = None if compares else _change(_LDS_NAMES[name])[0]
    offset, where = i.number("offset"), i.where

    def run(w: Wave) -> None:
        places = (w.v[address.number][w.mask] + np.uint32(offset)).astype(np.int64)
        if operation is None:
            change = _compared(w, data, size, second[0])
        else:
            values = _values(w, data, size)
            change = lambda n, old: operation(old, values[n])  # noqa: E731 - one of two
        lds, inside = w.group.lds, np.ones(len(places), np.bool_)
        before = _exchange(places, inside, size, lds.read, lds.write, change, where)
        if target is None:
            w.issue("ds", Pending(frozenset(), where, lambda w: None))
        else:
            shape = Shape(size)
            w.issue("ds", Pending(registers(target), where, deliver(target, loaded(before, shape), shape, w.mask)))

    return run


def _plain_name(i: Instruction) -> str:
    return i.mnemonic.removeprefix("ds_").replace("_rtn_", "_")


@instruction(*(name for name in _ds_names() if "_rtn_" not in name), "ds_cmpstore_b32", "ds_cmpstore_b64", outs=0)
def _lds_changed(i: Instruction, _: Context) -> Run:
    return _lds(i, i.operands, None, _plain_name(i))


@instruction(
    *(name for name in _ds_names() if "_rtn_" in name), "ds_cmpstore_rtn_b32", "ds_cmpstore_rtn_b64", counter="ds"
)
def _lds_exchanged(i: Instruction, _: Context) -> Run:
    return _lds(i, i.operands[1:], i.operands[0], _plain_name(i))
