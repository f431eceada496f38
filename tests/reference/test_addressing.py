"""Whole-array addressing against the scalar pseudocode of the fact sheet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import ClampMode, LayoutType, ViewType
from cts.reference.addressing import elements, layout, view
from cts.reference.addressing.coordinates import Status
from cts.reference.addressing.elements import matrix_elements, tensor_coordinates
from cts.reference.addressing.layout import TensorLayoutState
from cts.reference.addressing.view import TensorViewState
from tests.reference.scalar import CLAMPED, DISCARD, SKIP, T, UndefinedBehaviour, V, element

STATUS = {SKIP: Status.SKIP, CLAMPED: Status.CLAMPED, DISCARD: Status.DISCARD}
ROWS, COLS = 7, 11
SETS = 6


@dataclass(frozen=True)
class Setup:
    """The same layouts and views twice: one of the oracle with a leading axis of sets, and scalars."""

    state: TensorLayoutState
    view: TensorViewState | None
    scalar: list[T]
    scalar_view: list[V] | list[None]


def u32(values: Any) -> npt.NDArray[np.uint32]:
    """(sets, n) of any integers as the oracle's operands (sets, n), mod 2^32."""
    return (np.asarray(values, np.int64) & 0xFFFFFFFF).astype(np.uint32)


def random_setup(rng: np.random.Generator, clamp: ClampMode, huge: bool) -> Setup:
    """Dimensions small enough to be left on every side; `huge`: strides and offsets that wrap 2^32."""
    dim = int(rng.integers(1, 6))

    def draw(low: int, high: int, n: int = dim) -> npt.NDArray[np.int64]:
        return rng.integers(low, high, (SETS, n))

    block, dims, strides = draw(1, 4), draw(2, 9), draw(0, 60)
    offsets, spans = [draw(-20, 20), draw(-9, 9)], [draw(1, 9), draw(1, 7)]
    if huge:
        offsets[0] = draw(-(2**31), 2**32)
        strides, spans[0] = draw(0, 2**32), draw(1, 2**32)
        dims = np.where(draw(0, 2) == 0, dims, draw(2, 2**30))
    state = layout.create_tensor_layout(LayoutType(dim, clamp)).map(lambda a: a[0])
    scalar = [T.create(dim, clamp.value) for _ in range(SETS)]
    order = rng.permutation(["block", "dims", "strides", "slice", "slice"])
    for name in ["dims", *order]:
        match name:
            case "block":
                state = layout.set_block_size(state, u32(block))
                scalar = [t.set_block_size(b) for t, b in zip(scalar, block.tolist(), strict=True)]
            case "dims":
                state = layout.set_dimension(state, u32(dims))
                scalar = [t.set_dimension(d) for t, d in zip(scalar, dims.tolist(), strict=True)]
            case "strides":
                state = layout.set_stride(state, u32(strides))
                scalar = [t.set_stride(s) for t, s in zip(scalar, strides.tolist(), strict=True)]
            case "slice":
                which = int(rng.integers(2))
                state = layout.slice_(state, u32(offsets[which]), u32(spans[which]))
                pairs = zip(scalar, offsets[which].tolist(), spans[which].tolist(), strict=True)
                scalar = [t.slice(o, s) for t, o, s in pairs]
    if rng.integers(3) == 0:
        return Setup(state, None, scalar, [None] * SETS)
    return with_random_view(rng, state, scalar, huge)


def with_random_view(rng: np.random.Generator, state: TensorLayoutState, scalar: list[T], huge: bool) -> Setup:
    has = bool(rng.integers(2))
    dim = int(rng.integers(1, 6)) if has else state.dim
    permutation = tuple(rng.permutation(dim).tolist())
    seen = view.create_tensor_view(ViewType(dim, has, permutation)).map(lambda a: a[0])
    views = [V.create(dim, has, permutation) for _ in range(SETS)]
    dims = rng.integers(1, 2**32 if huge and rng.integers(2) else 7, (SETS, dim))
    seen = view.set_dimension(seen, u32(dims))
    views = [v.set_dimension(d) for v, d in zip(views, dims.tolist(), strict=True)]
    if rng.integers(2):
        strides = rng.integers(0, 2**32 if huge else 30, (SETS, dim))
        seen = view.set_stride(seen, u32(strides))
        views = [v.set_stride(s) for v, s in zip(views, strides.tolist(), strict=True)]
    if rng.integers(2):
        clip = rng.integers([0, 0, 0, 0], [ROWS + 2, ROWS + 2, COLS + 2, COLS + 2], (SETS, 4))
        if huge:
            clip[0] = [2, 0xFFFFFFFF, 3, 0xFFFFFFFD]
        columns = [u32(clip[:, k : k + 1]) for k in range(4)]
        seen = view.set_clip(seen, columns[0], columns[1], columns[2], columns[3])
        views = [v.set_clip(*c) for v, c in zip(views, clip.tolist(), strict=True)]
    return Setup(state, seen, scalar, views)


