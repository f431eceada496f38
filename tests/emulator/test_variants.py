"""Every variant does what its name says: it shows where the result depends on it.

The cases need not be valid: a combine function that is not associative shows the shape of the tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from msgspec import structs

from cts.case.model import Case, ComponentType, FloatControls, initial_memory
from cts.device.driver import Job, Status
from cts.drivers.emulator import create
from tests.case_builder import yaml_case


def result(case: Case, **options: str) -> npt.NDArray[Any]:
    """The numbers of the matrix r of the first instance."""

    def module() -> Any:
        raise AssertionError("the emulator runs cases, not modules")

    outcome = create(options).run(Job(case, initial_memory(case), module))
    assert outcome.status is Status.DONE, outcome.detail
    found: npt.NDArray[Any] = outcome.matrices["r"][0]
    return found


def numbers(bits: npt.NDArray[Any], component: ComponentType = ComponentType.float32) -> list[float]:
    found: list[float] = bits.view(component.dtype).astype(np.float64).reshape(-1).tolist()
    return found


def matrix(component: str, rows: int, cols: int, use: str = "Accumulator") -> str:
    return f"{{component: {component}, scope: Subgroup, rows: {rows}, cols: {cols}, use: {use}}}"


def case_of(program: str, buffers: str = "", functions: str = "{}", controls: str = "Undecorated") -> Case:
    own = "unused: {type: uint8, shape: [1], data: {fill: 0}}\n"
    return yaml_case(program, own + buffers, functions=functions, controls=controls)


def product(left: str, right: str, k: int, component: str = "float32") -> Case:
    """A row times a column of `component`."""
    return case_of(
        f"""
  - {{op: MatrixLoad, id: a, type: {matrix(component, 1, k, "A")}, buffer: left, stride: {k}}}
  - {{op: MatrixLoad, id: b, type: {matrix(component, k, 1, "B")}, buffer: right, stride: 1}}
  - {{op: MatrixConstant, id: c, type: {matrix(component, 1, 1)}, value: 8}}
  - {{op: MatrixMulAdd, id: r, a: a, b: b, c: c}}
""",
        f"  left: {{type: {component}, shape: [{k}], data: {{values: {left}}}}}\n"
        f"  right: {{type: {component}, shape: [{k}], data: {{values: {right}}}}}\n",
    )


@pytest.mark.parametrize(
    ("order", "expected"),
    # 8 + 1 + big - big + 1 + 1 + 1, where big swallows what is added to it
    [("forward", 3), ("reversed", 9), ("blocked", 11), ("tree", 10)],
)
def test_order_of_accumulation(order: str, expected: float) -> None:
    big = 2.0**40
    case = product(f"[1, {big}, {-big}, 1, 1, 1]", "[1, 1, 1, 1, 1, 1]", 6)
    assert numbers(result(case, accumulate=order, precision="result")) == [expected]
    assert numbers(result(case, accumulate=order, precision="exact")) == [12]


def test_precision_of_accumulation() -> None:
    case = product("[2048, 1, 1]", "[1, 1, 1]", 3, "float16")

    def found(precision: str) -> list[float]:
        return numbers(result(case, precision=precision), ComponentType.float16)

    assert found("result") == [2056]  # 2057 is no float16; halfway goes to the even one, twice
    assert found("float32") == found("exact") == [2058]


REDUCTION = """
  - {{op: MatrixLoad, id: a, type: {type}, buffer: src, stride: {cols}}}
  - {{op: MatrixReduce, id: r, matrix: a, mode: [{mode}], combine: f, rows: 1, cols: 1}}
