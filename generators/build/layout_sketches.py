"""Sketches of tensor layouts: everything that is drawn about a layout, as small numbers without rules.

`layout_plans.plan` makes a legal layout of any sketch. Each dimension and each optional part is one record
of numbers behind the rank or flag that asks for it, and nothing else depends on the rank: so the shrinker
can drop any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cts.base.choices import Chance, Choices
from cts.case.model import ClampMode
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.tensors import LayoutDraws

#: Largest drawn extent by rank: keeps whole tensors to a few thousand elements.
LIMITS = {1: 40, 2: 12, 3: 7, 4: 5, 5: 4}

#: The extent that eight bits do not count, and the offset of `OUTSIDE` with which a span reaches over its end.
LONG_EXTENT, OVER_THE_END = 257, 1

#: Clamp values as 32-bit patterns (TA-038): the low bits are no value of a source, the high ones are to be ignored.
CLAMP_VALUES = (0xFC, 0x5CFC, 0xCAFE5CFC, -772, 0x80FC)

#: Offsets that matter, for a dimension of extent d and a span of s: across either end, beyond either end, and one or
#: more periods of Repeat (d) and RepeatMirrored (2d - 2) away.
OUTSIDE: tuple[Callable[[int, int], int], ...] = (
    lambda d, s: -1,
    lambda d, s: d - s + 1,
    lambda d, s: -2,
    lambda d, s: d - 1,
    lambda d, s: 1 - s,
    lambda d, s: d,
    lambda d, s: -s,
    lambda d, s: -3,
    lambda d, s: -d,
    lambda d, s: 2 * d - 2,
    lambda d, s: -2 * d,
    lambda d, s: 5 * d + 1,
    lambda d, s: -5 * d - 2,
    lambda d, s: -6 * d - 1,
    lambda d, s: 7 * d,
    lambda d, s: 41,
    lambda d, s: -53,
    lambda d, s: 65539,
    lambda d, s: -65541,
)

#: As many that stay inside where the span fits, before those because they are simpler.
OFFSETS: tuple[Callable[[int, int], int], ...] = (
    *(lambda d, s: 0, lambda d, s: 1, lambda d, s: max(d - s, 0), lambda d, s: 2, lambda d, s: max(d - s, 0) // 2) * 3,
    *OUTSIDE,
)

#: Ways to come near 2^32 (TA-075): a coordinate that wraps, offsets whose sum wraps, a stride or dimensions whose
#: products wrap, a span near 2^32.
WIDE = ("offset", "accumulate", "stride", "dims", "span")


@dataclass(frozen=True)
class Axis:
    """One dimension: extents, an index into OFFSETS or OUTSIDE, and what to add to its least stride."""

    span: int
    extent: int
    offset: int
    pad: int


@dataclass(frozen=True)
class Wide:
    """One of `WIDE`, the dimension it concerns and how far it goes."""

    kind: str
    which: int
    amount: int


@dataclass(frozen=True)
class Strides:
    """SetStride: which innermost stride, whether it comes after the slices, whether rows are far apart."""

    last: int
    late: bool
    far: bool


@dataclass(frozen=True)
class Blocks:
    """SetBlockSize before SetDimension (0), after it (1) or both (2); block sizes less 1 as digits of base 5."""

    where: int
    before: int
    after: int


@dataclass(frozen=True)
class ClampValue:
    """SetClampValue: an index into CLAMP_VALUES, how many steps before the last, a factor of CaseDraws.VARIATIONS."""

    value: int
    back: int
    variation: int


@dataclass(frozen=True)
class LayoutSketch:
    """A layout as drawn.

    `reuse`: start from an earlier layout of the same type, so many back; `keep`: without SetDimension.
    `fit`: the span is the matrix' shape. `focus`: the dimension, from the innermost, that alone leaves the
    tensor. `bare`: no SetDimension at all. `first`: a slice before the slice. `variation`: factor of the
    slice offset in dimension `varying`; `tiled`: instances along x take neighbouring slices instead.
    `overridden` and `dead`: setters before SetDimension and after the layout, without effect. `long`: the dimension
    that has more elements (and, where a decode function asks for blocks, more blocks) than eight bits count.
    """

    clamp: ClampMode
    axes: tuple[Axis, ...]
    reuse: int | None
    keep: bool
    fit: bool
    sliced: bool
    focus: int | None
    bare: bool
    wide: Wide | None
    strides: Strides | None
    blocks: Blocks | None
    first: int | None
    variation: int
    varying: int
    tiled: bool
    clamp_value: ClampValue | None
    overridden: tuple[int, int] | None
    dead: int | None
    long: int | None = None

    @property
    def dim(self) -> int:
        return len(self.axes)


def draw_layout(choices: Choices, *, longer: Chance = LayoutDraws.LONG) -> LayoutSketch:
    """A sketch of any layout; as often as `longer` says it is long in one dimension."""
    c = choices
    clamp = c.pick(LayoutDraws.CLAMPS)
    reuse = c.record(5, 1) if c.chance(LayoutDraws.REUSED) else None
    fit, sliced = c.chance(LayoutDraws.FITS), c.chance(LayoutDraws.SLICED)
    # 60 numbers, as many for each dimension of every rank.
    focus = c.pick(LayoutDraws.FOCUS) if c.chance(LayoutDraws.ONE_OUTSIDE) else None
    bare = c.chance(LayoutDraws.BARE)
    wide = c.record(len(WIDE) - 1, 4, 7) if c.chance(LayoutDraws.WIDE) else None
    dim = c.pick(LayoutDraws.RANKS)
    limit = LIMITS[dim]
    axes = [c.record(limit - 1, limit - 1, len(OFFSETS) - 1, 3) for _ in range(dim)]
    strides = c.record(11, 2, 24) if c.chance(LayoutDraws.STRIDES) else None
    blocks = c.record(2, 5**5 - 1, 5**5 - 1) if c.chance(LayoutDraws.BLOCKS) else None
    first = c.pick(LayoutDraws.SECOND_OFFSETS) if c.chance(LayoutDraws.SECOND_SLICE) else None
    variation = c.pick(CaseDraws.VARIATIONS)
    varying, tiled = c.record(4, 2) if variation else (0, 0)
    clamp_value = None
    if c.chance(LayoutDraws.CLAMP_VALUE_READ if clamp is ClampMode.Constant else LayoutDraws.CLAMP_VALUE_UNREAD):
        clamp_value = c.record(len(CLAMP_VALUES) - 1, 5, len(CaseDraws.VARIATIONS) - 1)
    overridden = c.record(3, 9) if c.chance(LayoutDraws.OVERRIDDEN) else None
    dead = c.pick(LayoutDraws.DEAD_OFFSETS) if c.chance(LayoutDraws.DEAD_SETTER) else None
    long = c.record(4, 63) if c.chance(longer) and wide is None else None
    sketch = LayoutSketch(
        clamp=clamp,
        axes=tuple(Axis(1 + span, 1 + extent, offset, pad) for span, extent, offset, pad in axes),
        reuse=reuse[0] if reuse else None,
        keep=reuse is not None and reuse[1] == 1,
        fit=fit,
        sliced=sliced,
        focus=focus,
        bare=bare,
        wide=Wide(WIDE[wide[0]], wide[1], wide[2]) if wide else None,
        strides=Strides(strides[0], late=strides[1] == 2, far=strides[2] == 24) if strides else None,
        blocks=Blocks(*blocks) if blocks else None,
        first=first,
        variation=variation,
        varying=varying,
        tiled=tiled == 2,
        clamp_value=ClampValue(clamp_value[0], clamp_value[1], CaseDraws.VARIATIONS[clamp_value[2]])
        if clamp_value
        else None,
        overridden=(overridden[0], overridden[1]) if overridden else None,
        dead=dead,
    )
    return sketch if long is None else _lengthened(sketch, dim - 1 - long[0] % dim, long[1])


def _lengthened(sketch: LayoutSketch, d: int, beyond: int) -> LayoutSketch:
    """A sketch of a tensor that is long in dimension d alone, where the span lies at its end or over it."""
    axes = [replace(axis, extent=min(axis.extent, 2)) for axis in sketch.axes]
    axes[d] = replace(axes[d], extent=LONG_EXTENT + beyond, offset=OVER_THE_END)
    return replace(sketch, axes=tuple(axes), sliced=True, focus=sketch.dim - 1 - d, long=d)


def shortened(sketch: LayoutSketch) -> LayoutSketch:
    """A sketch with no long dimension, and one slice of all instances: for tensors that would be too large."""
    axes = list(sketch.axes)
    if sketch.long is not None:
        axes[sketch.long] = replace(axes[sketch.long], extent=2)
    return replace(sketch, axes=tuple(axes), long=None, variation=0, tiled=False)
