"""What a case contains, in words: the classification behind docs/generators.md."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from cts.case import model as m
from tests.generators.replay import Access, Layout, Result, View, accesses, instances, signed

SIDES = ("below", "beyond")


def situations(case: m.Case) -> set[str]:
    """Every situation of docs/generators.md that occurs in the case."""
    found = {*_static(case)}
    all_instances = instances(case)
    for where in (all_instances[0], all_instances[-1]):
        for access in accesses(case, where):
            op = "load" if isinstance(access.instruction, m.MatrixLoadTensor) else "store"
            found |= {*_clamping(access, op), *_layout(access.layout, access, op), *_view(access.view, access, op)}
            found |= {f"{op}: {w} wraps at 2^32" for w in access.wraps}
    return found


def _clamping(access: Access, op: str) -> Iterator[str]:
    layout = access.layout
    mode, seen = layout.clamp.value, ~access.clipped
    for d, (c, size) in enumerate(zip(access.coords, layout.dims, strict=False)):
        period = {m.ClampMode.Repeat: size, m.ClampMode.RepeatMirrored: 2 * size - 2}.get(layout.clamp)
        others = [(o >= 0) & (o < n) for e, (o, n) in enumerate(zip(access.coords, layout.dims, strict=True)) if e != d]
        alone = seen & np.all(others, axis=0) if others else seen
        for side, out in zip(SIDES, (c < 0, c >= size), strict=True):
            if (seen & out).any():
                yield f"{op}: {mode} {side} dimension {d}"
            if (alone & out).any():
                yield f"{op}: {mode} {side} dimension {d} alone, rank {len(layout.dims)}"
        if period and op == "load":
            if (seen & (c < -2 * period)).any():
                yield f"{op}: {mode} several periods below dimension {d}"
            if (seen & (c >= 3 * period)).any():
                yield f"{op}: {mode} several periods beyond dimension {d}"
    if all(((c >= 0) & (c < n))[seen].all() for c, n in zip(access.coords, layout.dims, strict=False)):
        yield f"{op}: {mode} in bounds"


def _layout(layout: Layout, access: Access, op: str) -> Iterator[str]:
    rank = len(layout.dims)
    yield f"{op}: rank {rank}"
    steps = layout.setters
    last = max((k for k, s in enumerate(steps) if isinstance(s, m.TensorLayoutSetDimension)), default=None)
    if last is None:
        yield f"{op}: never given dimensions"
    kinds = [type(s) for s in steps]
    after = steps[(last + 1 if last is not None else 0) :]
    slices = [s for s in after if isinstance(s, m.TensorLayoutSlice)]
    yield f"{op}: slices {min(len(slices), 3)}"
    for a, b in itertools.pairwise(slices):
        for x, y in zip(a.offset, b.offset, strict=True):
            x, y = signed(m.base_of(x) % 2**32), signed(m.base_of(y) % 2**32)
            if x * y < 0:
                yield f"{op}: slice offset {'negative' if x < 0 else 'positive'}, then the other sign"
    if any(signed(o) < 0 for o in layout.offset):
        yield f"{op}: negative offset"
    if kinds.count(m.TensorLayoutSetDimension) > 1:
        yield f"{op}: SetDimension twice"
    if last is not None and m.TensorLayoutSlice in kinds[:last]:
        yield f"{op}: Slice before SetDimension"
    if last is not None and m.TensorLayoutSetStride in kinds[:last]:
        yield f"{op}: SetStride before SetDimension"
    yield from (f"{op}: {w}" for w in _orders([type(s) for s in after]))
    for k, s in enumerate(steps):
        if isinstance(s, m.TensorLayoutSetClampValue) and layout.clamp is m.ClampMode.Constant:
            yield f"{op}: clamp value " + ("before SetDimension" if k < (last or 0) else "after SetDimension")
    yield from (f"{op}: {w}" for w in _blocks(layout, kinds, last))
    yield from (f"{op}: {w}" for w in _strides(layout))
    volume, elements = math.prod(layout.span), access.matrix.rows * access.matrix.cols
    relation = "smaller than" if volume < elements else "as large as" if volume == elements else "larger than"
    yield f"{op}: span {relation} the matrix"
    if access.view is None and layout.span[-1] == access.matrix.cols and volume < elements:
        yield f"{op}: fewer whole rows than the matrix, {layout.clamp.value}"
    if any(s < d for s, d in zip(layout.span, layout.dims, strict=True)):
        yield f"{op}: span below a dimension"
    if any(s > d for s, d in zip(layout.span, layout.dims, strict=True)):
        yield f"{op}: span above a dimension"


def _orders(after: list[type]) -> Iterator[str]:
    """Orders of the setters since the last SetDimension."""
    if m.TensorLayoutSetBlockSize in after:
        yield "SetBlockSize after SetDimension"
    at = [k for k, s in enumerate(after) if s is m.TensorLayoutSlice]
    if m.TensorLayoutSetStride in after:
        stride = after.index(m.TensorLayoutSetStride)
        if len(at) > 1 and stride < at[0]:
            yield "SetStride before Slice of Slice"
        if at and stride > at[0]:
            yield "SetStride after Slice"


def _blocks(layout: Layout, kinds: list[type], last: int | None) -> Iterator[str]:
    if m.TensorLayoutSetBlockSize in kinds:
        yield "block size set"
    if last is not None and m.TensorLayoutSetBlockSize in kinds[:last] and max(layout.block) > 1:
        yield "SetBlockSize before SetDimension"
    for b, d in zip(layout.block, layout.dims, strict=True):
        if b & (b - 1):
            yield "block size not a power of two"
        if d % b:
            yield "block size does not divide the dimension"
        if b > d > 0:
            yield "block size above the dimension"


def _strides(layout: Layout) -> Iterator[str]:
    if not all(layout.dims):
        return
    if any(s >= 1 << 24 for s in layout.strides):
        yield "stride of 2^24 or more"
    yield {0: "innermost stride 0", 1: "innermost stride 1"}.get(layout.strides[-1], "innermost stride above 1")
    counts = [-(-d // b) for d, b in zip(layout.dims, layout.block, strict=True)]
    dense = [a * n for a, n in zip(layout.strides[1:], counts[1:], strict=True)]
    if any(s > x for s, x in zip(layout.strides, dense, strict=False)):
        yield "padded stride"
    if any(0 < s < x and n > 1 for s, x, n in zip(layout.strides, dense, counts, strict=False)):
        yield "overlapping strides"


def _view(view: View | None, access: Access, op: str) -> Iterator[str]:
    if view is None:
        yield f"{op}: no view"
        return
    rank, layout_rank = len(view.permutation), len(access.layout.dims)
    kind = "own dimensions" if view.has_dimensions else "the span's dimensions"
    yield f"{op}: view of rank {rank}, {kind}"
    if rank != layout_rank:
        yield f"{op}: view of " + ("lower" if rank < layout_rank else "higher") + " rank"
    yield f"{op}: {_permutation_class(view.permutation)} permutation, {kind}"
    if view.permutation == (0, 2, 1, 3, 4):
        yield f"{op}: permutation of space to depth"
    if view.has_dimensions:
        own, span = math.prod(view.dims), math.prod(access.layout.span)
        yield (
            f"{op}: view volume " + ("below" if own < span else "equal to" if own == span else "above") + " the span's"
        )
        dense = [math.prod(view.dims[d + 1 :]) for d in range(rank)]
        yield f"{op}: view strides " + ("dense" if view.strides == dense else "own")
        if any(s == 0 and d > 1 for s, d in zip(view.strides, view.dims, strict=True)):
            yield f"{op}: broadcast view stride"
    kinds = [type(s) for s in view.setters]
    if not view.has_dimensions and {m.TensorViewSetDimension, m.TensorViewSetStride} & {*kinds}:
        yield f"{op}: dimensions or strides set that a view without dimensions ignores"
    if m.TensorViewSetClip in kinds[:-1]:
        yield f"{op}: SetClip before other setters"
    if m.TensorViewSetClip in kinds:
        shape = access.matrix
        for axis, extent, (offset, span) in (
            ("row", shape.rows, view.clip[:2]),
            ("column", shape.cols, view.clip[2:]),
        ):
            yield f"{op}: clip {axis}s {_relation(extent, offset, span)}, {kind}"
        if not access.clipped.all() and access.clipped.any() and min(shape.cols, view.clip[3]) < shape.cols:
            yield f"{op}: clip narrower than the matrix, {kind}"


def _permutation_class(p: tuple[int, ...]) -> str:
    if p == tuple(range(len(p))):
        return "identity"
    return "involutory" if all(p[p[i]] == i for i in range(len(p))) else "non-involutory"


def _relation(extent: int, offset: int, span: int) -> str:
    if span == 0:
        return "empty"
    if offset >= extent:
        return "outside"
    if offset + span > extent:
        return "from inside to past the end" if offset else "past the end"
    if offset == 0:
        return "whole" if span == extent else "from the start"
    return "to the end" if offset + span == extent else "inside"


def _static(case: m.Case) -> Iterator[str]:
    types = m.types_of(case)
    matrices = [t for t in types.values() if isinstance(t, m.MatrixShape)]
    for t in matrices:
        yield f"component {t.component.value}"
        yield f"scope {t.scope.value}"
        yield f"use {t.use.value}"
        yield "shape " + ("1x1" if t.rows == t.cols == 1 else "square" if t.rows == t.cols else "not square")
        if t.cols == 1:
            yield "one column"
        if t.rows == 1:
            yield "one row"
        if max(t.rows, t.cols) > 16:
            yield "more than 16 rows or columns"
        if max(t.rows, t.cols) >= 256:
            yield "256 rows or columns"
    d = case.dispatch
    yield f"workgroups: rank {sum(n > 1 for n in d.workgroups)}"
    yield f"{matrices[0].scope.value} scope, subgroups " + ("1" if d.subgroups == 1 else "several")
    uses = Counter(getattr(i, "of", None) for i in case.program)
    made = {getattr(i, "id", None) for i in case.program}
    needed = {getattr(i, f, None) for i in case.program for f in ("of", "layout", "view")}
    if any(n > 1 for name, n in uses.items() if name):
        yield "setters branch from one id"
    if {n for n in made - needed if n and not isinstance(types[n], m.MatrixShape)}:
        yield "a setter's result is unused"
    stored = [i.matrix for i in case.program if isinstance(i, (m.MatrixStore, m.MatrixStoreTensor))]
    if len(stored) > len(set(stored)):
        yield "a matrix is stored twice"
    by_tensor = {i.id for i in case.program if isinstance(i, m.MatrixLoadTensor)}
    if any(isinstance(i, m.MatrixStoreTensor) and i.matrix in by_tensor for i in case.program):
        yield "tensor load to tensor store"
    for i in case.program:
        yield from _memory(case, i, types)
        yield from _operands(i)


def _memory(case: m.Case, i: Any, types: dict[str, Result]) -> Iterator[str]:
    if not isinstance(i, (m.MatrixLoad, m.MatrixStore, m.MatrixLoadTensor, m.MatrixStoreTensor)):
        return
    if i.buffer not in case.buffers:  # a pointer
        return
    op, buffer = type(i).__name__, case.buffers[i.buffer]
    shape = types[i.id if isinstance(i, (m.MatrixLoad, m.MatrixLoadTensor)) else i.matrix]
    assert isinstance(shape, m.MatrixShape)
    yield f"{op}: {buffer.storage.value}"
    yield f"{op}: pointee of {buffer.components} components"
    width = buffer.type.size - shape.component.size
    yield f"{op}: pointee component " + ("same" if width == 0 else "narrower" if width < 0 else "wider")
    if m.base_of(i.offset):
        yield f"{op}: base offset"
    if isinstance(i, (m.MatrixLoad, m.MatrixStore)):
        yield f"{op}: {i.order.value}"
        lines, line = (shape.rows, shape.cols) if i.order is m.Order.RowMajor else (shape.cols, shape.rows)
        used, there = line * shape.component.size, m.base_of(i.stride) * buffer.element_size
        if lines > 1:
            yield f"{op}: lines " + ("adjoin" if used == there else "padded" if used < there else "overlap")


def _operands(i: Any) -> Iterator[str]:
    op = type(i).__name__
    fields = [(f, getattr(i, f)) for f in i.__struct_fields__]
    if isinstance(i, (m.MatrixConstant, m.MatrixLoad)):
        fields = [(f, v) for f, v in fields if f != "type"] + [
            (f, getattr(i.type, f)) for f in ("rows", "cols", "scope", "use")
        ]
    for name, value in fields:
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, m.Scalar):
                yield f"{op}.{name} {item.constness}"
                for axis, factor in zip(("wg.x", "wg.y", "wg.z", "sg"), _factors(item), strict=True):
                    if factor:
                        yield f"{op}.{name} varies by {axis}"
            elif isinstance(item, m.SpecNumber):
                yield f"{op}.{name} " + ("spec" if item.spec is not None else "dynamic")
            elif isinstance(item, (m.SpecInt, m.SpecBool, m.SpecClampMode, m.SpecScope, m.SpecUse)):
                yield f"{op}.{name} spec"
            elif not (isinstance(item, str) and op != "MatrixConstant"):
                yield f"{op}.{name} literal"


def _factors(item: m.Scalar) -> tuple[int, int, int, int]:
    return item.wg_x, item.wg_y, item.wg_z, item.sg