"""


def reduction(rows: int, cols: int, mode: str, body: str = "x - y") -> Case:
    """1, 2, 3, ... combined."""
    return case_of(
        REDUCTION.format(type=matrix("int32", rows, cols), cols=cols, mode=mode),
        f"  src: {{type: int32, shape: [{rows * cols}], data: {{iota: {{start: 1}}}}}}\n",
        f"{{f: {{kind: Combine, type: int32, body: {body}}}}}",
    )


@pytest.mark.parametrize(
    ("tree", "swapped", "expected"),
    [
        ("left", False, ((1 - 2) - 3) - 4 - 5),
        ("left", True, 5 - (4 - (3 - (2 - 1)))),
        ("right", False, 1 - (2 - (3 - (4 - 5)))),
        ("pairwise", False, ((1 - 2) - (3 - 4)) - 5),
        ("strided", False, ((1 - 4) - 3) - (2 - 5)),
    ],
)
def test_reduction_tree(tree: str, swapped: bool, expected: int) -> None:
    found = result(reduction(1, 5, "Row"), reduce=tree, arguments="swapped" if swapped else "forward")
    assert found.view(np.int32).tolist() == [[expected]]


def test_rows_or_columns_first() -> None:
    case = reduction(2, 2, "Row, Column", "x * x - y")
    assert result(case, both="rows").view(np.int32).tolist() == [[(1 - 2) ** 2 - (9 - 4)]]
    assert result(case, both="columns").view(np.int32).tolist() == [[(1 - 3) ** 2 - (4 - 4)]]


@pytest.mark.parametrize(
    ("way", "expected"),
    [("vector", [2, 2, 2, 2]), ("element", [1, 1, 1, 1]), ("mixed", [1, 2, 1, 2]), ("twice", [1, 1, 1, 1])],
)
def test_which_decode_function_is_called(way: str, expected: list[int]) -> None:
    block = "block: [{name: v, type: uint8}]"
    case = case_of(
        f"""
  - {{op: TensorLayout, id: t, dim: 1}}
  - {{op: TensorLayoutSetBlockSize, id: t1, of: t, block_size: [4]}}
  - {{op: TensorLayoutSetDimension, id: t2, of: t1, dims: [4]}}
  - {{op: MatrixNull, id: z, type: {matrix("uint8", 1, 4)}}}
  - {{op: MatrixLoadTensor, id: r, object: z, buffer: src, layout: t2, decode: f, decode_vector: g}}