def scalar_elements(setup: Setup, store: bool) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Index, status and (block coordinates, coordinates in block) by the scalar pseudocode."""
    index = np.zeros((SETS, ROWS, COLS), np.uint32)
    status = np.zeros((SETS, ROWS, COLS), np.uint8)
    coordinates = np.zeros((2, setup.state.dim, SETS, ROWS, COLS), np.uint32)
    for at in np.ndindex(SETS, ROWS, COLS):
        s, row, col = at
        try:
            found = element(setup.scalar[s], row, col, COLS, store, setup.scalar_view[s])
        except UndefinedBehaviour:
            status[at] = Status.UNDEFINED
            continue
        if isinstance(found, str):
            status[at] = STATUS[found]
        else:
            index[at] = found[0]
            coordinates[(slice(None), slice(None), *at)] = found[1:]
    return index, status, coordinates


@pytest.mark.parametrize("huge", [False, True], ids=["small", "wrapping"])
@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
@pytest.mark.parametrize("clamp", list(ClampMode), ids=lambda c: c.value)
def test_elements_equal_the_scalar_pseudocode(clamp: ClampMode, store: bool, huge: bool) -> None:
    rng = np.random.default_rng([list(ClampMode).index(clamp), store, huge])
    seen = set()
    for _ in range(25):
        setup = random_setup(rng, clamp, huge)
        index, status, (block_coord, coord_in_block) = scalar_elements(setup, store)
        found = matrix_elements(setup.state, setup.view, ROWS, COLS, store)
        np.testing.assert_array_equal(found.status, status)
        ok = status == Status.OK
        np.testing.assert_array_equal(found.index[ok], index[ok])
        _, blocks, within = tensor_coordinates(setup.state, setup.view, ROWS, COLS, store)
        for dim in range(setup.state.dim):
            np.testing.assert_array_equal(np.broadcast_to(blocks[dim], ok.shape)[ok], block_coord[dim][ok])
            np.testing.assert_array_equal(np.broadcast_to(within[dim], ok.shape)[ok], coord_in_block[dim][ok])
        seen |= set(status.flat)
    terminal = {ClampMode.Undefined: Status.UNDEFINED, ClampMode.Constant: Status.CLAMPED}.get(clamp)
    if store and clamp is not ClampMode.Undefined:
        terminal = Status.DISCARD
    assert seen == {Status.OK, Status.SKIP} | ({terminal} if terminal else set())


@pytest.mark.parametrize("block", [1, 13, 100, 200])
def test_blocks_of_work_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    for clamp in ClampMode:
        setup = random_setup(rng, clamp, huge=False)
        whole = matrix_elements(setup.state, setup.view, ROWS, COLS, store=False)
        with monkeypatch.context() as patch:
            patch.setattr(elements, "BLOCK_ELEMENTS", block)
            parts = matrix_elements(setup.state, setup.view, ROWS, COLS, store=False)
        np.testing.assert_array_equal(parts.status, whole.status)
        ok = whole.status == Status.OK
        np.testing.assert_array_equal(parts.index[ok], whole.index[ok])


def test_mirrored_dimension_of_one_is_undefined_only_out_of_bounds() -> None:
    state = layout.create_tensor_layout(LayoutType(2, ClampMode.RepeatMirrored))
    state = layout.set_dimension(state, u32([[[4, 1]]]))
    state = layout.slice_(state, u32([[[0, 0]]]), u32([[[4, 2]]]))
    found = matrix_elements(state, None, 4, 2, store=False)
    assert found.status[0, 0].tolist() == [[Status.OK, Status.UNDEFINED]] * 4
    assert (matrix_elements(state, None, 4, 2, store=True).status[0, 0, :, 1] == Status.DISCARD).all()


def test_mirroring_by_hand() -> None:
    state = layout.create_tensor_layout(LayoutType(1, ClampMode.RepeatMirrored))
    state = layout.set_dimension(state, u32([[[4]]]))
    state = layout.slice_(state, u32([[[-7]]]), u32([[[16]]]))
    found = matrix_elements(state, None, 1, 16, store=False)
    assert found.index.ravel().tolist() == [1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2]


def test_space_to_depth() -> None:
    """TA-089, by its own formula: matrix (h/2*W/2 + w/2, (h&1)*2+(w&1))*C+c) is tensor (h, w, c)."""
    h, w, c = 6, 8, 4
    state = layout.set_dimension(layout.create_tensor_layout(LayoutType(3, ClampMode.Undefined)), u32([[[h, w, c]]]))
    seen = view.create_tensor_view(ViewType(5, True, (0, 2, 1, 3, 4)))
    seen = view.set_dimension(seen, u32([[[h // 2, 2, w // 2, 2, c]]]))
    found = matrix_elements(state, seen, h // 2 * w // 2, 4 * c, store=False)
    for y, x, k in np.ndindex(h, w, c):
        row, col = y // 2 * (w // 2) + x // 2, ((y & 1) * 2 + (x & 1)) * c + k
        assert found.index[0, 0, row, col] == (y * w + x) * c + k


def test_strides_are_in_units_of_the_block_size_at_the_time() -> None:
    state = layout.create_tensor_layout(LayoutType(3, ClampMode.Constant))
    state = layout.set_dimension(layout.set_block_size(state, u32([[[1, 4, 8]]])), u32([[[5, 10, 20]]]))
    assert state.stride.ravel().tolist() == [9, 3, 1]
    later = layout.set_block_size(state, u32([[[1, 1, 1]]]))
    assert later.stride.ravel().tolist() == [9, 3, 1]
    assert layout.set_dimension(later, u32([[[5, 10, 20]]])).stride.ravel().tolist() == [200, 20, 1]
