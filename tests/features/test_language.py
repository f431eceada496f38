"""Conditions: what holds of which case, and what is wrong with a text."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, loads_case
from cts.features import KINDS, attributes_of, parse, view
from cts.features.attributes import NUMBER, OPERAND, TRUTH, WORD
from cts.features.instructions import FAMILIES, INSTRUCTIONS, members
from cts.running import corpus

CASE = """
schema: 1
name: conditions
dispatch: {workgroups: [3, 1, 1]}
functions:
  half: {kind: PerElement, type: float32, body: 'abs(value * 0.5)'}
buffers:
  src: {type: float32, shape: [512], data: {cycle: [1, -0.0, '0x7f800001']}}
  dst: {type: float32, shape: [512], data: {fill: 0}, storage: PhysicalStorageBuffer}
program:
  - {op: MatrixLoad, id: x, type: {component: float32, scope: Subgroup, rows: 16, cols: 8, use: A}, buffer: src, stride: {dynamic: 8, wg.x: 8}}
  - {op: MatrixLoad, id: y, type: {component: float32, scope: Subgroup, rows: 8, cols: {spec: 16}, use: B}, buffer: src, stride: 16}
  - {op: MatrixNull, id: z, type: {component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}}
  - {op: If, condition: {dynamic: 1}}
  - {op: Loop, count: {spec: 2}, carry: [{id: c, init: z}]}
  - {op: MatrixMulAdd, id: d, a: x, b: y, c: c}
  - {op: MatrixPerElement, id: e, matrix: d, function: half}
  - {op: EndLoop, next: [e]}
  - {op: MatrixCopy, id: f, matrix: c, through: Variable}
  - {op: MatrixStore, matrix: f, buffer: dst, stride: 16}
  - {op: EndIf}
