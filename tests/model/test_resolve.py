# ruff: noqa: E501 - one instruction a line, one bad program a line
"""Typing rules of matrix instructions, functions and control flow: what each refuses, where, and with which remedy."""

from __future__ import annotations

import re

import pytest

from cts.base.errors import BadInput
from cts.case.model import ComponentType, MatrixShape, PointerType, Use, dumps_case, loads_case, types_of

EVERYTHING = """\
schema: 1
name: everything
dispatch: {workgroups: [2, 1, 1]}
float_controls: NoContraction
functions:
  larger: {kind: Combine, type: float32, body: 'max(x, y)'}
  bias: {kind: PerElement, type: float32, body: value * s + o, extras: [{name: s, type: float32}, {name: o, matrix: true}]}
  half: {kind: Component, type: float32, body: value * 0.5}
  one: {kind: Decode, returns: float16, dim: 2, block: [{name: d, type: float16}], body: block.d}
  two: {kind: DecodeVector, returns: float16, dim: 2, lanes: 2, block: [{name: d, type: float16}], body: block.d}
buffers:
  a: {type: float16, shape: [16, 16], data: {iota: {}}}
  i: {type: int8, shape: [16, 16], data: {counter: {}}}
  s: {type: float32, shape: [2, 256], data: {fill: 0}, storage: Workgroup}
  d: {type: float32, shape: [2, 256], data: {fill: 0}}
program:
  - {op: MatrixNull, id: z, type: {component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}}
  - {op: MatrixConstant, id: b0, type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: B}, value: {dynamic: 0}, replicated: true}
  - {op: TensorLayout, id: t, dim: 2}
  - {op: TensorLayoutSetBlockSize, id: t1, of: t, block_size: [1, 2]}
  - {op: TensorLayoutSetDimension, id: t2, of: t1, dims: [16, 16]}
  - {op: MatrixLoadTensor, id: b, object: b0, buffer: a, layout: t2, decode: one, decode_vector: two}
  - {op: Pointer, id: p0, buffer: a}
  - {op: Pointer, id: p1, buffer: a, offset: 16}
  - {op: PointerSelect, id: p, condition: {dynamic: 1}, a: p0, b: p1}
  - {op: Loop, count: {dynamic: 2}, carry: [{id: acc, init: z}]}
  - {op: MatrixLoad, id: a0, type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: A}, buffer: p, stride: 16, offset: {literal: 0, loop: 1}}
  - {op: MatrixMulAdd, id: acc1, a: a0, b: b, c: acc}
  - {op: EndLoop, next: [acc1]}
  - {op: If, condition: {dynamic: 1}}
  - {op: MatrixArithmetic, id: sum, operation: FAdd, a: acc, b: z}
  - {op: Else}
  - {op: MatrixTimesScalar, id: twice, matrix: acc, scalar: 2}
  - {op: EndIf, merge: [{id: picked, then: sum, otherwise: twice}]}
  - {op: MatrixReduce, id: r, matrix: picked, mode: [Row], combine: larger, cols: 32}
  - {op: MatrixPerElement, id: e, matrix: picked, function: bias, matrices: [z], scalars: [{dynamic: 2}]}
  - {op: MatrixComponents, id: c, matrix: e, function: half}
  - {op: MatrixCopy, id: k, matrix: c, through: Struct}
  - {op: MatrixConvert, id: n, matrix: k, operation: FConvert, component: float16, use: A}
  - {op: MatrixConvert, id: f8, matrix: k, operation: FConvert, component: float8_e4m3fn, saturate: true}
  - {op: MatrixConvertUse, id: u, matrix: k, use: B}
  - {op: MatrixTranspose, id: x, matrix: r}
  - {op: MatrixLoad, id: i0, type: {component: int8, scope: Subgroup, rows: 16, cols: 16, use: A}, buffer: i, stride: 16}
  - {op: MatrixArithmetic, id: neg, operation: SNegate, a: i0}
  - {op: MatrixBitcast, id: bits, matrix: neg, component: uint8}
  - {op: MatrixConvert, id: wide, matrix: bits, operation: UConvert, component: uint32}
  - {op: MatrixStore, matrix: k, buffer: s, stride: 16}
  - {op: ControlBarrier}
  - {op: MatrixLoad, id: back, type: {component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}, buffer: s, stride: 16}
  - {op: MatrixStore, matrix: back, buffer: d, stride: 16, offset: {literal: 0, wg.x: 256}}
"""


