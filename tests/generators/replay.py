"""A second, slow reading of tensor addressing (TA-012..TA-035), to tell which situations a case contains.

Shares no code with the generators or the oracle: states are dictionaries of Python integers, and one
instance of the scope is looked at at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cts.case import model as m

U32 = 1 << 32
Result = m.LayoutType | m.ViewType | m.MatrixShape | m.PointerType | m.VectorShape | m.ScalarType
Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass
class Layout:
    """A layout at one instance, and how it came to be: the setters since its creation."""

    clamp: m.ClampMode
    dims: list[int]
    strides: list[int]
    span: list[int]
    offset: list[int]
    block: list[int]
    setters: list[Any] = field(default_factory=list)
    wraps: set[str] = field(default_factory=set)


@dataclass
class View:
    has_dimensions: bool
    permutation: tuple[int, ...]
    dims: list[int]
    strides: list[int]
    clip: tuple[int, int, int, int] = (0, U32 - 1, 0, U32 - 1)
    setters: list[Any] = field(default_factory=list)


@dataclass
class Access:
    """One tensor load or store at one instance. Arrays are over all elements of the matrix.

    `furthest` is the largest index that an element in bounds has in the tensor.
    """

    index: int
    instruction: m.MatrixLoadTensor | m.MatrixStoreTensor
    matrix: m.MatrixShape
    layout: Layout
    view: View | None
    clipped: Ints
    coords: list[Ints]
    wraps: set[str]
    furthest: int = 0


def instances(case: m.Case) -> list[tuple[int, int, int, int]]:
    x, y, z = case.dispatch.workgroups
    return [(i, j, k, s) for k in range(z) for j in range(y) for i in range(x) for s in range(case.dispatch.subgroups)]


def value(operand: int | m.Scalar, where: tuple[int, int, int, int]) -> int:
    f = m.factors_of(operand)
    return (m.base_of(operand) + sum(a * b for a, b in zip((f.wg_x, f.wg_y, f.wg_z, f.sg), where, strict=True))) % U32


def signed(number: int) -> int:
    return number - U32 if number >= U32 // 2 else number


def accesses(case: m.Case, where: tuple[int, int, int, int]) -> Iterator[Access]:
    types = m.types_of(case)
    results: dict[str, Layout | View] = {}
    for index, i in enumerate(case.program):
        of: Any = results.get(getattr(i, "of", ""))
        match i:
            case m.TensorLayout() | m.TensorView():
                results[i.id] = _fresh(types[i.id])
            case m.MatrixLoadTensor() | m.MatrixStoreTensor():
                shape = types[i.id if isinstance(i, m.MatrixLoadTensor) else i.matrix]
                layout, view = results[i.layout], results[i.view] if i.view else None
                assert isinstance(shape, m.MatrixShape) and isinstance(layout, Layout)
                assert view is None or isinstance(view, View)
                yield _access(index, i, shape, layout, view)
            case _ if of is not None:
                results[i.id] = _set(of, i, where)  # type: ignore[union-attr]


def _fresh(kind: Result) -> Layout | View:
    if isinstance(kind, m.LayoutType):
        n = kind.dim
        return Layout(kind.clamp, [0] * n, [0] * n, [0] * n, [0] * n, [1] * n)
    assert isinstance(kind, m.ViewType)
    return View(kind.has_dimensions, kind.permutation, [0] * kind.dim, [0] * kind.dim)


def _set(of: Any, i: Any, where: tuple[int, int, int, int]) -> Layout | View:
    def values(operands: Any) -> list[int]:
        return [value(o, where) for o in operands]

    new = type(of)(**{k: list(v) if isinstance(v, list) else v for k, v in vars(of).items()})
    new.setters.append(i)
    if isinstance(new, Layout):
        new.wraps = set(of.wraps)
    match i:
        case m.TensorLayoutSetBlockSize():
            new.block = values(i.block_size)
        case m.TensorLayoutSetDimension():
            new.dims, new.span, new.offset = values(i.dims), values(i.dims), [0] * len(i.dims)
            counts = [-(-d // b) for d, b in zip(new.dims, new.block, strict=True)]
            new.strides = _row_major(counts)
            new.wraps -= {"offset sum"}
            if any(np.prod(counts[d:], dtype=object) >= U32 for d in range(1, len(counts))):
                new.wraps.add("dimension product")
        case m.TensorLayoutSetStride():
            new.strides = values(i.strides)
        case m.TensorLayoutSlice():
            added = [signed(a) + signed(b) for a, b in zip(of.offset, values(i.offset), strict=True)]
            if any(not -(2**31) <= a < 2**31 for a in added):
                new.wraps.add("offset sum")
            new.offset, new.span = [a % U32 for a in added], values(i.span)
        case m.TensorViewSetDimension():
            new.dims, new.strides = values(i.dims), _row_major(values(i.dims))
        case m.TensorViewSetStride():
            new.strides = values(i.strides)
        case m.TensorViewSetClip():
            new.clip = tuple(values((i.row_offset, i.row_span, i.col_offset, i.col_span)))
        case m.TensorLayoutSetClampValue():
            pass
        case _:
            raise AssertionError(f"unknown setter {i}")
    return new  # type: ignore[no-any-return]


def _row_major(extents: list[int]) -> list[int]:
    strides = [1]
    for extent in reversed(extents[1:]):
        strides.append(strides[-1] * extent % U32)
    return strides[::-1]


def _access(index: int, i: Any, shape: m.MatrixShape, layout: Layout, view: View | None) -> Access:
    row, col = (g.reshape(-1).astype(np.int64) for g in np.mgrid[: shape.rows, : shape.cols])
    wraps: set[str] = set()
    clipped = np.zeros(row.shape, bool)
    linear = row * shape.cols + col
    if view is not None:
        r0, rn, c0, cn = view.clip
        clipped = (row < r0) | (row >= r0 + rn) | (col < c0) | (col >= c0 + cn)
        linear = (row - r0) * min(shape.cols, cn) + (col - c0)
        linear = _through(view, layout, np.where(clipped, 0, linear), clipped, wraps)
    coords, rest = [], linear
    for d in reversed(range(len(layout.span))):
        if layout.span[d] == 0:
            return Access(index, i, shape, layout, view, clipped, [], wraps)
        moved = rest % layout.span[d] + signed(layout.offset[d])
        rest = rest // layout.span[d]
        if (~clipped & (moved >= 2**31)).any():
            wraps.add("coordinate")
        coords.append((moved + 2**31) % U32 - 2**31)
    coords.reverse()
    furthest = 0
    if all(layout.dims):
        total = 0
        for c, d, s, b in zip(coords, layout.dims, layout.strides, layout.block, strict=True):
            total = total + np.clip(c, 0, d - 1) // b * s
        inside = ~clipped & np.all([(c >= 0) & (c < d) for c, d in zip(coords, layout.dims, strict=True)], axis=0)
        if (inside & (total >= U32)).any():
            wraps.add("stride sum")
        furthest = int(np.where(inside, total % U32, 0).max())
    return Access(index, i, shape, layout, view, clipped, coords, wraps | layout.wraps, furthest)


def _through(view: View, layout: Layout, linear: Ints, clipped: Ints, wraps: set[str]) -> Ints:
    dims = view.dims if view.has_dimensions else layout.span
    strides = view.strides if view.has_dimensions else _row_major(layout.span)
    if 0 in dims:
        return linear
    total: Any = 0
    for p in reversed(view.permutation):
        # Python integers: a coordinate times a stride does not fit in 64 bits.
        total = total + (linear % dims[p]).astype(object) * strides[p]
        linear = linear // dims[p]
    if (~clipped & (total >= U32).astype(bool)).any():
        wraps.add("view stride sum")
    return (total % U32).astype(np.int64)  # type: ignore[no-any-return]