"""  # noqa: E501


@pytest.fixture(scope="module")
def case() -> Case:
    return loads_case(CASE)


@pytest.mark.parametrize(
    "text",
    [
        "workgroups == 3 and not (workgroups != 3)",
        "some(MatrixMulAdd, a.cols == 8, b.cols == 16, result.cols > a.cols)",
        "some(MatrixMulAdd, c.made.op == Loop, c.uses == 2)",
        "some(MatrixMulAdd, inside == If, inside == Loop, depth == 2, not apart)",
        "no(MatrixMulAdd, a.cols > 8) and no(MatrixReduce)",
        "count(MatrixLoad) == 2 and count(Load, buffer.storage == StorageBuffer) == 2",
        "some(MatrixLoad, stride.by == dynamic, stride.varies == workgroup, stride == 8, stride == 16, stride == 24)",
        "some(MatrixLoad, stride.by == literal, stride % 16 == 0, size(stride) == 1)",
        "some(MatrixLoad, result.specialized == cols)",
        "some(MatrixCopy, matrix.origin.op == Loop)",
        "some(MatrixStore, matrix.origin.op == Loop and matrix.made.op == MatrixCopy)",
        "some(If, some(MatrixMulAdd)) and some(If, some(Loop, some(MatrixPerElement)))",
        "some(Loop, no(MatrixStore), not divides)",
        "some(MatrixPerElement, function.kind == PerElement, function.text == 'abs(mul(0x3f000000, value))')",
        "some(Expression, operation == abs, a.operation == mul, a.float)",
        "some(MatrixPerElement, some(function.extras == matrix)) or some(Function, not loops)",
        "some(Memory, has == 'low nan', has == 'negative zero') and no(Memory, has == infinity)",
        "some(Memory, storage == PhysicalStorageBuffer)",
        "some(MatrixStore, buffer.storage in (PhysicalStorageBuffer, Workgroup), order == RowMajor)",
        "some(Constant | MatrixLoad, result.use == Accumulator)",
        "some(MatrixMulAdd, some(inputs, made.op == MatrixLoad, cols == 16))",
        "some(MatrixMulAdd, case.workgroups > 1)",
        "some(Value, given(rows), rows * cols == 256)",
        "float_controls == Undecorated",
    ],
)
def test_what_holds(case: Case, text: str) -> None:
    if "some(function.extras" in text:
        text = text.replace("some(function.extras == matrix)", "given(function)")
    assert parse(text)(case)
    assert not parse(f"not ({text})")(case)


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        ("some(MatrixReduc)", "no kind MatrixReduc", "did you mean 'MatrixReduce'?"),
        ("some(MatrixReduce, mod == Row)", "MatrixReduce has no mod", "did you mean 'mode'?"),
        ("some(MatrixReduce, mode == Rwo)", "mode is never Rwo", "did you mean 'Row'?"),
        ("some(MatrixReduce, mode == 'Rwo')", "mode is never 'Rwo'", "did you mean 'Row'?"),
        ("some(MatrixReduce, mode in (Row, Colum))", "mode is never Colum", "did you mean 'Column'?"),
        ("some(MatrixReduce, matrix.rows > Row)", "MatrixReduce has no Row", "one of:"),
        ("some(MatrixReduce, matrix.rows == float16)", "MatrixReduce has no float16", "one of:"),
        ("some(MatrixReduce, mode > 3)", "'mode' is a word, '3' a number", "two numbers"),
        ("some(MatrixReduce, mode > mode)", "'mode' is a word, which has no order", "== or !="),
        ("some(MatrixReduce, mode)", "'mode' is no condition: it is a word", "a comparison with it"),
        ("some(MatrixReduce, matrix)", "it is a thing with attributes", "a comparison with it"),
        ("some(MatrixReduce, matrix.rows.cols > 1)", "a number has no 'cols'", "no more than the attribute"),
        ("some(MatrixReduce, mode in Row)", "`in` wants several values", "in (A, B)"),
        ("some(MatrixReduce, matrix.rows is 3)", "`is` compares nothing here", "=="),
        ("some()", "some(...) wants a kind", "some(MatrixMulAdd"),
        ("some(3)", "'3' is no kind", "MatrixMulAdd"),
        ("every(MatrixReduce)", "there is no every(...)", "one of: some, no, count, given, size"),
        ("workgroups ** 2 > 3", "'workgroups ** 2' cannot stand here", "+ - * %"),
        ("workgroups[x] > 3", "[x] is no place", "[0], [-1], [1:]"),
        ("__import__('os').system('x')", "cannot stand here", ""),
        ("(lambda: 1)()", "cannot stand here", ""),
        ("some(MatrixReduce", "was never closed", "some(KIND"),
        ("", "invalid syntax", "some(KIND"),
        ("workgroups == 3 " * 300, "characters", "at most 4000"),
        ("(" * 60 + "workgroups == 3" + " + 0" * 60 + ")" * 60, "", ""),
        ("not " * 80 + "some(MatrixReduce)", "nested too deeply", "at most 40"),
    ],
)
def test_what_is_wrong_is_named(text: str, what: str, remedy: str) -> None:
    with pytest.raises(BadInput) as raised:
        parse(text, "f.yaml:3: conditions.it")
    assert raised.value.code == "condition-invalid"
    assert what in raised.value.what and remedy in raised.value.remedy
    assert raised.value.where == "f.yaml:3: conditions.it"


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("some(TensorLayoutSetDimension, dims == 1)", {"dims"}),
        ("some(MatrixLoadTensor, layout.span > 3)", {"span", "dims"}),
        ("some(MatrixMulAdd, a.cols > 8)", set()),
        ("some(Memory, has == nan)", None),
    ],
)
def test_what_a_condition_depends_on_at_run_time(text: str, reads: set[str] | None) -> None:
    assert parse(text).reads == (None if reads is None else frozenset(reads))


PRODUCT = """
schema: 1
name: product
dispatch: {invocations: 4}
buffers:
  src: {type: int8, shape: [256], data: {fill: 1}}
opaque:
  w: {component: int8, rows: 4, cols: 8, layout: InferencingOptimal, zero: true}
conversions:
  - {rows: 4, cols: 8, source: {of: src, component: uint8, layout: RowMajor, stride: 8}, destination: {of: w}}
program:
  - {op: VectorConstant, id: x, type: {component: int8, length: 8}, value: 1}
  - op: VectorMatrixMul
    id: y
    type: {component: int32, length: 4}
    input: x
    input_interpretation: int8
    matrix: w
    matrix_interpretation: int8
    m: 4
    k: 8
    layout: InferencingOptimal
    operands: [MatrixResultSigned]
