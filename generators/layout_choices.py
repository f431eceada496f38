"""Drawing tensor layouts: geometry relative to the matrix, then the instructions that lead there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cts.generators.choices import Choices
from cts.generators.layouts import (
    LayoutState,
    SetBlockSize,
    SetClampValue,
    SetDimension,
    SetStride,
    Slice,
    Step,
    far_stride,
    least_strides,
)
from cts.generators.operands import Grid, Varying, draw_factors, signed
from cts.model import ClampMode
from cts.model.operand import Factors

#: Largest drawn extent by rank: keeps whole tensors to a few thousand elements.
LIMITS = {1: 40, 2: 12, 3: 7, 4: 5, 5: 4}

#: Clamp values as 32-bit patterns (TA-038): the low bits are no value of a source, the high ones are to be ignored.
CLAMP_VALUES = (0xFC, 0x5CFC, 0xCAFE5CFC, -772, 0x80FC)

#: Offsets that matter, for a dimension of extent d and a span of s: (nearly) inside, across either end, beyond
#: either end, and one or more periods of Repeat (d) and RepeatMirrored (2d - 2) away.
OFFSETS: tuple[Callable[[int, int], int], ...] = (
    lambda d, s: 0,
    lambda d, s: 1,
    lambda d, s: -1,
    lambda d, s: 0,
    lambda d, s: d - s,
    lambda d, s: 2,
    lambda d, s: 0,
    lambda d, s: -2,
    lambda d, s: d - s,
    lambda d, s: 1,
    lambda d, s: d - s + 1,
    lambda d, s: max(d - s, 0) // 2,
    lambda d, s: d - 1,
    lambda d, s: 1 - s,
    lambda d, s: d,
    lambda d, s: -s,
    lambda d, s: 0,
    lambda d, s: 3,
    lambda d, s: 0,
    lambda d, s: -3,
    lambda d, s: -d,
    lambda d, s: 2 * d - 2,
    lambda d, s: -2 * d,
    lambda d, s: 3 * d + 1,
    lambda d, s: -3 * d - 2,
    lambda d, s: 41,
    lambda d, s: -53,
    lambda d, s: 65539,
    lambda d, s: -65541,
)

#: Ways to come near 2^32 (TA-075): a coordinate that wraps, offsets whose sum wraps, a stride or dimensions whose
#: products wrap, a span near 2^32.
WIDE = ("offset", "accumulate", "stride", "dims", "span")


@dataclass(frozen=True)
class Purpose:
    """What a layout is for. Stores need `needed` distinct indices in the span (TA-067); loads need none."""

    store: bool
    shape: tuple[int, int]
    needed: int
    grid: Grid
    blocks: bool


@dataclass(frozen=True)
class LayoutPlan:
    """Steps from a start to `state`, and a step that is taken from there and not used.

    `tiled_x`: instances along x reach different elements. `reusable`: later layouts may start here.
    """

    steps: tuple[Step, ...]
    state: LayoutState
    dead: Step | None
    tiled_x: bool
    reusable: bool


@dataclass(frozen=True)
class _Geometry:
    dims: tuple[int, ...]
    span: tuple[int, ...]
    offset: tuple[Varying, ...]
    sliced: bool
    tiled_x: bool


def draw_layout(choices: Choices, start: LayoutState, purpose: Purpose) -> LayoutPlan:
    """A plan from `start` to a layout that is valid for its purpose with any matrix and view of the purpose."""
    wide = choices.group(lambda c: _draw_wide(c, start, purpose))
    kept = _can_keep(start, purpose) and not wide and choices.chance(5)
    geometry = choices.group(lambda c: _draw_geometry(c, start, purpose, wide, kept))
    steps: list[Step] = []
    state = start

    def take(step: Step) -> None:
        nonlocal state
        steps.append(step)
        state = state.after(step)

    dim = start.dim
    bare = start.clamp is ClampMode.Constant and max(start.dims) == 0 and geometry.sliced and choices.rarely(12)
    if not kept and not bare and choices.chance(2):
        for step in choices.group(lambda c: _draw_overridden(c, dim)):
            take(step)
    blocks = () if wide in ("stride", "dims") else choices.group(lambda c: _draw_blocks(c, dim, purpose))
    if blocks and blocks[0]:
        take(SetBlockSize(blocks[0]))
    if not kept and not bare:
        take(SetDimension(geometry.dims))
    strides = choices.group(lambda c: _draw_strides(c, state, purpose, wide, geometry))
    late = strides is not None and choices.chance(3)
    if strides is not None and not late:
        take(strides)
    if len(blocks) > 1:
        take(SetBlockSize(blocks[1]))
    for step in choices.group(lambda c: _draw_slices(c, state, geometry, wide)):
        take(step)
    if strides is not None and late:
        take(replace(strides, strides=_not_below_least(strides.strides, state)))
    if choices.chance(6 if start.clamp is ClampMode.Constant else 1):
        value = Varying(choices.pick(CLAMP_VALUES))
        if purpose.grid.instances > 1 and choices.chance(3):
            value = replace(value, factors=draw_factors(choices, purpose.grid, 0, 3))
        steps.insert(choices.between(0, len(steps)), SetClampValue(value))
    dead = choices.group(lambda c: _draw_dead(c, dim)) if choices.chance(1) else None
    return LayoutPlan(tuple(steps), state, dead, geometry.tiled_x, reusable=not wide and not bare)


def _can_keep(start: LayoutState, purpose: Purpose) -> bool:
    """Whether a layout may go on from `start` without SetDimension; RepeatMirrored needs extents past 1 (TA-063)."""
    least = 2 if start.clamp is ClampMode.RepeatMirrored else 1
    return min(start.dims) >= least and not purpose.store


def fitted(shape: tuple[int, int], dim: int) -> tuple[int, ...]:
    """`dim` extents with product rows * columns: (rows, columns) with factors split off the larger ones."""
    rows, cols = shape
    if dim == 1:
        return (rows * cols,)
    extents = [rows, cols]
    while len(extents) < dim:
        at = max(range(len(extents)), key=lambda i: extents[i])
        factor = next((p for p in (2, 3, 5, 7, 11, 13) if extents[at] % p == 0), 1)
        extents[at : at + 1] = [factor, extents[at] // factor]
    return tuple(extents)


def _draw_wide(choices: Choices, start: LayoutState, purpose: Purpose) -> str:
    if not choices.chance(2):
        return ""
    wide = choices.pick(WIDE)
    undefined = start.clamp is ClampMode.Undefined
    fits = {
        "offset": not undefined,
        "accumulate": True,
        "stride": start.dim >= 2,
        "dims": start.dim >= 3 and start.clamp is not ClampMode.RepeatMirrored,
        "span": not undefined and not purpose.store,
    }
    return wide if fits[wide] else ""


def _draw_geometry(choices: Choices, start: LayoutState, purpose: Purpose, wide: str, kept: bool) -> _Geometry:
    dim, undefined = start.dim, start.clamp is ClampMode.Undefined
    limit = LIMITS[dim]
    span = list(fitted(purpose.shape, dim)) if choices.chance(5) else [choices.between(1, limit) for _ in range(dim)]
    sliced = wide != "" or kept or choices.chance(8)
    dims, offset = list(span), [0] * dim
    if sliced:
        for d in range(dim):
            dims[d] = start.dims[d] if kept else choices.between(1, limit)
            offset[d] = choices.pick(OFFSETS)(dims[d], span[d])
        # In half of the layouts one dimension goes where it likes and the others stay in bounds, so that
        # what becomes of this one is not hidden behind another.
        focus = choices.between(-dim, dim - 1) if dim > 1 and not kept and not undefined else -1
        for d in range(dim) if focus >= 0 else ():
            if d != focus:
                offset[d] = abs(offset[d]) % 4
                dims[d] = max(dims[d], offset[d] + span[d])
    if start.clamp is ClampMode.RepeatMirrored and sliced and not kept:
        dims = [max(d, 2) for d in dims]  # TA-063
    if kept and undefined:
        span = [min(s, d) for s, d in zip(span, dims, strict=True)]
        offset = [abs(o) % (d - s + 1) for o, d, s in zip(offset, dims, span, strict=True)]
    elif undefined and sliced:
        offset = [abs(o) % 4 for o in offset]
    widest = choices.between(0, dim - 1) if wide in ("offset", "span") else 0
    if wide == "offset":
        offset[widest] = signed(2**31 - choices.between(-2, span[widest] + 1))
    elif wide == "span":
        span[widest] = choices.pick((65537, 2**31 + 5, 2**32 - 1, 2**24 + 3))
    elif wide == "stride":
        span[0], offset[0] = 1, choices.between(2, 5)
        dims[0] = max(dims[0], offset[0] + 1)
    elif wide == "dims":
        span[-2], offset[-2], dims[-1] = min(span[-2], limit), abs(offset[-2]) % 4, 4
        if undefined:
            span[-1] = min(span[-1], 4)
            offset[-1] %= 5 - span[-1]
    growing = 1 if wide == "stride" else 0
    span[growing] = max(span[growing], -(-purpose.needed * span[growing] // math.prod(span)))
    factors, tiled_x = [Factors()] * dim, False
    if sliced and not wide and not (kept and undefined) and purpose.grid.instances > 1 and choices.chance(4):
        which = choices.between(0, dim - 1)
        tiled_x = purpose.store and purpose.grid.x > 1 and choices.chance(5)
        if tiled_x:
            factors[which] = Factors(wg_x=span[which])
        else:
            factors[which] = draw_factors(choices, purpose.grid, 0 if undefined else -3, 5)
    varying = tuple(Varying(o, f) for o, f in zip(offset, factors, strict=True))
    if not sliced:
        dims = list(span)
    elif undefined and not kept:
        dims = [max(v.range(purpose.grid)[1] + s + d % 3, d) for d, s, v in zip(dims, span, varying, strict=True)]
    if wide == "dims":
        # The stride of the dimension outside these two is 4 * (2^30 + n) = 4n mod 2^32.
        dims[-2:] = [2**30 + offset[-2] + span[-2] + 1, 4]
    return _Geometry(tuple(dims), tuple(span), varying, sliced, tiled_x)


def _draw_overridden(choices: Choices, dim: int) -> Sequence[Step]:
    """Setters that the SetDimension after them makes ineffective."""
    limit = LIMITS[dim]
    dims = SetDimension(tuple(choices.between(1, limit) for _ in range(dim)))
    kind = choices.between(0, 3)
    if kind == 0:
        return [dims]
    if kind == 1:
        return [_draw_dead(choices, dim)]
    if kind == 2:
        return [dims, _draw_dead(choices, dim)]
    return [SetStride(least_strides(dims.dims, (1,) * dim, (1,) * dim))]


def _draw_dead(choices: Choices, dim: int) -> Slice:
    return Slice(
        tuple(Varying(choices.between(-3, 9)) for _ in range(dim)),
        tuple(choices.between(1, LIMITS[dim]) for _ in range(dim)),
    )


def _draw_blocks(choices: Choices, dim: int, purpose: Purpose) -> tuple[tuple[int, ...], ...]:
    """Block sizes before SetDimension (empty: none) and after it (absent: none). All 1 on stores (TA-068)."""
    if not purpose.blocks or not choices.chance(1 if purpose.store else 3):
        return ()
    where = choices.between(0, 2)
    drawn = [
        tuple(1 if purpose.store else choices.between(1, 5 if dim > 1 else 9) for _ in range(dim))
        for _ in range(2 if where == 2 else 1)
    ]
    return ((), drawn[0]) if where == 1 else tuple(drawn)


def _draw_strides(
    choices: Choices, state: LayoutState, purpose: Purpose, wide: str, geometry: _Geometry
) -> SetStride | None:
    if wide == "dims" or not (wide == "stride" or choices.chance(3)):
        return None
    last = choices.pick((0, 1, 2, 0, 1) if purpose.store else (0, 1, 2, -1))
    pads = [choices.between(0, 3) for _ in range(state.dim - 1)]
    if not wide and state.dim > 1 and purpose.grid.instances == 1 and choices.rarely(25):
        pads[0] += 65536 // max(geometry.dims[0] - 1, 1)
    strides = list(least_strides(geometry.dims, state.block, (*pads, last)))
    if wide == "stride":
        strides[0] = max(far_stride(geometry.offset[0].base, pads[0]), strides[0])
    return SetStride(tuple(strides))


def _not_below_least(strides: tuple[int, ...], state: LayoutState) -> tuple[int, ...]:
    """`strides`, raised where a block size set in between asks for more (TA-015)."""
    raised = list(strides)
    for i in reversed(range(len(raised) - 1)):
        raised[i] = max(raised[i], raised[i + 1] * -(-state.dims[i + 1] // state.block[i + 1]))
    return tuple(raised)


def _draw_slices(choices: Choices, state: LayoutState, geometry: _Geometry, wide: str) -> list[Step]:
    """One slice or two to the geometry's offset and span."""
    if not geometry.sliced:
        return []
    rest = [replace(o, base=signed(o.base - s.base)) for o, s in zip(geometry.offset, state.offset, strict=True)]
    steps: list[Step] = []
    if wide == "accumulate" or choices.chance(3):
        far = choices.pick((2**31 - 1, -(2**31), 2**31 - 9)) if wide == "accumulate" else 0
        first = [Varying(choices.between(-9, 9)) for _ in rest]
        if far:
            first[choices.between(0, len(first) - 1)] = Varying(far)
        steps.append(Slice(tuple(first), tuple(choices.between(1, 9) for _ in rest)))
        rest = [replace(r, base=signed(r.base - f.base)) for r, f in zip(rest, first, strict=True)]
    return [*steps, Slice(tuple(rest), geometry.span)]
