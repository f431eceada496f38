"""TA-080 to TA-089 as properties of the oracle and of the drivers.

Each example is one program that does the same thing in two ways, or one whose result can be told
without the address calculation. A wrong rule that oracle and drivers shared would break these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cts.case import model as m
from tests.metamorphic.program import CLAMP_VALUE, OBJECT, TYPE, Program, dynamic

EXECUTORS = ["oracle", "emulator", "interpreter"]

on_every_executor = pytest.mark.parametrize("executor", EXECUTORS)
#: Derandomized: the same examples in every run.
examples = settings(max_examples=100, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Tile:
    """A slice of a tensor and a matrix of exactly its volume."""

    dims: tuple[int, ...]
    offset: tuple[int, ...]
    span: tuple[int, ...]
    shape: tuple[int, int]
    clamp: m.ClampMode

    def program(self) -> Program:
        return Program(self.dims)

    def sliced(self, program: Program) -> str:
        return program.slice(program.layout(self.dims, self.clamp), self.offset, self.span)


DEFINED = [mode for mode in m.ClampMode if mode is not m.ClampMode.Undefined]


@st.composite
def tiles(draw: st.DrawFn, min_rank: int = 1, max_rank: int = 5, outside: bool = True) -> Tile:
    """Slices inside, across and (where `outside`) beyond the bounds of tensors of each rank."""
    rank = draw(st.integers(min_rank, max_rank), label="rank")
    span = tuple(draw(st.integers(1, 5 if rank < 4 else 3), label=f"span {d}") for d in range(rank))
    dims, offset = [], []
    for d, extent in enumerate(span):
        dims.append(draw(st.integers(2 if outside else extent, 7 if outside else extent + 4), label=f"dimension {d}"))
        low, high = (-9, 9) if outside else (0, dims[d] - extent)
        offset.append(draw(st.integers(low, high), label=f"offset {d}"))
    volume = math.prod(span)
    rows = draw(st.sampled_from([n for n in range(1, volume + 1) if volume % n == 0]), label="rows")
    return Tile(tuple(dims), tuple(offset), span, (rows, volume // rows), draw(st.sampled_from(DEFINED), label="clamp"))


def both_ways(
    executor: str,
    tile: Tile,
    one: Callable[[Program], tuple[str, str | None]],
    other: Callable[[Program], tuple[str, str | None]],
) -> None:
    """Two layouts with views must address the same elements, in a load and in a store."""
    program = tile.program()
    for name, make in (("one", one), ("other", other)):
        program.keep(program.load(tile.shape, *make(program)), tile.shape, f"loaded by {name}")
    count = program.count(tile.shape)
    for name, make in (("one", one), ("other", other)):
        program.store(count, tile.dims, f"stored by {name}", *make(program))
    after = program.run(executor)
    np.testing.assert_array_equal(after["loaded by one"], after["loaded by other"])
    np.testing.assert_array_equal(after["stored by one"], after["stored by other"])


@on_every_executor
@examples
@given(tile=tiles())
def test_identity_view_changes_nothing(executor: str, tile: Tile) -> None:
    """TA-080."""
    identity = tuple(range(len(tile.dims)))
    both_ways(executor, tile, lambda p: (tile.sliced(p), None), lambda p: (tile.sliced(p), p.view(identity)))


@on_every_executor
@examples
@given(tile=tiles(), data=st.data())
def test_own_dimensions_equal_to_the_span_change_nothing(executor: str, tile: Tile, data: st.DataObject) -> None:
    """TA-081, under any permutation."""
    order = tuple(data.draw(st.permutations(range(len(tile.dims))), label="permutation"))
    both_ways(
        executor, tile,
        lambda p: (tile.sliced(p), p.view(order)), lambda p: (tile.sliced(p), p.view(order, tile.span)),
    )  # fmt: skip


@on_every_executor
@examples
@given(tile=tiles(), rows=st.integers(1, 9), cols=st.integers(1, 9))
def test_index_wraps_around_modulo_the_span(executor: str, tile: Tile, rows: int, cols: int) -> None:
    """TA-082."""
    program = tile.program()
    program.keep(program.load((rows, cols), tile.sliced(program)), (rows, cols), "result")
    flat = program.run(executor)["result"].reshape(-1)
    np.testing.assert_array_equal(flat, flat[np.arange(rows * cols) % math.prod(tile.span)])


@on_every_executor
@examples
@given(tile=tiles(min_rank=2, max_rank=2))
def test_swapped_view_transposes(executor: str, tile: Tile) -> None:
    """TA-083: the transposed view of a slice is the transpose of the slice."""
    program, (rows, cols) = tile.program(), tile.span
    program.keep(program.load((cols, rows), tile.sliced(program), program.view((1, 0))), (cols, rows), "swapped")
    program.keep(program.load((rows, cols), tile.sliced(program)), (rows, cols), "plain")
    after = program.run(executor)
    np.testing.assert_array_equal(after["swapped"], after["plain"].T)


@on_every_executor
@examples
@given(tile=tiles(), data=st.data())
def test_two_slices_are_one(executor: str, tile: Tile, data: st.DataObject) -> None:
    """TA-084."""
    first = tuple(data.draw(st.integers(-(2**31), 2**31 - 1), label="first offset") for _ in tile.dims)
    span = tuple(data.draw(st.integers(1, 9), label="first span") for _ in tile.dims)
    rest = tuple((o - f + 2**31) % 2**32 - 2**31 for o, f in zip(tile.offset, first, strict=True))

    def in_two_steps(program: Program) -> tuple[str, None]:
        once = program.slice(program.layout(tile.dims, tile.clamp), first, span)
        return program.slice(once, rest, tile.span), None

    both_ways(executor, tile, lambda p: (tile.sliced(p), None), in_two_steps)


@st.composite
def rectangles(draw: st.DrawFn, rows: int, cols: int) -> tuple[int, int, int, int]:
    """A clip of a matrix: inside, past its end, empty, or outside altogether."""
    row, col = draw(st.integers(0, rows), label="clip row"), draw(st.integers(0, cols), label="clip column")
    return (
        row,
        draw(st.integers(0, rows + 2), label="clip rows"),
        col,
        draw(st.integers(0, cols + 2), label="clip cols"),
    )


def inside(
    shape: tuple[int, int], clip: tuple[int, int, int, int]
) -> tuple[slice[int, int, None], slice[int, int, None]]:
    row, rows, col, cols = clip
    return slice(row, min(row + rows, shape[0])), slice(col, min(col + cols, shape[1]))


@on_every_executor
@examples
@given(tile=tiles(min_rank=2, max_rank=2), data=st.data())
def test_clip_of_a_moved_slice_is_the_unclipped_slice_inside(executor: str, tile: Tile, data: st.DataObject) -> None:
    """TA-085."""
    rows, cols = shape = (tile.span[0], tile.span[1])
    row = data.draw(st.integers(0, rows - 1), label="clip row")
    col = data.draw(st.integers(0, cols - 1), label="clip column")
    clip = (
        row,
        data.draw(st.integers(1, rows - row), label="rows"),
        col,
        data.draw(st.integers(1, cols - col), label="columns"),
    )
    program = tile.program()
    program.keep(program.load(shape, tile.sliced(program)), shape, "whole")
    moved = program.slice(
        program.layout(tile.dims, tile.clamp), (tile.offset[0] + row, tile.offset[1] + col), (clip[1], clip[3])
    )
    program.keep(program.load(shape, moved, program.clip(program.view((0, 1)), *clip)), shape, "clipped")
    after = program.run(executor)
    expected = np.full(shape, OBJECT, np.uint16)
    expected[inside(shape, clip)] = after["whole"][inside(shape, clip)]
    np.testing.assert_array_equal(after["clipped"], expected)


@on_every_executor
@examples
@given(tile=tiles(), data=st.data())
def test_clip_starts_at_the_slice(executor: str, tile: Tile, data: st.DataObject) -> None:
    """TA-085b: inside the clip there is the start of the slice, in rows of min(columns, clip columns)."""
    rows, cols = tile.shape
    clip = data.draw(rectangles(rows, cols))
    width = max(1, min(cols, clip[3]))
    program = tile.program()
    identity = program.view(tuple(range(len(tile.dims))))
    program.keep(program.load(tile.shape, tile.sliced(program), program.clip(identity, *clip)), tile.shape, "clipped")
    program.keep(program.load((rows, width), tile.sliced(program)), (rows, width), "from the start")
    after = program.run(executor)
    expected = np.full(tile.shape, OBJECT, np.uint16)
    rectangle = expected[inside(tile.shape, clip)]
    rectangle[:] = after["from the start"][: rectangle.shape[0], : rectangle.shape[1]]
    np.testing.assert_array_equal(after["clipped"], expected)


@on_every_executor
@examples
@given(tile=tiles())
def test_clamp_modes_agree_in_bounds(executor: str, tile: Tile) -> None:
    """TA-086, and every mode's store is the same."""
    program = tile.program()
    count = program.count(tile.shape)
    for clamp in DEFINED:
        layout = program.slice(program.layout(tile.dims, clamp), tile.offset, tile.span)
        program.keep(program.load(tile.shape, layout), tile.shape, clamp.name)
        program.store(count, tile.dims, f"stored {clamp.name}", layout)
    after = program.run(executor)
    in_bounds = after["Constant"] != CLAMP_VALUE
    for clamp in DEFINED:
        np.testing.assert_array_equal(after[clamp.name][in_bounds], after["Constant"][in_bounds])
        np.testing.assert_array_equal(after[f"stored {clamp.name}"], after["stored Constant"])
        # No element of the source is the clamp value: only Constant may load it.
        assert clamp is m.ClampMode.Constant or (after[clamp.name] != CLAMP_VALUE).all()


