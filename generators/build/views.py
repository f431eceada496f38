"""Tensor views (TA-018..TA-021, TA-032, TA-033): permutation, dimensions, strides, and the clip rectangle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cts.base.choices import Choices
from cts.generators.build.layout_plans import fitted
from cts.generators.build.operands import Grid, Varying, varied
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.tensors import ViewDraws

#: All permutations by rank, identity first.
PERMUTATIONS = {dim: tuple(itertools.permutations(range(dim))) for dim in range(1, 6)}

#: Space to depth: a view (H/2, 2, W/2, 2, C) of this permutation has a block of 2x2 pixels in each row (TA-089).
SPACE_TO_DEPTH = (0, 2, 1, 3, 4)

#: Strides with which sums wrap mod 2^32 (TA-075).
FAR_STRIDES = (2**32 - 1, 2**31 + 1, 2**31, 0xAAAAAAAB, 0x55555555, 2**16 + 1)

#: Largest drawn extent of a view by its rank.
LIMITS = {1: 40, 2: 12, 3: 6, 4: 4, 5: 3}

#: A clip's first row or column, for a matrix of n of them.
CLIP_OFFSETS: tuple[Callable[[int], int], ...] = (
    lambda n: 0,
    lambda n: 1,
    lambda n: n // 2,
    lambda n: 0,
    lambda n: 1,
    lambda n: 2,
    lambda n: n - 1,
    lambda n: 0,
    lambda n: n,
    lambda n: n + 1,
    lambda n: 0,
    lambda n: n // 3,
    lambda n: 2**31,
)

#: A clip's rows or columns from first row or column `o` on: in one of 14 o + span wraps, if o is not 0 (TA-066).
CLIP_SPANS: tuple[Callable[[int, int], int], ...] = (
    lambda n, o: n,
    lambda n, o: 1,
    lambda n, o: max(n // 2, 1),
    lambda n, o: 2**32 - 1 - o,
    lambda n, o: max(n - o, 0),
    lambda n, o: 3,
    lambda n, o: max(n - 1, 0),
    lambda n, o: max(n - o - 1, 0),
    lambda n, o: n + 2,
    lambda n, o: max(n // 2, 1),
    lambda n, o: n + 1,
    lambda n, o: 2**32 - max(o, 1),
    lambda n, o: 2,
    lambda n, o: 0,
)


@dataclass(frozen=True)
class SetDimension:
    """TA-019."""

    dims: tuple[int, ...]


@dataclass(frozen=True)
class SetStride:
    """TA-020."""

    strides: tuple[int, ...]


@dataclass(frozen=True)
class SetClip:
    """TA-021."""

    row_offset: Varying
    row_span: int
    col_offset: Varying
    col_span: int


ViewStep = SetDimension | SetStride | SetClip


@dataclass(frozen=True)
class ViewPlan:
    """A view: its type and its setters in order, and a setter whose result is not used.

    `needed` is one past the largest linear index it makes of a matrix that it maps injectively; 0 for a
    view that need not be injective.
    """

    has_dimensions: bool
    permutation: tuple[int, ...]
    steps: tuple[ViewStep, ...]
    dead: ViewStep | None
    needed: int


@dataclass(frozen=True)
class _Own:
    """Dimensions of a view's own. `strides` has one number per dimension: strides of loads, pads of stores."""

    dims: list[int]
    strides: list[int]
    fit: bool
    strided: bool
    order: int
    far: int


def draw_view(choices: Choices, layout_dim: int, shape: tuple[int, int], injective: bool, grid: Grid) -> ViewPlan:
    """A view for a matrix of `shape` and a layout of `layout_dim` dimensions."""
    clip, early = _draw_clip(choices, shape, injective, grid) if choices.chance(ViewDraws.CLIPPED) else (None, False)
    own = _draw_own(choices) if choices.chance(ViewDraws.OWN_DIMENSIONS) else None
    dim = len(own.dims) if own else layout_dim
    if own is None and layout_dim > 1 and choices.chance(ViewDraws.FEWER_DIMENSIONS):
        dim = choices.pick(range(1, layout_dim))  # TA-065
    number = choices.pick(ViewDraws.PERMUTATIONS)
    permutation = PERMUTATIONS[dim][number % math.factorial(dim)]
    if own and dim == len(SPACE_TO_DEPTH) and number >= 120:
        permutation = SPACE_TO_DEPTH
        own = replace(own, dims=[own.dims[0], 2, own.dims[2], 2, own.dims[4]])
    ineffective = (
        _ineffective(choices.pick(ViewDraws.IGNORED), dim, strides=own is not None)
        if choices.chance(ViewDraws.IGNORED_SETTER)
        else None
    )
    dead = _ineffective(choices.pick(ViewDraws.IGNORED), dim) if choices.chance(ViewDraws.DEAD_SETTER) else None
    needed = clipped_count(shape, clip) if injective else 0
    steps: list[ViewStep] = [] if ineffective is None else [ineffective]
    if own:
        setters, end = _own_setters(own, permutation, shape, needed if injective else None)
        needed = end if needed else 0
        steps += setters
    if clip:
        steps.insert(0 if early else len(steps), clip)
    return ViewPlan(own is not None, permutation, tuple(steps), dead, needed)


