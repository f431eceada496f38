"""Products of matrices: WMMA (RDNA 4 ISA, "Wave Matrix Multiply Accumulate").

Where a lane's elements are in their matrix the ISA's tables say; the order of an inner dimension is the same for A and
B, and does not matter to the sum. Of a wave of 64 lanes each has half of what a lane of 32 has. Neither the order nor
the rounding of the additions is said: here the sum is that of doubles, rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from cts.drivers.amd import formats
from cts.drivers.amd.formats import E4M3, E5M2, Array
from cts.drivers.amd.listing import Instruction, Operand
from cts.drivers.amd.operands import constant
from cts.drivers.amd.problems import Unsupported, Wrong
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Wave

#: Rows, columns and inner dimension of every product.
SIZE = 16

_FORMATS: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "f32": (32, lambda bits: bits.view(np.float32)),
    "f16": (16, lambda bits: bits.view(np.float16)),
    "bf16": (16, formats.bfloat16),
    "fp8": (8, lambda bits: E4M3.values[bits]),
    "bf8": (8, lambda bits: E5M2.values[bits]),
    "i32": (32, lambda bits: bits.view(np.int32)),
}

_WORDS = {8: np.uint8, 16: np.uint16, 32: np.uint32}

#: Result and accumulator, A and B.
_FLOATS = {
    "v_wmma_f32_16x16x16_f16": ("f32", "f16", "f16"),
    "v_wmma_f32_16x16x16_bf16": ("f32", "bf16", "bf16"),
    "v_wmma_f16_16x16x16_f16": ("f16", "f16", "f16"),
    "v_wmma_bf16_16x16x16_bf16": ("bf16", "bf16", "bf16"),
    **{f"v_wmma_f32_16x16x16_{a}_{b}": ("f32", a, b) for a in ("fp8", "bf8") for b in ("fp8", "bf8")},
}


@cache
def places(lanes: int) -> tuple[Array, Array]:
    """The outer index (row of A, column of B and of the accumulator) of each lane, (lanes, 1), and the other index of
    its elements, (lanes, elements).

    A wave of 64 lanes has what lanes of 32 have in their lower half in its first 32 lanes, the rest in the others.
    """
    lane, count = np.arange(lanes)[:, None], SIZE * SIZE // lanes
    first = lane % 32 // 16 * 8 + lane // 32 * 4
    return lane % 16, first + np.arange(count)


def _elements(w: Wave, operand: Operand, bits: int) -> Array:
    """The elements of each lane as words of so many bits, (lanes, elements)."""
    count = SIZE * SIZE // w.lanes
    if operand.kind == "vgpr":
        words = np.ascontiguousarray(w.v[operand.number : operand.number + operand.count].T)
        return words.view(_WORDS[bits])[:, :count]
    return np.full((w.lanes, count), constant(operand, bits), _WORDS[bits])


def matrix(elements: Array, lanes: int) -> Array:
    """The elements of lanes as a matrix: by the inner index or row, then by the outer one."""
    outer, inner = places(lanes)
    found = np.empty((SIZE, SIZE), elements.dtype)
    found[inner, outer] = elements
    return found


def _check(i: Instruction, context: Context, bits: tuple[int, int, int, int]) -> None:
    for operand, size in zip(i.operands, bits, strict=True):
        needed = size * SIZE * SIZE // context.lanes // 32
        if operand.kind == "vgpr" and operand.count != needed:
            raise Unsupported(f"{operand.count} registers of {operand.text}, where {context.lanes} lanes need {needed}")
    if i.flag("clamp") and not i.mnemonic.endswith("_iu8"):
        raise Unsupported("clamp of a product of floating-point matrices")


def _store(w: Wave, target: Operand, result: Array, i: Instruction) -> None:
    """Write a matrix to the registers of all lanes, which must be active."""
    if not w.full:
        raise Wrong("a product of matrices with inactive lanes", i.where)
    outer, inner = places(w.lanes)
    words = np.ascontiguousarray(result[inner, outer]).view(np.uint32)
    w.v[target.number : target.number + target.count] = words.T


@instruction(*_FLOATS)
def _floats(i: Instruction, context: Context) -> Run:
    kind_c, kind_a, kind_b = _FLOATS[i.mnemonic]
    target, a, b, c = i.operands
    (bits_a, of_a), (bits_b, of_b), (bits_c, of_c) = _FORMATS[kind_a], _FORMATS[kind_b], _FORMATS[kind_c]
    _check(i, context, (bits_c, bits_a, bits_b, bits_c))
    if kind_c == "bf16" and c.kind == "float":  # the upper half of the single
        c = replace(c, kind="integer", number=constant(c, 32) >> 16, negated=False, absolute=False)
    low, high = i.bits("neg_lo", (0, 0, 0)), i.bits("neg_hi", (0, 0, 0))

    def read(w: Wave, operand: Operand, bits: int, of: Callable[[Array], Array], number: int) -> Array:
        values = of(_elements(w, operand, bits)).astype(np.float64)
        if number < 2 and (low[number] or high[number]):  # signs of elements in low and high halves
            values = values * np.tile([1 - 2 * low[number], 1 - 2 * high[number]], values.shape[1] // 2)
        elif number == 2:
            values = np.abs(values) if high[2] else values
            values = -values if low[2] else values
        return matrix(values, w.lanes)

    def run(w: Wave) -> None:
        left, right = read(w, a, bits_a, of_a, 0), read(w, b, bits_b, of_b, 1)
        total = left.T @ right + read(w, c, bits_c, of_c, 2)
        _store(w, target, _rounded(total, kind_c), i)

    return run


def _rounded(total: Array, kind: str) -> Any:
    if kind == "f32":
        return total.astype(np.float32)
    return total.astype(np.float16) if kind == "f16" else formats.to_bfloat16(total.astype(np.float32))


@instruction("v_wmma_i32_16x16x16_iu8")
def _integers(i: Instruction, context: Context) -> Run:
    """Of A and B `neg_lo` says which one is signed; with `clamp` the result stays in its range."""
    target, a, b, c = i.operands
    _check(i, context, (32, 8, 8, 32))
    signs, clamp = i.bits("neg_lo", (0, 0, 0)), i.flag("clamp")

    def read(w: Wave, operand: Operand, is_signed: int) -> Array:
        return matrix(_elements(w, operand, 8).view(np.int8 if is_signed else np.uint8).astype(np.int64), w.lanes)

    def run(w: Wave) -> None:
        total = read(w, a, signs[0]).T @ read(w, b, signs[1])
        total = total + matrix(_elements(w, c, 32).view(np.int32).astype(np.int64), w.lanes)
        total = np.clip(total, -(1 << 31), (1 << 31) - 1) if clamp else total
        _store(w, target, total.astype(np.int32), i)

    return run
