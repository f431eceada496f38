"""Cases as GLSL: the text, what glslang makes of it, and what GLSL cannot express."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from cts.case.model import AnyInstruction, Instruction, loads_case
from cts.showing.export import CannotExpress
from cts.showing.export.glsl import glsl
from cts.showing.export.glsl.compiler import compiled
from cts.showing.export.glsl.instruction import write_instruction
from tests.case_builder import corpus_case
from tests.export.glsl_cases import SUBGROUP_SIZE, representative, wrong

SHADERS = Path(__file__).parent / "shaders"

#: Cases whose GLSL and its module, as glslang 16.6 makes it, are in the folder.
NAMES = sorted(path.stem for path in SHADERS.glob("*.comp"))

#: A command that runs glslang 16 or newer; .ci/run sets it to that of lavapipe's root.
GLSLANG = os.environ.get("CTS_TEST_GLSLANG")

#: How many parts the test of the corpus has, for several processors.
PARTS = 8


@pytest.mark.parametrize("name", NAMES)
def test_text(name: str) -> None:
    written = glsl(corpus_case(name), SUBGROUP_SIZE)
    assert written == (SHADERS / f"{name}.comp").read_text(), "tests/export/shaders/write.py writes it again"


@pytest.mark.parametrize("name", NAMES)
def test_module_of_glslang_does_what_is_allowed(name: str) -> None:
    words = np.fromfile(SHADERS / f"{name}.spv", np.uint32)
    assert not wrong(corpus_case(name), words)


@pytest.mark.skipif(GLSLANG is None, reason="no glslang: set CTS_TEST_GLSLANG to a command that runs it")
@pytest.mark.parametrize("part", range(PARTS))
def test_corpus(part: int) -> None:
    assert GLSLANG is not None
    shaders = {}
    for name, case in list(representative().items())[part::PARTS]:
        try:
            shaders[name] = case, glsl(case, SUBGROUP_SIZE)
        except CannotExpress:
            continue
    assert len(shaders) > 10
    results = compiled(GLSLANG, (text for _, text in shaders.values()))
    found = {}
    for (name, (case, _)), result in zip(shaders.items(), results, strict=True):
        message = result.message if result.words is None else wrong(case, result.words)
        if message:
            found[name] = message
    assert not found


#: What cases of the corpus say that GLSL cannot, by the beginning of the reason.
REASONS = {
    "a choice between pointers",
    "a pointer as an operand of OpCooperativeMatrixPerElementOpNV",
    "a multiplication whose result and C have different component types",
    "a saturating multiplication whose C and result have different signs",
    "a specialization constant of type",
    "coordinates of a decode function of type int32",
    "the order RowBlockedInterleavedARM",
    "the order ColumnBlockedInterleavedARM",
    "row and column of a per-element function of type int32",
    "float_controls FastMathNone",
    "matrices to multiply whose extents are one by different constants",
    "NClamp",
    "NMax",
    "NMin",
}


def test_reasons() -> None:
    unknown = {}
    for name, case in representative().items():
        try:
            glsl(case, SUBGROUP_SIZE)
        except CannotExpress as e:
            if not any(e.what.removeprefix("GLSL cannot express ").startswith(r) for r in REASONS):
                unknown[name] = e.what
    assert not unknown


def _case(program: str, functions: str = "{}") -> str:
    return f"""
schema: 1
name: case
functions: {functions}
buffers:
  src: {{type: bfloat16, shape: [8, 8], data: {{fill: 1}}}}
program:
{program}
"""


_TYPE = "type: {component: bfloat16, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}"

_PRODUCT = """
  - {op: MatrixNull, id: a, type: {component: float16, scope: Subgroup, rows: {spec: 8}, cols: 8, use: A}}
  - {op: MatrixNull, id: b, type: {component: float16, scope: Subgroup, rows: 8, cols: 8, use: B}}
  - {op: MatrixNull, id: c, type: {component: float16, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}}
  - {op: MatrixMulAdd, id: d, a: a, b: b, c: c}
"""

_SATURATED = """
  - {op: MatrixNull, id: a, type: {component: float8_e5m2, scope: Subgroup, rows: 8, cols: 8, use: A}}
  - {op: MatrixConvert, id: b, matrix: a, operation: FConvert, component: float8_e4m3fn, saturate: true}