def _draw_own(choices: Choices) -> _Own:
    fit, strided, order, far = choices.record(1, 1, 119, 9)
    dim = choices.pick(ViewDraws.RANKS)
    drawn = [choices.record(LIMITS[dim] - 1, 9) for _ in range(dim)]
    return _Own([1 + d for d, _ in drawn], [s for _, s in drawn], fit == 1, strided == 1, order, far)


def _own_setters(
    own: _Own, permutation: tuple[int, ...], shape: tuple[int, int], count: int | None
) -> tuple[list[ViewStep], int]:
    """SetDimension and perhaps SetStride, and one past the largest index.

    With `count`, the indices below it are mapped one to one; without, any strides will do: 0 broadcasts.
    """
    dims = list(fitted(shape, len(own.dims))) if own.fit else list(own.dims)
    if count is not None:
        outermost = permutation[0]
        dims[outermost] = max(dims[outermost], -(-count // (math.prod(dims) // dims[outermost])))
    steps: list[ViewStep] = [SetDimension(tuple(dims))]
    end = math.prod(dims)
    if own.strided and count is not None:
        order = PERMUTATIONS[len(dims)][own.order % math.factorial(len(dims))]
        strides, end = _injective_strides(dims, order, [s % 3 for s in own.strides])
        steps.append(SetStride(strides))
    elif own.strided:
        loose = list(own.strides)
        if own.far >= 6:
            longest = max(range(len(dims)), key=lambda d: dims[d])
            loose[longest] = FAR_STRIDES[own.order % len(FAR_STRIDES)]
        steps.append(SetStride(tuple(loose)))
    return steps, end


def clipped_count(shape: tuple[int, int], clip: SetClip | None) -> int:
    """One past the largest index that TA-032 gives an element inside the clip rectangle; 0 when none is."""
    rows, cols = shape
    if clip is None:
        return rows * cols
    height = _inside(rows, clip.row_offset.base, clip.row_span)
    width = _inside(cols, clip.col_offset.base, clip.col_span)
    if height == 0 or width == 0:
        return 0
    return (height - 1) * min(cols, clip.col_span) + width


def _inside(extent: int, offset: int, span: int) -> int:
    """The rows or columns of a matrix in a clip: none if offset + span wraps (TA-066)."""
    return 0 if offset + span >= 2**32 else max(min(extent - offset, span), 0)


#: The largest number that each draw of a clip may be: see `clip_of`.
CLIP_RECORD = (len(CLIP_OFFSETS) - 1, len(CLIP_SPANS) - 1) * 2 + (len(CaseDraws.VARIATIONS) - 1, 1)


def _draw_clip(choices: Choices, shape: tuple[int, int], fixed: bool, grid: Grid) -> tuple[SetClip, bool]:
    """A clip rectangle, and whether it comes before other setters."""
    *numbers, early = choices.record(*CLIP_RECORD, 9)
    return clip_of(numbers, shape, fixed, grid), early >= 6


def clip_of(numbers: Sequence[int], shape: tuple[int, int], fixed: bool, grid: Grid) -> SetClip:
    """The clip rectangle that numbers within `CLIP_RECORD` stand for; the same everywhere if `fixed`.

    One of its offsets may vary over the dispatch.
    """
    row, rows, col, cols, variation, which = numbers
    starts = [CLIP_OFFSETS[i](extent) for i, extent in zip((row, col), shape, strict=True)]
    spans = [CLIP_SPANS[i](n, start) for i, n, start in zip((rows, cols), shape, starts, strict=True)]
    offsets = [Varying(start) for start in starts]
    varying = Varying(starts[which], varied(grid, 1))
    if CaseDraws.VARIATIONS[variation] and not fixed:
        offsets[which] = varying
    return SetClip(offsets[0], spans[0], offsets[1], spans[1])


def _injective_strides(dims: Sequence[int], order: Sequence[int], pads: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Strides, the last dimension of `order` innermost, that give every coordinate its own index; one past the last."""
    strides, step = [0] * len(dims), 1
    for d in reversed(order):
        step += pads[d]
        strides[d] = step
        step *= dims[d]
    return tuple(strides), sum((n - 1) * s for n, s in zip(dims, strides, strict=True)) + 1


def _ineffective(number: int, dim: int, *, strides: bool = False) -> ViewStep:
    """A setter without effect: before SetDimension, in a view without dimensions of its own, or unused.

    With `strides`, mostly SetStride, which an implementation might keep where SetDimension sets strides anew (TA-019).
    """
    values = tuple(1 + (number + 2 * d) % 7 for d in range(dim))
    return SetStride(values) if number % 2 or (strides and number % 5) else SetDimension(values)
