"""Helpers: functions that bodies call, and what is refused of them."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, Microscaling, dumps_case, loads_case, microscaling_of

CASE = """\
schema: 1
name: x
buffers: {}
functions:
  less: {kind: Helper, parameters: [{name: x, type: int32}, {name: y, type: int32}], returns: int32, body: x - y}
  other: {kind: Helper, parameters: [{name: a, type: float32}], returns: int32, body: 'OTHER'}
  f: {kind: PerElement, type: int32, body: 'BODY'}
program:
  - {op: MatrixNull, id: z, type: {component: int32, scope: Subgroup, rows: 8, cols: 8, use: A}}
  - {op: MatrixPerElement, id: m, matrix: z, function: f}
"""


def case(body: str, other: str = "int32(a)") -> Case:
    return loads_case(CASE.replace("BODY", body).replace("OTHER", other))


def test_round_trip() -> None:
    read = case("less(value, 3) + other(2)", "less(int32(a), 1)")
    assert loads_case(dumps_case(read)) == read
    assert [name for name, _ in read.helpers] == ["less", "other"]


@pytest.mark.parametrize(
    ("body", "other", "what", "function"),
    [
        ("more(value, 1)", "1", "no such function", "f"),
        ("less(value)", "1", "has 1 arguments", "f"),
        ("less(value, row)", "1", "passes uint32", "f"),
        ("float32(less(value, 1))", "1", "the result is of type float32", "f"),
        ("value", "other(a)", "calls itself", "other"),
        ("value", "less(a, 1)", "passes float32", "other"),
        ("value", "b", "", "other"),
    ],
)
def test_refused(body: str, other: str, what: str, function: str) -> None:
    with pytest.raises(BadInput) as raised:
        case(body, other)
    assert what in raised.value.what
    assert f"functions.{function}.body" in raised.value.where
    assert raised.value.remedy


def test_a_call_of_what_is_wrong_says_so() -> None:
    with pytest.raises(BadInput, match=r"functions\.other\.body"):
        case("other(1)", "a + 1.5 + b")


@pytest.mark.parametrize("name", ["min", "lookup", "clamp", "int32"])
def test_names_that_have_a_meaning(name: str) -> None:
    with pytest.raises(BadInput, match="already has a meaning"):
        loads_case(CASE.replace("less:", f"{name}:").replace("BODY", "value").replace("OTHER", "1"))


def test_a_helper_is_no_function_of_an_instruction() -> None:
    with pytest.raises(BadInput, match="less"):
        loads_case(CASE.replace("function: f", "function: less").replace("BODY", "value").replace("OTHER", "1"))


def test_bodies_do_not_grow_without_end() -> None:
    lines = [
        f"h{n}: {{kind: Helper, parameters: [{{name: x, type: int32}}], returns: int32, body: {body}}}"
        for n, body in enumerate(["x + 1", *(f"'h{n}(x) + h{n}(x + 1)'" for n in range(14))])
    ]
    text = CASE.replace("functions:\n", "functions:\n" + "".join(f"  {line}\n" for line in lines))
    with pytest.raises(BadInput, match="too long"):
        loads_case(text.replace("BODY", "h14(value)").replace("OTHER", "1"))


@pytest.mark.parametrize("name", [t.value for t in Microscaling])
def test_a_parameter_may_be_declared_a_microscaling_type(name: str) -> None:
    declared = CASE.replace("{name: a, type: float32}", f"{{name: a, type: uint8, declared: {name}}}")
    argument = f"as_{name}(uint8(row)" + (")" if Microscaling(name).stored else ", 0)")
    read = loads_case(declared.replace("BODY", f"other({argument})").replace("OTHER", "int32(float32(a))"))
    assert loads_case(dumps_case(read)) == read
    assert {t.value for t in microscaling_of(read.functions["other"])} == {name}


@pytest.mark.parametrize(
    ("declared", "body", "what"),
    [
        ("{name: a, type: uint16, declared: mxint8}", "1", "mxint8 is declared of a uint16"),
        ("{name: a, type: uint8, declared: float4_e2m1}", "other(row)", "passes uint32"),
        ("{name: a, type: uint8, declared: float4_e2m1}", "other(3)", "`3` has no type here"),
        ("{name: a, type: uint8, declared: float4}", "1", "Invalid enum value 'float4'"),
    ],
)
def test_what_is_wrong_with_a_declared_parameter_is_said(declared: str, body: str, what: str) -> None:
    text = CASE.replace("{name: a, type: float32}", declared).replace("BODY", body).replace("OTHER", "1")
    with pytest.raises(BadInput) as caught:
        loads_case(text)
    assert what in caught.value.what
