# ruff: noqa: E501 - one instruction a line, one bad case a line
"""Reading and writing cases: exact round trip, errors that name file, line, YAML path and remedy."""

import re
from pathlib import Path

import msgspec
import pytest

from cts.base.errors import BadInput
from cts.base.plain_yaml import line_of, parse
from cts.case import model

GOOD = """\
schema: 1
name: tensor_addressing.example
description: 'Colons: quoted, and #hashes'
covers: [TA-031, TA-044]
dispatch: {workgroups: [2, 1, 1]}
buffers:
  src: {type: float16, shape: [9, 14], data: {iota: {modulo: 2039}}}
  dst: {type: float16, shape: [32, 16], data: {fill: -5}}
program:
  - {op: TensorLayout, id: t, dim: 2, clamp: ClampToEdge}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [9, 14]}
  - {op: TensorLayoutSlice, id: t2, of: t1, offset: [{dynamic: -3}, {spec: 12}], span: [16, 16]}
  - {op: MatrixConstant, id: z, type: {component: float16, scope: Subgroup, rows: 16, cols: {spec: 16}, use: Accumulator}, value: -7}
  - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t2}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 16, offset: {literal: 0, wg.x: 256}}
"""


def test_canonical_text_survives_a_round_trip() -> None:
    assert model.dumps_case(model.loads_case(GOOD)) == GOOD


def test_block_style_reads_as_the_same_case() -> None:
    block = GOOD.replace(
        "  - {op: TensorLayout, id: t, dim: 2, clamp: ClampToEdge}\n",
        "  - op: TensorLayout\n    id: t\n    dim: 2\n    clamp: ClampToEdge\n",
    )
    assert block != GOOD
    assert model.loads_case(block) == model.loads_case(GOOD)


def test_operands_keep_constness_and_factors() -> None:
    case = model.loads_case(GOOD)
    assert case.program[2].offset == (model.Scalar(dynamic=-3), model.Scalar(spec=12))  # type: ignore[union-attr]
    assert case.program[5].offset == model.Scalar(literal=0, wg_x=256)  # type: ignore[union-attr]
    assert isinstance(case.program[4], model.MatrixLoadTensor)
    assert model.dynamic_words(case).tolist() == [0xFFFFFFFD]


def test_identity_is_content_not_words() -> None:
    case = model.loads_case(GOOD)
    renamed = model.loads_case(GOOD.replace("tensor_addressing.example", "other").replace("TA-031", "TA-030"))
    changed = model.loads_case(GOOD.replace("dynamic: -3", "dynamic: -4"))
    assert case.content_hash == renamed.content_hash == "3b220435977550b5"
    assert changed.content_hash != case.content_hash


def without(line: str) -> str:
    return "".join(x for x in GOOD.splitlines(keepends=True) if line not in x)


