"""Memory against allowed memory: exact bytes, intervals, freedoms, guards."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from cts.base.errors import HarnessTrouble
from cts.case.model import GUARD_BYTES, Case, ComponentType, encode, initial_memory, loads_case
from cts.case.oracle.expectation import Allowed, Expectation, Freedom, Identical, Intervals
from cts.judging.compare import Differing, Divergence, compare, is_nan, ordinals, ulps

CASE = loads_case("""
schema: 1
name: c
buffers:
  src: {type: uint32, shape: [4], data: {iota: {}}}
  dst: {type: float16, shape: [3, 5], data: {iota: {start: 1}}}
program: []
""")


def allowed(case: Case) -> dict[str, Allowed]:
    """Everything as before the run."""
    return {name: Allowed(data[GUARD_BYTES:-GUARD_BYTES]) for name, data in initial_memory(case).items()}


def judged(memory: dict[str, npt.NDArray[np.uint8]], *intervals: Intervals) -> Divergence | None:
    buffers = allowed(CASE)
    exact = buffers["dst"].exact.copy()
    for each in intervals:  # an allowed value of each
        for offset, low in zip(each.offsets, each.lo, strict=True):
            exact[offset : offset + each.component.size] = np.array([low]).view(np.uint8)
    buffers["dst"] = Allowed(exact, intervals)
    return compare(CASE, Expectation(buffers), memory)


def only(divergence: Divergence | None) -> Differing:
    assert divergence is not None
    (group,) = divergence.groups
    return group


def test_equal_memory_has_no_divergence() -> None:
    assert judged(initial_memory(CASE)) is None


def test_exact_elements_have_the_buffer_type_and_their_place() -> None:
    memory = initial_memory(CASE)
    memory["dst"][GUARD_BYTES + 7] ^= 0x80  # the high byte of element 3
    memory["dst"][GUARD_BYTES + 28] ^= 1  # the low byte of element 14
    group = only(judged(memory))
    assert (group.buffer, group.guard, group.component, group.total) == ("dst", False, ComponentType.float16, 15)
    assert group.offsets.tolist() == [6, 28]
    assert group.lo.tolist() == group.hi.tolist() == encode(ComponentType.float16, [4, 15]).tolist()
    assert group.actual.tolist() == [0x4400 ^ 0x8000, 0x4B80 ^ 1]


@pytest.mark.parametrize("place", [0, GUARD_BYTES - 1, -GUARD_BYTES, -1])
@pytest.mark.parametrize("buffer", ["src", "dst"])
def test_every_guard_byte_counts(buffer: str, place: int) -> None:
    memory = initial_memory(CASE)
    memory[buffer][place] ^= 0xFF
    group = only(judged(memory))
    size = CASE.buffers[buffer].size
    assert (group.buffer, group.guard, group.component) == (buffer, True, ComponentType.uint8)
    expected = place - GUARD_BYTES if place >= 0 else size + GUARD_BYTES + place
    assert group.offsets.tolist() == [expected]


def test_inputs_are_compared() -> None:
    memory = initial_memory(CASE)
    memory["src"][GUARD_BYTES] ^= 1
    assert only(judged(memory)).buffer == "src"


def test_contents_come_before_guards_and_buffers_in_order() -> None:
    memory = initial_memory(CASE)
    for name in ("dst", "src"):
        memory[name][0] ^= 1
        memory[name][GUARD_BYTES] ^= 1
    divergence = judged(memory)
    assert divergence is not None
    assert [(g.buffer, g.guard) for g in divergence.groups] == [
        ("src", False), ("dst", False), ("src", True), ("dst", True),
    ]  # fmt: skip
    assert divergence.count == 4


def test_nan_payloads_are_compared_bit_for_bit() -> None:
    memory = initial_memory(CASE)
    buffers = allowed(CASE)
    nan = buffers["dst"].exact.copy()
    nan.view(np.uint16)[2] = 0x7E01
    buffers["dst"] = Allowed(nan)
    contents = memory["dst"][GUARD_BYTES:-GUARD_BYTES].view(np.uint16)
    contents[2] = 0x7E01
    assert compare(CASE, Expectation(buffers), memory) is None
    contents[2] = 0x7E02
    assert compare(CASE, Expectation(buffers), memory) is not None


F16 = ComponentType.float16
ONE, TWO, NAN, INF = 0x3C00, 0x4000, 0x7E00, 0x7C00
PLUS_ZERO, MINUS_ZERO, SMALLEST = 0x0000, 0x8000, 0x0001


def interval(lo: int, hi: int, flags: Freedom = Freedom.NONE, component: ComponentType = F16) -> Intervals:
    """An interval for the third element of `dst`."""
    dtype = component.bits_dtype
    return Intervals(
        component, np.array([4]), np.array([lo], dtype), np.array([hi], dtype), np.array([flags], np.uint8)
    )


@pytest.mark.parametrize(
    ("lo", "hi", "flags", "actual", "ok"),
    [
        (ONE, TWO, Freedom.NONE, ONE, True),
        (ONE, TWO, Freedom.NONE, TWO, True),
        (ONE, TWO, Freedom.NONE, ONE - 1, False),
        (ONE, TWO, Freedom.NONE, TWO + 1, False),
        (ONE, TWO, Freedom.NONE, ONE | 0x8000, False),
        (ONE | 0x8000, ONE, Freedom.NONE, MINUS_ZERO, True),
        (TWO | 0x8000, ONE | 0x8000, Freedom.NONE, 0xBE00, True),
        (TWO | 0x8000, ONE | 0x8000, Freedom.NONE, 0x3E00, False),
        (PLUS_ZERO, PLUS_ZERO, Freedom.NONE, MINUS_ZERO, False),
        (MINUS_ZERO, MINUS_ZERO, Freedom.NONE, PLUS_ZERO, False),
        (MINUS_ZERO, PLUS_ZERO, Freedom.NONE, MINUS_ZERO, True),
        (MINUS_ZERO, PLUS_ZERO, Freedom.NONE, SMALLEST, False),
        (PLUS_ZERO, PLUS_ZERO, Freedom.EITHER_ZERO, MINUS_ZERO, True),
        (SMALLEST, SMALLEST, Freedom.EITHER_ZERO, PLUS_ZERO, True),
        (SMALLEST, SMALLEST, Freedom.EITHER_ZERO, 0x0002, False),
        (ONE, INF, Freedom.NONE, INF, True),
        (ONE, INF, Freedom.NONE, NAN, False),
        (ONE, NAN, Freedom.NONE, NAN, False),
        (ONE, TWO, Freedom.NAN, NAN, True),
        (ONE, TWO, Freedom.NAN, NAN | 0x8000, True),
        (ONE, TWO, Freedom.NAN, INF, False),
        (ONE, TWO, Freedom.ANY, NAN, True),
        (ONE, TWO, Freedom.ANY, 0xFFFF, True),
    ],
)
def test_intervals(lo: int, hi: int, flags: Freedom, actual: int, ok: bool) -> None:
    memory = initial_memory(CASE)
    memory["dst"][GUARD_BYTES:-GUARD_BYTES].view(np.uint16)[2] = actual
    divergence = judged(memory, interval(lo, hi, flags))
    assert (divergence is None) == ok
    if divergence:
        group = only(divergence)
        assert (group.offsets.tolist(), group.actual.tolist(), group.lo.tolist()) == ([4], [actual], [lo])


def test_interval_of_another_type_at_an_odd_place() -> None:
    """A float32 at byte 4 of a float16 buffer: both its halves are judged by the interval alone."""
    one = int(np.float32(1).view(np.uint32))
    memory = initial_memory(CASE)
    memory["dst"][GUARD_BYTES + 4 : GUARD_BYTES + 8] = np.array([one], np.uint32).view(np.uint8)
    assert judged(memory, interval(one, one, component=ComponentType.float32)) is None
    group = only(judged(memory, interval(one + 1, one + 1, component=ComponentType.float32)))
    assert (group.component, group.offsets.tolist()) == (ComponentType.float32, [4])


@pytest.mark.parametrize(
    ("bits", "wrong"),
    [((ONE, ONE), []), ((ONE, TWO), [6]), ((NAN, NAN ^ 0x8001), []), ((NAN, ONE), [6]), ((ONE, NAN), [6])],
)
def test_elements_equal_by_definition_have_equal_bits_or_are_nans(bits: tuple[int, int], wrong: list[int]) -> None:
    memory = initial_memory(CASE)
    memory["dst"][GUARD_BYTES + 4 : GUARD_BYTES + 8] = np.array(bits, np.uint16).view(np.uint8)
    buffers = allowed(CASE)
    at = np.array([4, 6])
    one, free = np.full(2, ONE, np.uint16), np.full(2, Freedom.ANY, np.uint8)
    anything = Intervals(F16, at, one, one, free)
    same = Identical(F16, at, np.array([1, 1]))
    buffers["dst"] = Allowed(buffers["dst"].exact, (anything,), (same,))
    divergence = compare(CASE, Expectation(buffers), memory)
    assert ([] if divergence is None else only(divergence).offsets.tolist()) == wrong


def test_an_interval_leaves_other_bytes_exact() -> None:
    memory = initial_memory(CASE)
    memory["dst"][GUARD_BYTES + 6] ^= 1
    group = only(judged(memory, interval(ONE, TWO, Freedom.ANY)))
    assert group.offsets.tolist() == [6]


@pytest.mark.parametrize("component", list(ComponentType))
def test_ordinals_follow_the_numeric_order(component: ComponentType) -> None:
    width = 8 * component.size
    step = max(1, (1 << width) // 4096)
    bits = np.arange(0, 1 << width, step, dtype=np.uint64).astype(component.bits_dtype)
    bits = bits[~is_nan(component, bits)]
    values = bits.view(component.dtype).astype(np.float64)
    order = ordinals(component, bits)
    by_order = np.argsort(order)
    assert (np.diff(order[by_order]) > 0).all()
    assert (np.diff(values[by_order]) >= 0).all()


@pytest.mark.parametrize(
    "component", [ComponentType.float16, ComponentType.bfloat16, ComponentType.float8_e4m3fn, ComponentType.float8_e5m2]
)
def test_neighbours_are_one_ulp_apart(component: ComponentType) -> None:
    zero = np.zeros(1, component.dtype)
    up = np.nextafter(zero.astype(component.dtype), np.ones(1, component.dtype))
    down = np.nextafter(zero, -np.ones(1, component.dtype))
    as_bits = [v.view(component.bits_dtype) for v in (down, zero, -zero, up)]
    for (i, a), (j, b) in itertools.product(enumerate(as_bits), repeat=2):
        distance = abs((-1, 0, 0, 1)[i] - (-1, 0, 0, 1)[j])
        assert ulps(component, a, b, b).tolist() == [distance]


def test_no_ulps_to_a_nan() -> None:
    nan = np.array([NAN], np.uint16)
    one = np.array([ONE], np.uint16)
    assert ulps(F16, nan, one, one).tolist() == ulps(F16, one, nan, nan).tolist() == [-1]


def test_nans_of_types_without_infinity() -> None:
    every = np.arange(256, dtype=np.uint8)
    found = every[is_nan(ComponentType.float8_e4m3fn, every)]
    assert found.tolist() == [0x7F, 0xFF]
    assert np.isnan(found.view(ml_dtypes.float8_e4m3fn).astype(np.float32)).all()
    assert not is_nan(ComponentType.int8, every).any()


@pytest.mark.parametrize("wrong", [[1, 2, 3], np.zeros(4, np.uint8), np.zeros(2048 + 30, np.int8), None])
def test_what_is_no_memory_is_the_drivers_bug(wrong: object) -> None:
    memory = initial_memory(CASE)
    memory["dst"] = wrong  # type: ignore[assignment]
    with pytest.raises(HarnessTrouble, match="buffer dst"):
        judged(memory)


@pytest.mark.parametrize("names", [["src"], ["src", "dst", "more"], []])
def test_missing_and_unknown_buffers_are_the_drivers_bug(names: list[str]) -> None:
    memory = {name: np.zeros(0, np.uint8) for name in names}
    with pytest.raises(HarnessTrouble, match="outcome-buffers"):
        judged(memory)


@pytest.mark.parametrize(
    ("actual", "ok"),
    [(0, True), (0.5, False), (1.5, False), (2, True), (-2, True), (3, False), (-1, False), (4, False)],
)
def test_only_multiples_of_a_step_are_allowed(actual: float, ok: bool) -> None:
    lo, hi, bits = (encode(F16, [number]) for number in (-2, 2, actual))
    stepped = Intervals(F16, np.array([4]), lo, hi, np.array([0], np.uint8), step=np.array([2.0]))
    memory = initial_memory(CASE)
    memory["dst"][GUARD_BYTES + 4 : GUARD_BYTES + 6] = bits.view(np.uint8)
    assert (judged(memory, stepped) is None) == ok


def test_what_lies_between_multiples_is_shown_with_them() -> None:
    stepped = Intervals(
        F16, np.array([4]), encode(F16, [-8]), encode(F16, [8]), np.array([0], np.uint8), step=np.array([2.0])
    )
    memory = initial_memory(CASE)
    memory["dst"][GUARD_BYTES + 4 : GUARD_BYTES + 6] = encode(F16, [-2.5]).view(np.uint8)
    group = only(judged(memory, stepped))
    assert (group.lo.tolist(), group.hi.tolist()) == (encode(F16, [-4]).tolist(), encode(F16, [-2]).tolist())
    assert "NU-019" in group.rule


def test_a_nan_is_no_multiple_of_anything() -> None:
    stepped = Intervals(
        F16, np.array([4]), encode(F16, [0]), encode(F16, [2]), np.array([Freedom.NAN], np.uint8), step=np.array([2.0])
    )
    memory = initial_memory(CASE)
    memory["dst"][GUARD_BYTES + 4 : GUARD_BYTES + 6] = np.array([NAN], np.uint16).view(np.uint8)
    assert judged(memory, stepped) is None
    memory["dst"][GUARD_BYTES + 4 : GUARD_BYTES + 8] = np.array([0x7F800001], np.uint32).view(np.uint8)
    single = ComponentType.float32
    signalling = Intervals(
        single, stepped.offsets, encode(single, [0]), encode(single, [2]), stepped.flags, step=stepped.step
    )
    assert judged(memory, signalling) is None
    unnamed = Intervals(
        F16, np.array([4]), encode(F16, [0]), encode(F16, [2]), np.array([0], np.uint8), step=stepped.step
    )
    assert judged(memory, unnamed) is not None
