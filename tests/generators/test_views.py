"""Clip rectangles of generated views, all of them."""

from __future__ import annotations

import itertools

import pytest

from cts.case.model.operand import Factors
from cts.generators.build.operands import Grid
from cts.generators.build.views import CLIP_OFFSETS, CLIP_SPANS, clip_of, clipped_count
from cts.generators.policy.cases import CaseDraws

GRIDS = [Grid(), Grid(x=3), Grid(3, 3, 2, 4)]
VARIED = next(i for i, v in enumerate(CaseDraws.VARIATIONS) if v)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("extent", [1, 2, 7, 64])
def test_a_clip_that_wraps_holds_nothing(grid: Grid, which: int, extent: int) -> None:
    """TA-066: one of the spans makes offset + span wrap, and no element is counted then."""
    wrapping = 0
    for offset, span in itertools.product(range(len(CLIP_OFFSETS)), range(len(CLIP_SPANS))):
        clip = clip_of((offset, span, offset, span, VARIED, which), (extent, extent), True, grid)
        wraps = clip.row_offset.base + clip.row_span >= 2**32
        assert wraps == (clip.col_offset.base + clip.col_span >= 2**32)
        assert not wraps or clipped_count((extent, extent), clip) == 0
        wrapping += wraps
    assert 0 < wrapping <= len(CLIP_OFFSETS)


def test_some_clips_vary_and_fixed_ones_never_do() -> None:
    numbers = (1, 1, 1, 1, VARIED, 1)
    grid = Grid(x=3)
    assert clip_of(numbers, (4, 4), False, grid).col_offset.factors == Factors(wg_x=1)
    assert clip_of(numbers, (4, 4), True, grid).col_offset.factors == Factors()