BAD = {
    "truncated": (GOOD[:-3], "yaml", r"f\.yaml:\d+:\d+", "cts docs writing-a-case"),
    "alias": (GOOD.replace("[9, 14]}", "*x}"), "yaml", r"f\.yaml:11:\d+", ""),
    "duplicate key": (GOOD.replace("  dst:", "  src:"), "yaml", r"f\.yaml:8:3", ""),
    "a list": ("[1, 2]", "not-a-case", r"f\.yaml", "schema"),
    "empty": ("", "not-a-case", r"f\.yaml", ""),
    "another document": ("kind: Pod\nspec: {}\n", "not-a-case", r"f\.yaml", ""),
    "unknown operation": (GOOD.replace("MatrixLoadT", "MatrixLodT"), "case-invalid", r"f\.yaml:14: program\[4\]\.op", "MatrixLoadTensor"),
    "wrong type": (GOOD.replace("dims: [9, 14]", "dims: [9, x]"), "case-invalid", r"f\.yaml:11: program\[1\]\.dims\[1\]", ""),
    "unknown field": (GOOD.replace("layout: t2}", "layout: t2, vue: v}"), "case-invalid", r"f\.yaml:14: program\[4\]", "vue"),
    "unknown data": (GOOD.replace("iota", "iot"), "case-invalid", r"f\.yaml:7: buffers\.src\.data", "iot"),
    "missing field": (GOOD.replace("layout: t2}", "}"), "case-invalid", r"f\.yaml:14: program\[4\]", "layout"),
    "unknown enumerant": (GOOD.replace("buffers:", "float_modes: {float16: [RoundingModeRTX]}\nbuffers:", 1), "case-invalid", r"f\.yaml:\d+: float_modes", "did you mean 'RoundingModeRTZ'"),
    "two bases": (GOOD.replace("{dynamic: -3}", "{dynamic: -3, spec: 3}"), "case-invalid", r"program\[2\]\.offset\[0\]", "exactly one"),
    "plain literal": (GOOD.replace("{dynamic: -3}", "{literal: -3}"), "case-invalid", r"program\[2\]\.offset\[0\]", "the number itself"),
    "33 bits": (GOOD.replace("{dynamic: -3}", "4294967296"), "case-invalid", r"program\[2\]\.offset\[0\]", "4294967295"),
    "future schema": (GOOD.replace("schema: 1", "schema: 2"), "schema-version", r"f\.yaml:1: schema", "newer"),
    "undefined name": (GOOD.replace("of: t1", "of: tt1"), "case-malformed", r"f\.yaml:12: program\[2\]\.of", "did you mean 't1'"),
    "used before": (without("id: t1"), "case-malformed", r"program\[1\]\.of", "did you mean 't'"),
    "wrong kind": (GOOD.replace("layout: t2", "layout: z"), "case-malformed", r"program\[4\]\.layout", "tensor layout"),
    "defined twice": (GOOD.replace("id: t1", "id: t"), "case-malformed", r"program\[1\]\.id", "SSA"),
    "operand count": (GOOD.replace("dims: [9, 14]", "dims: [9]"), "case-malformed", r"program\[1\]\.dims", "TA-022"),
    "six dimensions": (GOOD.replace("dim: 2", "dim: 6"), "case-malformed", r"program\[0\]\.dim", "TA-010"),
    "unknown buffer": (GOOD.replace("buffer: src", "buffer: sc"), "case-malformed", r"program\[4\]\.buffer", "did you mean 'src'"),
    "a tebibyte": (GOOD.replace("[9, 14], data", "[1048576, 524288], data"), "case-malformed", r"f\.yaml:7: buffers\.src\.shape", "256 MiB"),
    "inexact": (GOOD.replace("modulo: 2039", "modulo: 9999, start: 2040"), "case-malformed", r"buffers\.src\.data", "float16"),
    "huge matrix": (GOOD.replace("rows: 16", "rows: 100000"), "case-malformed", r"program\[3\]\.type\.rows", "KM-010"),
    "inexact constant": (GOOD.replace("value: -7", "value: 2049"), "case-malformed", r"program\[3\]\.value", "float16"),
    "wide bits": (GOOD.replace("value: -7", "value: '0x1ffff'"), "case-malformed", r"program\[3\]\.value", "16 bits"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_cases_are_refused_with_place_and_remedy(name: str) -> None:
    text, code, where, says = BAD[name]
    assert text != GOOD
    with pytest.raises(BadInput) as caught:
        model.loads_case(text, "f.yaml")
    error = caught.value
    assert error.code == code
    assert re.search(where, error.where), error.where
    assert error.remedy
    assert says in str(error)
    assert len(str(error).splitlines()) <= 5


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="case-unreadable"):
        model.load_case(tmp_path / "none.yaml")
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"name: \xff\n")
    with pytest.raises(BadInput, match="case-not-utf8"):
        model.load_case(latin)
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (4 << 20) + b"\n")
    with pytest.raises(BadInput, match="case-too-large"):
        model.load_case(large)