def test_every_instruction_survives_a_round_trip() -> None:
    case = loads_case(EVERYTHING)
    assert dumps_case(case) == EVERYTHING
    assert loads_case(dumps_case(case)) == case


def test_results_have_the_types_of_their_operands() -> None:
    types = types_of(loads_case(EVERYTHING))

    def of(name: str) -> tuple[str, int, int, str]:
        shape = types[name]
        assert isinstance(shape, MatrixShape)
        return shape.component.value, shape.rows, shape.cols, shape.use.value

    assert types["p"] == PointerType("a")
    assert of("b") == ("float16", 16, 16, "B")
    assert (
        of("acc") == of("acc1") == of("picked") == of("e") == of("c") == of("k") == ("float32", 16, 16, "Accumulator")
    )
    assert of("r") == ("float32", 16, 32, "Accumulator")
    assert of("x") == ("float32", 32, 16, "B")
    assert of("n") == ("float16", 16, 16, "A")
    assert of("f8") == ("float8_e4m3fn", 16, 16, "Accumulator")
    assert of("u") == ("float32", 16, 16, "B")
    assert (of("bits"), of("wide")) == (("uint8", 16, 16, "A"), ("uint32", 16, 16, "A"))


def replaced(old: str, new: str, text: str = EVERYTHING) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


