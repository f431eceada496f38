"""From a sketch of a layout to legal setters: the module that holds the rules of layouts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cts.case.model import ClampMode
from cts.case.model.operand import Factors
from cts.generators.build import layouts
from cts.generators.build.layout_sketches import CLAMP_VALUES, LIMITS, OFFSETS, OUTSIDE, LayoutSketch, Strides
from cts.generators.build.operands import Grid, Varying, signed, varied


@dataclass(frozen=True)
class Purpose:
    """What a layout is for. Stores need `needed` distinct indices in the span (TA-067); loads need none.

    These indices are those of the first `leading` spans (None: of all), where a view has no more dimensions (TA-065).
    `blocks`: block sizes may be set. `block`: the one that a decode function asks for, with elements of the tensor that
    are large, so that few of them should lie apart. `distant`: memory may hold elements behind the 2^24th.
    """

    store: bool
    shape: tuple[int, int]
    needed: int
    grid: Grid
    blocks: bool
    block: tuple[int, ...] | None = None
    distant: bool = False
    leading: int | None = None


@dataclass(frozen=True)
class LayoutPlan:
    """Steps from a start to `state`, and a step that is taken from there and not used.

    `tiled_x`: instances along x reach different elements. `reusable`: later layouts may start here.
    """

    steps: tuple[layouts.Step, ...]
    state: layouts.LayoutState
    dead: layouts.Step | None
    tiled_x: bool
    reusable: bool


@dataclass
class _Geometry:
    """Extents, span and offset per dimension; with `sliced` unset the offset is 0 and the span the extents."""

    dims: list[int]
    span: list[int]
    offset: list[int]
    sliced: bool

    @property
    def dim(self) -> int:
        return len(self.dims)


def plan(sketch: LayoutSketch, start: layouts.LayoutState, purpose: Purpose) -> LayoutPlan:
    """A plan from `start` to a layout that is valid for its purpose."""
    keep = sketch.keep and _can_keep(start, purpose)
    wide = "" if keep else _wide(sketch, start, purpose)
    geometry = _geometry(sketch, start, purpose, wide, keep)
    bare = sketch.bare and sketch.clamp is ClampMode.Constant and max(start.dims) == 0 and geometry.sliced and not wide
    offset, tiled_x = _vary(sketch, geometry, purpose, wide, keep)
    steps: list[layouts.Step] = []
    state = start

    def take(*following: layouts.Step) -> None:
        nonlocal state
        for step in following:
            steps.append(step)
            state = state.after(step)

    if sketch.overridden is not None and not keep and not bare:
        take(*_overridden(sketch.overridden, start))
    before, after = _blocks(sketch, purpose, wide)
    take(*before)
    if not keep and not bare:
        take(layouts.SetDimension(tuple(geometry.dims)))
    strides = _strides(sketch, state, purpose, wide, geometry)
    late = strides is not None and sketch.strides is not None and sketch.strides.late
    if strides is not None and not late:
        take(strides)
    take(*after)
    take(*_slices(sketch, state, geometry, offset, wide))
    if strides is not None and late:
        take(_raised(strides, state))
    if sketch.clamp_value is not None:
        drawn = sketch.clamp_value
        value = Varying(CLAMP_VALUES[drawn.value], varied(purpose.grid, abs(drawn.variation)))
        steps.insert(len(steps) - drawn.back % (len(steps) + 1), layouts.SetClampValue(value))
    dead = None if sketch.dead is None else _slice_of(sketch.dead, start.dim)
    return LayoutPlan(tuple(steps), state, dead, tiled_x, reusable=not wide and not bare)


def _can_keep(start: layouts.LayoutState, purpose: Purpose) -> bool:
    """Whether a layout may go on from `start` without SetDimension; RepeatMirrored needs extents past 1 (TA-063)."""
    least = 2 if start.clamp is ClampMode.RepeatMirrored else 1
    return min(start.dims) >= least and not purpose.store


def _wide(sketch: LayoutSketch, start: layouts.LayoutState, purpose: Purpose) -> str:
    if sketch.wide is None:
        return ""
    undefined, unblocked = start.clamp is ClampMode.Undefined, max(start.block) == 1 and purpose.block is None
    fits = {
        "offset": not undefined,
        "accumulate": True,
        # Only the first span would grow (`leading`), and its stride is far.
        "stride": start.dim >= 2 and unblocked and not (purpose.needed and purpose.leading == 1),
        "dims": start.dim >= 3 and unblocked and start.clamp is not ClampMode.RepeatMirrored,
        "span": not undefined and not purpose.store,
    }
    return sketch.wide.kind if fits[sketch.wide.kind] else ""


def fitted(shape: tuple[int, int], dim: int) -> tuple[int, ...]:
    """`dim` extents with product rows * columns: (rows, columns) with factors split off the larger ones."""
    rows, cols = shape
    if dim == 1:
        return (rows * cols,)
    extents = [rows, cols]
    while len(extents) < dim:
        largest = max(range(len(extents)), key=lambda i: extents[i])
        factor = next((p for p in (2, 3, 5, 7, 11, 13) if extents[largest] % p == 0), 1)
        extents[largest : largest + 1] = [factor, extents[largest] // factor]
    return tuple(extents)


def _geometry(sketch: LayoutSketch, start: layouts.LayoutState, purpose: Purpose, wide: str, keep: bool) -> _Geometry:
    undefined = sketch.clamp is ClampMode.Undefined
    least = 2 if sketch.clamp is ClampMode.RepeatMirrored else 1  # TA-063
    span = list(fitted(purpose.shape, sketch.dim)) if sketch.fit else [axis.span for axis in sketch.axes]
    if sketch.fit and sketch.axes[0].span % 3 == 0:
        # The span has fewer rows than the matrix: an implementation may use the outermost digit as the row (TA-034).
        span[0] = min(span[0], sketch.axes[0].span)
    geometry = _Geometry(list(span), span, [0] * sketch.dim, sketch.sliced or keep or wide != "")
    if geometry.sliced:
        for d, axis in enumerate(sketch.axes):
            geometry.dims[d] = start.dims[d] if keep else max(axis.extent, least)
            _place(sketch, geometry, d, keep)
    if keep and undefined:
        _stay_inside(geometry, start, purpose.grid)
    _come_near_wrapping(sketch, geometry, wide, undefined)
    leading = geometry.span[: purpose.leading]
    growing = 1 if wide == "stride" and len(leading) > 1 else 0
    rest = math.prod(leading) // leading[growing]
    geometry.span[growing] = max(geometry.span[growing], -(-purpose.needed // rest))
    if not geometry.sliced:
        geometry.dims = list(geometry.span)
    elif undefined and not keep:
        geometry.dims = [
            max(o + s + d % 3, d) for o, s, d in zip(geometry.offset, geometry.span, geometry.dims, strict=True)
        ]
    if wide == "dims":
        # The stride of the dimension outside these two is 4 * (2^30 + n) = 4n mod 2^32.
        geometry.dims[-2:] = [2**30 + geometry.offset[-2] + geometry.span[-2] + 1, 4]
    return geometry


def _place(sketch: LayoutSketch, geometry: _Geometry, d: int, keep: bool) -> None:
    """Where the span begins in dimension d.

    With a focus, that dimension leaves the tensor and the others stay in bounds, so that what becomes of
    this one is not hidden behind another. With clamp mode Undefined all stay in bounds (TA-060).
    """
    index, extent, span = sketch.axes[d].offset, geometry.dims[d], geometry.span[d]
    focus = None if sketch.focus is None else sketch.dim - 1 - sketch.focus % sketch.dim
    if sketch.clamp is ClampMode.Undefined:
        geometry.offset[d] = index % 4 if d != sketch.long else max(extent - span, 0)
    elif focus is None:
        geometry.offset[d] = OFFSETS[index](extent, span)
    elif d == focus:
        geometry.offset[d] = OUTSIDE[index % len(OUTSIDE)](extent, span)
    else:
        geometry.offset[d] = index % 4
        if not keep:
            geometry.dims[d] = max(extent, geometry.offset[d] + span)


def _stay_inside(geometry: _Geometry, start: layouts.LayoutState, grid: Grid) -> None:
    """Change span and offset so that all instances stay in bounds of extents that are kept (TA-060).

    The offset of `start` adds up with this one (TA-016): where it varies, instances keep their distances.
    """
    for d, extent in enumerate(geometry.dims):
        low, high = replace(start.offset[d], base=0).range(grid)
        room = extent - (high - low)
        geometry.span[d] = min(geometry.span[d], room)
        geometry.offset[d] = geometry.offset[d] % (room - geometry.span[d] + 1) - low


def _come_near_wrapping(sketch: LayoutSketch, geometry: _Geometry, wide: str, undefined: bool) -> None:
    """Change the geometry towards one of `layout_sketches.WIDE`."""
    if not wide:
        return
    assert sketch.wide is not None
    dims, span, offset = geometry.dims, geometry.span, geometry.offset
    d, amount = sketch.wide.which % geometry.dim, sketch.wide.amount
    if wide == "offset":
        offset[d] = signed(2**31 + 2 - amount % (span[d] + 4))
    elif wide == "span":
        span[d] = (2**32 - 1, 2**31 + 5, 65537, 2**24 + 3)[amount % 4]
    elif wide == "stride":
        span[0], offset[0] = 1, 2 + amount % 4
        dims[0] = max(dims[0], offset[0] + 1)
    elif wide == "dims":
        span[-2], offset[-2], dims[-1] = min(span[-2], LIMITS[geometry.dim]), abs(offset[-2]) % 4, 4
        if undefined:
            span[-1] = min(span[-1], 4)
            offset[-1] %= 5 - span[-1]


def _vary(
    sketch: LayoutSketch, geometry: _Geometry, purpose: Purpose, wide: str, keep: bool
) -> tuple[tuple[Varying, ...], bool]:
    """The offset as operands, and whether it gives instances along x slices of their own. Extents grow to fit."""
    undefined = sketch.clamp is ClampMode.Undefined
    factors = [Factors()] * geometry.dim
    tiled_x = False
    if sketch.variation and geometry.sliced and not wide and not (keep and undefined):
        d = geometry.dim - 1 - sketch.varying % geometry.dim
        tiled_x = sketch.tiled and purpose.store and purpose.grid.x > 1
        if tiled_x:
            factors[d] = Factors(wg_x=geometry.span[d])
        else:
            factors[d] = varied(purpose.grid, abs(sketch.variation) if undefined else sketch.variation)
    offset = tuple(Varying(o, f) for o, f in zip(geometry.offset, factors, strict=True))
    if undefined and geometry.sliced and not keep and not wide:
        for d, o in enumerate(offset):
            geometry.dims[d] = max(geometry.dims[d], o.range(purpose.grid)[1] + geometry.span[d])
    return offset, tiled_x


def _overridden(drawn: tuple[int, int], start: layouts.LayoutState) -> Iterator[layouts.Step]:
    """Setters that the SetDimension after them makes ineffective."""
    kind, number = drawn
    limit = LIMITS[start.dim]
    if kind in (0, 2):
        yield layouts.SetDimension(tuple(1 + (number + 3 * d) % limit for d in range(start.dim)))
    if kind in (1, 2):
        yield _slice_of(number, start.dim)
    if kind == 3:
        yield layouts.SetStride(
            layouts.least_strides([max(d, 2) for d in start.dims], start.block, [1 + number % 2] * start.dim)
        )


def _slice_of(number: int, dim: int) -> layouts.Slice:
    """A slice of small numbers: offset 0 everywhere for number 0."""
    signs = (1, -1, 2, 1, -2)
    return layouts.Slice(
        tuple(Varying(number * signs[d]) for d in range(dim)), tuple(1 + (number + d) % 5 for d in range(dim))
    )


def _blocks(sketch: LayoutSketch, purpose: Purpose, wide: str) -> tuple[list[layouts.Step], list[layouts.Step]]:
    """SetBlockSize before and after SetDimension; all 1 on stores (TA-068), and then only now and then."""
    blocks = sketch.blocks
    if purpose.block is not None:
        asked: list[layouts.Step] = [layouts.SetBlockSize(purpose.block)]
        return ([], asked) if blocks is not None and blocks.where == 1 and sketch.dim == 1 else (asked, [])
    if blocks is None or not purpose.blocks or wide in ("stride", "dims"):
        return [], []
    if purpose.store:
        ones = layouts.SetBlockSize((1,) * sketch.dim)
        return ([ones], []) if blocks.where == 0 else ([], [])
    before = [layouts.SetBlockSize(_digits(blocks.before, sketch.dim))] if blocks.where != 1 else []
    after = [layouts.SetBlockSize(_digits(blocks.after, sketch.dim))] if blocks.where != 0 else []
    return [*before], [*after]


def _digits(number: int, dim: int) -> tuple[int, ...]:
    """Block sizes from 1 to 5, the innermost from the lowest digit; in rank 1 up to 25."""
    if dim == 1:
        return (1 + number % 25,)
    return tuple(1 + number // 5**d % 5 for d in reversed(range(dim)))


def _strides(
    sketch: LayoutSketch, state: layouts.LayoutState, purpose: Purpose, wide: str, geometry: _Geometry
) -> layouts.SetStride | None:
    """Strides within TA-015 at this moment, the innermost 0 on loads only (TA-067)."""
    drawn = sketch.strides
    if wide == "dims" or (drawn is None and wide != "stride"):
        return None
    drawn = drawn or Strides(0, late=False, far=False)
    last = (0, 1, 2)[drawn.last % 3] if purpose.store else (0, 1, 2, -1)[drawn.last % 4]
    pads = [axis.pad for axis in sketch.axes[:-1]]
    if drawn.far and purpose.block is None and not wide and state.dim > 1 and purpose.grid.instances == 1:
        pads[0] += 65536 // max(geometry.dims[0] - 1, 1)
    strides = list(layouts.least_strides(geometry.dims, state.block, (*pads, last)))
    if wide == "stride":
        assert sketch.wide is not None
        distant = purpose.distant and sketch.wide.amount >= 5
        far = layouts.distant_stride if distant else layouts.far_stride
        strides[0] = max(far(geometry.offset[0], pads[0]), strides[0])
    return layouts.SetStride(tuple(strides))


def _raised(step: layouts.SetStride, state: layouts.LayoutState) -> layouts.SetStride:
    """The strides, raised where a block size set in between asks for more (TA-015)."""
    strides = list(step.strides)
    for i in reversed(range(len(strides) - 1)):
        strides[i] = max(strides[i], strides[i + 1] * -(-state.dims[i + 1] // state.block[i + 1]))
    return layouts.SetStride(tuple(strides))


def _slices(
    sketch: LayoutSketch, state: layouts.LayoutState, geometry: _Geometry, offset: Sequence[Varying], wide: str
) -> Iterator[layouts.Step]:
    """One slice or two to the geometry's offset and span."""
    if not geometry.sliced:
        return
    rest = [replace(o, base=signed(o.base - s.base)) for o, s in zip(offset, state.offset, strict=True)]
    if wide == "accumulate" or sketch.first is not None:
        first = _slice_of(sketch.first or 0, geometry.dim)
        if wide == "accumulate":
            assert sketch.wide is not None
            d = sketch.wide.which % geometry.dim
            far = (2**31 - 1, -(2**31), 2**31 - 9)[sketch.wide.amount % 3]
            first = replace(first, offset=(*first.offset[:d], Varying(far), *first.offset[d + 1 :]))
        yield first
        rest = [replace(r, base=signed(r.base - f.base)) for r, f in zip(rest, first.offset, strict=True)]
    yield layouts.Slice(tuple(rest), tuple(geometry.span))
