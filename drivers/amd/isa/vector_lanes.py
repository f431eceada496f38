"""Vector instructions whose lanes are not alone: masks of lanes, and values that move between lanes (RDNA 4 ISA)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cts.drivers.amd.isa.vector_alu import Function, Op, as_i64, built, half_chosen
from cts.drivers.amd.listing import EXEC, Instruction, Operand
from cts.drivers.amd.operands import Type, lane_mask, scalar, to_lane_mask, to_scalar, to_vector, vector
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Wave

# Carries, selections, comparisons: masks of lanes.


@instruction(*(f"v_{name}_co{mask}_u32" for name in ("add", "sub", "subrev") for mask in ("", "_ci")), outs=2)
def _with_carry(i: Instruction, context: Context) -> Run:
    """A sum or difference that leaves a carry of each lane, and takes one where a mask is given."""
    target, carry, left, right, *mask = i.operands
    write, write_carry = to_vector(target, "b32", i, context.modes), to_lane_mask(carry, context.lanes)
    a, b = vector(left, "b32", context.modes), vector(right, "b32", context.modes)
    read_carry = lane_mask(mask[0], context.lanes) if mask else lambda w: np.False_
    name = i.mnemonic

    def run(w: Wave) -> None:
        x, y, c = as_i64(a(w)), as_i64(b(w)), as_i64(read_carry(w))
        total = x + y + c if name.startswith("v_add") else y - x - c if "rev" in name else x - y - c
        write(w, (total & 0xFFFFFFFF).astype(np.uint32))
        write_carry(w, (total >> 32) != 0)

    return run


@instruction("v_cndmask_b32", "v_cndmask_b16")
def _select(i: Instruction, context: Context) -> Run:
    target, no, yes, mask = i.operands
    floating = no.negated or no.absolute or yes.negated or yes.absolute
    kind: Type = ("f32" if floating else "b32") if i.mnemonic.endswith("32") else ("f16" if floating else "b16")
    kept = replace(context.modes, keep32=True, keep16=True)  # no arithmetic
    write, condition = to_vector(target, kind, i, kept), lane_mask(mask, context.lanes)
    chosen = i.bits("op_sel", (0, 0))
    no, yes = (
        half_chosen(i, o, half) if kind.endswith("16") else o for o, half in zip((no, yes), chosen, strict=False)
    )
    a, b = vector(no, kind, kept), vector(yes, kind, kept)
    return lambda w: write(w, np.where(condition(w), b(w), a(w)))


COMPARED: dict[str, Function] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lg": lambda a, b: (a < b) | (a > b),
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "neq": lambda a, b: ~(a == b),
    "nlg": lambda a, b: ~((a < b) | (a > b)),
    "ngt": lambda a, b: ~(a > b),
    "nge": lambda a, b: ~(a >= b),
    "nlt": lambda a, b: ~(a < b),
    "nle": lambda a, b: ~(a <= b),
    "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "u": lambda a, b: np.isnan(a) | np.isnan(b),
}
_OF_INTEGERS = ("eq", "ne", "gt", "ge", "lt", "le")
_TYPES: dict[str, Type] = {
    "f32": "f32", "f16": "f16", "i32": "i32", "u32": "b32", "i16": "i16", "u16": "b16", "u64": "b64", "i64": "i64",
}  # fmt: skip
_COMPARISONS = [
    f"{how}_{kind}" for how in COMPARED for kind in _TYPES if kind.startswith("f") == (how not in _OF_INTEGERS)
] + [f"{how}_{kind}" for how in ("eq", "gt", "ge", "lt", "le") for kind in ("f32", "f16")]


@instruction(*(f"v_cmp_{name}" for name in _COMPARISONS))
def _compare(i: Instruction, context: Context) -> Run:
    target, *sources = i.operands
    write, test = to_lane_mask(target, context.lanes), _comparison(i, tuple(sources), context)
    return lambda w: write(w, test(w))


@instruction(*(f"v_cmpx_{name}" for name in _COMPARISONS), outs=0)
def _compare_to_exec(i: Instruction, context: Context) -> Run:
    test, write = _comparison(i, i.operands, context), to_lane_mask(Operand("sgpr", "exec", EXEC, 2), context.lanes)
    return lambda w: write(w, test(w))


def _comparison(i: Instruction, sources: tuple[Operand, ...], context: Context) -> Function:
    how, kind = i.mnemonic.split("_")[2:]
    chosen = i.bits("op_sel", (0, 0))
    halves = [half_chosen(i, o, half) if kind.endswith("16") else o for o, half in zip(sources, chosen, strict=False)]
    test, (left, right) = COMPARED[how], (vector(o, _TYPES[kind], context.modes) for o in halves)
    return lambda w: test(left(w), right(w))


@instruction("v_cmpx_class_f32", "v_cmpx_class_f16", outs=0)
def _classes_to_exec(i: Instruction, context: Context) -> Run:
    return _classes(replace(i, operands=(Operand("sgpr", "exec", EXEC, 2), *i.operands)), context)


@instruction("v_cmp_class_f32", "v_cmp_class_f16")
def _classes(i: Instruction, context: Context) -> Run:
    """Whether a number is of one of the kinds whose bits are set (RDNA 4 ISA, "V_CMP_CLASS_F32")."""
    kind: Type = "f32" if i.mnemonic.endswith("32") else "f16"
    bits: Type = "b32" if kind == "f32" else "b16"
    kept = replace(context.modes, keep32=True, keep16=True)
    target, number, kinds = i.operands
    if kind == "f16":
        chosen = i.bits("op_sel", (0, 0))
        number, kinds = half_chosen(i, number, chosen[0]), half_chosen(i, kinds, chosen[1])
    write, x, mask = to_lane_mask(target, context.lanes), vector(number, kind, kept), vector(kinds, bits, kept)

    def run(w: Wave) -> None:
        value, wanted = np.asarray(x(w)), np.asarray(mask(w)).astype(np.uint32)
        size = value.dtype.itemsize
        pattern: Any = value.view(np.uint32 if size == 4 else np.uint16)
        quiet = pattern >> (22 if size == 4 else 9) & 1 == 1
        nan, negative, tiny = np.isnan(value), np.signbit(value), np.finfo(value.dtype).smallest_normal
        zero, infinite = value == 0, np.isinf(value)
        denormal = ~zero & (np.abs(value) < tiny)
        normal = ~(nan | zero | infinite | denormal)
        of_kind = [
            nan & ~quiet,
            nan & quiet,
            *(k & negative for k in (infinite, normal, denormal, zero)),
            *(k & ~negative for k in (zero, denormal, normal, infinite)),
        ]
        in_class = np.zeros(w.lanes, np.bool_)
        for bit, lanes_of_kind in enumerate(of_kind):
            in_class = in_class | (lanes_of_kind & ((wanted >> np.uint32(bit) & np.uint32(1)) == 1))
        write(w, in_class)

    return run


# Lanes.


@instruction("v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32")
def _masked_count(i: Instruction, context: Context) -> Run:
    """How many bits of a mask stand for lanes before each one, added to the second operand."""
    high = "_hi_" in i.mnemonic
    lane = np.arange(context.lanes)
    below = np.clip(lane - 32, 0, 32) if high else np.minimum(lane, 32)
    before = ((np.uint64(1) << below.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)

    def count(mask: Any, base: Any) -> Any:
        bits = np.broadcast_to(mask & before, context.lanes)
        return np.unpackbits(np.ascontiguousarray(bits).view(np.uint8).reshape(-1, 4), axis=1).sum(1, np.uint32) + base

    return built(i, context, Op("b32", ("b32", "b32"), count))


@instruction("v_readfirstlane_b32", also=frozenset({EXEC}))
def _read_first(i: Instruction, context: Context) -> Run:
    write, read = to_scalar(i.operands[0]), vector(i.operands[1], "b32", context.modes)

    def run(w: Wave) -> None:
        first = (w.exec & -w.exec).bit_length() - 1 if w.exec else 0
        write(w, int(np.broadcast_to(read(w), w.lanes)[first]))

    return run


@instruction("v_readlane_b32")
def _read_lane(i: Instruction, context: Context) -> Run:
    target, source, lane = i.operands
    write, read, number = to_scalar(target), vector(source, "b32", context.modes), scalar(lane)
    return lambda w: write(w, int(np.broadcast_to(read(w), w.lanes)[number(w) & (w.lanes - 1)]))


@instruction("v_writelane_b32", updates=True)
def _write_lane(i: Instruction, context: Context) -> Run:
    """One lane gets a scalar, whether it is active or not; the others keep what they have."""
    target, source, lane = i.operands
    n, value, number = target.number, scalar(source), scalar(lane)

    def run(w: Wave) -> None:
        w.v[n, number(w) & (w.lanes - 1)] = value(w)

    return run


@instruction("v_swap_b32", "v_swap_b16", outs=2, updates=True)
def _swap(i: Instruction, context: Context) -> Run:
    kind: Type = "b32" if i.mnemonic.endswith("32") else "b16"
    a, b = i.operands
    write_a, write_b = (to_vector(o, kind, i, context.modes) for o in (a, b))
    read_a, read_b = (vector(o, kind, context.modes) for o in (a, b))

    def run(w: Wave) -> None:
        x, y = read_a(w).copy(), read_b(w).copy()
        write_a(w, y)
        write_b(w, x)

    return run
