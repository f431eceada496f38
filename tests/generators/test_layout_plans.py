"""Plans of layouts that go on from others keep the rules of their clamp mode."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from cts.base.choices import Seeded
from cts.case.model import ClampMode
from cts.case.model.operand import Factors
from cts.generators.build.layout_plans import Purpose, plan
from cts.generators.build.layout_sketches import Axis, LayoutSketch, draw_layout, shortened
from cts.generators.build.layouts import LayoutState, SetDimension, Slice
from cts.generators.build.memory import MAX_BYTES
from cts.generators.build.operands import Grid, Varying

GRID = Grid(x=2, y=2)


def kept(axes: tuple[Axis, ...], **more: int) -> LayoutSketch:
    """A sketch that goes on from another layout, in whose extents it stays."""
    return LayoutSketch(
        clamp=ClampMode.Undefined,
        axes=axes,
        reuse=0,
        keep=True,
        fit=False,
        sliced=True,
        focus=None,
        bare=False,
        wide=None,
        strides=None,
        blocks=None,
        first=more.get("first"),
        variation=more.get("variation", 0),
        varying=0,
        tiled=False,
        clamp_value=None,
        overridden=None,
        dead=None,
    )


def start(extent: int, offset: Varying) -> LayoutState:
    """A layout of one row of `extent`, of which the offset of a slice leaves no more than fits in all instances."""
    span = extent - offset.range(GRID)[1]
    state = LayoutState.fresh(2, ClampMode.Undefined).after(SetDimension((1, extent)))
    return state.after(Slice((Varying(0), offset), (1, span)))


@pytest.mark.parametrize(
    "offset",
    [
        Varying(0),
        Varying(3),
        Varying(0, Factors(wg_y=2)),
        Varying(0, Factors(wg_x=1, wg_y=2)),
        Varying(1, Factors(wg_x=3)),
        Varying(4, Factors(wg_x=-2, wg_y=1)),
    ],
    ids=str,
)
def test_no_instance_leaves_the_tensor_where_a_slice_varies_already(offset: Varying) -> None:
    """TA-060: offsets of slices add up (TA-016), those that differ by workgroup too."""
    purpose = Purpose(store=False, shape=(1, 1), needed=0, grid=GRID, blocks=False)
    for extent, span, index, first in itertools.product(range(6, 9), range(1, 8), range(5), (None, -4, 3)):
        sketch = kept((Axis(1, 1, 0, 0), Axis(span, 1, index, 0)), **({} if first is None else {"first": first}))
        state = plan(sketch, start(extent, offset), purpose).state
        assert state.dims == (1, extent)
        for at, s, d in zip(state.offset, state.span, state.dims, strict=True):
            low, high = at.range(GRID)
            assert s >= 1
            assert low >= 0
            assert high + s <= d
        assert state.offset[1].factors == offset.factors


def test_what_goes_on_from_a_varying_slice_still_moves_in_the_room_that_is_left() -> None:
    purpose = Purpose(store=False, shape=(1, 1), needed=0, grid=GRID, blocks=False)
    begin = start(8, Varying(0, Factors(wg_y=2)))
    places = {plan(kept((Axis(1, 1, 0, 0), Axis(3, 1, i, 0))), begin, purpose).state.offset[1].base for i in range(4)}
    assert places == {0, 1, 2, 3}


def test_a_store_of_many_elements_is_short_where_the_long_dimension_would_make_it_too_large() -> None:
    axes = (Axis(3, 5, 3, 0), Axis(4, 5, 3, 0), Axis(1, 271, 1, 0), Axis(2, 5, 2, 0), Axis(3, 4, 2, 0))
    sketch = replace(kept(axes), keep=False, reuse=None, long=2)
    purpose = Purpose(store=True, shape=(64, 64), needed=8400, grid=Grid(), blocks=False)
    begin = LayoutState.fresh(5, ClampMode.Undefined)
    long, short = (plan(s, begin, purpose).state.end(Grid()) for s in (sketch, shortened(sketch)))
    assert long > 1 << 24 > 1 << 20 > short


def test_a_shortened_tensor_is_small_however_many_instances_there_are() -> None:
    """Stores of 64 workgroups have a tensor each: slices that differ by workgroup would make each one long."""
    grid = Grid(y=64)
    purpose = Purpose(store=True, shape=(8, 8), needed=64, grid=grid, blocks=False)
    for seed in range(600):
        sketch = draw_layout(Seeded(f"stores {seed}"))
        planned = plan(shortened(sketch), LayoutState.fresh(sketch.dim, sketch.clamp), purpose)
        assert planned.state.end(grid) * grid.instances * 4 <= MAX_BYTES, seed
