"""Every rule on matrix programs, broken by the smallest step over its edge; and the step before, which is valid."""

from __future__ import annotations

import pytest

from cts.case.model import Case
from cts.reference import ORACLE
from tests.reference.cases import case_of

WORKGROUP = "{component: float16, scope: Workgroup, rows: 16, cols: 16, use: A}"


def rules(case: Case) -> list[tuple[str, str]]:
    return [(v.rule, v.path) for v in ORACLE.violations(case)]


def integers(component: str, rows: int = 2, cols: int = 2, use: str = "Accumulator") -> str:
    return f"{{component: {component}, scope: Subgroup, rows: {rows}, cols: {cols}, use: {use}}}"


def constant(name: str, kind: str, value: int | float) -> str:
    return f"op: MatrixConstant, id: {name}, type: {kind}, value: {value}\n"


def divided(operation: str, component: str, a: int, b: int) -> Case:
    kind = integers(component)
    return case_of(
        constant("a", kind, a)
        + constant("b", kind, b)
        + f"op: MatrixArithmetic, id: q, operation: {operation}, a: a, b: b"
    )


def product(value: int, c: int, signed: bool = True, saturating: bool = True) -> Case:
    kind = "int32" if signed else "uint32"
    bits = ["MatrixCSigned", "MatrixResultSigned"] * signed + ["SaturatingAccumulation"] * saturating
    return case_of(
        constant("a", integers("uint16", 2, 64, "A"), value)
        + constant("b", integers("uint16", 64, 2, "B"), value)
        + constant("c", integers(kind), c)
        + f"op: MatrixMulAdd, id: d, a: a, b: b, c: c, operands: [{', '.join(bits)}]"
    )


def converted(value: float, component: str, operation: str = "ConvertFToS") -> Case:
    return case_of(
        constant("a", integers("float32"), value)
        + f"op: MatrixConvert, id: d, matrix: a, operation: {operation}, component: {component}"
    )


def per_element(body: str, value: int = 3, component: str = "int32") -> Case:
    return case_of(
        constant("a", integers(component), value) + "op: MatrixPerElement, id: d, matrix: a, function: f",
        functions=f'{{f: {{kind: PerElement, type: {component}, body: "{body}"}}}}',
    )


def reading(body: str, elements: int, value: int = 3) -> Case:
    """A function of 2x2 elements that reads a table of so many."""
    return case_of(
        constant("a", integers("int32"), value) + "op: MatrixPerElement, id: d, matrix: a, function: f",
        buffers=f"  codes: {{type: int32, shape: [{elements}], data: {{fill: 1}}}}",
        functions=f"{{f: {{kind: PerElement, type: int32, tables: {TABLES}, body: '{body}'}}}}",
    )


TABLES = "[{name: t, type: int32, buffer: codes}]"


def combined(body: str) -> Case:
    return case_of(
        "op: MatrixLoad, id: m, type: MATRIX, buffer: numbers, stride: 16\n"
        "op: MatrixReduce, id: r, matrix: m, mode: [Row], combine: f",
        buffers="  numbers: {type: float16, shape: [16, 16], data: {iota: {modulo: 11}}}",
        functions=f'{{f: {{kind: Combine, type: float16, body: "{body}"}}}}',
    )


BLOCK = "block: [{name: d, type: float16}, {name: qs, type: int8, count: 32}]"


def blocks(
    body: str = "block.d * float16(block.qs[coordInBlock[1]])",
    vector: str = "",
    block_size: str = "[1, 32]",
    shape: str = "[16, 1, 34]",
    lanes: int = 4,
    vector_block: str = BLOCK,
    offset: str = "[0, 0]",
    tables: str = "[]",
) -> Case:
    functions = f'f: {{kind: Decode, returns: float16, dim: 2, {BLOCK}, tables: {tables}, body: "{body}"}}'
    if vector:
        functions += (
            f', g: {{kind: DecodeVector, returns: float16, dim: 2, lanes: {lanes}, {vector_block}, body: "{vector}"}}'
        )
    return case_of(
        f"""
op: MatrixNull, id: z, type: MATRIX
op: TensorLayout, id: t0, dim: 2, clamp: Constant
op: TensorLayoutSetBlockSize, id: t1, of: t0, block_size: {block_size}
op: TensorLayoutSetDimension, id: t2, of: t1, dims: [16, 32]
op: TensorLayoutSlice, id: t, of: t2, offset: {offset}, span: [16, 16]
op: MatrixLoadTensor, id: m, object: z, buffer: w, layout: t, decode: f{", decode_vector: g" if vector else ""}
""",
        buffers=f"  w: {{type: uint8, shape: {shape}, data: {{fill: 1}}}}\n"
        "  v: {type: float16, shape: [15], data: {iota: {}}}",
        functions=f"{{{functions}}}",
    )


