"""Each edge of an operation and type is drawn, and its result is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from cts.base.choices import Choices, Seeded
from cts.case import model
from cts.device.capabilities import everything
from cts.features.coverage import edges
from cts.features.coverage.draws import rows_of
from cts.generators.build.edges import edge_operands, families
from cts.generators.build.supports import VECTOR_ARITHMETIC, Supports
from cts.generators.parts.apart_products import apart_products, draw_apart
from cts.generators.parts.edge_cases import draw_conversion_edges, draw_matrix_edges, draw_vector_edges, usable

C = model.ComponentType
ROWS = Supports(everything()).rows
DRAWS: Mapping[str, Callable[[Choices], model.Case]] = {
    "matrices": lambda choices: draw_matrix_edges(choices, Supports(everything()), usable(ROWS)),
    "vectors": lambda choices: draw_vector_edges(choices, everything(), VECTOR_ARITHMETIC),
    "conversions": lambda choices: draw_conversion_edges(choices, Supports(everything()), ROWS),
    "products": lambda choices: draw_apart(choices, Supports(everything()), apart_products(Supports(everything())), ()),
}


def judged(kind: str, count: int, first: int = 0) -> set[str]:
    """The edges of so many cases, from the `first` times so many on, at which a wrong result would show."""
    cases = (DRAWS[kind](Seeded(f"edges {kind} {n}")) for n in range(first * count, (first + 1) * count))
    return {name for case in cases for group, name, shows in rows_of(case) if group == "edge" and shows}


def of_arithmetic(kind: type[model.Arithmetic] | type[model.VectorOperation]) -> Iterator[str]:
    """All edges that the meter knows of operations on the types that are drawn."""
    for component in VECTOR_ARITHMETIC:
        for operation in kind:
            if operation.form.floats != component.is_float or (operation.value == "UDiv" and component.is_signed):
                continue
            zeros = [np.zeros(1, component.bits_dtype)] * operation.form.operands
            of = edges._of_floats if component.is_float else edges._of_integers
            for edge, _ in of(operation.value, component, zeros, zeros[0]):
                yield f"{operation.value} of {component.value}: {edge}"


@pytest.mark.parametrize(
    ("kind", "operations", "count"), [("matrices", model.Arithmetic, 150), ("vectors", model.VectorOperation, 400)]
)
def test_every_edge_of_an_operation_is_judged(
    kind: str, operations: type[model.Arithmetic] | type[model.VectorOperation], count: int
) -> None:
    wanted = set(of_arithmetic(operations))
    missing = sorted(wanted - judged(kind, count))
    # Some edges need a certain pair of numbers: chance may leave out a few of so few cases.
    assert len(missing) <= len(wanted) // 50, missing


def test_ends_of_all_types_are_converted() -> None:
    shown = judged("conversions", 300)
    ends = {
        f"{name} of {source.value} to {target.value}: source {end}"
        for name, signed in (("ConvertSToF", True), ("ConvertUToF", False))
        for source in (C.int8, C.uint8, C.int16, C.uint16, C.int32, C.uint32)
        for target in (C.float16, C.float32, C.bfloat16)
        for end in ("least", "greatest")
    }
    missing = sorted(ends - shown)
    assert len(missing) <= len(ends) // 20, missing


def test_results_that_are_narrower_than_c_are_at_the_ends_of_either_sign() -> None:
    # Of both halves of these cases: such products are few in a thousand cases of matrix_arithmetic.
    found = Counter(name for n in range(2) for name in judged("products", 60, n) if "int16" in name)
    assert set(found) == {f"MulAdd to {t}: result {end}" for t in ("int16", "uint16") for end in ("least", "greatest")}
    assert min(found.values()) == 2, found


CASE = """
schema: 1
name: edges
float_controls: FastMathNone
float_modes: {modes}
buffers:
  src: {{type: {source}, shape: [16, 16], data: {{cycle: [{numbers}]}}}}
  dst: {{type: {target}, shape: [16, 16], data: {{fill: 1}}}}
program:
  - op: MatrixLoad
    id: x
    type: {{component: {source}, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}}
    buffer: src
    stride: 16
  - {operation}
  - {{op: MatrixStore, matrix: y, buffer: dst, stride: 16}}
"""


def rows(
    operation: str, numbers: str, modes: str = "", source: str = "float16", target: str = "float16"
) -> dict[str, bool]:
    """The edges of a case of one operation, and whether they are judged."""
    text = CASE.format(
        modes=f"{{float16: [{modes}]}}" if modes else "{}",
        source=source,
        target=target,
        numbers=numbers,
        operation=operation,
    )
    return {name: shows for group, name, shows in rows_of(model.loads_case(text)) if group == "edge"}


NEGATION = "{op: MatrixArithmetic, id: y, operation: FNegate, a: x}"
UNSIGNED = "{op: MatrixConvert, id: y, matrix: x, operation: ConvertUToF, component: float16}"


def test_a_denormal_that_may_be_flushed_is_judged_beside_a_zero_and_kept_under_a_mode() -> None:
    free = rows(NEGATION, "'0x0001'")
    assert free["FNegate of float16: a denormal"]
    assert not any("Denorm" in name for name in free)
    kept = rows(NEGATION, "'0x0001'", "DenormPreserve")
    assert kept["FNegate of float16: denormal, DenormPreserve"]
    flushed = rows(NEGATION, "'0x0001'", "DenormFlushToZero")
    assert flushed["FNegate of float16: denormal, DenormFlushToZero"]
    assert "FNegate of float16: denormal, DenormPreserve" not in flushed


def test_a_conversion_reads_integers_as_its_name_says() -> None:
    # 0xf801 is 63,489, half way between two numbers of float16, and as a signed number -2,047.
    found = rows(UNSIGNED, "-2047, -32768", "RoundingModeRTE", source="int16")
    assert found["ConvertUToF of int16 to float16: source least"]
    assert not any("negative" in name for name in found)


def test_a_result_that_may_be_another_one_is_on_no_edge() -> None:
    add = "{op: MatrixArithmetic, id: y, operation: FAdd, a: x, b: x}"
    # Twice the greatest number is infinite, or by a rounding towards zero the greatest one.
    assert "FAdd of float16: result greatest" not in rows(add, "65504")
    assert rows(add, "65504", "RoundingModeRTZ")["FAdd of float16: result greatest"]


def test_operations_of_a_family_have_the_same_edges() -> None:
    found = families(("FMax", "FMin", "FAdd", "NMax", "Step"), C.float16)
    assert set(found) == {("FMax", "FMin", "NMax", "Step"), ("FAdd",)}
    assert found.count(("FMax", "FMin", "NMax", "Step")) == 2


def test_quotients_are_of_all_that_is_defined() -> None:
    pairs = {pair for seed in range(64) for pair in edge_operands("SDiv", C.int8, seed)}
    assert (-128, -1) not in pairs
    assert {(-128, 1), (-127, -1), (127, -1)} <= pairs
    assert all(b for _, b in pairs)
