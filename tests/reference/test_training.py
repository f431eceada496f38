"""Accumulations and conversions against sums and roundings made one by one in Python (CV-020, CV-021, VK-054)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cts.reference import ORACLE
from tests.reference.vector_cases import Parts, buffer, contents, expected, load, store, vector_case

INVOCATIONS = 37


@pytest.mark.parametrize("component", ["float16", "float32"])
@pytest.mark.parametrize("offset", [0, {"literal": 16, "inv": 32}, {"literal": 0, "inv": 16, "mod": 48}])
def test_sums_of_many_invocations_are_exact_in_any_order(component: str, offset: Any) -> None:
    """CV-021: to one address, to distinct ones, to clusters that overlap; under a condition, in a loop."""
    rng = np.random.default_rng(3)
    size = np.dtype(component).itemsize
    vectors = rng.integers(-4, 5, (INVOCATIONS, 64 // size)) / 2
    start = rng.integers(-4, 5, 2048 // size) / 2
    case = vector_case(
        [
            load("v", component, 5),
            {"op": "Loop", "count": {"literal": 0, "inv": 1, "mod": 3}},
            {"op": "VectorReduceSumAccumulate", "vector": "v", "buffer": "g", "offset": offset},
            {"op": "EndLoop"},
        ],
        {"x": buffer(component, vectors), "g": buffer(component, start)},
        INVOCATIONS,
    )
    right = start.copy()
    for n in range(INVOCATIONS):
        where = (
            offset if isinstance(offset, int) else (offset["literal"] + offset["inv"] * n) % offset.get("mod", 2**32)
        )
        for _ in range(n % 3):
            right[where // size : where // size + 5] += vectors[n, :5]
    assert (contents(expected(case), "g", component) == right.astype(component)).all()


@pytest.mark.parametrize("component", ["float16", "float32", "int32"])
def test_sums_are_read_behind_barriers(component: str) -> None:
    """TA-044: what a workgroup has added so far, some of it stored over, and what it adds later, of each component."""
    reduces = component != "int32"
    rng = np.random.default_rng(6)
    values, start = rng.integers(-4, 5, (INVOCATIONS, 64 // np.dtype(component).itemsize)), rng.integers(-4, 5, 64)
    adding = {"op": "VectorReduceSumAccumulate" if reduces else "VectorAtomicAdd", "vector": "v", "buffer": "g"}
    barrier: Parts = {"op": "ControlBarrier"}
    offset = 4 * 16
    program = [
        *(load("v", component, 5), adding, barrier, load("u", component, 8, "g", offset=0), barrier),
        *({**adding, "offset": 16}, barrier, load("w", component, 3, "g", offset=16)),
        *(store("u"), store("w", offset={"literal": offset, "inv": 256}), barrier, adding),
    ]
    buffers = {"x": buffer(component, values), "g": buffer(component, start)}
    found = expected(vector_case(program, {**buffers, "y": buffer(component, INVOCATIONS * 128)}, INVOCATIONS))
    size = np.dtype(component).itemsize
    memory, total, later = start.copy(), values[:, :5].sum(axis=0), 16 // size
    memory[:5] += total
    y = contents(found, "y", component)
    seen = memory.copy()
    memory[later : later + 5] += total
    for n in range(INVOCATIONS):
        assert y[n * 256 // size :][:8].tolist() == seen[:8].tolist()
        assert y[(n * 256 + offset) // size :][:3].tolist() == memory[later : later + 3].tolist()
    memory[:5] += total
    assert (contents(found, "g", component) == memory.astype(component)).all()


def test_a_store_behind_a_barrier_is_what_is_added_to_later() -> None:
    """TA-044: additions before it are overwritten."""
    adding = {"op": "VectorReduceSumAccumulate", "vector": "v", "buffer": "g"}
    program: list[Parts] = [load("v", "float32", 4), adding, {"op": "ControlBarrier"}]
    program += [{"op": "If", "condition": {"literal": 1, "inv": 1, "mod": 4}}, {"op": "Else"}]
    program += [store("v", "g", offset=0), {"op": "EndIf"}, {"op": "ControlBarrier"}, adding]
    case = vector_case(program, {"x": buffer("float32", np.arange(64)), "g": buffer("float32", 8)}, 4)
    right = np.arange(64).reshape(4, 16)[:, :4]
    assert contents(expected(case), "g", "float32")[:4].tolist() == (right[3] + right.sum(axis=0)).tolist()


@pytest.mark.parametrize("component", ["float16", "float32", "int32", "uint32"])
def test_atomic_additions_of_many_invocations(component: str) -> None:
    """CV-040: places that overlap by components, in a loop of another count for each; integers wrap."""
    rng = np.random.default_rng(4)
    integer = component.endswith("int32")
    size = np.dtype(component).itemsize
    values = rng.integers(-4, 5, (INVOCATIONS, 64 // size))
    start = rng.integers(-4, 5, 256 // size)
    if integer:
        values, start = values * 900000001, start * 1000000007
    values, start = values.astype(component), start.astype(component)
    case = vector_case(
        [
            load("v", component, 5),
            {"op": "Loop", "count": {"literal": 0, "inv": 1, "mod": 3}},
            {
                "op": "VectorAtomicAdd", "vector": "v", "buffer": "g",
                "offset": {"literal": size, "inv": size, "mod": 7 * size},
            },
            {"op": "EndLoop"},
        ],
        {"x": buffer(component, values), "g": buffer(component, start)},
        INVOCATIONS,
    )  # fmt: skip
    right = start.copy()
    for n in range(INVOCATIONS):
        for _ in range(n % 3):
            right[(1 + n) % 7 : (1 + n) % 7 + 5] += values[n, :5]
    assert (contents(expected(case), "g", component) == right).all()


def test_atomic_additions_and_a_sum_add_up() -> None:
    """CV-041."""
    values = np.arange(INVOCATIONS * 16) % 7 - 3.0
    case = vector_case(
        [
            load("v", "float32", 4),
            {"op": "VectorAtomicAdd", "vector": "v", "buffer": "g", "offset": 4},
            {"op": "VectorReduceSumAccumulate", "vector": "v", "buffer": "g"},
        ],
        {"x": buffer("float32", values), "g": buffer("float32", np.ones(6))},
        INVOCATIONS,
    )
    gain = values.reshape(INVOCATIONS, 16)[:, :4].sum(axis=0)
    right = np.ones(6)
    right[:4] += gain
    right[1:5] += gain
    assert (contents(expected(case), "g", "float32") == right).all()


def outer_case(component: str, a: Any, b: Any, condition: Any = 1, zero: bool = True) -> Any:
    m, n = 3, 5
    opaque = {"component": component, "rows": m, "cols": n, "layout": "TrainingOptimal", "offset": 64, "zero": zero}
    return vector_case(
        [
            load("a", "float16", m, "of_a"),
            load("b", "float16", n, "of_b"),
            {"op": "If", "condition": condition},
            {
                "op": "VectorOuterProductAccumulate", "a": "a", "b": "b", "matrix": "g", "interpretation": component,
                "offset": 64,
            },
            {"op": "EndIf"},
        ],
        {"of_a": buffer("float16", a), "of_b": buffer("float16", b), "back": buffer(component, m * 64)},
        INVOCATIONS,
        opaque={"g": opaque},
        conversions=[
            {
                "source": {"of": "g"}, "rows": m, "cols": n, "after": True,
                "destination": {"of": "back", "component": component, "layout": "ColumnMajor", "stride": 32},
            }
        ],
    )  # fmt: skip


@pytest.mark.parametrize("component", ["float16", "float32"])
def test_outer_products_of_the_invocations_that_take_part(component: str) -> None:
    """CV-020, CV-038."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-3, 4, (INVOCATIONS, 32)) / 2 for _ in range(2))
    case = outer_case(component, a, b, {"literal": 0, "inv": 1, "mod": 2})
    back = contents(expected(case), "back", component)
    pitch = 32 // np.dtype(component).itemsize
    for i in range(3):
        for j in range(5):
            assert back[j * pitch + i] == sum(a[n, i] * b[n, j] for n in range(1, INVOCATIONS, 2))