LANES = "block.d * float16(block.qs[coordInBlock[1] + lane])"
SYNCHRONISED = """
op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32
op: {barrier}
op: MatrixStore, matrix: m, buffer: src, stride: 32
"""
SHARED = "  part: {type: float16, shape: [2, 16, 16], data: {fill: 1}, storage: Workgroup}"
VARYING = """
op: MatrixNull, id: z, type: MATRIX
op: Loop, count: {literal: 1, sg: SG}, carry: [{id: l, init: z}]
op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32
op: EndLoop, next: [m]
"""
BARRIER_IN_LOOP = "op: Loop, count: {literal: 1, sg: SG}\nop: ControlBarrier\nop: EndLoop"
POINTED = """
op: Pointer, id: p, buffer: src, offset: {literal: 0, sg: SG}
op: MatrixLoad, id: m, type: MATRIX, buffer: p, stride: 32
"""
TWO = "{subgroups: 2}"
TILE = "{component: float16, scope: Subgroup, rows: 8, cols: 8, use: A}"


def varying(program: str, factor: int, matrix: str = WORKGROUP) -> Case:
    return case_of(program.replace("SG", str(factor)), TWO, matrix=matrix)


BREAKING: dict[str, tuple[Case, str, str]] = {
    "signed division by 0": (divided("SDiv", "int32", 5, 0), "NU-004", "program[2].b"),
    "unsigned division by 0": (divided("UDiv", "uint16", 5, 0), "NU-004", "program[2].b"),
    "least integer by -1": (divided("SDiv", "int8", -128, -1), "NU-004", "program[2].b"),
    "least integer of an unsigned type by -1": (divided("SDiv", "uint8", 128, 255), "NU-004", "program[2].b"),
    "K-sum overflows": (product(5793, 0), "NU-002", "program[3].operands"),
    "unsigned K-sum overflows": (product(8192, 0, signed=False), "NU-002", "program[3].operands"),
    "float out of range": (converted(128, "int8"), "NU-016", "program[1].component"),
    "negative float to unsigned": (converted(-1, "uint8", "ConvertFToU"), "NU-016", "program[1].component"),
    "signed conversion to an unsigned type": (converted(200, "uint8"), "NU-016", "program[1].component"),
    "shift by the width": (per_element("value << 32"), "TA-073", "program[1].function"),
    "shift by a negative number": (per_element("value >> -value"), "TA-073", "program[1].function"),
    "callback divides by 0": (per_element("value // col", component="uint32"), "NU-004", "program[1].function"),
    "callback's modulo 0": (per_element("value % row", component="uint32"), "NU-004", "program[1].function"),
    "callback's table too short": (per_element("lookup(value, int32(1), int32(2))"), "TA-073", "program[1].function"),
    "index past a table": (reading("t[row * 2 + col]", 3), "TA-069", "program[1].function"),
    "index below a table": (reading("t[value]", 3, -1), "TA-069", "program[1].function"),
    "index past a table where it is not chosen": (
        reading("t[row] if row == 0 else value", 1),
        "TA-069",
        "program[1].function",
    ),
    "index past a table of a decode function": (
        blocks("block.d * values[coordInBlock[1]]", tables="[{name: values, type: float16, buffer: v}]"),
        "TA-069",
        "program[5].decode",
    ),
    "the other arm is undefined": (
        per_element("value if row == 0 else value // row", component="uint32"),
        "NU-004",
        "program[1].function",
    ),
    "callback extracts bits beyond the integer's": (
        per_element("int32(float32(as_float4_e2m1(value, 20 + row * 9)))"),
        "MT-013",
        "program[1].function",
    ),
    "callback converts an MXInt8 of 0x80": (
        per_element("int32(float32(as_mxint8(uint8(value))))", value=128),
        "MT-030",
        "program[1].function",
    ),
    "callback converts out of range": (per_element("int32(float32(value) * 1e9)"), "NU-016", "program[1].function"),
    "difference": (combined("x - y"), "CM-023", "program[1].combine"),
    "first of two": (combined("x"), "CM-023", "program[1].combine"),
    "mean": (combined("(x + y) * 0.5"), "CM-023", "program[1].combine"),
    "index past the block's array": (
        blocks("float16(block.qs[coordInBlock[1] + 31])"),
        "TA-073",
        "program[5].decode",
    ),
    "last block is cut off": (blocks(shape="[543]"), "TA-069", "program[5].layout"),
    "decode functions differ": (blocks(vector=LANES + " + 1"), "DV-012", "program[5].decode_vector"),
    "a lane differs": (
        blocks(vector=f"{LANES} if lane < 3 else float16(2)"),
        "DV-012",
        "program[5].decode_vector",
    ),
    "a lane that the load does not touch": (
        # Only the last of four lanes is in bounds; the first would read before the array.
        blocks(
            "block.d * float16(block.qs[coordInBlock[1] - 29])",
            vector="block.d * float16(block.qs[coordInBlock[1] + lane - 29])",
            offset="[0, 31]",
        ),
        "TA-073",
        "program[5].decode",
    ),
    "blocks not a multiple of the lanes": (
        blocks(vector=LANES, block_size="[1, 4]", lanes=8),
        "DV-014",
        "program[5].decode_vector",
    ),
    "blocks of two sizes": (
        blocks(vector="float16(lane) * 0 + block.d", vector_block="block: [{name: d, type: float16}]"),
        "AM-41",
        "program[5].decode_vector",
    ),
    "count varies in a workgroup": (varying(VARYING, 1), "TA-071", "program[1].count"),
    "barrier in such a loop": (varying(BARRIER_IN_LOOP, 1), "TA-071", "program[0].count"),
    "pointer varies in a workgroup": (varying(POINTED, 8), "TA-071", "program[0].offset"),
    "no barrier between load and store": (
        case_of(SYNCHRONISED.format(barrier="MatrixNull, id: n, type: MATRIX")),
        "TA-044",
        "program[2].buffer",
    ),
    "a barrier is of one workgroup": (
        case_of(
            "op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32\nop: ControlBarrier\n"
            "op: If, condition: {literal: 0, wg.x: 1}\n"
            "op: MatrixStore, matrix: m, buffer: src, stride: 32\nop: EndIf",
            "{workgroups: [2, 1, 1]}",
        ),
        "TA-044",
        "program[3].buffer",
    ),
    "a barrier before both": (
        case_of(
            "op: ControlBarrier\nop: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32\n"
            "op: MatrixStore, matrix: m, buffer: src, stride: 32"
        ),
        "TA-044",
        "program[2].buffer",
    ),
    "the next iteration's store meets this iteration's load": (
        case_of(
            "op: MatrixNull, id: z, type: MATRIX\nop: Loop, count: 2\n"
            "op: MatrixStore, matrix: z, buffer: src, stride: 32\nop: EndLoop"
        ),
        "TA-044",
        "program[2].buffer",
    ),
    "past the workgroup's part": (
        case_of(
            "op: MatrixLoad, id: m, type: MATRIX, buffer: part, stride: 16, offset: 8",
            "{workgroups: [2, 1, 1]}",
            SHARED,
        ),
        "TA-069",
        "program[0].stride",
    ),
    "pointer and offset together are outside": (
        case_of(
            "op: Pointer, id: p, buffer: src, offset: 512\n"
            "op: MatrixLoad, id: m, type: MATRIX, buffer: p, stride: 32, offset: 512"
        ),
        "TA-069",
        "program[1].offset",
    ),
    "pointer and offset together are not aligned": (
        case_of(
            "op: Pointer, id: p, buffer: src, offset: 4\n"
            "op: MatrixLoad, id: m, type: MATRIX, buffer: p, stride: 32, offset: 8"
        ),
        "VK-040",
        "program[1].offset",
    ),
    "out of bounds in the last iteration": (
        case_of(
            "op: Loop, count: 4\nop: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32, "
            "offset: {literal: 0, loop: 256}\nop: EndLoop"
        ),
        "TA-069",
        "program[1].stride",
    ),
}

