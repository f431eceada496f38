"""The callback language: what parses to what, what is refused and with which remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cts.case.model import ComponentType
from cts.case.model.body_parser import MAX_DEPTH, parse
from cts.case.model.expression import (
    BINARY,
    UNARY,
    Assignment,
    Binary,
    Bitcast,
    Body,
    Branch,
    Convert,
    Coordinate,
    Environment,
    ExpressionError,
    Lookup,
    Loop,
    Member,
    Name,
    Number,
    Select,
    Unary,
)

F16, F32, F8 = ComponentType.float16, ComponentType.float32, ComponentType.float8_e4m3fn
I8, I32, U8, U32 = ComponentType.int8, ComponentType.int32, ComponentType.uint8, ComponentType.uint32
ENVIRONMENT = Environment(
    {"x": F32, "y": F32, "h": F16, "e": F8, "i": I32, "u": U32}, {"qs": (U8, 4), "d": (F16, None)}, 2
)
X, Y, I_, U = Name(F32, "x"), Name(F32, "y"), Name(I32, "i"), Name(U32, "u")


def result(text: str, returns: ComponentType = F32) -> object:
    body = parse(text, ENVIRONMENT, returns)
    assert body.statements == ()
    return body.result


def one(component: ComponentType) -> Number:
    return Number(component, {F32: 0x3F800000, F16: 0x3C00}.get(component, 1))


@pytest.mark.parametrize(
    ("text", "returns", "expected"),
    [
        ("x", F32, X),
        ("1", F32, one(F32)),
        ("-2", I32, Number(I32, 0xFFFFFFFE)),
        ("-x", F32, Unary(F32, "neg", X)),
        ("~i", I32, Unary(I32, "invert", I_)),
        ("-u", U32, Unary(U32, "neg", U)),
        ("abs(i)", I32, Unary(I32, "abs", I_)),
        ("exp(x)", F32, Unary(F32, "exp", X)),
        ("x + y", F32, Binary(F32, "add", X, Y)),
        ("x - 1", F32, Binary(F32, "sub", X, one(F32))),
        ("1 - x", F32, Binary(F32, "sub", one(F32), X)),
        ("i * i", I32, Binary(I32, "mul", I_, I_)),
        ("x / y", F32, Binary(F32, "div", X, Y)),
        ("u // 1", U32, Binary(U32, "div", U, one(U32))),
        ("u % u", U32, Binary(U32, "mod", U, U)),
        ("i & i", I32, Binary(I32, "and", I_, I_)),
        ("i | i", I32, Binary(I32, "or", I_, I_)),
        ("i ^ i", I32, Binary(I32, "xor", I_, I_)),
        ("i << 1", I32, Binary(I32, "shl", I_, one(I32))),
        ("u >> u", U32, Binary(U32, "shr", U, U)),
        ("min(1, x)", F32, Binary(F32, "min", one(F32), X)),
        ("max(x, y)", F32, Binary(F32, "max", X, Y)),
        ("clamp(x, 1, y)", F32, Binary(F32, "min", Binary(F32, "max", X, one(F32)), Y)),
        ("float32(i)", F32, Convert(F32, I_)),
        ("float32(x)", F32, X),
        ("float32(1)", F32, one(F32)),
        ("float32(h)", F32, Convert(F32, Name(F16, "h"))),
        ("as_float32(u)", F32, Bitcast(F32, U)),
        ("as_float32(x)", F32, X),
        ("as_float32(uint32(1))", F32, Bitcast(F32, one(U32))),
        ("e", F8, Name(F8, "e")),
        ("blockCoord[1]", U32, Coordinate(U32, "blockCoord", 1)),
        ("coordInBlock[0]", U32, Coordinate(U32, "coordInBlock", 0)),
        ("block.d", F16, Member(F16, "d", None)),
        ("block.qs[3]", U8, Member(U8, "qs", Number(U32, 3))),
        ("block.qs[i]", U8, Member(U8, "qs", I_)),
        ("lookup(u, 1, -1)", I8, Lookup(I8, U, (1, 0xFF))),
        ("lookup(u, int8(1), int8(2))", I8, Lookup(I8, U, (1, 2))),
    ],
)
def test_expressions_parse_to_typed_trees(text: str, returns: ComponentType, expected: object) -> None:
    assert result(text, returns) == expected


@pytest.mark.parametrize(
    ("text", "operation"), [("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"), ("==", "eq"), ("!=", "ne")]
)
def test_comparisons_make_conditions(text: str, operation: str) -> None:
    assert result(f"x if i {text} 1 else y") == Select(F32, Binary("bool", operation, I_, one(I32)), X, Y)


def test_conditions_combine() -> None:
    less, more = Binary("bool", "lt", X, Y), Binary("bool", "gt", X, Y)
    assert result("x if x < y and x > y else y") == Select(F32, Binary("bool", "both", less, more), X, Y)
    three = Binary("bool", "either", Binary("bool", "either", less, more), less)
    assert result("x if x < y or x > y or x < y else y") == Select(F32, three, X, Y)
    assert result("x if not x < y else y") == Select(F32, Unary("bool", "not", less), X, Y)


def test_precedence_is_pythons() -> None:
    assert result("x + y * x") == Binary(F32, "add", X, Binary(F32, "mul", Y, X))
    assert result("x - y - x") == Binary(F32, "sub", Binary(F32, "sub", X, Y), X)
    assert result("u >> 1 & 1", U32) == Binary(U32, "and", Binary(U32, "shr", U, one(U32)), one(U32))


def test_numbers_take_the_type_of_what_they_meet() -> None:
    assert result("(1 + 1) * x") == Binary(F32, "mul", Binary(F32, "add", one(F32), one(F32)), X)
    assert result("1 if x < y else 1") == Select(F32, Binary("bool", "lt", X, Y), one(F32), one(F32))
    assert result("float32((1 if x < y else 1) + h)") == Convert(
        F32, Binary(F16, "add", Select(F16, Binary("bool", "lt", X, Y), one(F16), one(F16)), Name(F16, "h"))
    )


def test_assignments_come_in_order_and_have_types() -> None:
    body = parse("a = u >> 1\nb = a & 1\nfloat32(b)", ENVIRONMENT, F32)
    a = Binary(U32, "shr", U, one(U32))
    b = Binary(U32, "and", Name(U32, "a"), one(U32))
    assert body == Body((Assignment("a", a), Assignment("b", b)), Convert(F32, Name(U32, "b")))
    assert parse("c = x < y\nx if c else y", ENVIRONMENT, F32).result == Select(F32, Name("bool", "c"), X, Y)


def test_a_branch_joins_names_from_outside_and_those_that_both_ways_make() -> None:
    text = "a = x\nif x < y:\n  a = y\n  b = u\n  c = u\nelse:\n  b = u >> 1\n  d = u\na * float32(b)"
    condition = Binary("bool", "lt", X, Y)
    then = (Assignment("a", Y), Assignment("b", U), Assignment("c", U))
    otherwise = (Assignment("b", Binary(U32, "shr", U, one(U32))), Assignment("d", U))
    branch = Branch(condition, then, otherwise, (("a", F32), ("b", U32)))
    assert parse(text, ENVIRONMENT, F32).statements == (Assignment("a", X), branch)


def test_a_loop_carries_what_it_assigns_from_outside_also_in_loops_and_branches_inside() -> None:
    text = "a = x\nb = y\nfor n in range(3):\n  t = y\n  if n < u:\n    for k in range(2):\n      a += t\na"
    add = Binary(F32, "add", Name(F32, "a"), Name(F32, "t"))
    inner = Loop("k", 2, (Assignment("a", add),), (("a", F32),))
    branch = Branch(Binary("bool", "lt", Name(U32, "n"), U), (inner,), (), (("a", F32),))
    loop = Loop("n", 3, (Assignment("t", Y), branch), (("a", F32),))
    assert parse(text, ENVIRONMENT, F32).statements[2] == loop


@pytest.mark.family(
    ("text", "what", "remedy"),
    [
        ("x +", "not an expression", "statements, one a line"),
        ("", "no result", "on a line of its own"),
        ("a = x", "no result", "on a line of its own"),
        ("import os\nx", "`import os` is no statement", "`name = expression`, `if a < b:` or `for i in range(4):`"),
        ("a, b = x, y\nx", "is no statement", "name = expression"),
        ("x += y\nx", "'x' already has a meaning", "a fresh name"),
        ("z += y\nx", "'z' is not defined", "one of e, h, i, u, x, y"),
        ("a = x\na += y\na", "'a' already has a meaning", "only branches and loops assign to names again"),
        ("a = x\na = y\na", "'a' already has a meaning", "only branches and loops assign to names again"),
        ("if x < y:\n  x = y\nx", "'x' already has a meaning", "a fresh name"),
        ("if x:\n  a = y\nx", "`x` is of type float32", "a comparison"),
        ("if x < y:\n  a = y\na", "'a' is not defined", "one of e, h, i, u, x, y"),
        (
            "if x < y:\n  a = y\nelse:\n  a = u\nx",
            "makes 'a' of type float32, its `else:` of type uint32",
            "one type in both",
        ),
        (
            "a = x\nif x < y:\n  a = u\nx",
            "'a' is of type float32, what is assigned to it here is uint32",
            "of type float32",
        ),
        ("if x < y:\n  pass\nx", "`pass` is no statement", "name = expression"),
        ("while x < y:\n  a = y\nx", "`while x < y:` is no statement", "for i in range(4):"),
        ("for u in range(4):\n  a = y\nx", "'u' already has a meaning", "a fresh name"),
        ("for n in range(4):\n  n = u\nx", "'n' already has a meaning", "a fresh name"),
        ("for n in range(4):\n  a = y\nfloat32(n)", "'n' is not defined", "one of e, h, i, u, x, y"),
        ("for n in range(4):\n  a = y\na", "'a' is not defined", "one of e, h, i, u, x, y"),
        ("for n in range(0):\n  a = y\nx", "`for n in range(0):` is executed 0 times", "1 to 64"),
        ("for n in range(u):\n  a = y\nx", "`for n in range(u):` is no statement", "for i in range(4):"),
        ("for n in range(9):\n  for k in range(8):\n    a = y\nx", "is executed 72 times", "1 to 64"),
        ("x = y\nx", "'x' already has a meaning", "a fresh name"),
        ("min = y\nx", "'min' already has a meaning", "a fresh name"),
        ("float32 = y\nx", "'float32' already has a meaning", "a fresh name"),
        ("a = 1\nx", "`1` has no type here", "float32(1)"),
        ("z", "'z' is not defined", "one of e, h, i, u, x, y"),
        ("h", "the result is of type float16", "float32(...)"),
        ("x < y", "the result is of type bool", "float32(...)"),
        ("x + h", "`x + h` mixes float32 and float16", "convert one of them"),
        ("clamp(x, 0, h)", "mixes float32 and float16", "convert one of them"),
        ("x if i < 1 else h", "mixes float32 and float16", "convert one of them"),
        ("e + e", "operands of type float8_e4m3fn", "NU-034"),
        ("-e", "is of type float8_e4m3fn", "NU-034"),
        ("x if e < e else y", "compares float8_e4m3fn", "NU-034"),
        ("x if (x < y) == (y < x) else y", "compares bool", "NU-034"),
        ("x & y", "operands of type float32", "an integer type"),
        ("~x", "is of type float32", "an integer type"),
        ("x % y", "operands of type float32", "an unsigned integer type"),
        ("i // i", "operands of type int32", "an unsigned integer type"),
        ("u / u", "operands of type uint32", "float16 or float32"),
        ("abs(u)", "uint32", "a signed type"),
        ("exp(i)", "int32", "float16 or float32"),
        ("x if i else y", "`i` is of type int32", "a comparison"),
        ("x if True else y", "`True` is not an operand", "a comparison"),
        ("-True", "`True` is not an operand", "a comparison"),
        ("not x", "`x` is of type float32", "a comparison"),
        ("float32(x < y)", "converts a condition", "float32(1) if ... else float32(0)"),
        ("as_float32(h)", "float16 has another width", "32 bits"),
        ("x ** y", "`x ** y` is not part of the language", "arithmetic, comparisons"),
        ("+x", "`+x` is not part of the language", "arithmetic, comparisons"),
        ("'x'", "is not part of the language", "arithmetic, comparisons"),
        ("1j", "is not part of the language", "arithmetic, comparisons"),
        ("lambda: x", "is not part of the language", "arithmetic, comparisons"),
        ("x < y < x", "is not part of the language", "arithmetic, comparisons"),
        ("x.real", "cannot be accessed", "block.field"),
        ("x[0]", "cannot be accessed", "block.field"),
        ("float32(x=1)", "is not part of the language", "conversions"),
        ("min(x)", "no such function", "component type with one argument"),
        ("sin(x)", "no such function", "component type with one argument"),
        ("0.1", "0.1 is not exactly representable as float32", "a number that float32 represents"),
        ("i + 4294967296", "not exactly representable as int32", "a number that int32 represents"),
        ("1e999", "not a finite number", "as_float32(uint32(0x7f800000))"),
        ("1" + 400 * "0", "too large for float32", "a number that float32 represents"),
        ("block.q", "no such field", "one of d, qs"),
        ("block.qs", "not how the field is declared", "block.qs[index], 4 elements"),
        ("block.d[0]", "not how the field is declared", "block.d"),
        ("block.qs[4]", "outside the array", "0 to 3 (TA-073)"),
        ("block.qs[x]", "the index is of type float32", "int32 or uint32"),
        ("blockCoord[2]", "no dimension 2", "0 to 1 (DV-011)"),
        ("blockCoord[u]", "cannot be accessed", "blockCoord[0]"),
        ("lookup(x, 1)", "the index is of type float32", "int32 or uint32"),
        ("lookup(u, 1, x)", "not numbers of one type", "lookup(i, int8(-3), int8(5))"),
        ("lookup(2, 1, 1)", "index 2 is outside", "0 to 1 (TA-073)"),
        ("x" + 400 * " + x", "too long", "at most 256 operations"),
        (MAX_DEPTH * "-" + "x", "nested too deeply", "assign parts to names"),
    ],
)
def test_mistakes_are_named_with_a_remedy(text: str, what: str, remedy: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, ENVIRONMENT, F32)
    assert what in caught.value.what
    assert remedy in caught.value.remedy
    assert len(str(caught.value)) < 600


def test_blocks_and_coordinates_belong_to_decode_functions() -> None:
    for text in ("block.d", "blockCoord[0]", "coordInBlock[0]"):
        with pytest.raises(ExpressionError, match=r"no such field|cannot be accessed"):
            parse(text, Environment({"x": F32}), F16)


def test_the_page_has_a_row_for_every_operation() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "expressions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z, ]+) \| `", page, re.MULTILINE)
    named = {name for row in rows for name in row.split(", ")}
    assert {*UNARY, *BINARY} <= named
    for component in ComponentType:
        assert result(f"1 if i < 1 else {component.value}(1)", component) is not None