"""

CANNOT = {
    "saturating_conversion": (
        _SATURATED,
        "GLSL cannot express a saturating conversion from float8: saturatedConvertEXT takes none",
        "program[1]: MatrixConvert b",
    ),
    "extents": (
        _PRODUCT,
        "GLSL cannot express matrices to multiply whose extents are one by different constants: a_type_rows, 8",
        "program[3]: MatrixMulAdd d",
    ),
    "pointers": (
        "  - {op: Pointer, id: p, buffer: src}\n  - {op: Pointer, id: q, buffer: src, offset: 8}\n"
        "  - {op: PointerSelect, id: r, condition: 1, a: p, b: q}",
        "GLSL cannot express a choice between pointers (OpSelect of OpTypePointer): it has no pointers",
        "program[2]: PointerSelect r",
    ),
    "spec_constant": (
        f"  - {{op: MatrixConstant, id: m, {_TYPE}, value: {{spec: 1.5}}}}",
        "GLSL cannot express a specialization constant of type bfloat16_t",
        "program[0]: MatrixConstant m",
    ),
}


@pytest.mark.parametrize("name", CANNOT)
def test_what_cannot_be_said_is_named(name: str) -> None:
    program, what, where = CANNOT[name]
    with pytest.raises(CannotExpress) as error:
        glsl(loads_case(_case(program)), SUBGROUP_SIZE)
    assert (error.value.what, error.value.where) == (what, where)


#: Names that mean something in GLSL, to its preprocessor or to the shader around them, or are no identifiers there.
_ODD = """
float half main vector lane VULKAN GL_core_profile gl_WorkGroupID __LINE__ defined parameters words data addresses
iteration workgroup identity matrix f16vec4 fe4m3vec4 mat4x3 sampler2D uint8_t coopmat length precise Matrix_float_8x8_A
Layout_2D_Undefined workgroupBarrier component block Holder größe a__b _ 0 x-y result table lanes min
"""
ODD = _ODD.split()


def _odd_case() -> str:
    """A case in which everything has a name of ODD: results, buffers, functions, their parameters and fields."""
    source, target, matrix, tile, layout = ODD[:5]
    extras = [n for n in ODD if n.isidentifier() and n not in ("min", "block", "lookup")]
    fields = ", ".join(f"{{name: {n}, type: float16}}" for n in extras if n.isascii())
    odd = "\n".join(
        f"  - {{op: MatrixCopy, id: {name!r}, matrix: {matrix}, through: {through}}}"
        for name, through in zip(ODD[5:], ["Variable", "Function", "Array", "Struct", "Component"] * 9, strict=False)
    )
    scalars = ", ".join(["1"] * len([n for n in extras if n.isascii()]))
    return f"""
schema: 1
name: odd names
functions:
  table: {{kind: PerElement, type: float16, extras: [{fields}], body: 'value + float + half + result + main'}}
  lanes: {{kind: Decode, returns: float16, dim: 2, block: [{fields}], body: 'block.float + block.half + block.length'}}
buffers:
  {source}: {{type: float16, shape: [4096], data: {{fill: 1}}}}
  {target}: {{type: float16, shape: [8, 8], data: {{fill: 0}}}}
program:
  - {{op: MatrixNull, id: {matrix}, type: {{component: float16, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}}}}
  - {{op: TensorLayout, id: {layout}, dim: 2}}
  - {{op: TensorLayoutSetDimension, id: L, of: {layout}, dims: [8, 8]}}
  - {{op: MatrixLoadTensor, id: {tile}, object: {matrix}, buffer: {source}, layout: L, decode: lanes}}
{odd}
  - {{op: MatrixPerElement, id: P, matrix: {tile}, function: table, scalars: [{scalars}]}}
  - {{op: MatrixStore, matrix: P, buffer: {target}, stride: 8}}
"""


def test_odd_names() -> None:
    text = glsl(loads_case(_odd_case()), SUBGROUP_SIZE)
    declared = re.findall(r"^    Matrix_float16_8x8_Accumulator (\w+) =", text, re.MULTILINE)
    assert len(declared) == len(set(declared)) > len(ODD) - 5
    assert not {"VULKAN", "float", "half", "main", "sampler2D", "parameters"} & set(declared)
    assert text.isascii() and "__" not in text


@pytest.mark.skipif(GLSLANG is None, reason="no glslang: set CTS_TEST_GLSLANG to a command that runs it")
def test_odd_names_compile() -> None:
    assert GLSLANG is not None
    case = loads_case(_odd_case())
    (result,) = compiled(GLSLANG, [glsl(case, SUBGROUP_SIZE)])
    assert result.words is not None, result.message
    assert not wrong(case, result.words)


def test_every_instruction_is_written() -> None:
    by_form = write_instruction.dispatch(Instruction)
    unlike = {
        t.__name__ for t in get_args(AnyInstruction) if (write_instruction.dispatch(t) is by_form) != bool(t.glsl)
    }
    assert unlike == set()


def test_texts_of_the_case_cannot_end_a_comment() -> None:
    text = _case(f"  - {{op: MatrixNull, id: m, {_TYPE}}}").replace(
        "name: case", 'name: "a\\n#error b \\\\"\ndescription: "*/ \\u2028 #error"'
    )
    lines = glsl(loads_case(text), SUBGROUP_SIZE).splitlines()
    assert "// a #error b" in lines
    assert not [line for line in lines if line.startswith("#error") or line.endswith("\\")]


LITERAL_PLACE = """
schema: 1
name: literal_place
functions:
  f:
    kind: PerElement
    type: float32
    extras: [{name: at, integer: true}]
    outputs: [{name: o, type: float32, buffer: mem}]
    body: |-
      o[at] = value
      value
buffers:
  mem: {type: float32, shape: [1, 3], data: {fill: 0}}
program:
  - op: MatrixConstant
    id: d1
    type: {component: float32, scope: Subgroup, rows: 1, cols: 1, use: Accumulator}
    value: 2
  - {op: MatrixPerElement, id: d2, matrix: d1, function: f, integers: [1]}
"""


def test_a_literal_for_a_parameter_of_uint_is_unsigned() -> None:
    """coopMatPerElementNV converts no argument."""
    assert re.search(r"coopMatPerElementNV\(.*, f, 1u\);", glsl(loads_case(LITERAL_PLACE), SUBGROUP_SIZE))


@pytest.mark.skipif(GLSLANG is None, reason="no glslang: set CTS_TEST_GLSLANG to a command that runs it")
def test_glslang_takes_a_literal_for_a_parameter_of_uint() -> None:
    assert GLSLANG is not None
    case = loads_case(LITERAL_PLACE)
    (result,) = compiled(GLSLANG, [glsl(case, SUBGROUP_SIZE)])
    assert result.words is not None, result.message
    assert not wrong(case, result.words)