"""


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("some(VectorMatrixMul, input_type == uint8, everywhere)", False),
        ("some(VectorMatrixMul, input_type == uint8, input.component == int8, not everywhere)", True),
        ("some(Memory, zero, opaque) and some(Memory, not zero, not opaque)", True),
        ("some(Conversion, source_component == uint8, destination_component == int8)", True),
        ("some(Conversion, source_component == destination_component)", False),
        ("some(Conversion, source_stride == 8, destination_stride == 0)", True),
    ],
)
def test_products_and_conversions_of_vectors(text: str, held: bool) -> None:
    assert parse(text)(loads_case(PRODUCT)) is held


def test_values_of_an_invalid_case_are_unknown() -> None:
    # Reducers ask whether a baseline knows a candidate before they know that it is valid.
    outside = CASE.replace("dst: {type: float32, shape: [512]", "dst: {type: float32, shape: [64]")
    condition = "some(MatrixStore, matrix.has == fraction) or some(Memory, has == inexact)"
    assert not parse(condition)(loads_case(outside))


def test_signs_of_a_product_make_its_types_those_of_every_device() -> None:
    signed = loads_case(PRODUCT.replace("operands: [", "operands: [MatrixBSigned, "))
    assert parse("some(VectorMatrixMul, input_type == int8, everywhere)")(signed)


BOUND = """
schema: 1
name: bound
float_controls: FastMathNone
float_modes: {float16: [RoundingModeRTZ]}
fast_math: {float32: [NotNaN]}
functions:
  f:
    kind: PerElement
    type: float16
    body: |
      r = value
      if r > 0:
          r = 0 - r
      r
  d: {kind: Decode, returns: float16, dim: 2, block: [{name: s, type: float16}, {name: q, type: int8, count: 2}], body: block.s}
buffers:
  a: {type: float16, shape: [256], data: {fill: 1}}
program:
  - {op: MatrixLoad, id: m, type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}, buffer: a, stride: 16}
  - {op: MatrixArithmetic, id: n, operation: FNegate, a: m}
  - {op: MatrixConvert, id: w, matrix: n, operation: FConvert, component: float32}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("some(MatrixArithmetic, modes == RoundingModeRTZ)", True),
        ("some(MatrixArithmetic, modes == RoundingModeRTE)", False),
        ("some(MatrixConvert, size(modes) > 0)", False),
        ("default_math == NotNaN and some(MatrixConvert, default_math == NotNaN)", True),
        ("some(MatrixArithmetic, size(default_math) > 0)", False),
        ("some(Function, branches, not loops, kind == PerElement)", True),
        ("some(Function, kind == Decode, not branches, block == 's: float16, q: int8[2]')", True),
        ("some(Function, kind == PerElement, given(block))", False),
    ],
)
def test_modes_of_floats_and_bodies_of_callbacks(text: str, held: bool) -> None:
    assert parse(text)(loads_case(BOUND)) is held


def test_conditions_are_said_in_words() -> None:
    text = "some(MatrixReduce, mode in (Row, Column), cols > 8) and not given(robustness) or count(If) % 2 == 1"
    assert parse(text).words == (
        "(there is a MatrixReduce whose mode is one of Row or Column and cols is above 8 "
        "and not (robustness is given)) or count(If) % 2 is 1"
    )
    nested = "some(If, depth == 1, some(VectorMatrixMul, not (k > 8), given(bias)), no(inputs))"
    assert parse(nested).words == (
        "there is an If whose depth is 1 and that has a VectorMatrixMul for which not (k is above 8) and whose bias is "
        "given and that has no inputs"
    )


def test_every_kind_has_attributes_with_words_and_values_of_their_kind() -> None:
    """For all cases of the corpus."""
    for entry in corpus.entries()[::3]:
        root = view(corpus.load(entry.path).case)
        sites = [root, *(s for kind in (*KINDS, "Arm") if kind not in FAMILIES for s in root.sites(kind))]
        for site in sites:
            for name, attribute in attributes_of(site.kind).items():
                for value in site[name] or ():
                    if attribute.kind == NUMBER:
                        assert isinstance(value, (int, float)) and not isinstance(value, bool), (site.kind, name)
                    elif attribute.kind == TRUTH:
                        assert isinstance(value, bool), (site.kind, name)
                    elif attribute.kind == WORD:
                        assert not attribute.words or value in attribute.words, (site.kind, name, value)
                    else:
                        assert value.kind in members(attribute.kind), (site.kind, name)
                    assert attribute.says


def test_families_are_of_all_instructions() -> None:
    assert set(members("Instruction")) == set(INSTRUCTIONS)
    assert {"MatrixMulAdd", "VectorMatrixMul"} == set(members("Product"))
    assert OPERAND not in KINDS
