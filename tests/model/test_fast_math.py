"""Fast math of instructions and types: YAML, identity, and what is refused."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, FastMath, FloatWidth, dumps_case, loads_case

ROW = "{component: COMPONENT, scope: Subgroup, rows: 1, cols: 4, use: Accumulator}"


def case(of_type: str, of_one: str, controls: str = "FastMathNone", component: str = "float16") -> Case:
    operation = "FAdd" if component.startswith("float") else "IAdd"
    return loads_case(f"""\
schema: 1
name: x
float_controls: {controls}
fast_math: {of_type}
buffers: {{}}
program:
  - {{op: MatrixConstant, id: a, type: {ROW.replace("COMPONENT", component)}, value: 1}}
  - {{op: MatrixArithmetic, id: s, operation: {operation}, a: a, b: a{of_one}}}
""")


def test_round_trip() -> None:
    read = case("{float16: [NSZ], float32: []}", ", fast_math: [AllowContract]")
    assert read.fast_math == {FloatWidth.float16: (FastMath.NSZ,), FloatWidth.float32: ()}
    assert loads_case(dumps_case(read)) == read
    none = case("{}", ", fast_math: []")
    assert loads_case(dumps_case(none)) == none
    assert len({read.content_hash, none.content_hash, case("{}", "").content_hash}) == 3


@pytest.mark.parametrize(
    ("of_type", "of_one", "controls", "component", "what", "path"),
    [
        (
            "{}",
            ", fast_math: [NSZ]",
            "NoContraction",
            "float16",
            "in a program of NoContraction",
            "program[1].fast_math",
        ),
        ("{float16: [NSZ]}", "", "Undecorated", "float16", "in a program of Undecorated", "fast_math.float16"),
        ("{float64: [NSZ]}", "", "FastMathNone", "float16", "no case computes with", "fast_math.float64"),
        ("{bfloat16: [NSZ]}", "", "FastMathNone", "float16", "bfloat16", "fast_math"),
        ("{}", ", fast_math: [NSZ, NSZ]", "FastMathNone", "float16", "NSZ twice", "program[1].fast_math[1]"),
        ("{}", ", fast_math: [Fast]", "FastMathNone", "float16", "Fast", "program[1].fast_math"),
        ("{}", ", fast_math: [AllowTransform]", "FastMathNone", "float16", "alone", "program[1].fast_math"),
        ("{}", ", fast_math: [NSZ]", "FastMathNone", "int32", "fast math of int32", "program[1].fast_math"),
    ],
)
def test_refused(of_type: str, of_one: str, controls: str, component: str, what: str, path: str) -> None:
    with pytest.raises(BadInput) as raised:
        case(of_type, of_one, controls, component)
    assert what in raised.value.what
    assert path in raised.value.where
    assert raised.value.remedy