def test_sums_that_round_lie_within_the_bound_of_any_order() -> None:
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-2000, 2000, (INVOCATIONS, 32)).astype(np.float16) / 256 for _ in range(2))
    expectation = expected(outer_case("float16", a, b))
    (intervals,) = [i for i in expectation.buffers["back"].intervals if len(i.offsets) == 15]
    assert any("CV-037" in reason for reason in intervals.reasons)
    bounds = {
        int(o): (lo, hi)
        for o, lo, hi in zip(intervals.offsets, intervals.lo.view("f2"), intervals.hi.view("f2"), strict=True)
    }
    for seed in range(20):
        total: dict[int, Any] = defaultdict(np.float16)
        for n in np.random.default_rng(seed).permutation(INVOCATIONS):
            for i in range(3):
                for j in range(5):
                    total[j * 32 + i * 2] = np.float16(total[j * 32 + i * 2] + np.float16(a[n, i] * b[n, j]))
        assert all(bounds[at][0] <= value <= bounds[at][1] for at, value in total.items())


def test_what_is_nothing_yet_may_not_be_accumulated_into() -> None:
    """CV-038."""
    found = ORACLE.violations(
        outer_case("float16", np.zeros((INVOCATIONS, 32)), np.zeros((INVOCATIONS, 32)), zero=False)
    )
    assert ("CV-038", "program[3].matrix") in [(v.rule, v.path) for v in found]


