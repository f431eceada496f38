"""What the oracle says of bytes that vectors, accumulations and conversions wrote."""

from __future__ import annotations

import msgspec
import numpy as np

from cts.case.model import Case
from cts.judging.sentences import step_parts
from cts.reference import ORACLE
from tests.reference.test_vector_validity import plain
from tests.reference.vector_cases import buffer, expected, load, store, vector, vector_case


def test_dot_products_name_their_terms() -> None:
    weights = np.zeros((2, 32), np.int64)
    weights[1, :3] = [2, -3, 5]
    case = vector_case(
        [
            load("v", "uint32", 1, offset=0),
            {
                "op": "VectorMatrixMul", "id": "r", "type": vector("int32", 2), "input": "v", "stride": 32,
                "input_interpretation": "int8_packed", "matrix": "w", "matrix_interpretation": "int8", "m": 2, "k": 3,
                "layout": "RowMajor", "bias": "b", "bias_interpretation": "int32",
            },
            store("r", offset=0),
        ],
        {
            "x": buffer("uint32", [0x00_03_FF_07]), "w": buffer("int8", weights), "b": buffer("int32", [7, 9]),
            "y": buffer("int32", 4),
        },
        1,
    )  # fmt: skip
    expected(case)
    trace = ORACLE.trace(case, "y", 4)
    assert (trace.instruction, trace.instance, trace.col) == (2, 0, 1)
    text = ["{} {} => {}".format(s.fact, *step_parts(s)) for s in trace.steps]
    assert any("7 * 2 + -1 * -3 + 3 * 5 + 9 => 0x00000029" in line for line in text)
    assert any(line.startswith("CV-034") and line.endswith("=> 7, -1, 3") for line in text)
    assert text[-1].endswith("byte 0 of 0x00000029, little-endian => 0x29")


def test_accumulations_name_who_adds_what() -> None:
    case = msgspec.convert(plain(), Case)
    expected(case)
    trace = ORACLE.trace(case, "t", 18)
    assert (trace.instruction, trace.instance, trace.col) == (5, 2, 1)
    assert [step_parts(s)[0] for s in trace.steps[:2]] == [
        "program[5], workgroup (0, 0, 0), invocation 0, adds component 1 of 'v'",
        "program[5], workgroup (0, 0, 0), invocation 2, adds component 1 of 'v'",
    ]
    assert step_parts(trace.steps[-1])[0].startswith("2 additions")


def test_conversions_name_the_products_behind_an_element() -> None:
    case = msgspec.convert(plain(), Case)
    trace = ORACLE.trace(case, "d", 48 + 8)
    assert (trace.instruction, trace.row, trace.col) == (None, 1, 2)
    assert "conversions[1] of 'g', float32 to float32: element (1, 2)" in step_parts(trace.steps[0])[0]
    assert trace.conversion == 1
    assert [(s.fact, step_parts(s)[1]) for s in trace.steps[1:3]] == [
        ("VK-053", "read"),
        ("VK-055", "written at byte 56"),
    ]
    assert [step_parts(s)[0] for s in trace.steps[3:]] == [
        f"program[4], workgroup (0, 0, 0), invocation {n}, adds 'v'[1] * 'v'[2]" for n in range(4)
    ]
