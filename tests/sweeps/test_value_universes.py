"""The universes of values: what they enumerate, and that the drivers here agree with the oracle on some of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cts.plugins import registry
from cts.plugins.universes import packaged
from cts.running.opening import open_driver
from cts.running.sweeps.judging import judge_sets, together
from cts.running.sweeps.selection import Chosen, opened
from cts.running.sweeps.states import State
from cts.running.sweeps.universe import Part, Universe

#: By the number of bits that one of their sets varies, and how many values each set has of them.
EVERY_VALUE = {
    "matrix_conversions_8": (8, 1),
    "matrix_conversions_16": (16, 256),
    "matrix_conversions_32": (32, 256),
    "matrix_floats_to_integers_16": (16, 1),
    "matrix_negations_8": (8, 256),
    "matrix_negations_16": (16, 256),
    "matrix_negations_32": (32, 256),
    "matrix_arithmetic_8": (16, 1),
    "matrix_arithmetic_16": (32, 256),
    "matrix_bitcasts_8": (8, 256),
    "matrix_bitcasts_16": (16, 256),
    "vector_conversions_8": (8, 128),
    "vector_conversions_16": (16, 128),
    "vector_conversions_32": (32, 128),
    "vector_floats_to_integers_16": (16, 1),
    "vector_bitcasts_8": (8, 128),
    "vector_bitcasts_16": (16, 128),
    "vector_unary_8": (8, 128),
    "vector_unary_16": (16, 128),
    "vector_unary_32": (32, 128),
    "vector_binary_8": (16, 1),
    "vector_binary_16": (32, 128),
    "vector_clamps_8": (24, 128),
    "vector_multiply_inputs_8": (8, 1),
    "vector_multiply_inputs_16": (16, 1),
    "vector_multiply_inputs_32": (32, 16),
}

#: Those with values of one operand beside a run-time axis with the values of another.
BESIDE_AN_AXIS = {
    "matrix_times_scalar_8": (8, 256),
    "matrix_times_scalar_16": (16, 256),
    "vector_times_scalar_16": (16, 128),
    "vector_shifts_16": (16, 128),
}

#: Those in which each element of the result is one product: bits of a value, and how many of A and B a set has.
PRODUCTS = {
    "matrix_multiply_float8": (8, 16, 16),
    "matrix_multiply_int8": (8, 16, 16),
    "matrix_multiply_float16": (16, 16, 16),
    "vector_multiply_int8": (8, 1, 16),
}

EDGES = ("matrix_floats_to_integers_32_edges", "vector_floats_to_integers_32_edges")

DECODE = tuple(name for name in packaged() if name.startswith("decode_"))

#: Sets of each universe that are run, and the parts that they are spread over.
SETS, PARTS = 120, 8

_ORACLE = registry.oracle()


def universe(name: str) -> Universe:
    return opened(packaged()[name])


def values(part: Part, name: str, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """The bit patterns that a buffer holds under sets, (n, components)."""
    rows = part.sweep(numbers).data[name]
    return np.ascontiguousarray(rows).view(part.template.buffers[name].type.bits_dtype).astype(np.uint64)


def combined(part: Part, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """The combinations of bit patterns, the first buffer's lowest."""
    bits, shift = np.zeros((), np.uint64), 0
    for name in part.data_buffers:
        bits = bits | values(part, name, numbers) << np.uint64(shift)
        shift += 8 * part.template.buffers[name].type.size
    return bits