WIDE = {"float32": np.float32, "float16": np.float16}
NARROW = {**WIDE, "float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


def conversion_case(source: str, middle: str, target: str, values: Any, layout: str = "ColumnMajor") -> Any:
    """Row-major memory into an opaque matrix, from that into another, and out in a layout."""
    rows, cols = values.shape
    pitch = 256 // NARROW[source]().itemsize
    padded = np.zeros((rows, pitch))
    padded[:, :cols] = values
    opaque = {"component": middle, "rows": rows, "cols": cols, "layout": "InferencingOptimal"}
    steps: list[tuple[Parts, Parts]] = [
        ({"of": "s", "component": source, "layout": "RowMajor", "stride": 256}, {"of": "a"}),
        ({"of": "a"}, {"of": "b"}),
        ({"of": "b"}, {"of": "d", "component": target, "layout": layout, "stride": 96, "offset": 64}),
    ]
    return vector_case(
        [],
        {"s": buffer(source, padded), "d": buffer(target, 4096)},
        opaque={"a": opaque, "b": {**opaque, "layout": "TrainingOptimal"}},
        conversions=[{"source": s, "destination": d, "rows": rows, "cols": cols} for s, d in steps],
    )


@pytest.mark.parametrize("layout", ["RowMajor", "ColumnMajor"])
@pytest.mark.parametrize("middle", list(NARROW))
@pytest.mark.parametrize("source", list(WIDE))
def test_conversions_round_to_nearest_even(source: str, middle: str, layout: str) -> None:
    """VK-054, VK-055."""
    rng = np.random.default_rng(11)
    values = (1 + rng.integers(0, 2**10, (9, 7)) / 2**10) * 2.0 ** rng.integers(-3, 4, (9, 7))
    values[0, :3] = [1 + 2**-4, 1 + 3 * 2**-4, -1 - 2**-3 - 2**-4]
    right = values.astype(source).astype(NARROW[middle]).astype(np.float32)
    got = contents(expected(conversion_case(source, middle, "float32", values, layout)), "d", "float32")
    for row in range(9):
        for col in range(7):
            major, minor = (row, col) if layout == "RowMajor" else (col, row)
            assert got[(64 + major * 96 + minor * 4) // 4] == right[row, col]


@pytest.mark.parametrize("layout", ["RowMajor", "ColumnMajor"])
def test_between_the_lines_of_a_matrix_a_conversion_may_leave_anything(layout: str) -> None:
    """VK-055: but nothing is written before the first line, nor behind the last."""
    case = conversion_case("float16", "float16", "float32", np.ones((9, 7)), layout)
    free = [i for i in expected(case).buffers["d"].intervals if any("between lines" in reason for reason in i.reasons)]
    lines, length = (9, 7) if layout == "RowMajor" else (7, 9)
    wanted = [64 + line * 96 + at * 4 for line in range(lines - 1) for at in range(length, 96 // 4)]
    assert sorted(o for i in free for o in i.offsets.tolist()) == wanted


def test_numbers_that_float8_does_not_hold_may_not_be_converted() -> None:
    """AM-28, AM-29."""
    values = np.ones((2, 2))
    assert ORACLE.violations(conversion_case("float16", "float8_e4m3fn", "float16", values * 448)) == []
    found = ORACLE.violations(conversion_case("float16", "float8_e4m3fn", "float16", values * 464))
    assert [(v.rule, v.path) for v in found] == [("AM-28", "conversions[0].source")]


def test_integers_change_their_layout_alone() -> None:
    """VK-054."""
    words = np.arange(64).reshape(4, 16)
    place = {"component": "int8", "layout": "RowMajor", "stride": 16}
    case = vector_case(
        [],
        {"s": buffer("int8", words), "d": buffer("int8", 512)},
        opaque={"m": {"component": "int8", "rows": 4, "cols": 6, "layout": "InferencingOptimal"}},
        conversions=[
            {"source": {"of": "s", **place}, "destination": {"of": "m"}, "rows": 4, "cols": 6},
            {
                "source": {"of": "m"}, "rows": 4, "cols": 6, "after": True, "host": True,
                "destination": {"of": "d", **place, "layout": "ColumnMajor", "offset": 3},
            },
        ],
    )  # fmt: skip
    got = contents(expected(case), "d", "int8")
    assert all(got[3 + 16 * col + row] == words[row, col] for row in range(4) for col in range(6))
    assert np.count_nonzero(got) == 23
