"""How instructions read and write their operands, as functions of a wave."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cts.drivers.amd.formats import flushed
from cts.drivers.amd.listing import EXEC, NULL, Instruction, Operand
from cts.drivers.amd.modes import Modes
from cts.drivers.amd.wave import MASK32, VECTOR, Wave, packed, unpacked
from cts.drivers.machine.problems import Unsupported

Array: TypeAlias = npt.NDArray[Any]
ReadScalar: TypeAlias = Callable[[Wave], int]
WriteScalar: TypeAlias = Callable[[Wave, int], None]
Read: TypeAlias = Callable[[Wave], Any]
Write: TypeAlias = Callable[[Wave, Any], None]

#: What a lane's operand is taken for: bits of 16, 32 or 64, signed integers, floating point.
Type: TypeAlias = Literal["b16", "i16", "f16", "b32", "i32", "f32", "b64", "i64", "f64"]

DTYPES: dict[str, Any] = {
    "b16": np.uint16,
    "i16": np.int16,
    "f16": np.float16,
    "b32": np.uint32,
    "i32": np.int32,
    "f32": np.float32,
    "b64": np.uint64,
    "i64": np.int64,
    "f64": np.float64,
}

#: Types as words of their size.
_WORDS: dict[int, Any] = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def registers(operand: Operand) -> frozenset[int]:
    """The registers of an operand, vector registers from VECTOR on."""
    if not operand.is_register:
        return frozenset()
    first = operand.number + (VECTOR if operand.kind == "vgpr" else 0)
    return frozenset(range(first, first + operand.count)) - {NULL}


def float_bits(value: float, bits: int) -> int:
    """The pattern of a constant of a floating-point instruction (RDNA 4 ISA, "Constants")."""
    code, word = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[bits]
    return int(struct.unpack(word, struct.pack(code, value))[0])


def constant(operand: Operand, bits: int) -> int:
    """The bits of a constant in an operation of this size, with its sign and absolute value as for floating point."""
    value = float_bits(operand.value, bits) if operand.kind == "float" else operand.number & ((1 << bits) - 1)
    if operand.absolute:
        value &= (1 << bits - 1) - 1
    return value ^ (1 << bits - 1) if operand.negated else value


# Scalar operands: Python's integers.


def scalar(operand: Operand, bits: int = 32) -> ReadScalar:
    """Reads 32 or 64 bits of scalar registers or a constant."""
    n = operand.number
    if operand.kind == "sgpr":
        if operand.negated or operand.absolute:
            raise Unsupported(f"the operand {operand.text} of a scalar instruction")
        if bits == 64:
            return lambda w: w.s[n] | w.s[n + 1] << 32
        return lambda w: w.s[n]
    if operand.kind == "scc":
        return lambda w: w.scc
    if operand.kind in ("integer", "float"):
        value = constant(operand, bits)
        return lambda w: value
    raise Unsupported(f"the operand {operand.text} of a scalar instruction")


def to_scalar(operand: Operand, bits: int = 32) -> WriteScalar:
    """Writes 32 or 64 bits to scalar registers; those of EXEC change which lanes are active."""
    n = operand.number
    if operand.kind != "sgpr":
        raise Unsupported(f"the destination {operand.text} of a scalar instruction")
    if n == NULL:
        return lambda w, value: None

    def put32(w: Wave, value: int) -> None:
        w.s[n] = value

    def put64(w: Wave, value: int) -> None:
        w.s[n] = value & MASK32
        w.s[n + 1] = value >> 32

    put = put64 if bits == 64 else put32
    if n not in (EXEC, EXEC + 1):
        return put

    def put_exec(w: Wave, value: int) -> None:
        put(w, value)
        w.refresh()

    return put_exec


def lane_mask(operand: Operand, lanes: int) -> Callable[[Wave], npt.NDArray[np.bool_]]:
    """Reads a mask of lanes."""
    bits = max(32, lanes)
    read = scalar(operand, bits)
    return lambda w: unpacked(read(w), lanes)


def to_lane_mask(operand: Operand, lanes: int) -> Callable[[Wave, npt.NDArray[np.bool_]], None]:
    """Writes a mask of lanes; those of inactive lanes become 0 (RDNA 4 ISA, "Vector Compare")."""
    write = to_scalar(operand, max(32, lanes))
    return lambda w, mask: write(w, packed(np.broadcast_to(mask, lanes)) & w.exec)


# Vector operands: arrays with an element for each lane, or NumPy scalars.


def vector(operand: Operand, kind: Type, modes: Modes) -> Read:
    """Reads an operand of a vector instruction as an array of a kind, with its sign and absolute value.

    Denormals of floating-point types are flushed where the mode says so.
    """
    dtype = np.dtype(DTYPES[kind])
    read = _bare(operand, kind, dtype)
    floating = kind.startswith("f")
    if operand.is_register and (operand.negated or operand.absolute):
        if not floating:
            raise Unsupported(f"the sign of {operand.text} in an operation of integers")
        read = _signed(read, operand)
    if floating and modes.flushes(kind):
        plain = read
        return lambda w: flushed(plain(w))
    return read


def _bare(operand: Operand, kind: Type, dtype: np.dtype[Any]) -> Read:
    n, size = operand.number, dtype.itemsize
    if operand.kind == "vgpr":
        return _register(operand, kind, dtype)
    if operand.kind == "sgpr":
        if size == 8:
            return lambda w: np.uint64(w.s[n] | w.s[n + 1] << 32).view(dtype)
        if size == 2:
            shift = 16 if operand.half else 0
            return lambda w: np.uint16(w.s[n] >> shift & 0xFFFF).view(dtype)
        return lambda w: np.uint32(w.s[n]).view(dtype)
    if operand.kind == "scc":
        return lambda w: _WORDS[size](w.scc).view(dtype)
    if operand.kind in ("integer", "float"):
        value = _WORDS[size](constant(operand, 8 * size)).view(dtype)
        return lambda w: value
    raise Unsupported(f"the operand {operand.text} of a vector instruction")


def _register(operand: Operand, kind: Type, dtype: np.dtype[Any]) -> Read:
    n, h = operand.number, operand.half or 0
    if h and dtype.itemsize > 2:
        raise Unsupported(f"the half {operand.text} as an operand of {8 * dtype.itemsize} bits")
    if dtype.itemsize == 8:
        return lambda w: (w.v[n] | w.v[n + 1].astype(np.uint64) << np.uint64(32)).view(dtype)
    if kind == "f32":
        return lambda w: w.vf[n]
    if kind == "b32":
        return lambda w: w.v[n]
    if kind == "i32":
        return lambda w: w.vi[n]
    if kind == "f16":
        return lambda w: w.floats[h][n]
    return lambda w: w.halves[h][n].view(dtype)


def _signed(read: Read, operand: Operand) -> Read:
    negated, absolute = operand.negated, operand.absolute

    def changed(w: Wave) -> Any:
        x = read(w)
        x = np.abs(x) if absolute else x
        return -x if negated else x

    return changed


def to_vector(operand: Operand, kind: Type, i: Instruction, modes: Modes) -> Write:
    """Writes a register of each active lane; half of it where the kind has 16 bits.

    Floating-point results are multiplied and clamped as the modifiers say (RDNA 4 ISA, "Output Modifiers") and flushed
    as the mode does.
    """
    dtype, n = np.dtype(DTYPES[kind]), operand.number
    if operand.kind != "vgpr":
        raise Unsupported(f"the destination {operand.text} of a vector instruction", i.where)
    store = _store(n, operand.half or 0, dtype)
    if not kind.startswith("f"):
        if i.flag("clamp"):
            raise Unsupported("clamp of integers", i.where)
        return store
    return finished(store, kind, i, modes)


def finished(store: Write, kind: Type, i: Instruction, modes: Modes) -> Write:
    """A way to write floating-point results after their modifiers and the mode of denormals."""
    dtype = DTYPES[kind]
    factor = {("mul", 2): 2.0, ("mul", 4): 4.0, ("div", 2): 0.5}
    scale = next((f for (name, by), f in factor.items() if i.number(name) == by), None)
    clamp, flush = i.flag("clamp"), modes.flushes(kind)

    def write(w: Wave, x: Any) -> None:
        if scale is not None:  # which makes -0 a 0, and flushes denormals in every mode
            x = flushed(np.asarray(x * dtype(scale) + dtype(0)))
        if clamp:
            x = np.where(np.isnan(x), dtype(0), np.clip(x + dtype(0), dtype(0), dtype(1)))  # -0 becomes 0
        store(w, flushed(x) if flush else x)

    return write if scale is not None or clamp or flush else store


def _store(n: int, h: int, dtype: np.dtype[Any]) -> Write:
    if dtype.itemsize == 8:

        def wide(w: Wave, x: Any) -> None:
            bits = np.asarray(x, dtype).view(np.uint64)
            w.v[n][w.mask] = np.broadcast_to(bits & np.uint64(MASK32), w.lanes)[w.mask]
            w.v[n + 1][w.mask] = np.broadcast_to(bits >> np.uint64(32), w.lanes)[w.mask]

        return wide
    word = _WORDS[dtype.itemsize]

    def store(w: Wave, x: Any) -> None:
        bits = np.asarray(x, dtype).view(word)
        target = w.v[n] if word is np.uint32 else w.halves[h][n]
        if w.full:
            target[:] = bits
        else:
            np.copyto(target, bits, where=w.mask)

    return store