#: Name -> text, a pattern of the place, the fact (or "") and a part of the remedy.
BAD = {
    "A is no A": (replaced("a: a0, b: b, c: acc", "a: b, b: b, c: acc"), r"program\[11\]\.a", "KM-014", "Use A"),
    "C is no accumulator": (replaced("a: a0, b: b, c: acc", "a: a0, b: b, c: b"), r"program\[11\]\.c", "KM-014", "Use Accumulator"),
    "K differs": (replaced("rows: 16, cols: 16, use: A}, buffer: p", "rows: 16, cols: 8, use: A}, buffer: p"), r"program\[11\]\.c", "KM-014", "MxK times KxN"),
    "scopes differ": (replaced("scope: Subgroup, rows: 16, cols: 16, use: A}, buffer: p", "scope: Workgroup, rows: 16, cols: 16, use: A}, buffer: p"), r"program\[11\]\.a", "KM-014", "Subgroup, as c"),
    "integers with floats": (replaced("a: a0, b: b, c: acc", "a: i1, b: b, c: acc").replace("  - {op: Loop,", "  - {op: MatrixLoad, id: i1, type: {component: int8, scope: Subgroup, rows: 16, cols: 16, use: A}, buffer: i, stride: 16}\n  - {op: Loop,"), r"program\[12\]\.a", "", "integers with integers"),
    "signs of floats": (replaced("a: a0, b: b, c: acc}", "a: a0, b: b, c: acc, operands: [MatrixASigned]}"), r"program\[11\]\.operands", "VK-022", "none for floats"),
    "a bit twice": (replaced("a: a0, b: b, c: acc}", "a: a0, b: b, c: acc, operands: [MatrixASigned, MatrixASigned]}"), r"program\[11\]\.operands", "", "each bit once"),
    "sum of one": (replaced("FAdd, a: acc, b: z", "FAdd, a: acc"), r"program\[14\]\.b", "KM-017", "two matrices"),
    "negation of two": (replaced("SNegate, a: i0", "SNegate, a: i0, b: i0"), r"program\[27\]\.b", "KM-017", "no `b`"),
    "sum of two types": (replaced("FAdd, a: acc, b: z", "FAdd, a: acc, b: b"), r"program\[14\]\.b", "KM-017", "declared alike"),
    "integer sum of floats": (replaced("FAdd, a: acc, b: z", "IAdd, a: acc, b: z"), r"program\[14\]\.a", "KM-017", "integer components"),
    "sum of float8": (EVERYTHING + "  - {op: MatrixArithmetic, id: f9, operation: FNegate, a: f8}\n", r"program\[34\]\.a", "NU-034", "convert to float32"),
    "scalar times float8": (EVERYTHING + "  - {op: MatrixTimesScalar, id: f9, matrix: f8, scalar: 2}\n", r"program\[34\]\.matrix", "NU-034", "convert to float32"),
    "scalar of no such value": (replaced("matrix: acc, scalar: 2", "matrix: acc, scalar: 0.1"), r"program\[16\]\.scalar", "", "0x"),
    "FConvert of integers": (EVERYTHING + "  - {op: MatrixConvert, id: q, matrix: i0, operation: FConvert, component: float16}\n", r"program\[34\]\.matrix", "KM-018", "a float type"),
    "FConvert to integers": (EVERYTHING + "  - {op: MatrixConvert, id: q, matrix: k, operation: FConvert, component: int8}\n", r"program\[34\]\.component", "KM-018", "a float type"),
    "UConvert to a signed type": (replaced("operation: UConvert, component: uint32", "operation: UConvert, component: int32"), r"program\[29\]\.component", "KM-018", "unsigned integer type"),
    "UDiv of signed matrices": (EVERYTHING + "  - {op: MatrixArithmetic, id: q, operation: UDiv, a: i0, b: i0}\n", r"program\[34\]\.a", "KM-017", "unsigned"),
    "UConvert of one width": (replaced("operation: UConvert, component: uint32", "operation: UConvert, component: uint8"), r"program\[29\]\.component", "", "MatrixBitcast"),
    "conversion to itself": (replaced("operation: FConvert, component: float16, use: A", "operation: FConvert, component: float32, use: A"), r"program\[22\]\.component", "", "MatrixConvertUse"),
    "saturation to float16": (replaced("component: float16, use: A}", "component: float16, use: A, saturate: true}", EVERYTHING), r"program\[22\]\.saturate", "NU-033", "float8"),
    "a stride of three blocks": (replaced("matrix: back, buffer: d, stride: 16,", "matrix: back, buffer: d, stride: 3, order: RowBlockedInterleavedARM,"), r"program\[33\]\.stride", "AL-006", "1, 2 or 4"),
    "a number of blocks that varies": (replaced("matrix: back, buffer: d, stride: 16,", "matrix: back, buffer: d, stride: {dynamic: 2}, order: ColumnBlockedInterleavedARM,"), r"program\[33\]\.stride", "AL-006", "literal"),
    "half a group of blocks": (replaced("use: A}, buffer: i, stride: 16}", "use: A}, buffer: i, stride: 2, order: RowBlockedInterleavedARM}"), r"program\[26\]\.order", "AL-003", "columns of 32"),
    "half a group of blocks in columns": (replaced("component: int8, scope: Subgroup, rows: 16, cols: 16, use: A}, buffer: i, stride: 16}", "component: int8, scope: Subgroup, rows: 24, cols: 16, use: A}, buffer: i, stride: 4, order: ColumnBlockedInterleavedARM}"), r"program\[26\]\.order", "AL-004", "a multiple of 16"),
    "A to B": (EVERYTHING + "  - {op: MatrixConvert, id: q, matrix: n, operation: FConvert, component: float32, use: B}\n", r"program\[34\]\.use", "CM-050", "Accumulator to A or B"),
    "bitcast to another width": (replaced("matrix: neg, component: uint8", "matrix: neg, component: uint16"), r"program\[28\]\.component", "KM-018", "the same width"),
    "bitcast to float": (replaced("matrix: neg, component: uint8", "matrix: neg, component: float8_e5m2"), r"program\[28\]\.component", "KM-018", "integer type"),
    "use to use": (replaced("id: u, matrix: k, use: B", "id: u, matrix: k, use: Accumulator"), r"program\[24\]\.use", "CM-051", "Accumulator to A or B"),
    "transpose of A": (replaced("id: x, matrix: r", "id: x, matrix: n"), r"program\[25\]\.matrix", "CM-052", "an Accumulator"),
    "reduction of A": (EVERYTHING + "  - {op: MatrixReduce, id: q, matrix: n, mode: [Row], combine: larger}\n", r"program\[34\]\.combine", "", "type float16"),
    "reduction of nothing": (replaced("mode: [Row]", "mode: []"), r"program\[18\]\.mode", "CM-004", "Row, Column, both, or 2x2 alone"),
    "2x2 and rows": (replaced("mode: [Row]", "mode: [Row, 2x2]"), r"program\[18\]\.mode", "CM-004", "2x2 alone"),
    "rows twice": (replaced("mode: [Row]", "mode: [Row, Row]"), r"program\[18\]\.mode", "CM-004", "each mode once"),
    "rows changed": (replaced("combine: larger, cols: 32", "combine: larger, rows: 32"), r"program\[18\]\.rows", "CM-021", "those of the source: 16"),
    "not half": (replaced("mode: [Row], combine: larger, cols: 32", "mode: [2x2], combine: larger, cols: 16"), r"program\[18\]\.cols", "CM-021", "half of the source's: 8"),
    "combine by another kind": (replaced("combine: larger", "combine: half"), r"program\[18\]\.combine", "", "kind Combine"),
    "no such function": (replaced("combine: larger", "combine: lager"), r"program\[18\]\.combine", "", "larger"),
    "missing extra matrix": (replaced("function: bias, matrices: [z],", "function: bias,"), r"program\[19\]\.matrices", "CM-030", "1, as the function has"),
    "extra matrix of another type": (replaced("function: bias, matrices: [z],", "function: bias, matrices: [r],"), r"program\[19\]\.matrices\[0\]", "CM-030", "declared alike"),
    "missing scalar": (replaced("matrices: [z], scalars: [{dynamic: 2}]", "matrices: [z]"), r"program\[19\]\.scalars", "CM-030", "1, as the function has"),
    "scalar extra of no such value": (replaced("scalars: [{dynamic: 2}]", "scalars: [{dynamic: 0.1}]"), r"program\[19\]\.scalars\[0\]", "", "float32"),
    "component function of another type": (replaced("half: {kind: Component, type: float32", "half: {kind: Component, type: float16"), r"program\[20\]\.function", "", "type float32"),
    "decode of another type": (replaced("one: {kind: Decode, returns: float16", "one: {kind: Decode, returns: float32").replace("body: block.d}\n  two", "body: float32(block.d)}\n  two"), r"program\[5\]\.decode", "DV-011", "float16"),
    "decode of another rank": (replaced("one: {kind: Decode, returns: float16, dim: 2", "one: {kind: Decode, returns: float16, dim: 3"), r"program\[5\]\.decode", "DV-011", "2"),
    "vector alone": (replaced("decode: one, decode_vector: two", "decode_vector: two"), r"program\[5\]\.decode_vector", "DV-010", "both functions"),
    "vector as scalar": (replaced("decode: one, decode_vector: two", "decode: two"), r"program\[5\]\.decode", "DV-010", "kind Decode"),
    "decode of workgroup memory": (replaced("buffer: a, layout: t2", "buffer: s, layout: t2"), r"program\[5\]\.buffer", "CM-010", "StorageBuffer"),
    "pointers into two buffers": (replaced("id: p1, buffer: a", "id: p1, buffer: i"), r"program\[8\]\.b", "", "one into 'a'"),
    "a matrix as pointer": (replaced("a: p0, b: p1", "a: z, b: p1"), r"program\[8\]\.a", "", "the id of a pointer"),
    "a pointer as matrix": (replaced("FAdd, a: acc, b: z", "FAdd, a: acc, b: p"), r"program\[14\]\.b", "", "the id of a matrix"),
    "a pointer of a pointer": (replaced("id: p1, buffer: a", "id: p1, buffer: p0"), r"program\[7\]\.buffer", "", "one of"),
    "loop not closed": (replaced("  - {op: EndLoop, next: [acc1]}\n", ""), r"program$", "", "EndLoop after Loop"),
    "EndLoop alone": (EVERYTHING + "  - {op: EndLoop}\n", r"program\[34\]", "", "one EndLoop for each Loop"),
    "EndIf alone": (EVERYTHING + "  - {op: EndIf}\n", r"program\[34\]", "", "one EndIf for each If"),
    "Else alone": (EVERYTHING + "  - {op: Else}\n", r"program\[34\]", "", "between If and EndIf"),
    "Else twice": (replaced("  - {op: Else}\n", "  - {op: Else}\n  - {op: Else}\n"), r"program\[16\]", "", "once"),
    "nothing carried on": (replaced("next: [acc1]", "next: []"), r"program\[12\]\.next", "", "1, as the loop carries"),
    "another type carried on": (replaced("next: [acc1]", "next: [b]"), r"program\[12\]\.next\[0\]", "", "declared alike"),
    "a matrix of the body after the loop": (replaced("FAdd, a: acc, b: z", "FAdd, a: acc1, b: z"), r"program\[14\]\.a", "", "Carry and Merge"),
    "a matrix of the other arm": (replaced("matrix: acc, scalar: 2", "matrix: sum, scalar: 2"), r"program\[16\]\.matrix", "", "Carry and Merge"),
    "merge of the wrong arm": (replaced("then: sum, otherwise: twice", "then: twice, otherwise: sum"), r"program\[17\]\.merge\[0\]\.then", "", "Carry and Merge"),
    "merge of two types": (replaced("then: sum, otherwise: twice", "then: sum, otherwise: b"), r"program\[17\]\.merge\[0\]\.otherwise", "", "declared alike"),
    "barrier under a condition": (replaced("  - {op: Else}\n", "  - {op: ControlBarrier}\n  - {op: Else}\n"), r"program\[15\]", "", "every invocation"),
    "loop index without a loop": (replaced("buffer: s, stride: 16}\n  - {op: ControlBarrier", "buffer: s, stride: 16, offset: {literal: 0, loop: 1}}\n  - {op: ControlBarrier"), r"program\[30\]\.offset", "", "a Loop around"),
    "index of a loop around without one": (replaced("offset: {literal: 0, loop: 1}", "offset: {literal: 0, loop.outer: 1}"), r"program\[10\]\.offset", "", "a Loop around"),
    "parts for other workgroups": (replaced("s: {type: float32, shape: [2, 256]", "s: {type: float32, shape: [4, 128]"), r"buffers\.s\.shape", "", r"[2, ...]"),
    "mistake in a body": (replaced("'max(x, y)'", "'max(x, z)'"), r"functions\.larger\.body", "", "one of x, y"),
    "unclear block": (replaced("lanes: 2, block: [{name: d, type: float16}]", "lanes: 2, block: [{name: d, type: float16}, {name: q, type: int8}]"), r"functions\.two\.block", "AM-09", "alignment"),
    "name of a function": (replaced("half: {kind", "2half: {kind"), r"functions\.2half", "", "letters, digits"),
    "three lanes": (replaced("lanes: 2", "lanes: 3"), r"functions\.two\.lanes", "", "schema"),
    "unknown kind": (replaced("kind: Component", "kind: Compound"), r"functions\.half\.kind", "", "did you mean 'Component'?"),
    "extra of no kind": (replaced("{name: o, matrix: true}", "{name: o}"), r"functions\.bias\.extras\[1\]", "", "matrix: true"),
}  # fmt: skip


