"""Guesses at what went wrong: each is made where it holds, and not where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from msgspec import structs

from cts.case.model import GUARD_BYTES, initial_memory, loads_case
from cts.case.model.buffer import Data
from cts.case.oracle.expectation import Allowed, Expectation, Freedom, Spread
from cts.judging.compare import compare
from cts.judging.guesses import guesses
from cts.judging.sentences import guess_text

CASE = loads_case("""
schema: 1
name: c
buffers:
  src: {type: uint16, shape: [16, 16], data: {counter: {start: 1000}}}
  dst: {type: uint16, shape: [8, 8], data: {fill: 7}}
program: []
""")
SOURCE = np.arange(1000, 1256, dtype=np.uint16).reshape(16, 16)
TILE = SOURCE[2:10, 3:11]
INVERTED = np.bitwise_xor(TILE, np.uint16(1))

Matrices = dict[str, npt.NDArray[Any]]


def guessed(
    actual: npt.NDArray[np.uint16],
    wanted: npt.NDArray[np.uint16] = TILE,
    oracle: Matrices | None = None,
    driver: Matrices | None = None,
    spreads: dict[str, Spread] | None = None,
) -> list[str]:
    """Guesses where dst should hold `wanted` and holds `actual`."""
    memory = initial_memory(CASE)
    expectation = Expectation(
        {
            "src": Allowed(memory["src"][GUARD_BYTES:-GUARD_BYTES].copy()),
            "dst": Allowed(np.ascontiguousarray(wanted).view(np.uint8).reshape(-1)),
        },
        oracle or {},
        spreads or {},
    )
    memory["dst"][GUARD_BYTES:-GUARD_BYTES] = np.ascontiguousarray(actual).view(np.uint8).reshape(-1)
    divergence = compare(CASE, expectation, memory)
    assert divergence is not None
    return list(map(guess_text, guesses(CASE, expectation, divergence, memory, driver or {})))


def changed(change: Callable[[npt.NDArray[np.uint16]], None]) -> npt.NDArray[np.uint16]:
    tile = TILE.copy()
    change(tile)
    return tile


def test_transposed() -> None:
    assert "dst is transposed: rows and columns have changed places" in guessed(TILE.T)
    assert not any("transposed" in g for g in guessed(TILE[::-1]))


def test_untouched_upper_half() -> None:
    def upper(tile: npt.NDArray[np.uint16]) -> None:
        tile[4:] = 7

    (first, *_) = guessed(changed(upper))
    assert first == (
        "the differing elements of dst were not written: they hold their old values, all in the upper half"
    )


def test_stray_writes() -> None:
    wanted = TILE.copy()
    wanted[6:] = 7
    assert "the differing elements of dst should not have been written" in guessed(TILE, wanted)


def test_some_unwritten_and_some_stray() -> None:
    actual, wanted = TILE.copy(), TILE.copy()
    actual[0], wanted[1] = 7, 7
    assert ("of the differing elements of dst, 8 were not written and 8 should not have been written") in guessed(
        actual, wanted
    )


def test_one_value_everywhere() -> None:
    def clamped(tile: npt.NDArray[np.uint16]) -> None:
        tile[:, 5:] = 0xAB

    assert "every differing element of dst holds 0x00ab (171)" in guessed(changed(clamped))


@pytest.mark.parametrize(("k", "words"), [(3, "3 elements too high: shifted by 3"), (-2, "2 elements too low")])
def test_shifted(k: int, words: str) -> None:
    flat = np.full(64, 7, np.uint16)
    values = TILE.reshape(-1)
    if k > 0:
        flat[k:] = values[:-k]
    else:
        flat[:k] = values[-k:]
    assert any(words in g for g in guessed(flat))


def test_source_element() -> None:
    def wrong(tile: npt.NDArray[np.uint16]) -> None:
        tile[1, 2] = SOURCE[9, 9]

    assert "dst[10] holds the value of src[153] instead of src[53] (weak: one element shows it)" in guessed(
        changed(wrong)
    )


def test_constant_source_distance() -> None:
    assert "all 64 elements of src are read 32 after the right ones" in guessed(SOURCE[4:12, 3:11])


def test_stride_ignored() -> None:
    """Rows are read one after the other, where they are 16 apart."""
    start = 2 * 16 + 3
    compact = SOURCE.reshape(-1)[start : start + 64].reshape(8, 8)
    assert ("src is read in steps of 8 per row and 1 per column of dst instead of 16 and 1") in guessed(compact)


def test_first_wrong_matrix() -> None:
    good, bad = TILE[None], INVERTED[None]
    expected: Matrices = {"a": good, "m": good}
    assert guessed(INVERTED, oracle=expected, driver={"a": good, "m": bad})[0] == (
        "matrix m is already wrong before it is stored: 64 of 64 elements, first at instance 0, row 0, column 0"
    )
    assert guessed(INVERTED, oracle=expected, driver={"a": good, "m": good})[0] == (
        "every matrix is right; the store is wrong"
    )
    assert not any("matrix" in g for g in guessed(INVERTED, oracle=expected, driver={"a": good}))


def test_first_wrong_vector() -> None:
    right = np.arange(12, dtype=np.uint16).reshape(3, 4)
    wrong = right.copy()
    wrong[1, 2:] = 99
    assert guessed(INVERTED, oracle={"v": right}, driver={"v": wrong})[0] == (
        "vector v is already wrong before it is stored: 2 of 12 elements, first at instance 1, component 2"
    )
    assert guessed(INVERTED, oracle={"v": right}, driver={"v": right})[0] == (
        "every vector is right; the store is wrong"
    )


def test_elements_with_several_allowed_values_are_not_called_wrong() -> None:
    """Nor is a matrix that has some called right."""
    lo, hi, free = TILE[None].copy(), TILE[None].copy(), np.zeros((1, 8, 8), np.uint8)
    hi[0, 0] += 1
    free[0, 1] = Freedom.ANY
    wrong = TILE[None].copy()
    wrong[0, :2] ^= 1
    spreads = {"m": Spread(lo, hi, free)}
    assert not any(
        "matrix" in g for g in guessed(INVERTED, oracle={"m": TILE[None]}, driver={"m": wrong}, spreads=spreads)
    )
    wrong[0, 5, 3] ^= 1
    assert guessed(INVERTED, oracle={"m": TILE[None]}, driver={"m": wrong}, spreads=spreads)[0] == (
        "matrix m is already wrong before it is stored: 1 of 64 elements, first at instance 0, row 5, column 3"
    )


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (slice(GUARD_BYTES - 4, GUARD_BYTES), "4 bytes before dst were overwritten"),
        (slice(-GUARD_BYTES, -GUARD_BYTES + 2), "2 bytes after dst were overwritten"),
        (slice(-GUARD_BYTES, -GUARD_BYTES + 6, 5), "2 of the 6 bytes after dst were overwritten"),
        (slice(-GUARD_BYTES + 3, -GUARD_BYTES + 4), "1 byte after dst, 3 bytes away from it, was overwritten"),
        (slice(GUARD_BYTES - 8, GUARD_BYTES - 6), "2 bytes before dst, 6 bytes away from it, were overwritten"),
    ],
)
def test_overrun(place: slice, words: str) -> None:
    memory = initial_memory(CASE)
    expectation = Expectation({n: Allowed(d[GUARD_BYTES:-GUARD_BYTES].copy()) for n, d in memory.items()})
    memory["dst"][place] ^= 0xFF
    divergence = compare(CASE, expectation, memory)
    assert divergence is not None
    assert [guess_text(g) for g in guesses(CASE, expectation, divergence, memory, {})] == [words]


def test_bytes_between_overwritten_ones_are_counted() -> None:
    memory = initial_memory(CASE)
    expectation = Expectation({n: Allowed(d[GUARD_BYTES:-GUARD_BYTES].copy()) for n, d in memory.items()})
    memory["dst"][-GUARD_BYTES : -GUARD_BYTES + 4] ^= np.array([0xFF, 0, 0xFF, 0xFF], np.uint8)
    divergence = compare(CASE, expectation, memory)
    assert divergence is not None
    assert [guess_text(g) for g in guesses(CASE, expectation, divergence, memory, {})] == [
        "3 of the 4 bytes after dst were overwritten"
    ]


def guessed_of_nothing_stored(data: Data, wanted: npt.NDArray[np.uint16]) -> list[str]:
    """Guesses where dst should hold `wanted` and holds what it held before."""
    dst = structs.replace(CASE.buffers["dst"], data=data)
    case = structs.replace(CASE, buffers={**CASE.buffers, "dst": dst})
    memory = initial_memory(case)
    expectation = Expectation({n: Allowed(d[GUARD_BYTES:-GUARD_BYTES].copy()) for n, d in memory.items()})
    expectation.buffers["dst"] = Allowed(np.ascontiguousarray(wanted).view(np.uint8).reshape(-1))
    divergence = compare(case, expectation, memory)
    assert divergence is not None
    return [guess_text(g) for g in guesses(case, expectation, divergence, memory, {})]


@pytest.mark.parametrize("fill", [0, 1003])
def test_a_value_that_a_driver_may_store_does_not_show_that_it_stored_nothing(fill: int) -> None:
    """Zero, and a value that is elsewhere in memory."""
    assert not any("written" in g for g in guessed_of_nothing_stored(Data(fill=fill), INVERTED ^ np.uint16(0x4000)))
    assert any("not written" in g for g in guessed_of_nothing_stored(Data(fill=9), INVERTED ^ np.uint16(0x4000)))


def test_no_element_is_read_instead_of_itself() -> None:
    """The program does not load from dst, so that it did not read what dst held before."""
    said = guessed_of_nothing_stored(CASE.buffers["src"].data, TILE)
    assert any("not written" in g for g in said)
    assert not any("of dst[" in g for g in said)


@pytest.mark.parametrize(("known", "said"), [(40, True), (20, False)])
def test_a_guess_that_explains_less_than_half_is_not_made(known: int, said: bool) -> None:
    flat = np.arange(30000, 30064, dtype=np.uint16)
    flat[:known] = SOURCE.reshape(-1)[100 : 100 + known][::-1]
    assert any("holds the value of src" in g for g in guessed(flat.reshape(8, 8))) == said


def test_a_few_elements_like_the_old_ones_are_no_guess() -> None:
    """Some of many wrong elements equal the old or the expected value by chance."""
    wanted, actual = TILE.copy(), INVERTED.copy()
    wanted[0, :3], actual[1, :2] = 7, 7
    assert not any("written" in g for g in guessed(actual, wanted))


def test_nothing_is_guessed_of_noise() -> None:
    noise = np.random.default_rng(1).permutation(np.arange(30000, 30064)).astype(np.uint16).reshape(8, 8)
    assert guessed(noise) == []


def test_what_concerns_few_of_the_differing_elements_is_not_said() -> None:
    def of_source(wrong: int) -> list[str]:
        memory = initial_memory(CASE)
        expectation = Expectation(
            {
                "src": Allowed(memory["src"][GUARD_BYTES:-GUARD_BYTES].copy()),
                "dst": Allowed(np.ascontiguousarray(TILE).view(np.uint8).reshape(-1)),
            },
            {},
            {},
        )
        memory["dst"][GUARD_BYTES:-GUARD_BYTES] = INVERTED.view(np.uint8).reshape(-1)
        memory["src"][GUARD_BYTES : GUARD_BYTES + 2 * wrong].view(np.uint16)[:] = 9
        divergence = compare(CASE, expectation, memory)
        assert divergence is not None and divergence.count == 64 + wrong
        return list(map(guess_text, guesses(CASE, expectation, divergence, memory, {})))

    about_one = "every differing element of src holds 0x0009 (9)"
    assert about_one not in of_source(12)  # of 76
    assert about_one in of_source(13)