@on_every_executor
@examples
@given(
    tile=tiles(), periods=st.lists(st.integers(-3, 3), min_size=5, max_size=5),
    clamp=st.sampled_from([m.ClampMode.Repeat, m.ClampMode.RepeatMirrored]),
)  # fmt: skip
def test_repeat_and_mirror_are_periodic(executor: str, tile: Tile, periods: list[int], clamp: m.ClampMode) -> None:
    """TA-087."""
    period = [d if clamp is m.ClampMode.Repeat else 2 * d - 2 for d in tile.dims]
    moved = tuple(o + k * p for o, k, p in zip(tile.offset, periods, period, strict=False))
    program = tile.program()
    for name, offset in (("here", tile.offset), ("periods on", moved)):
        layout = program.slice(program.layout(tile.dims, clamp), offset, tile.span)
        program.keep(program.load(tile.shape, layout), tile.shape, name)
    after = program.run(executor)
    np.testing.assert_array_equal(after["here"], after["periods on"])


@on_every_executor
@examples
@given(size=st.integers(2, 9), length=st.integers(1, 12), offset=st.integers(-30, 30), at_the_end=st.booleans())
def test_mirror_is_even_around_both_ends(executor: str, size: int, length: int, offset: int, at_the_end: bool) -> None:
    """TA-087."""
    centre = size - 1 if at_the_end else 0
    program = Program((size,))
    for name, start in (("there", offset), ("back", 2 * centre - offset - length + 1)):
        layout = program.slice(program.layout((size,), m.ClampMode.RepeatMirrored), (start,), (length,))
        program.keep(program.load((1, length), layout), (1, length), name)
    after = program.run(executor)
    np.testing.assert_array_equal(after["there"], after["back"][:, ::-1])