DEEP = {
    "lists": "a:\n  " + "[" * 100_000,
    "closed lists": "a:\n  " + "[" * 100_000 + "]" * 100_000,
    "mappings": "a:\n  " + "{a: " * 100_000,
    "lists in block style": "a:\n  " + "- " * 100_000,
    "keys": "a:\n  " + "? " * 100_000,
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_an_error_not_a_crash(name: str) -> None:
    with pytest.raises(BadInput, match="lists and mappings nested more than 32 deep") as caught:
        parse(DEEP[name], "f.yaml", "docs/dispatch.md")
    assert caught.value.where.startswith("f.yaml:2:") and "docs/dispatch.md" in caught.value.remedy


def test_nesting_up_to_the_limit() -> None:
    assert str(parse("[" * 32 + "]" * 32, "f.yaml")) == "[" * 32 + "]" * 32
    assert parse("[" + "[[]], " * 100 + "]", "f.yaml") == [[[]]] * 100


def test_aliases_cannot_make_much_of_little() -> None:
    lines = [
        "a0: &a0 [x, x, x, x, x, x, x, x, x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)),
    ]
    with pytest.raises(BadInput, match="an alias, which no file of the suite may have") as caught:
        parse("\n".join(lines), "f.yaml")
    assert caught.value.where == "f.yaml:2:10"


def test_case_is_immutable_and_hashable_by_content() -> None:
    case = model.loads_case(GOOD)
    assert isinstance(case, model.Case)
    with pytest.raises(AttributeError):
        case.name = "x"  # type: ignore[misc]


BODIES = {
    "several lines": "a = x + y\nb = a * a\nb",
    "an empty line": "a = x\n\na",
    "trailing space": "a = x \na",
    "a comment": "a = x  # why\na",
    "a line break at the end": "x\n",
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_of_several_lines_survive_a_round_trip(name: str) -> None:
    case = model.loads_case(GOOD)
    function = model.Combine(model.ComponentType.float32, BODIES[name])
    case = msgspec.structs.replace(
        case, functions={"f": function, "g": model.Combine(model.ComponentType.int8, "x | y")}
    )
    text = model.dumps_case(case)
    assert model.loads_case(text) == case
    if name == "several lines":
        body = "    body: |-\n      a = x + y\n      b = a * a\n      b\n"
        assert f"functions:\n  f:\n    kind: Combine\n    type: float32\n{body}  g: {{kind: Combine" in text


def test_floats_may_have_an_exponent_and_no_point() -> None:
    data = parse("[1e-5, -2.5E3, .5e1, 1e5x, 0x1e5]", "here")
    assert data == [1e-5, -2500.0, 5.0, "1e5x", 0x1E5]


@pytest.mark.parametrize("text", ["a: 2001-99-99", "a: " + "1" * 5000, "{[a]: 1}", "? {a: 1}\n: 2"])
def test_values_that_yaml_has_not(text: str) -> None:
    with pytest.raises(BadInput, match="yaml"):
        parse(text, "here")


TAGS = ["!!bool x", "!!int ''", "!!map [1]", "!!str [1]", "!!binary x", "!!python/name:os.system", "!own x", "! x"]


@pytest.mark.parametrize("tagged", TAGS)
def test_tags_are_refused_where_they_stand(tagged: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(f"a:\n  - {tagged}\n", "f.yaml")
    assert "a tag" in caught.value.what
    assert caught.value.where == "f.yaml:2:5"


def test_integers_that_cannot_be_printed_are_refused() -> None:
    assert parse("a: 0x" + "f" * 1000, "f.yaml") == {"a": 2**4000 - 1}
    with pytest.raises(BadInput, match="an integer of more than 4096 bits"):
        parse("a: 0x" + "f" * 5000, "f.yaml")


@pytest.mark.parametrize("text", ["{a: 1, b? : {}}", "{a: 1, 'b': {}}", "a: [1, 2]", "- 1", "a", "", "# nothing"])
def test_what_is_read_has_lines(text: str) -> None:
    parse(f"\n{text}", "f.yaml")
    for steps in ((), ("a",), ("a", 5), ("b?", "c"), (0,), (-1,), (7,)):
        assert line_of(f"\n{text}", steps) in (1, 2)
