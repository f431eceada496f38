"""Scalar floating point (RDNA 4 ISA, "SALU Floating Point"): what the vector instructions of the same names compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from cts.drivers.amd import formats
from cts.drivers.amd.formats import flushed
from cts.drivers.amd.isa.vector_alu import CONVERSIONS, ROUNDED, arithmetic, half, single
from cts.drivers.amd.isa.vector_lanes import COMPARED
from cts.drivers.amd.listing import Instruction, Operand
from cts.drivers.amd.modes import Modes
from cts.drivers.amd.operands import DTYPES, Type, constant, scalar, to_scalar
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Wave

_TWO = ("add", "sub", "mul", "min_num", "max_num", "minimum", "maximum")
_ONE = ("ceil", "floor", "trunc", "rndne")
_CONVERTED = ("s_cvt_f32_i32", "s_cvt_f32_u32", "s_cvt_i32_f32", "s_cvt_u32_f32", "s_cvt_f16_f32", "s_cvt_f32_f16")
_WORDS: dict[int, Any] = {2: np.uint16, 4: np.uint32}


def _read(operand: Operand, kind: Type, modes: Modes) -> Any:
    """Reads a number of a scalar register's low bits, or a constant. Denormals are flushed where the mode says so."""
    plain = _bare(operand, kind)
    return (lambda w: flushed(plain(w))) if modes.flushes(kind) else plain


def _bare(operand: Operand, kind: Type) -> Any:
    dtype = np.dtype(DTYPES[kind])
    word = _WORDS[dtype.itemsize]
    if operand.kind in ("integer", "float"):
        value = word(constant(operand, 8 * dtype.itemsize)).view(dtype)
        return lambda w: value
    bits, mask = scalar(operand), (1 << 8 * dtype.itemsize) - 1
    return lambda w: word(bits(w) & mask).view(dtype)


def _computed(
    i: Instruction, modes: Modes, sources: tuple[Operand, ...], types: tuple[Type, ...], result: Type, compute: Any
) -> Run:
    write, reads = to_scalar(i.operands[0]), [_read(o, t, modes) for o, t in zip(sources, types, strict=True)]
    dtype, flush = np.dtype(DTYPES[result]), modes.flushes(result)

    def run(w: Wave) -> None:
        value = np.asarray(compute(*(read(w) for read in reads)), dtype).reshape(())
        value = flushed(value) if flush else value
        write(w, int(value.view(_WORDS[dtype.itemsize])))

    return run


def _operation(i: Instruction, context: Context, sources: tuple[Operand, ...], name: str) -> Run:
    kind: Type = "f32" if i.mnemonic.endswith("32") else "f16"
    count, compute = arithmetic(kind, context.modes)[name]
    return _computed(i, context.modes, sources, (kind,) * count, kind, compute)


@instruction(*(f"s_{name}_{kind}" for name in (*_TWO, *_ONE) for kind in ("f32", "f16")))
def _arithmetic_operation(i: Instruction, context: Context) -> Run:
    return _operation(i, context, i.operands[1:], i.mnemonic[2:].rpartition("_")[0])


@instruction("s_fmac_f32", "s_fmac_f16", updates=True)
def _fmac(i: Instruction, context: Context) -> Run:
    return _operation(i, context, (*i.operands[1:], i.operands[0]), "fma")


@instruction("s_fmaak_f32", "s_fmamk_f32")
def _with_literal(i: Instruction, context: Context) -> Run:
    return _operation(i, context, i.operands[1:], "fma")


@instruction(*_CONVERTED)
def _conversion(i: Instruction, context: Context) -> Run:
    name = f"v{i.mnemonic[1:]}"
    if name in ROUNDED:
        result, source = ROUNDED[name]
        rounding = single if result == "f32" else half
        return _computed(
            i, context.modes, i.operands[1:], (source,), result, lambda a: rounding(context.modes, np.float64(a))
        )
    op = CONVERSIONS[name]
    return _computed(i, context.modes, i.operands[1:], op.operands, op.result, op.compute)


@instruction("s_cvt_hi_f32_f16")
def _conversion_of_the_high_half(i: Instruction, context: Context) -> Run:
    write, bits, modes = to_scalar(i.operands[0]), scalar(i.operands[1]), context.modes

    def run(w: Wave) -> None:
        value = np.asarray(np.uint16(bits(w) >> 16).view(np.float16))
        value = flushed(value) if modes.flushes("f16") else value
        write(w, int(value.astype(np.float32).view(np.uint32)))

    return run


@instruction("s_cvt_pk_rtz_f16_f32")
def _pack_halves(i: Instruction, context: Context) -> Run:
    """Two singles as halves, rounded towards zero."""
    write, modes = to_scalar(i.operands[0]), context.modes
    reads = [_read(o, "f32", modes) for o in i.operands[1:]]

    def run(w: Wave) -> None:
        halves = (formats.half(np.asarray(read(w)).reshape(1), "zero") for read in reads)
        low, high = (int((flushed(h) if modes.flushes("f16") else h).view(np.uint16)[0]) for h in halves)
        write(w, low | high << 16)

    return run


@instruction(
    *(
        f"s_cmp_{how}_{kind}"
        for how in ("lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt")
        for kind in ("f32", "f16")
    ),
    outs=0,
)
def _compare(i: Instruction, context: Context) -> Run:
    _, _, how, suffix = i.mnemonic.split("_")
    kind: Type = "f32" if suffix == "f32" else "f16"
    test, (a, b) = COMPARED[how], (_read(o, kind, context.modes) for o in i.operands)

    def run(w: Wave) -> None:
        w.scc = int(bool(test(a(w), b(w))))

    return run
