"""Every variant of cooperative vectors does what its name says: it shows where the result depends on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import GUARD_BYTES, Case, MatrixLayout, initial_memory, loads_case
from cts.device.driver import Job, Outcome, Status
from cts.drivers.emulator import create
from cts.drivers.emulator.options import ATOMICS, OPAQUE
from cts.drivers.emulator.vectors.lanes import Lanes
from cts.drivers.emulator.vectors.opaque import optimal

OPTIMAL = (MatrixLayout.InferencingOptimal, MatrixLayout.TrainingOptimal)


def run(text: str, **options: str) -> tuple[Case, Outcome]:
    def module() -> Any:
        raise AssertionError("the emulator runs cases, not modules")

    case = loads_case(f"schema: 1\nname: a-case\n{text}")
    return case, create(options).run(Job(case, initial_memory(case), module))


def stored(text: str, buffer: str = "dst", **options: str) -> list[float]:
    case, outcome = run(text, **options)
    assert outcome.status is Status.DONE, outcome.detail
    contents = outcome.memory[buffer][GUARD_BYTES:-GUARD_BYTES].view(case.buffers[buffer].type.dtype)
    found: list[float] = contents.astype(np.float64).tolist()
    return found


FLOAT8 = """
dispatch: {invocations: 1}
opaque: {w: {component: float8_e4m3fn, rows: 1, cols: 1, layout: InferencingOptimal}}
conversions:
  - {source: {of: src, component: float16, layout: RowMajor, stride: 16}, destination: {of: w}, rows: 1, cols: 1}
buffers:
  src: {type: float16, shape: [1], data: {fill: 1}}
  dst: {type: float16, shape: [1], data: {fill: 0}}
program:
  - {op: VectorConstant, id: x, type: {component: float16, length: 1}, value: 1.03125}
  - {op: VectorMatrixMul, id: y, type: {component: float16, length: 1}, input: x, input_interpretation: float8_e4m3fn,
     matrix: w, matrix_interpretation: float8_e4m3fn, m: 1, k: 1, layout: InferencingOptimal}
  - {op: VectorStore, vector: y, buffer: dst}
"""


@pytest.mark.parametrize(("way", "expected"), [("rounded", 1), ("kept", 1.03125)])
def test_float8_inputs(way: str, expected: float) -> None:
    assert stored(FLOAT8, fp8_input=way) == [expected]


STRIDED = """
dispatch: {invocations: 1}
conversions:
  - {source: {of: src, component: float32, layout: RowMajor, stride: 8},
     destination: {of: dst, component: float32, layout: ColumnMajor, stride: 12}, rows: 2, cols: 2}
buffers:
  src: {type: float32, shape: [4], data: {values: [1, 2, 3, 4]}}
  dst: {type: float32, shape: [6], data: {fill: -5}}
program: []
"""


@pytest.mark.parametrize(("way", "between"), [("kept", -5), ("zeroed", 0)])
def test_gaps_between_lines(way: str, between: float) -> None:
    assert stored(STRIDED, gaps=way) == [1, 3, between, 2, 4, -5]


FMA = """
dispatch: {invocations: 1}
float_controls: FastMathNone
buffers:
  dst: {type: float16, shape: [1], data: {fill: 0}}
program:
  - {op: VectorConstant, id: a, type: {component: float16, length: 1}, value: 1.0009765625}
  - {op: VectorConstant, id: b, type: {component: float16, length: 1}, value: -1.001953125}
  - {op: VectorArithmetic, id: r, operation: Fma, a: a, b: a, c: b}
  - {op: VectorStore, vector: r, buffer: dst}
"""


@pytest.mark.parametrize(("way", "expected"), [("fused", 2.0**-20), ("separate", 0)])
def test_fused_multiplication_and_addition(way: str, expected: float) -> None:
    """(1 + 2^-10)^2 is 1 + 2^-9 + 2^-20; the last term does not survive a rounding of the product."""
    assert stored(FMA, fma=way) == [expected]


SUMS = """
dispatch: {invocations: 4}
buffers:
  src: {type: float16, shape: [4, 8], data: {values: [%s]}}
  dst: {type: float16, shape: [1], data: {fill: 0}}
program:
  - {op: VectorLoad, id: a, type: {component: float16, length: 1}, buffer: src, offset: {literal: 0, inv: 16}}
  - {op: VectorReduceSumAccumulate, vector: a, buffer: dst}