@pytest.mark.family("name", BAD)
def test_ill_typed_programs_are_refused_with_place_fact_and_remedy(name: str) -> None:
    text, where, fact, remedy = BAD[name]
    with pytest.raises(BadInput) as caught:
        loads_case(text, "f.yaml")
    error = caught.value
    assert error.code in ("case-malformed", "case-invalid")
    assert re.search(where, error.where), str(error)
    assert fact in error.what
    assert remedy in str(error)
    assert len(str(error).splitlines()) <= 5


def test_a_vector_is_not_made_of_one_whole_vector() -> None:
    """CV-011: core SPIR-V's "at least two Constituent operands", or one for each component."""
    text = """\
schema: 1
name: whole
dispatch: {{invocations: 1}}
buffers:
  x: {{type: float16, shape: [8], data: {{fill: 0}}}}
program:
  - {{op: VectorLoad, id: v, type: {{component: float16, length: {length}}}, buffer: x}}
  - {{op: VectorExtract, id: e, vector: v, index: 0}}
  - {{op: VectorConstruct, id: c, type: {{component: float16, length: {made}}}, parts: [{parts}]}}
  - {{op: VectorStore, vector: c, buffer: x}}
"""
    for length in (1, 2, 5):
        with pytest.raises(BadInput, match=r"one whole vector and nothing else") as refused:
            types_of(loads_case(text.format(length=length, made=length, parts="v")))
        assert "program[2].parts" in refused.value.where and "two parts at least" in refused.value.remedy
    for made, parts in ((1, "e"), (3, "e, v"), (4, "v, v")):
        types_of(loads_case(text.format(length=2, made=made, parts=parts)))


def test_zero_rows_are_named_at_their_place() -> None:
    with pytest.raises(BadInput, match="KM-010"):
        loads_case(
            replaced(
                "matrix: picked, mode: [Row], combine: larger, cols: 32",
                "matrix: picked, mode: [Row], combine: larger, cols: 0",
            )
        )


@pytest.mark.parametrize("mode", ["[Row]", "[Column]", "[Row, Column]", "[2x2]"])
def test_reductions_keep_or_free_each_extent(mode: str) -> None:
    free = {"[Row]": (16, 48), "[Column]": (48, 16), "[Row, Column]": (48, 32), "[2x2]": (8, 8)}[mode]
    text = replaced(
        "mode: [Row], combine: larger, cols: 32", f"mode: {mode}, combine: larger, rows: {free[0]}, cols: {free[1]}"
    )
    shape = types_of(loads_case(replaced("matrix: r}", "matrix: k}", text)))["r"]
    assert isinstance(shape, MatrixShape)
    assert (shape.rows, shape.cols, shape.use, shape.component) == (*free, Use.Accumulator, ComponentType.float32)
