"""Tensor layouts and views as values: how each instruction derives one from another (section 1.3 of the facts).

Operands are 32-bit integers of either signedness, kept as uint32 (TA-022). Every setter leaves its
input as it was.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array, Layout, View, stack, zero

_UINT = np.dtype(np.uint32)


@step("OpCreateTensorLayoutNV", "OpCreateTensorViewNV")
def create(c: Compiler, i: Instruction) -> Step:
    """TA-012, TA-018: what `zero` gives for these types."""
    t, result = c.declared.result_type(i), i.result
    if not isinstance(t, (ty.TensorLayout, ty.TensorView)):
        raise Malformed("the result type must be a tensor layout or view")
    fresh = zero(t)
    return lambda m: m.registers.__setitem__(result, fresh)


def _setter(
    c: Compiler, i: Instruction, count: int, change: Callable[[Layout, Array], Layout] | Callable[[View, Array], View]
) -> Step:
    """A step that changes a copy by its value operands, given as uint32 (lanes, count). Raises Malformed."""
    result, source, operands = i.result, i.id(0), i.ids[1:]
    if len(operands) != count:
        raise Malformed(f"{len(operands)} operands; the type takes {count} (TA-022)")
    for id_ in operands:
        t = c.declared.type(id_)
        if not isinstance(t, ty.Int) or t.width != 32:
            raise Malformed(f"{c.module.label(id_)} is not a 32-bit integer (TA-022)")

    def set_(m: Machine) -> None:
        registers = m.registers
        values = stack([registers[id_] for id_ in operands], _UINT)
        registers[result] = change(registers[source], values)

    return set_


def _layout(c: Compiler, i: Instruction, per_dimension: int, change: Callable[[Layout, Array], Layout]) -> Step:
    t = c.declared.type(i.id(0))
    if not isinstance(t, ty.TensorLayout) or t != c.declared.result_type(i):
        raise Malformed("operand and result must be of the same tensor layout type (TA-022)")
    return _setter(c, i, t.dim * per_dimension, change)


def _view(c: Compiler, i: Instruction, change: Callable[[View, Array], View], count: int | None = None) -> Step:
    t = c.declared.type(i.id(0))
    if not isinstance(t, ty.TensorView) or t != c.declared.result_type(i):
        raise Malformed("operand and result must be of the same tensor view type (TA-022)")
    return _setter(c, i, t.dim if count is None else count, change)


def row_major(extents: Array) -> Array:
    """Strides of a tight row-major tensor, mod 2^32: products of the extents to the right."""
    ones = np.ones((len(extents), 1), np.uint32)
    from_right = np.concatenate([ones, extents[:, :0:-1]], axis=1)
    return np.cumprod(from_right, axis=1, dtype=np.uint32)[:, ::-1]


@step("OpTensorLayoutSetBlockSizeNV")
def set_block_size(c: Compiler, i: Instruction) -> Step:
    """TA-013: strides stay as they are."""
    return _layout(c, i, 1, lambda layout, sizes: layout._replace(block_size=sizes))


@step("OpTensorLayoutSetDimensionNV")
def set_dimension(c: Compiler, i: Instruction) -> Step:
    """TA-014: a whole new tensor, tight in units of the present blocks; clamp value and blocks stay."""

    def change(layout: Layout, dims: Array) -> Layout:
        blocks = (dims.astype(np.uint64) + layout.block_size - np.uint64(1)) // layout.block_size
        return layout._replace(
            dimension=dims, span=dims, offset=np.zeros_like(dims), stride=row_major(blocks.astype(np.uint32))
        )

    return _layout(c, i, 1, change)


@step("OpTensorLayoutSetStrideNV")
def set_stride(c: Compiler, i: Instruction) -> Step:
    """TA-015."""
    return _layout(c, i, 1, lambda layout, strides: layout._replace(stride=strides))


@step("OpTensorLayoutSliceNV")
def slice_(c: Compiler, i: Instruction) -> Step:
    """TA-016: operands are offset and span of each dimension in turn; offsets add up, spans replace."""

    def change(layout: Layout, pairs: Array) -> Layout:
        return layout._replace(offset=layout.offset + pairs[:, 0::2], span=pairs[:, 1::2])

    return _layout(c, i, 2, change)


@step("OpTensorLayoutSetClampValueNV")
def set_clamp_value(c: Compiler, i: Instruction) -> Step:
    """TA-017."""
    t = c.declared.type(i.id(0))
    if not isinstance(t, ty.TensorLayout) or t != c.declared.result_type(i):
        raise Malformed("operand and result must be of the same tensor layout type (TA-022)")
    return _setter(c, i, 1, lambda layout, value: layout._replace(clamp_value=value[:, 0]))


@step("OpTensorViewSetDimensionNV")
def view_set_dimension(c: Compiler, i: Instruction) -> Step:
    """TA-019."""
    return _view(c, i, lambda view, dims: view._replace(dimension=dims, stride=row_major(dims)))


@step("OpTensorViewSetStrideNV")
def view_set_stride(c: Compiler, i: Instruction) -> Step:
    """TA-020."""
    return _view(c, i, lambda view, strides: view._replace(stride=strides))


@step("OpTensorViewSetClipNV")
def view_set_clip(c: Compiler, i: Instruction) -> Step:
    """TA-021."""
    return _view(c, i, lambda view, clip: view._replace(clip=clip), 4)