@pytest.mark.parametrize("name", EVERY_VALUE)
def test_every_value(name: str) -> None:
    bits, of_set = EVERY_VALUE[name]
    for part in universe(name).parts:
        sets = -(-(1 << bits) // of_set)
        assert part.lengths == (sets,)
    if bits <= 16:
        seen = np.unique(combined(part, np.arange(sets)))
        np.testing.assert_array_equal(seen, np.arange(1 << bits))
    else:
        # What one set begins with follows what the one before ends with.
        numbers = np.unique(np.linspace(0, sets - 2, 50).astype(np.int64))
        first, second = combined(part, numbers), combined(part, numbers + 1)
        np.testing.assert_array_equal(first[:, -1] + np.uint64(1), second[:, 0])
        assert combined(part, np.array([0]))[0, 0] == 0
        assert combined(part, np.array([sets - 1])).max() == (1 << bits) - 1
        assert (np.diff(first, axis=1) == 1).all()


@pytest.mark.parametrize("name", BESIDE_AN_AXIS)
def test_values_beside_an_axis(name: str) -> None:
    bits, of_set = BESIDE_AN_AXIS[name]
    for part in universe(name).parts:
        ((_, words),) = part.axes
        assert part.lengths == (len(words), (1 << bits) // of_set)
    others = 16 if name == "vector_shifts_16" else 1 << bits
    np.testing.assert_array_equal(words, np.arange(others))
    seen = values(part, "a", np.arange(part.lengths[1]))
    np.testing.assert_array_equal(seen.ravel(), np.arange(1 << bits))


@pytest.mark.parametrize("name", PRODUCTS)
def test_each_product_alone(name: str) -> None:
    bits, of_a, of_b = PRODUCTS[name]
    part = universe(name).parts[-1]
    left, right = part.data_buffers
    *_, a_sets, b_sets = part.lengths
    assert (a_sets, b_sets) == ((1 << bits) // of_a, (1 << bits) // of_b)
    within = np.unique(np.linspace(0, a_sets * b_sets - 1, 1 << 16).astype(np.int64))
    if bits == 16:
        within = within[:: 1 << 6]
    a, b = values(part, left, within), values(part, right, within)
    # A's first column, which is stored first, and B's first row; or a vector of one component and the one column.
    assert not a[:, of_a:].any() and not b[:, of_b:].any()
    pairs = a[:, :of_a, None] << np.uint64(bits) | b[:, None, :of_b]
    if bits == 8:
        np.testing.assert_array_equal(np.unique(pairs), np.arange(1 << 16))
    assert (pairs[:, -1, -1] - pairs[:, 0, 0] == (of_a - 1 << bits) + of_b - 1).all()


@pytest.mark.parametrize("name", DECODE)
def test_every_byte(name: str) -> None:
    part = universe(name).parts[0]
    size = part.template.buffers["src"].size
    assert part.lengths == (256 * size,)
    last = part.sweep(np.arange(256 * (size - 1), 256 * size)).data["src"]
    np.testing.assert_array_equal(last[:, -1], np.arange(256))
    assert (last[:, :-1] == last[:1, :-1]).all()


def test_no_universe_of_values_is_forgotten() -> None:
    every = {*EVERY_VALUE, *BESIDE_AN_AXIS, *PRODUCTS, *DECODE, *EDGES}
    assert every <= packaged().keys()
    words = (
        "conversions",
        "arithmetic",
        "negations",
        "bitcasts",
        "unary",
        "binary",
        "clamps",
        "scalar",
        "shifts",
        "integers",
    )
    assert every >= {name for name in packaged() if any(word in name for word in words)}


@pytest.mark.parametrize("name", [*EVERY_VALUE, *BESIDE_AN_AXIS, *PRODUCTS, *DECODE, *EDGES])
def test_drivers_agree(name: str) -> None:
    every = universe(name)
    chosen = Chosen(every.size, SETS, seed=0)
    parts = list(every.by_part(chosen.numbers(0, chosen.count)))
    parts = parts[:: -(-len(parts) // PARTS)]
    for spec in ("interpreter", "emulator"):
        driver = open_driver(spec)
        judged = together([judge_sets(part, numbers, driver, _ORACLE) for part, numbers in parts])
        assert not judged.details
        assert {*judged.states.tolist()} <= {State.PASS, State.EXCLUDED}
        assert (judged.states == State.PASS).sum() >= len(judged.states) / 3
        assert judged.excluded.total() == (judged.states == State.EXCLUDED).sum()
