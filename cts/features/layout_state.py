"""The settings of tensor layouts and views, as setters give them one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cts.model import (
    Instruction,
    LayoutType,
    Operand,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    TensorViewSetClip,
    TensorViewSetDimension,
    TensorViewSetStride,
    ViewType,
)


@dataclass(frozen=True)
class Layout:
    """The settings of a layout or a view so far."""

    type: LayoutType | ViewType
    dims: tuple[Operand, ...] = ()
    strides: tuple[Operand, ...] | None = None
    block: tuple[Operand, ...] = ()
    block_then: tuple[Operand, ...] = ()
    span: tuple[Operand, ...] = ()
    offset: tuple[Operand, ...] = ()
    clamp_value: tuple[Operand, ...] | None = None
    clip: tuple[Operand, ...] | None = None


def _with(state: Layout, **given: Any) -> Layout:
    return replace(state, **given)


#: The settings after each setter.
SET: dict[type[Instruction], Callable[[Layout, Any], Layout]] = {
    TensorLayoutSetDimension: lambda s, i: _with(
        s, dims=i.dims, span=i.dims, offset=(), strides=None, block_then=s.block
    ),
    TensorLayoutSetStride: lambda s, i: _with(s, strides=i.strides),
    TensorLayoutSlice: lambda s, i: _with(s, offset=i.offset, span=i.span),
    TensorLayoutSetBlockSize: lambda s, i: _with(s, block=i.block_size),
    TensorLayoutSetClampValue: lambda s, i: _with(s, clamp_value=(i.value,)),
    TensorViewSetDimension: lambda s, i: _with(s, dims=i.dims, strides=None),
    TensorViewSetStride: lambda s, i: _with(s, strides=i.strides),
    TensorViewSetClip: lambda s, i: _with(s, clip=(i.row_offset, i.row_span, i.col_offset, i.col_span)),
}