""",
        "  src: {type: uint8, shape: [4], data: {fill: 1}}\n",
        f"{{f: {{kind: Decode, returns: uint8, dim: 1, {block}, body: block.v}}, "
        f"g: {{kind: DecodeVector, returns: uint8, dim: 1, lanes: 2, {block}, body: block.v + 1}}}}",
    )
    assert result(case, decode=way).tolist() == [expected]


def converted(value: float, steps: str, controls: str = "Undecorated", component: str = "float32") -> Case:
    return case_of(
        f"  - {{op: MatrixConstant, id: a, type: {matrix(component, 1, 1)}, value: {value!r}}}\n{steps}",
        controls=controls,
    )


TO_HALF = "  - {op: MatrixConvert, id: r, matrix: a, operation: FConvert, component: float16}\n"


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [("rne", [2052, -2052]), ("rtz", [2050, -2050]), ("up", [2052, -2050]), ("down", [2050, -2052])],
)
def test_rounding(rounding: str, expected: list[float]) -> None:
    for value, wanted in zip((2051.0, -2051.0), expected, strict=True):
        found = result(converted(value, TO_HALF), rounding=rounding)
        assert numbers(found, ComponentType.float16) == [wanted]


def test_denormals() -> None:
    case = converted(2.0**-24, TO_HALF)
    assert numbers(result(case), ComponentType.float16) == [2.0**-24]
    assert numbers(result(case, denormals="flush"), ComponentType.float16) == [0]
    moved = converted(2.0**-24, "  - {op: MatrixTranspose, id: r, matrix: a}\n", component="float16")
    assert numbers(result(moved), ComponentType.float16) == [2.0**-24]
    assert numbers(result(moved, denormals="flush"), ComponentType.float16) == [0]


@pytest.mark.parametrize(("zeros", "bits"), [("ieee", 0), ("positive", 0), ("negative", 0x80000000)])
def test_zeros(zeros: str, bits: int) -> None:
    case = converted(3.0, "  - {op: MatrixArithmetic, id: r, operation: FSub, a: a, b: a}\n")
    assert result(case, zeros=zeros).tolist() == [[bits]]


@pytest.mark.parametrize("zeros", ["ieee", "positive", "negative"])
def test_zeros_are_those_of_ieee_754_without_fast_math(zeros: str) -> None:
    """NU-020; which zero a sum of products is nothing says (NU-010)."""
    difference = "  - {op: MatrixArithmetic, id: r, operation: FSub, a: a, b: a}\n"
    assert result(converted(3.0, difference, "FastMathNone"), zeros=zeros).tolist() == [[0]]
    negated = "  - {op: MatrixArithmetic, id: r, operation: FNegate, a: a}\n"
    assert result(converted(0.0, negated, "FastMathNone"), zeros=zeros).tolist() == [[0x80000000]]
    product_of = product("[1, -1, -8]", "[1, 1, 1]", 3)
    found = result(structs.replace(product_of, float_controls=FloatControls.FastMathNone), zeros=zeros).item()
    assert found == (0x80000000 if zeros == "negative" else 0)


THERE_AND_BACK = (
    "  - {op: MatrixConvert, id: b, matrix: a, operation: FConvert, component: float16}\n"
    "  - {op: MatrixConvert, id: r, matrix: b, operation: FConvert, component: float32}\n"
)
ADD_AND_SUBTRACT = (
    f"  - {{op: MatrixConstant, id: c, type: {matrix('float16', 1, 1)}, value: 2048}}\n"
    "  - {op: MatrixArithmetic, id: b, operation: FAdd, a: a, b: c}\n"
    "  - {op: MatrixArithmetic, id: r, operation: FSub, a: b, b: c}\n"
)


@pytest.mark.parametrize(
    ("controls", "back", "difference"),
    [("Undecorated", 2049, 1), ("NoContraction", 2049, 0), ("FastMathNone", 2048, 0)],
)
def test_contraction_leaves_out_only_what_the_case_allows(controls: str, back: float, difference: float) -> None:
    conversions = converted(2049.0, THERE_AND_BACK, controls)
    assert numbers(result(conversions, contract="on")) == [back]
    assert numbers(result(conversions)) == [2048]
    arithmetic = converted(1.0, ADD_AND_SUBTRACT, controls, "float16")
    assert numbers(result(arithmetic, contract="on"), ComponentType.float16) == [difference]
    assert numbers(result(arithmetic), ComponentType.float16) == [0]


@pytest.mark.parametrize("controls", ["Undecorated", "NoContraction", "FastMathNone"])
def test_contraction_leaves_intermediates_of_bfloat16_unrounded(controls: str) -> None:
    """NU-021."""
    case = converted(1.00390625, THERE_AND_BACK.replace("float16", "bfloat16"), controls)
    assert numbers(result(case, contract="on")) == [1.00390625]
    assert numbers(result(case)) == [1.0]


def test_a_store_and_a_load_round() -> None:
    case = case_of(
        f"""
  - {{op: MatrixConstant, id: a, type: {matrix("float32", 1, 1)}, value: 2049}}
  - {{op: MatrixConvert, id: b, matrix: a, operation: FConvert, component: float16}}
  - {{op: MatrixStore, matrix: b, buffer: half, stride: 1}}
  - {{op: MatrixLoad, id: c, type: {matrix("float16", 1, 1)}, buffer: half, stride: 1}}
  - {{op: MatrixConvert, id: r, matrix: c, operation: FConvert, component: float32}}
""",
        "  half: {type: float16, shape: [1], data: {fill: 0}}\n",
    )
    assert numbers(result(case, contract="on")) == [2048]
