"""Packed and mixed precision: VOP3P (RDNA 4 ISA, "Packed Math", "V_FMA_MIX_F32").

`op_sel` says which half of each operand the low result takes, `op_sel_hi` which one the high result takes; `neg_lo` and
`neg_hi` are their signs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cts.drivers.amd import formats
from cts.drivers.amd.isa.vector_alu import arithmetic, half, single
from cts.drivers.amd.isa.vector_integers import PACKED_SATURATED
from cts.drivers.amd.listing import Instruction, Operand
from cts.drivers.amd.modes import Modes
from cts.drivers.amd.operands import Read, Type, to_vector, vector
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Wave

_FLOATS = ("add", "mul", "fma", "max_num", "min_num", "maximum", "minimum")

_INTEGERS: dict[str, tuple[Type, int, Callable[..., Any]]] = {
    "v_pk_add_u16": ("b16", 2, lambda a, b: a + b),
    "v_pk_add_i16": ("i16", 2, lambda a, b: a + b),
    "v_pk_sub_u16": ("b16", 2, lambda a, b: a - b),
    "v_pk_sub_i16": ("i16", 2, lambda a, b: a - b),
    "v_pk_mul_lo_u16": ("b16", 2, lambda a, b: a * b),
    "v_pk_mad_u16": ("b16", 3, lambda a, b, c: a * b + c),
    "v_pk_mad_i16": ("i16", 3, lambda a, b, c: a * b + c),
    "v_pk_max_i16": ("i16", 2, np.maximum),
    "v_pk_min_i16": ("i16", 2, np.minimum),
    "v_pk_max_u16": ("b16", 2, np.maximum),
    "v_pk_min_u16": ("b16", 2, np.minimum),
    "v_pk_lshlrev_b16": ("b16", 2, lambda by, x: x << (by & np.uint16(15))),
    "v_pk_lshrrev_b16": ("b16", 2, lambda by, x: x >> (by & np.uint16(15))),
    "v_pk_ashrrev_i16": ("i16", 2, lambda by, x: x >> (by & np.int16(15))),
}


def half_of(operand: Operand, half: int, negated: int, kind: Type, modes: Modes) -> Read:
    """Reads one half of an operand. A constant has its value in the low half and nothing in the high one."""
    if operand.is_register:
        read = vector(replace(operand, half=half), kind, modes)
    elif operand.kind == "float" or not half:
        read = vector(operand if not half else replace(operand, kind="integer", number=0, negated=False), kind, modes)
    else:
        read = vector(replace(operand, number=operand.number >> 16), kind, modes)
    return (lambda w: -read(w)) if negated else read


@instruction(*(f"v_pk_{name}_f16" for name in _FLOATS))
def _packed_floats(i: Instruction, context: Context) -> Run:
    count, compute = arithmetic("f16", context.modes)[i.mnemonic.removeprefix("v_pk_").removesuffix("_f16")]
    return _packed(i, context, i.operands[1:], "f16", count, compute)


@instruction("v_pk_fmac_f16", updates=True)
def _packed_fmac(i: Instruction, context: Context) -> Run:
    """The only packed instruction of VOP2: its inline constant is in both halves (LLVM issue 94116, of hardware)."""
    count, compute = arithmetic("f16", context.modes)["fma"]
    constant = int(i.operands[1].kind == "float")
    i = replace(i, modifiers={**i.modifiers, "op_sel_hi": (1 - constant, 1, 1)})
    return _packed(i, context, (*i.operands[1:], i.operands[0]), "f16", count, compute)


@instruction(*_INTEGERS)
def _packed_integers(i: Instruction, context: Context) -> Run:
    kind, count, compute = _INTEGERS[i.mnemonic]
    if i.flag("clamp") and i.mnemonic in PACKED_SATURATED:
        compute = PACKED_SATURATED[i.mnemonic]
        i = replace(i, modifiers={name: value for name, value in i.modifiers.items() if name != "clamp"})
    return _packed(i, context, i.operands[1:], kind, count, compute)


def _packed(
    i: Instruction, context: Context, sources: tuple[Operand, ...], kind: Type, count: int, compute: Callable[..., Any]
) -> Run:
    if len(sources) != count:
        raise ValueError
    target, modes = i.operands[0], context.modes
    none, every = (0,) * count, (1,) * count
    low = [
        half_of(o, h, s, kind, modes)
        for o, h, s in zip(sources, i.bits("op_sel", none), i.bits("neg_lo", none), strict=True)
    ]
    high = [
        half_of(o, h, s, kind, modes)
        for o, h, s in zip(sources, i.bits("op_sel_hi", every), i.bits("neg_hi", none), strict=True)
    ]
    write_low, write_high = (to_vector(replace(target, half=h), kind, i, modes) for h in (0, 1))

    def run(w: Wave) -> None:
        below, above = compute(*(read(w) for read in low)), compute(*(read(w) for read in high))
        write_low(w, below)
        write_high(w, above)

    return run


#: The number of a source that is a literal, and words of an instruction that has one (RDNA 4 ISA, "VOP3P").
_LITERAL, _WITH_LITERAL = 255, 3


def _literal(i: Instruction, number: int, operand: Operand) -> Operand:
    """A source; of a literal the text has the low half alone, and the encoding all of it."""
    if len(i.words) != _WITH_LITERAL or i.words[1] >> 9 * number & 0x1FF != _LITERAL:
        return operand
    return replace(operand, kind="integer", number=i.words[2])


@instruction("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16")
def _mixed(i: Instruction, context: Context) -> Run:
    """Operands are singles, or the half that `op_sel` says where `op_sel_hi` is set; the sum is a single.

    The result of `mixlo` and `mixhi` is that single, rounded again to a half.
    """
    target, *sources = i.operands
    modes = context.modes
    sources = [_literal(i, n, o) for n, o in enumerate(sources)]
    halves, narrow = i.bits("op_sel", (0, 0, 0)), i.bits("op_sel_hi", (0, 0, 0))
    # In these instructions the bits of neg_hi are those of absolute values.
    reads = [
        half_of(o, h, 0, "f16", modes) if is_half else vector(o, "f32", modes)
        for o, h, is_half in zip(sources, halves, narrow, strict=True)
    ]
    if i.mnemonic == "v_fma_mix_f32":
        write = to_vector(target, "f32", i, modes)
    else:
        write = to_vector(replace(target, half=int("mixhi" in i.mnemonic)), "f16", i, modes)

    def run(w: Wave) -> None:
        a, b, c = (np.asarray(read(w)).astype(np.float64) for read in reads)
        total = single(modes, formats.fma(a, b, c))
        write(w, total if i.mnemonic == "v_fma_mix_f32" else half(modes, total))

    return run
