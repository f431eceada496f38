"""dpas: products of matrices, as intel-graphics-compiler's documentation/visa/instructions/DPAS.md has them."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from cts.drivers.intel.listing import SIZES, Instruction, Operand
from cts.drivers.intel.numbers import FLOATS, Values, as_type, units, widened
from cts.drivers.intel.registry import Context, Effect, instruction
from cts.drivers.intel.thread import Thread
from cts.drivers.machine.problems import Unsupported

#: Steps of the systolic array: each adds, to every element, the product of what one 32-bit word of both operands holds.
DEPTH = 8

_KINDS = {("f", "hf"), ("f", "bf"), ("hf", "hf"), ("bf", "bf")}


@instruction(*(f"dpas.8x{rows}" for rows in range(1, 9)))
def _dpas(i: Instruction, context: Context) -> Effect:
    """D = C + A x B: A, the last operand, lies row after row, and of B a column in each lane's words."""
    match = re.fullmatch(r"dpas\.8x(\d)", i.name)
    assert match is not None
    rows, lanes, grf = int(match[1]), i.lanes, context.grf
    if lanes != grf // 4 or not i.free or i.predicate is not None or i.saturates:
        raise Unsupported("dpas of such lanes")
    result, added, b, a = i.operands
    real = result.type in FLOATS
    if real and (b.type != a.type or (result.type, a.type) not in _KINDS):
        raise Unsupported(f"dpas of {result.type}, {b.type} and {a.type}")
    if not real and (SIZES[a.type], SIZES[b.type], SIZES[result.type]) != (1, 1, 4):
        raise Unsupported(f"dpas of {result.type}, {b.type} and {a.type}")
    per_word = 4 // SIZES[a.type]
    take_a = _block(a, rows * DEPTH * per_word, grf)
    take_b = _block(b, DEPTH * lanes * per_word, grf)
    take_c = _block(added, rows * lanes, grf) if added.file != "null" else None
    at = _first(result, grf)
    target = slice(at, at + rows * lanes)

    def run(t: Thread) -> None:
        left = take_a(t).reshape(rows, DEPTH, per_word)
        right = take_b(t).reshape(DEPTH, lanes, per_word)
        total = np.zeros((rows, lanes), left.dtype) if take_c is None else take_c(t).reshape(rows, lanes)
        for d in range(DEPTH):
            total = total + np.einsum("ik,jk->ij", left[:, d], right[d])
            if real:
                total = total.astype(np.float32).astype(np.float64)
        kept = as_type(total.reshape(-1), result.type, -1 & ~0x30)
        np.copyto(t.views[result.type][target], kept, casting="unsafe")

    reads = _mask(a, rows * DEPTH * 4, grf) | _mask(b, DEPTH * grf, grf)
    if take_c is not None:
        reads |= _mask(added, rows * lanes * SIZES[added.type], grf)
    return Effect(run, reads, _mask(result, rows * lanes * SIZES[result.type], grf))


def _first(o: Operand, grf: int) -> int:
    return o.number * grf // SIZES[o.type] + o.part


def _block(o: Operand, count: int, grf: int) -> Callable[[Thread], Values]:
    """Elements that follow each other, as int64 or float64; denormal numbers are kept."""
    if o.file != "r" or o.sign or o.absolute:
        raise Unsupported("dpas with such operands")
    at = slice(_first(o, grf), _first(o, grf) + count)
    kind = o.type
    if kind == "bf":
        return lambda t: widened(t.views["bf"][at])
    if kind in FLOATS:
        return lambda t: t.views[kind][at].astype(np.float64)
    return lambda t: t.views[kind][at].astype(np.int64)


def _mask(o: Operand, size: int, grf: int) -> int:
    return units(o.number * grf + o.part * SIZES[o.type], size)
