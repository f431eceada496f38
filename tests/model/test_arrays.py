# ruff: noqa: E501 - one bad program a line
"""Typing rules of arrays of invocations: what each refuses, where, and with which remedy."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.case.model import Feature, dumps_case, loads_case
from cts.device.capabilities import everything, required_features

VALID = """\
schema: 1
name: arrays
dispatch: {subgroup_size: 32}
buffers:
  w: {type: uint32, shape: [512], data: {fill: 0}}
  h: {type: float16, shape: [1024], data: {fill: 0}}
  f: {type: float32, shape: [1024], data: {fill: 0}}
  v: {type: float16, components: 2, shape: [256], data: {fill: 0}}
program:
  - {op: MatrixOfArrays, id: a, type: {component: int8, scope: Subgroup, rows: 16, cols: 32, use: A}, buffer: w, stride: 8}
  - {op: MatrixOfArrays, id: c, type: {component: float16, scope: Subgroup, rows: 16, cols: 32, use: Accumulator}, buffer: h, stride: 32, element: float16}
  - {op: MatrixThroughArrays, id: b, matrix: c, type: {component: float16, scope: Subgroup, rows: 16, cols: 8, use: B}, extracted: float16, constructed: uint32, start: 8}
  - {op: MatrixToArrays, matrix: b, buffer: h, stride: 16, order: ColumnMajor, element: float16, offset: 512}
"""

BAD: dict[str, tuple[tuple[str, str], str, str, str]] = {
    "no size of subgroups": (("dispatch: {subgroup_size: 32}\n", ""), "program[0]", "", "subgroup_size: 32"),
    "subgroups of 24": (("subgroup_size: 32", "subgroup_size: 24"), "program[0]", "QC-008", "a power of two"),
    "subgroups of 8": (("subgroup_size: 32", "subgroup_size: 8"), "program[0].type", "QC-006", "than invocations"),
    "Workgroup scope": (
        ("int8, scope: Subgroup", "int8, scope: Workgroup"),
        "program[0].type.scope",
        "QC-008",
        "Subgroup",
    ),
    "a specialized length": (
        ("rows: 16, cols: 32, use: A}", "rows: 16, cols: {spec: 32}, use: A}"),
        "program[0].type.cols",
        "",
        "a literal",
    ),
    "an A of words": (("component: int8", "component: int32"), "program[0].type.component", "QC-006", "int8"),
    "an Accumulator of bytes": (
        ("cols: 32, use: A}", "cols: 32, use: Accumulator}"),
        "program[0].type.component",
        "QC-007",
        "float16",
    ),
    "an A of 16 columns of bytes": (
        ("rows: 16, cols: 32, use: A}", "rows: 16, cols: 16, use: A}"),
        "program[0].type",
        "QC-006",
        "32",
    ),
    "an Accumulator wider than the subgroup": (
        ("rows: 16, cols: 32, use: Acc", "rows: 16, cols: 64, use: Acc"),
        "program[1].type",
        "QC-007",
        "than invocations",
    ),
    "elements of another type": (
        ("stride: 32, element: float16", "stride: 32, element: float32"),
        "program[1].element",
        "QC-005",
        "uint32",
    ),
    "half a word": (
        (
            "rows: 16, cols: 32, use: Accumulator}, buffer: h, stride: 32, element: float16",
            "rows: 16, cols: 31, use: Accumulator}, buffer: w, stride: 32, element: uint32",
        ),
        "program[1].element",
        "QC-005",
        "whole words",
    ),
    "arrays of bytes bitcast": (
        ("buffer: w, stride: 8}", "buffer: w, stride: 8, element: int8}"),
        "program[0].buffer",
        "QC-009",
        "int8",
    ),
    "floats that are none": (("buffer: w, stride: 8}", "buffer: f, stride: 8}"), "program[0].buffer", "", "AM-64"),
    "words across": (
        ("buffer: w, stride: 8}", "buffer: w, stride: 8, order: ColumnMajor}"),
        "program[0].order",
        "",
        "RowMajor",
    ),
    "a buffer of vectors": (
        ("buffer: h, stride: 32, element: float16", "buffer: v, stride: 32, element: float16"),
        "program[1].buffer",
        "",
        "scalars",
    ),
    "another component": (
        (
            "component: float16, scope: Subgroup, rows: 16, cols: 8, use: B}",
            "component: float32, scope: Subgroup, rows: 8, cols: 8, use: B}",
        ),
        "program[2].type.component",
        "",
        "the same",
    ),
    "more columns than rows": (
        ("rows: 16, cols: 8, use: B}", "rows: 16, cols: 24, use: B}"),
        "program[2].type",
        "QC-004",
        "undefined arrays",
    ),
    "longer arrays": (
        (
            "rows: 16, cols: 32, use: Accumulator}, buffer: h, stride: 32",
            "rows: 16, cols: 8, use: Accumulator}, buffer: h, stride: 32",
        ),
        "program[2].type",
        "QC-010",
        "no more",
    ),
    "a start of whole arrays": (
        (
            "rows: 16, cols: 32, use: Accumulator}, buffer: h, stride: 32",
            "rows: 16, cols: 16, use: Accumulator}, buffer: h, stride: 32",
        ),
        "program[2].start",
        "QC-010",
        "no start",
    ),
    "no such buffer": (("buffer: h, stride: 16", "buffer: g, stride: 16"), "program[3].buffer", "", "h"),
}


def test_the_valid_case_is_read_and_written() -> None:
    case = loads_case(VALID, "arrays")
    assert loads_case(dumps_case(case), "again") == case
    assert Feature.ARRAY_CONVERSIONS in required_features(case)
    capabilities = everything()
    assert capabilities.missing(case) == []


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(name: str) -> None:
    (old, new), where, rule, remedy = BAD[name]
    assert VALID.count(old) == 1
    with pytest.raises(BadInput) as e:
        loads_case(VALID.replace(old, new), "file")
    text = str(e.value)
    assert f"{where}\n" in text and rule in text and remedy in text, text