@on_every_executor
@examples
@given(
    rows=st.integers(1, 6), cols=st.sampled_from([8, 16, 24]), padding=st.sampled_from([0, 8, 16]),
    start=st.integers(0, 3),
)  # fmt: skip
def test_plain_load_is_a_tensor_load(executor: str, rows: int, cols: int, padding: int, start: int) -> None:
    """TA-088."""
    stride = cols + padding
    program = Program((start + rows, stride))
    shape = (rows, cols)
    layout = program.layout((start + rows, cols))
    layout = program.add(m.TensorLayoutSetStride, of=layout, strides=(dynamic(stride), 1))
    program.keep(program.load(shape, program.slice(layout, (start, 0), shape)), shape, "tensor")
    declared = m.MatrixType(TYPE, m.Scope.Subgroup, rows, cols, m.Use.Accumulator)
    plain = program.add(m.MatrixLoad, type=declared, buffer="src", stride=stride, offset=start * stride)
    program.keep(plain, shape, "plain")
    after = program.run(executor)
    np.testing.assert_array_equal(after["tensor"], after["plain"])
    np.testing.assert_array_equal(after["plain"], after["src"][start:, :cols])


@on_every_executor
@examples
@given(half_height=st.integers(1, 4), half_width=st.integers(1, 4), channels=st.integers(1, 4))
def test_space_to_depth(executor: str, half_height: int, half_width: int, channels: int) -> None:
    """TA-089."""
    h, w, c = 2 * half_height, 2 * half_width, channels
    shape = (half_height * half_width, 4 * c)
    program = Program((h, w, c))
    view = program.view((0, 2, 1, 3, 4), (half_height, 2, half_width, 2, c))
    program.keep(program.load(shape, program.layout((h, w, c)), view), shape, "blocks")
    after = program.run(executor)
    image = after["src"].reshape(half_height, 2, half_width, 2, c)
    np.testing.assert_array_equal(after["blocks"], image.transpose(0, 2, 1, 3, 4).reshape(shape))


@on_every_executor
@examples
@given(tile=tiles(outside=False), data=st.data())
def test_in_bounds_slice_is_numpy_slicing(executor: str, tile: Tile, data: st.DataObject) -> None:
    """TA-031 to TA-036 without edges: NumPy's own slicing and transposition, in a load and in a store."""
    rank = len(tile.dims)
    order = tuple(data.draw(st.permutations(range(rank)), label="permutation"))
    program = tile.program()
    layout, view = tile.sliced(program), program.view(order)
    program.keep(program.load(tile.shape, layout, view), tile.shape, "loaded")
    count = program.count(tile.shape)
    program.store(count, tile.dims, "stored", layout, view)
    after = program.run(executor)
    box = tuple(slice(o, o + s) for o, s in zip(tile.offset, tile.span, strict=True))
    np.testing.assert_array_equal(after["loaded"].reshape(-1), after["src"][box].transpose(order).reshape(-1))
    numbers = np.arange(1, math.prod(tile.span) + 1).reshape([tile.span[k] for k in order])
    expected = np.zeros(tile.dims, np.uint16)
    expected[box] = numbers.transpose(np.argsort(order))
    np.testing.assert_array_equal(after["stored"], expected)