"""


def sums(*numbers: int, **options: str) -> float:
    values = ", ".join(f"{n}, 0, 0, 0, 0, 0, 0, 0" for n in numbers)
    (found,) = stored(SUMS % values, **options)
    return found


@pytest.mark.parametrize(
    ("order", "expected"),
    # 2048 swallows every 1 that is added to it, but not sums of several; 2051 becomes 2052
    [
        ("forward", [2048, 2048, 2048]),
        ("reversed", [2052, 2048, 2050]),
        ("shuffled", [2052, 2050, 2048]),
        ("combined", [2052, 2050, 2050]),
    ],
)
def test_order_of_accumulations(order: str, expected: list[float]) -> None:
    given = ((1, 2048, 1, 1), (1, 2048, 0, 1), (2048, 1, 1, 0))
    assert [sums(*numbers, atomics=order) for numbers in given] == expected


@pytest.mark.parametrize("order", ATOMICS)
def test_exact_accumulations_do_not_depend_on_the_order(order: str) -> None:
    for size in (1, 4, 32):
        assert sums(1, 20, 300, 4, atomics=order, subgroup_size=str(size)) == 325


@pytest.mark.parametrize("shape", OPAQUE)
@pytest.mark.parametrize("layout", OPTIMAL)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_elements_of_optimal_layouts_lie_apart(shape: str, layout: MatrixLayout, size: int) -> None:
    for rows, cols in ((1, 1), (3, 5), (17, 33), (64, 20), (1, 100), (100, 1)):
        at = optimal(shape, layout, rows, cols, size)
        assert at.shape == (rows, cols)
        assert (at % size == 0).all() and at.min() >= 0
        assert len(np.unique(at)) == rows * cols


def test_optimal_layouts_differ() -> None:
    """From each other, and from row- and column-major ones: whoever confuses two of them reads something else."""
    rows, cols, size = 12, 20, 2
    row, col = np.indices((rows, cols))
    layouts: list[npt.NDArray[np.int64]] = [row * cols * size + col * size, col * rows * size + row * size]
    layouts += [optimal(shape, layout, rows, cols, size) for shape in OPAQUE for layout in OPTIMAL]
    assert len({layout.tobytes() for layout in layouts}) == len(layouts)


def test_what_no_conversion_writes_is_nan() -> None:
    text = """
opaque: {w: {component: float32, rows: 1, cols: 1, layout: InferencingOptimal}}
conversions:
  - {source: {of: w}, destination: {of: dst, component: float32, layout: RowMajor, stride: 16}, rows: 1, cols: 1}
buffers:
  dst: {type: float32, shape: [1], data: {fill: 0}}
program: []
"""
    assert np.isnan(stored(text)).all()


def test_an_access_past_the_guard_is_a_crash() -> None:
    text = """
dispatch: {invocations: 2}
buffers:
  src: {type: float16, shape: [8], data: {fill: 0}}
program:
  - {op: VectorLoad, id: a, type: {component: float16, length: 8}, buffer: src, offset: {literal: 1024, inv: 16}}
"""
    _, outcome = run(text)
    assert outcome.status is Status.CRASH
    for word in ("program[0]", "OpCooperativeVectorLoadNV", "read of 2 bytes at byte 1040", "'src'"):
        assert word in outcome.detail


def test_a_conversion_past_the_guard_is_a_crash() -> None:
    text = """
conversions:
  - {source: {of: src, component: float32, layout: RowMajor, stride: 4096},
     destination: {of: src, component: float32, layout: RowMajor, stride: 16}, rows: 2, cols: 1}
buffers:
  src: {type: float32, shape: [1], data: {fill: 0}}
program: []
"""
    _, outcome = run(text)
    assert outcome.status is Status.CRASH
    assert outcome.detail.startswith("conversions[0]: read of 4 bytes at byte 4096 of buffer 'src'")


def test_a_dispatch_that_does_not_fit_is_unsupported() -> None:
    _, outcome = run("dispatch: {workgroups: [1024, 1, 1], invocations: 128}\nbuffers: {}\nprogram: []\n")
    assert outcome.status is Status.UNSUPPORTED
    assert "131072 invocations" in outcome.detail


def test_subgroups_of_a_workgroup_that_is_not_full() -> None:
    """Two workgroups of five invocations, in subgroups of four."""
    lanes = Lanes(10, 5, 4)
    assert lanes.subgroup.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    assert lanes.first.tolist() == [0, 0, 0, 0, 4, 5, 5, 5, 5, 9]
    assert np.flatnonzero(lanes.last_of_partial).tolist() == [4, 9]
    active = np.array([0, 1, 0, 1, 0, 1, 1, 0, 1, 1], bool)
    assert lanes.first_active(active).tolist() == [1, 1, 1, 1, 4, 5, 5, 5, 5, 9]
    key = np.array([7, 7, 7, 7, 7, 1, 2, 2, 1, 1])
    assert np.flatnonzero(lanes.last_sharing(active, key)).tolist() == [3, 6, 8, 9]
