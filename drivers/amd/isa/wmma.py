"""Products of matrices: WMMA (RDNA 4 ISA and RDNA 3 ISA, "Wave Matrix Multiply Accumulate").

The ISA's tables say which elements a lane has. The order of the inner dimension is the same for A and B, and does not
matter to the sum. A lane of a wave of 64 has half of the elements that a lane of a wave of 32 has. The ISA specifies
neither the order nor the rounding of the additions: this module adds doubles and rounds once.

On RDNA 3 each lane has a whole row of A or column of B, and lanes whose numbers differ by 16 have the same one. An
accumulator of 16 bits has one element in each register, in the half that op_sel says.
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
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Wave
from cts.drivers.machine.problems import Unsupported, Wrong

#: Rows, columns and inner dimension of every product.
SIZE = 16

_FORMATS: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "f32": (32, lambda bits: bits.view(np.float32)),
    "f16": (16, lambda bits: bits.view(np.float16)),
    "bf16": (16, formats.of_bfloat16),
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


class Layout:
    """Where lanes have the elements of an operand of so many bits.

    `outer` is the row of A, or the column of B and of the accumulator, of each lane, (lanes, 1); `inner` the other
    index of its elements, (lanes, elements). `alone`: each has a register of its own. `again`: lanes from 16 on have
    what others have.
    """

    def __init__(self, generation: int, lanes: int, bits: int, accumulates: bool) -> None:
        lane = np.arange(lanes)[:, None]
        self.bits, self.lanes, self.outer = bits, lanes, lane % 16
        self.again = generation == 3 and not accumulates
        self.alone = generation == 3 and accumulates and bits == 16
        self.count = SIZE if self.again else SIZE * SIZE // lanes
        if self.again:
            self.inner = np.tile(np.arange(SIZE), (lanes, 1))
        elif generation == 3:
            self.inner = np.arange(self.count) * (lanes // 16) + lane // 16
        else:
            # A wave of 64 has what lanes of 32 have in their lower half in its first 32 lanes, the rest in the others.
            self.inner = lane % 32 // 16 * 8 + lane // 32 * 4 + np.arange(self.count)

    @property
    def registers(self) -> int:
        """How many registers an operand takes."""
        return self.count if self.alone else self.bits * self.count // 32

    def check(self, operand: Operand) -> None:
        """Raise Unsupported for an operand of another size."""
        if operand.kind == "vgpr" and operand.count != self.registers:
            what = f"{operand.count} registers of {operand.text}, where {self.lanes} lanes need {self.registers}"
            raise Unsupported(what)

    def elements(self, w: Wave, operand: Operand, half: int = 0, where: str = "") -> Array:
        """The elements of each lane as words, (lanes, elements). Raises Wrong where lanes differ that must not."""
        if operand.kind != "vgpr":
            return np.full((self.lanes, self.count), constant(operand, self.bits), _WORDS[self.bits])
        rows = slice(operand.number, operand.number + operand.count)
        if self.alone:
            return w.halves[half][rows].T
        words = np.ascontiguousarray(w.v[rows].T)
        if self.again and (words[16:] != np.tile(words[:16], (self.lanes // 16 - 1, 1))).any():
            raise Wrong(f"lanes of {operand.text} that differ by 16 do not have the same elements", where)
        return words.view(_WORDS[self.bits])[:, : self.count]

    def matrix(self, elements: Array) -> Array:
        """The elements of lanes as a matrix: by the inner index or row, then by the outer one."""
        matrix = np.empty((SIZE, SIZE), elements.dtype)
        matrix[self.inner, self.outer] = elements
        return matrix

    def store(self, w: Wave, target: Operand, result: Array, i: Instruction) -> None:
        """Write a matrix to the registers of all lanes, which must be active."""
        if not w.full:
            raise Wrong("a product of matrices with inactive lanes", i.where)
        values = np.ascontiguousarray(result[self.inner, self.outer])
        rows = slice(target.number, target.number + target.count)
        if self.alone:
            w.halves[i.bits("op_sel", (0, 0, 0))[2]][rows] = values.view(np.uint16).T
        else:
            w.v[rows] = values.view(np.uint32).T


@cache
def layout(generation: int, lanes: int, bits: int, accumulates: bool) -> Layout:
    """The layout of an operand, made once."""
    return Layout(generation, lanes, bits, accumulates)


def _layouts(i: Instruction, context: Context, bits: tuple[int, int, int]) -> tuple[Layout, Layout, Layout]:
    """Those of A, B and the accumulator. Raises Unsupported for operands of other sizes."""
    a, b, c = (layout(context.generation, context.lanes, size, n == 2) for n, size in enumerate(bits))
    for operand, operand_layout in zip(i.operands, (c, a, b, c), strict=True):
        operand_layout.check(operand)
    if i.flag("clamp") and not i.mnemonic.endswith("_iu8"):
        raise Unsupported("clamp of a product of floating-point matrices")
    return a, b, c


@instruction(*_FLOATS)
def _floats(i: Instruction, context: Context) -> Run:
    kind_c, kind_a, kind_b = _FLOATS[i.mnemonic]
    target, a, b, c = i.operands
    (bits_a, of_a), (bits_b, of_b), (bits_c, of_c) = _FORMATS[kind_a], _FORMATS[kind_b], _FORMATS[kind_c]
    in_a, in_b, in_c = _layouts(i, context, (bits_a, bits_b, bits_c))
    if kind_c == "bf16" and c.kind == "float":  # the upper half of the single
        c = replace(c, kind="integer", number=constant(c, 32) >> 16, negated=False, absolute=False)
    low, high, half = i.bits("neg_lo", (0, 0, 0)), i.bits("neg_hi", (0, 0, 0)), i.bits("op_sel", (0, 0, 0))[2]

    def read(w: Wave, operand: Operand, place: Layout, of: Callable[[Array], Array], number: int) -> Array:
        values = of(place.elements(w, operand, half, i.where)).astype(np.float64)
        if number < 2 and (low[number] or high[number]):  # signs of elements in low and high halves
            values = values * np.tile([1 - 2 * low[number], 1 - 2 * high[number]], values.shape[1] // 2)
        elif number == 2:
            values = np.abs(values) if high[2] else values
            values = -values if low[2] else values
        return place.matrix(values)

    def run(w: Wave) -> None:
        left, right = read(w, a, in_a, of_a, 0), read(w, b, in_b, of_b, 1)
        total = _added(left.T, right, read(w, c, in_c, of_c, 2), context.freedoms.chained)
        in_c.store(w, target, _rounded(total, kind_c), i)

    return run


def _added(left: Array, right: Array, total: Array, chained: bool) -> Array:
    """The product of two matrices of doubles, added to a third one."""
    if not chained:
        return left @ right + total
    for column, row in zip(left.T, right, strict=True):
        total = (total + np.outer(column, row)).astype(np.float32).astype(np.float64)
    return total


def _rounded(total: Array, kind: str) -> Any:
    if kind == "f32":
        return total.astype(np.float32)
    return total.astype(np.float16) if kind == "f16" else formats.to_bfloat16(total.astype(np.float32))


@instruction("v_wmma_i32_16x16x16_iu8")
def _integers(i: Instruction, context: Context) -> Run:
    """Of A and B `neg_lo` says which one is signed; with `clamp` the result stays in its range."""
    target, a, b, c = i.operands
    in_a, in_b, in_c = _layouts(i, context, (8, 8, 32))
    signs, clamp = i.bits("neg_lo", (0, 0, 0)), i.flag("clamp")

    def read(w: Wave, operand: Operand, place: Layout, is_signed: int) -> Array:
        bytes_ = place.elements(w, operand, where=i.where)
        return place.matrix(bytes_.view(np.int8 if is_signed else np.uint8).astype(np.int64))

    def run(w: Wave) -> None:
        total = read(w, a, in_a, signs[0]).T @ read(w, b, in_b, signs[1])
        total = total + in_c.matrix(in_c.elements(w, c).view(np.int32).astype(np.int64))
        total = np.clip(total, -(1 << 31), (1 << 31) - 1) if clamp else total
        in_c.store(w, target, total.astype(np.int32), i)

    return run