VALID: dict[str, Case] = {
    "the last element of a table": reading("t[row * 2 + col]", 4),
    "a table of a decode function, for the elements that it decodes": blocks(
        "block.d * values[blockCoord[0] - 1]",
        offset="[1, 0]",
        tables="[{name: values, type: float16, buffer: v}]",
    ),
    "division": divided("SDiv", "int8", -128, 1),
    "unsigned division": divided("UDiv", "uint8", 128, 255),
    "K-sum just fits": product(5792, 2**31 - 1),
    "wrapping K-sum": product(65535, 0, saturating=False),
    "float at the edge": converted(-128.75, "int8"),
    "unsigned conversion": converted(200, "uint8", "ConvertFToU"),
    "shift by all but one": per_element("value << 31"),
    "table long enough": per_element("lookup(value, int32(1), int32(2), int32(3), int32(4))"),
    "sum": combined("x + y"),
    "maximum by comparison": combined("x if x > y else y"),
    "blocks to the last byte": blocks(),
    "clamped blocks are not read": blocks(offset="[1, 0]"),
    "clamped elements are not decoded": blocks(
        "float16(block.qs[31 - blockCoord[0] - blockCoord[0]])", offset="[3, 0]"
    ),
    "decode functions agree": blocks(vector=LANES),
    "decode functions agree on eight lanes": blocks(vector=LANES, lanes=8),
    "count varies by workgroup": case_of(
        VARYING.replace("sg: SG", "wg.x: 1"), "{workgroups: [2, 1, 1], subgroups: 2}", matrix=WORKGROUP
    ),
    "count varies around subgroup matrices": varying(VARYING, 1, TILE),
    "pointer varies for subgroup matrices": varying(POINTED, 8, TILE),
    "barrier between load and store": case_of(SYNCHRONISED.format(barrier="ControlBarrier")),
    "barrier in the iteration": case_of(
        "op: MatrixNull, id: z, type: MATRIX\nop: Loop, count: 3\nop: ControlBarrier\n"
        "op: MatrixStore, matrix: z, buffer: src, stride: 32\nop: EndLoop"
    ),
    "subgroups pass memory on across a barrier": case_of(
        "op: MatrixNull, id: z, type: MATRIX\n"
        "op: MatrixStore, matrix: z, buffer: src, stride: 16, offset: {literal: 0, sg: 256}\nop: ControlBarrier\n"
        "op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 16, offset: {literal: 256, sg: -256}",
        TWO,
    ),
    "parts of two workgroups": case_of(
        "op: MatrixLoad, id: m, type: MATRIX, buffer: part, stride: 16\nop: ControlBarrier\n"
        "op: MatrixStore, matrix: m, buffer: part, stride: 16",
        "{workgroups: [2, 1, 1]}",
        SHARED,
    ),
    "undefined where nobody goes": case_of(
        constant("a", integers("int32"), 1)
        + constant("b", integers("int32"), 0)
        + "op: If, condition: {dynamic: 0}\nop: MatrixArithmetic, id: q, operation: SDiv, a: a, b: b\nop: EndIf"
    ),
    "out of bounds where nobody goes": case_of(
        "op: If, condition: {literal: 0, sg: 1}\n"
        "op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32, offset: {literal: 2048, sg: -2048}\nop: EndIf",
        TWO,
    ),
}


@pytest.mark.parametrize("name", BREAKING)
def test_breaking_case_is_refused_by_its_rule(name: str) -> None:
    case, rule, path = BREAKING[name]
    assert rules(case) == [(rule, path)]
    assert all(v.what and v.remedy for v in ORACLE.violations(case))


@pytest.mark.parametrize("name", VALID)
def test_nearly_breaking_case_is_valid(name: str) -> None:
    assert rules(VALID[name]) == []
