"""Arrays of invocations are drawn in all forms for devices that list matrices of their sizes, and for no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from cts.case import model
from cts.device.capabilities import Capabilities, Feature, everything, limited
from cts.device.vendors import VENDORS
from cts.reference import ORACLE
from tests.generators.samples import sample

ARRAYS = limited(everything(VENDORS["arrays"].subgroup_size), VENDORS["arrays"])


def situations(case: model.Case) -> Iterator[str]:
    """What the instructions of arrays in a case do, in words."""
    types = model.types_of(case)
    for i in case.program:
        if not isinstance(i, model.ArrayInstruction):
            continue
        kind = type(i).__name__
        shape = types[i.matrix if isinstance(i, model.MatrixToArrays) else i.id]
        assert isinstance(shape, model.MatrixShape)
        yield f"{kind} of {shape.use.value}"
        yield f"{kind} of {shape.component.value}"
        if model.line_of(shape)[0] < ARRAYS.subgroup_size:
            yield f"{kind}, invocations without a line"
        if isinstance(i, model.MatrixThroughArrays):
            source = types[i.matrix]
            assert isinstance(source, model.MatrixShape)
            yield f"{kind} from {source.use.value}"
            yield f"{kind}, {'bitcast' if i.extracted is not i.constructed else i.extracted.value}"
            if i.part(source, shape):
                start = model.constness_of(i.start)
                yield f"{kind}, part from {'the start' if model.base_of(i.start) == 0 else start}"
            continue
        buffer = case.buffers[i.buffer].type
        words = "words" if i.element is not shape.component else "own"
        yield f"{kind}, {'bitcast' if buffer is not i.element else words}"
        across = i.order is not (model.Order.ColumnMajor if shape.use is model.Use.B else model.Order.RowMajor)
        yield f"{kind}, {'across' if across else 'along'}"


IN_MEMORY = ("MatrixOfArrays", "MatrixToArrays")
WANTED = {
    *(f"{kind} of {use}" for kind in (*IN_MEMORY, "MatrixThroughArrays") for use in ("A", "B")),
    *(f"{kind}, {how}" for kind in IN_MEMORY for how in ("bitcast", "words", "own", "across")),
    *(f"MatrixOfArrays of {component}" for component in ("int8", "uint8", "float16", "float32", "int32")),
    "MatrixOfArrays of Accumulator", "MatrixToArrays of Accumulator", "MatrixThroughArrays from Accumulator",
    "MatrixThroughArrays from A", "MatrixThroughArrays from B", "MatrixThroughArrays, bitcast",
    "MatrixThroughArrays, uint32", "MatrixThroughArrays, part from the start", "MatrixThroughArrays, part from literal",
    "MatrixThroughArrays, part from dynamic", "MatrixThroughArrays, part from spec",
    "MatrixOfArrays, invocations without a line", "MatrixToArrays, invocations without a line",
}  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1])
def test_all_forms_are_drawn(seed: int) -> None:
    drawn = [{*situations(case)} for case in sample(400, ARRAYS, "matrix_memory", seed)]
    counts = {wanted: sum(wanted in found for found in drawn) for wanted in WANTED}
    assert [wanted for wanted, count in counts.items() if count < 5] == []
    assert sum(bool(found) for found in drawn) > 200


def test_drawn_cases_can_be_run_and_are_valid() -> None:
    for case in sample(60, ARRAYS, "matrix_memory", 2):
        assert ARRAYS.missing(case) == [] and ORACLE.violations(case) == []


@pytest.mark.parametrize("capabilities", [everything(), limited(everything(64), VENDORS["radv-gfx12"])])
def test_no_other_device_is_given_any(capabilities: Capabilities) -> None:
    cases = sample(200, capabilities, "matrix_memory")
    assert not any(isinstance(i, model.ArrayInstruction) for case in cases for i in case.program)


def test_a_device_without_the_feature_says_so() -> None:
    (case, *_) = (c for c in sample(20, ARRAYS, "matrix_memory") if any(situations(c)))
    missing = limited(everything(32), VENDORS["nvk"]).missing(case)
    assert f"feature {Feature.ARRAY_CONVERSIONS.value}" in missing


def test_lengths_of_parts_are_listed() -> None:
    """QC-011: a device that has no K of 16 and no N of 32 takes no parts of such lengths."""
    few = replace(ARRAYS, mul_adds=tuple(replace(row, n=8, k=8) for row in ARRAYS.mul_adds))
    parts = [c for c in sample(100, ARRAYS, "matrix_memory") if any("part" in s for s in situations(c))]
    assert parts and all(any("(QC-011)" in what for what in few.missing(case)) for case in parts)
