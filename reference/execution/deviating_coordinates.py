"""Coordinates of a tensor that a wrong program clamps otherwise (TA-035), and the elements that it accesses by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cts.case.model import ClampMode
from cts.case.oracle.deviation import Step
from cts.reference.addressing import coordinates as addressing
from cts.reference.addressing.accesses import Access, Blocks
from cts.reference.addressing.coordinates import Status, tensor_coord_to_linear
from cts.reference.addressing.elements import tensor_coordinates
from cts.reference.addressing.layout import packed_strides
from cts.reference.deviation import numbers
from cts.reference.deviation.moves import NotComputable
from cts.reference.numeric.arrays import U8, U32, Mask

Numbers = npt.NDArray[np.int64]


def _mirrored(c: Numbers, size: Numbers, last: Numbers) -> Numbers:
    return np.where(c >= size, last - c, c)


_RIGHT: dict[ClampMode, Callable[[Numbers, Numbers, Numbers], Numbers]] = {
    ClampMode.ClampToEdge: lambda c, size, _: np.clip(c, 0, size - 1),
    ClampMode.Repeat: lambda c, size, _: c % size,
    ClampMode.RepeatMirrored: lambda c, size, _: _mirrored(c % np.maximum(2 * size - 2, 1), size, 2 * size - 2),
}

#: How each mode may be wrong: a coordinate out of bounds, the dimension, and the span of a slice.
_WRONG: dict[str, dict[ClampMode, Callable[[Numbers, Numbers, Numbers], Numbers]]] = {
    "as_load": {},
    "low_alone": {},
    "high_alone": {},
    "once": {
        ClampMode.Repeat: lambda c, size, _: np.where(c < 0, c + size, c - size),
        ClampMode.RepeatMirrored: lambda c, size, _: np.clip(np.where(c < 0, -c, 2 * size - 2 - c), 0, size - 1),
    },
    "truncated": {
        ClampMode.Repeat: lambda c, size, _: np.fmod(c, size),
        ClampMode.RepeatMirrored: lambda c, size, _: _mirrored(
            np.fmod(c, np.maximum(2 * size - 2, 1)), size, 2 * size - 2
        ),
    },
    "edge_twice": {ClampMode.RepeatMirrored: lambda c, size, _: _mirrored(c % (2 * size), size, 2 * size - 1)},
    "odd_period": {ClampMode.RepeatMirrored: lambda c, size, _: _mirrored(c % (2 * size - 1), size, 2 * size - 1)},
    "by_span": {ClampMode.Repeat: lambda c, _, span: c % span},
}


def unclamped(access: Access) -> tuple[list[U32], U8]:
    """The coordinates of a tensor access before they are clamped, one array per dimension; and what is skipped."""
    layout, shape = access.layout, access.shape
    if layout is None:
        raise NotComputable("no coordinates")
    layout = replace(layout, type=replace(layout.type, clamp=ClampMode.Undefined))
    elements, block, inside = tensor_coordinates(layout, access.view, shape.rows, shape.cols, store=False)
    size = np.maximum(layout.block_size, 1)
    pairs = enumerate(zip(block, inside, strict=True))
    return [b * size[..., d, None, None] + i for d, (b, i) in pairs], elements.status


def clamped(access: Access, how: str) -> Access:
    """An access whose coordinates are clamped otherwise. Raises NotComputable for a word that says not how."""
    if how not in _WRONG:
        raise NotComputable(how)
    coordinates, skipped = unclamped(access)
    assert access.layout is not None
    mode, blocks = access.layout.type.clamp, list[U32]()
    outside: Mask = np.zeros((), bool)
    moves = mode in _RIGHT and (how == "as_load" or not access.store)
    for d, unsigned in enumerate(coordinates):
        c = unsigned.view(np.int32).astype(np.int64)
        size, span = (
            np.maximum(member[..., d, None, None].astype(np.int64), 1)
            for member in (access.layout.layout_dimension, access.layout.span)
        )
        beyond: Mask = ((c < 0) & (how != "high_alone")) | ((c >= size) & (how != "low_alone"))
        if moves:
            c = np.where(beyond, _WRONG[how].get(mode, _RIGHT[mode])(c, size, span), c)
        outside = outside | beyond
        blocks.append((c & 0xFFFFFFFF).astype(np.uint32))
    ends = Status.OK if moves else Status.DISCARD if access.store else Status.CLAMPED
    ends = Status.UNDEFINED if mode is ClampMode.Undefined else ends
    status = np.where(outside, np.uint8(ends), np.uint8(Status.OK))
    status = np.where(skipped == Status.SKIP, np.uint8(Status.SKIP), status)
    status = np.where(access.status == Status.INACTIVE, np.uint8(Status.INACTIVE), status)
    return _at(access, blocks, status)


def _at(access: Access, coordinates: list[U32], status: U8) -> Access:
    """An access to the elements at these coordinates."""
    layout = access.layout
    assert layout is not None
    size = np.maximum(layout.block_size, 1)
    block = [c // size[..., d, None, None] for d, c in enumerate(coordinates)]
    inside = [c % size[..., d, None, None] for d, c in enumerate(coordinates)]
    index = tensor_coord_to_linear(layout, block).astype(np.int64)
    byte = index * access.size + (access.pointer + access.origin)[..., None, None]
    blocks = access.blocks and Blocks(tuple(block), tuple(inside))
    return replace(access, byte=byte, status=status, blocks=blocks)


def through_view(access: Access, how: str) -> Access:
    """An access whose index goes through its view otherwise.

    It is `wide`, not reduced modulo 2^32, or its outermost digit is `unreduced`; or `clipped_first`: what is clipped
    is accessed, at the first element.
    """
    layout, view, shape = access.layout, access.view, access.shape
    if layout is None or view is None:
        return access
    row, col = np.arange(shape.rows, dtype=np.uint32)[:, None], np.arange(shape.cols, dtype=np.uint32)
    index, clipped = addressing.matrix_coord_to_linear_with_view(view, row, col, shape.cols)
    index = np.where(clipped, np.uint32(0), index) if how == "clipped_first" else index
    dimensions = view.view_dimension if view.type.has_dimensions else layout.span
    strides = view.view_stride if view.type.has_dimensions else packed_strides(layout.span[..., : view.dim])
    digits = addressing.linear_to_view_coord(layout, view, index)
    if how == "unreduced":
        for d in reversed(view.type.permutation[1:]):
            index = index // np.maximum(dimensions[..., d, None, None], 1)
        digits[view.type.permutation[0]] = index
    wide = sum((c.astype(np.int64) * strides[..., d, None, None] for d, c in enumerate(digits)), np.zeros((), np.int64))
    wide = wide if how == "wide" else wide % (1 << 32)
    coordinates: list[U32] = []
    for d in reversed(range(layout.dim)):
        wide, digit = np.divmod(wide, np.maximum(layout.span[..., d, None, None].astype(np.int64), 1))
        coordinates.insert(0, digit.astype(np.uint32))
    tensor = addressing.span_coord_to_tensor_coord(layout, coordinates, access.store)
    kept = (access.status == Status.INACTIVE) | ((access.status == Status.SKIP) & (how != "clipped_first"))
    return _at(access, tensor.coord, np.where(kept, access.status, tensor.status))


def with_coordinates(access: Access, part: str, steps: Sequence[Step]) -> Access:
    """A load whose decode function gets other coordinates; as before are those that are not clamped."""
    blocks, layout = access.blocks, access.layout
    if blocks is None or layout is None:
        return access
    size = np.maximum(layout.block_size, 1)
    before = [np.divmod(c, size[..., d, None, None]) for d, c in enumerate(unclamped(access)[0])]
    now, earlier = (
        np.stack(np.broadcast_arrays(*some), axis=-1)
        for some in (getattr(blocks, part), [pair[part == "coord_in_block"] for pair in before])
    )
    changed = numbers.transformed(now, steps, earlier)
    return replace(access, blocks=replace(blocks, **{part: tuple(np.moveaxis(changed, -1, 0))}))
