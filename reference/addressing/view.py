"""Tensor views: their state, and the instructions that copy and update it (TA-018..TA-021)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cts.case.model import ViewType
from cts.reference.addressing.layout import packed_strides
from cts.reference.addressing.state import State
from cts.reference.numeric.arrays import U32


@dataclass(frozen=True)
class TensorViewState(State):
    """The members of the specification's tensorViewNV: (..., dim), but the clip members (..., 1)."""

    type: ViewType
    view_dimension: U32
    view_stride: U32
    clip_row_offset: U32
    clip_row_span: U32
    clip_col_offset: U32
    clip_col_span: U32

    @property
    def dim(self) -> int:
        return self.type.dim


def create_tensor_view(view_type: ViewType) -> TensorViewState:
    """OpCreateTensorViewNV (TA-018); leading axes (1, 1)."""
    zero = np.zeros((1, 1, view_type.dim), np.uint32)
    none, everything = zero[..., :1], np.full((1, 1, 1), 0xFFFFFFFF, np.uint32)
    return TensorViewState(view_type, zero, zero, none, everything, none, everything)


def set_dimension(view: TensorViewState, dims: U32) -> TensorViewState:
    """OpTensorViewSetDimensionNV (TA-019)."""
    return replace(view, view_dimension=dims, view_stride=packed_strides(dims))


def set_stride(view: TensorViewState, strides: U32) -> TensorViewState:
    """OpTensorViewSetStrideNV (TA-020)."""
    return replace(view, view_stride=strides)


def set_clip(view: TensorViewState, row_offset: U32, row_span: U32, col_offset: U32, col_span: U32) -> TensorViewState:
    """OpTensorViewSetClipNV (TA-021), in matrix coordinates."""
    return replace(
        view, clip_row_offset=row_offset, clip_row_span=row_span, clip_col_offset=col_offset, clip_col_span=col_span
    )
