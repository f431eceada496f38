"""Tensor views (TA-018..TA-021, TA-032, TA-033): permutation, dimensions, strides, and the clip rectangle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cts.generators.choices import Choices
from cts.generators.layout_choices import fitted
from cts.generators.operands import Grid, Varying
from cts.model.operand import Factors

#: All permutations by rank, identity first.
PERMUTATIONS = {dim: tuple(itertools.permutations(range(dim))) for dim in range(1, 6)}

#: Strides with which sums wrap mod 2^32 (TA-075).
FAR_STRIDES = (2**32 - 1, 2**31 + 1, 0x55555555, 2**16 + 1, 2**31)

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

#: A clip's rows or columns from first row or column `o` on: o + span never wraps (TA-066).
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

    `needed` is one past the largest linear index it makes of a matrix that it maps injectively;
    without `injective` it is 0.
    """

    has_dimensions: bool
    permutation: tuple[int, ...]
    steps: tuple[ViewStep, ...]
    dead: ViewStep | None
    needed: int


def draw_view(choices: Choices, layout_dim: int, shape: tuple[int, int], injective: bool, grid: Grid) -> ViewPlan:
    """A view for a matrix of `shape` and a layout of `layout_dim` dimensions."""
    has_dimensions = choices.chance(6)
    dim = choices.between(1, 5) if has_dimensions else layout_dim
    permutation = choices.pick(PERMUTATIONS[dim])
    clip = choices.group(lambda c: _draw_clip(c, shape, injective, grid)) if choices.chance(6) else None
    count = clipped_count(shape, clip) if injective else shape[0] * shape[1]
    needed = count if injective else 0
    steps: list[ViewStep] = []
    if has_dimensions:
        dims = list(fitted(shape, dim)) if choices.chance(5) else [choices.between(1, LIMITS[dim]) for _ in range(dim)]
        if injective:
            outermost = permutation[0]
            rest = math.prod(dims) // dims[outermost]
            dims[outermost] = max(dims[outermost], -(-count // rest))
            needed = math.prod(dims) if count else 0
        steps.append(SetDimension(tuple(dims)))
        if choices.chance(5):
            if injective:
                strides, end = choices.group(lambda c: _draw_injective_strides(c, dims))
                needed = end if count else 0
            else:
                strides = choices.group(lambda c: _draw_strides(c, dim))
            steps.append(SetStride(strides))
        if choices.rarely(8):
            steps.insert(0, choices.group(lambda c: _draw_overridden(c, dim)))
    elif choices.rarely(8):
        steps.append(choices.group(lambda c: _draw_overridden(c, dim)))
    if clip is not None:
        steps.insert(choices.between(0, len(steps)) if choices.chance(4) else len(steps), clip)
    dead = choices.group(lambda c: _draw_dead(c, dim)) if choices.rarely(12) else None
    return ViewPlan(has_dimensions, permutation, tuple(steps), dead, needed)


def clipped_count(shape: tuple[int, int], clip: SetClip | None) -> int:
    """One past the largest index that TA-032 gives an element inside the clip rectangle; 0 when none is."""
    rows, cols = shape
    if clip is None:
        return rows * cols
    height = max(min(rows - clip.row_offset.base, clip.row_span), 0)
    width = max(min(cols - clip.col_offset.base, clip.col_span), 0)
    if height == 0 or width == 0:
        return 0
    return (height - 1) * min(cols, clip.col_span) + width


def _draw_clip(choices: Choices, shape: tuple[int, int], fixed: bool, grid: Grid) -> SetClip:
    offsets, spans = [], []
    for extent in shape:
        offset = choices.pick(CLIP_OFFSETS)(extent)
        offsets.append(Varying(offset))
        spans.append(choices.pick(CLIP_SPANS)(extent, offset))
    which = choices.between(0, 1) if not fixed and grid.instances > 1 and choices.chance(3) else None
    if which is not None and spans[which] < 2**31:
        offsets[which] = Varying(offsets[which].base, Factors(*(int(e > 1) for e in grid.extents)))
    return SetClip(offsets[0], spans[0], offsets[1], spans[1])


def _draw_strides(choices: Choices, dim: int) -> tuple[int, ...]:
    """Any strides: 0 broadcasts, overlaps are fine on loads."""
    strides = [choices.between(0, 9) for _ in range(dim)]
    if choices.rarely(4):
        strides[choices.between(0, dim - 1)] = choices.pick(FAR_STRIDES)
    return tuple(strides)


def _draw_injective_strides(choices: Choices, dims: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Strides that give every coordinate its own index, in any order of dimensions; and one past the largest."""
    order = choices.pick(PERMUTATIONS[len(dims)])
    strides, step = [0] * len(dims), 1
    for d in reversed(order):
        step += choices.between(0, 2)
        strides[d] = step
        step *= dims[d]
    return tuple(strides), sum((n - 1) * s for n, s in zip(dims, strides, strict=True)) + 1


def _draw_overridden(choices: Choices, dim: int) -> ViewStep:
    """A setter without effect: before SetDimension, or in a view without dimensions of its own."""
    values = tuple(choices.between(1, 7) for _ in range(dim))
    return SetStride(values) if choices.chance(5) else SetDimension(values)


def _draw_dead(choices: Choices, dim: int) -> ViewStep:
    if choices.chance(5):
        return SetClip(Varying(choices.between(0, 3)), 1, Varying(choices.between(0, 3)), 1)
    return _draw_overridden(choices, dim)
