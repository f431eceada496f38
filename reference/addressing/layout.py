"""Tensor layouts: their state, and the instructions that copy and update it (TA-012..TA-017)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cts.case.model import LayoutType
from cts.reference.addressing.state import State
from cts.reference.numeric.arrays import U32, U64, ceil_div, divisor


@dataclass(frozen=True)
class TensorLayoutState(State):
    """The members of the specification's tensorLayoutNV: (..., dim), but `clamp_value` (..., 1)."""

    type: LayoutType
    block_size: U32
    layout_dimension: U32
    stride: U32
    offset: U32
    span: U32
    clamp_value: U32

    @property
    def dim(self) -> int:
        return self.type.dim


def create_tensor_layout(layout_type: LayoutType) -> TensorLayoutState:
    """OpCreateTensorLayoutNV (TA-012); leading axes (1, 1)."""
    zero = np.zeros((1, 1, layout_type.dim), np.uint32)
    return TensorLayoutState(
        type=layout_type,
        block_size=np.ones_like(zero),
        layout_dimension=zero,
        stride=zero,
        offset=zero,
        span=zero,
        clamp_value=zero[..., :1],
    )


def set_block_size(layout: TensorLayoutState, block_size: U32) -> TensorLayoutState:
    """OpTensorLayoutSetBlockSizeNV (TA-013): strides keep the units they were computed in."""
    return replace(layout, block_size=block_size)


def set_dimension(layout: TensorLayoutState, dims: U32) -> TensorLayoutState:
    """OpTensorLayoutSetDimensionNV (TA-014)."""
    blocks = ceil_div(dims, divisor(layout.block_size))
    return replace(layout, layout_dimension=dims, span=dims, offset=np.zeros_like(dims), stride=packed_strides(blocks))


def set_stride(layout: TensorLayoutState, strides: U32) -> TensorLayoutState:
    """OpTensorLayoutSetStrideNV (TA-015)."""
    return replace(layout, stride=strides)


def slice_(layout: TensorLayoutState, offset: U32, span: U32) -> TensorLayoutState:
    """OpTensorLayoutSliceNV (TA-016): offsets accumulate, spans replace."""
    return replace(layout, offset=layout.offset + offset, span=span)


def set_clamp_value(layout: TensorLayoutState, value: U32) -> TensorLayoutState:
    """OpTensorLayoutSetClampValueNV (TA-017)."""
    return replace(layout, clamp_value=value)


def least_strides(layout: TensorLayoutState, strides: U32) -> U64:
    """TA-015: what each stride but the last must be at least, exact; shape (..., dim - 1)."""
    blocks = ceil_div(layout.layout_dimension, divisor(layout.block_size))
    return strides[..., 1:].astype(np.uint64) * blocks[..., 1:]


def packed_strides(extents: U32) -> U32:
    """Row-major strides, mod 2^32: the last is 1, each other the product of the extents after it."""
    strides = np.ones_like(extents)
    strides[..., :-1] = np.cumprod(extents[..., :0:-1], axis=-1, dtype=np.uint32)[..., ::-1]
    return strides
