"""What cooperative vectors and their multiplications refuse, and how they fail (CV-010 to CV-018)."""

from __future__ import annotations

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.drivers.interpreter import create
from tests.interpreter.vector_modules import Code, Vec, instruction, problem

H4, OUT = Vec("half", 4), Vec("float", 6)


def refused(line: str, source: Vec = H4, output: Vec = OUT, globals_: str = "") -> str:
    """What the interpreter says of an instruction."""
    code = Code(
        f"%r = {line}",
        {"a": source},
        None,
        {"w": "half", "bias": "half"},
        types=(output,),
        globals=f"%dynamic = OpSpecConstant %uint 0\n{globals_}",
    )
    return problem(code, {"w": np.zeros(100, np.float16), "bias": np.zeros(100, np.float16)})


GOOD = instruction(OUT, 4, "float16", "float16", "RowMajor", bias="float16", stride="%n16")

REFUSALS = [
    (GOOD.replace("%n6 %n4 %n0", "%n5 %n4 %n0"), "it must have M = 5 (CV-016)"),
    (GOOD.replace("%n6 %n4 %n0", "%n6 %n3 %n0"), "it must have K = 3 (CV-016)"),
    (GOOD.replace("%n6 %n4 %n0", "%n6 %n0 %n0"), "K = 0 columns"),
    (GOOD.replace("%n6 %n4 %n0", "%lane %n4 %n0"), "must be an integer or bool constant"),
    (GOOD.replace("%n6 %n4 %n0", "%n6 %lane %n0"), "must be an integer or bool constant"),
    (GOOD.replace("%n6 %n4 %n0", "%n6 %n4 %lane"), "must be an integer or bool constant"),
    (GOOD.replace("%n6 %n4 %n0", "%n6 %n4 %n4"), "4 is not a memory layout"),
    (GOOD.replace("%n6 %n4 %n0", "%f1 %n4 %n0"), "must be an integer or bool constant"),
    (GOOD.replace("%no", "%lane"), "must be an integer or bool constant"),
    (GOOD.replace("%no", "%yes"), "Transpose goes with optimal layouts only"),
    (GOOD.replace("%n16", ""), "need a MatrixStride"),
    (GOOD.replace("%n16", "%f1"), "MatrixStride must be a 32-bit integer"),
    (GOOD.replace("%a %n0", "%a %lane"), "must be an integer or bool constant"),
    (GOOD.replace("%a %n0", "%a %n99"), "99 is not a component type"),
    (GOOD.replace("%a %n0", "%a %n1000491000"), "come in 32-bit integers"),
    (GOOD.replace("%w %n0 %n0", "%w %n0 %n1000491001"), "for input vectors only"),
    (GOOD.replace("%bias %n0 %n0", "%bias %n0 %n1000491001"), "for input vectors only"),
    (GOOD.replace("%bias %n0 %n0", "%bias %n0 %lane"), "must be an integer or bool constant"),
    (GOOD.replace("%w %n0", "%w %f1"), "the offset of Matrix must be a 32-bit integer"),
    (GOOD.replace("%w %n0", "%buffer_w %n0"), "Matrix must point to an array"),
    (GOOD.replace("%w %n0", "%vectors %n0"), "Matrix must point to an array of scalars"),
    (GOOD.replace("%bias %n0", "%shared %n0"), "storage class of Bias is Workgroup"),
    (GOOD.replace("%a ", "%lane "), "is not a cooperative vector"),
]


@pytest.mark.parametrize(("line", "says"), REFUSALS, ids=[says for _, says in REFUSALS])
def test_refusals(line: str, says: str) -> None:
    globals_ = """
%f1 = OpConstant %float 1
%half2 = OpTypeVector %half 2
%pairs = OpTypeArray %half2 %n8
%pairs_block = OpTypeStruct %pairs
%pairs_pointer = OpTypePointer StorageBuffer %pairs
%pairs_blocks = OpTypePointer StorageBuffer %pairs_block
%vector_buffer = OpVariable %pairs_blocks StorageBuffer
%halves = OpTypeArray %half %n64
%halves_pointer = OpTypePointer Workgroup %halves
%shared = OpVariable %halves_pointer Workgroup
"""
    if "%vectors" in line:
        line = line.replace("OpCooperativeVectorMatrixMulAddNV", "MULTIPLY")
        line = f"OpAccessChain %pairs_pointer %vector_buffer %n0\n%q = {line}".replace("%vectors", "%r")
        line = line.replace("MULTIPLY", "OpCooperativeVectorMatrixMulAddNV")
    found = refused(line, globals_=globals_)
    assert says in found
    assert "OpCooperativeVectorMatrixMulAddNV" in found


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (Vec("double", 6), "32-bit integers, or floats of 16 or 32 bits (CV-016)"),
        (Vec("i16", 6), "32-bit integers, or floats of 16 or 32 bits (CV-016)"),
        (Vec("bf16", 6), "32-bit integers, or floats of 16 or 32 bits (CV-016)"),
        (Vec("int", 6), "the result is of integers, but float16"),
    ],
)
def test_result_types_are_checked(result: Vec, says: str) -> None:
    line = instruction(result, 4, "float16", "float16", "RowMajor", stride="%n16")
    assert says in refused(line, output=result)


def test_packed_inputs_must_be_long_enough() -> None:
    line = instruction(Vec("int", 6), 9, "int8_packed", "int8", "RowMajor", stride="%n16")
    assert "2 words hold 8 components; K is 9" in refused(line, Vec("uint", 2), Vec("int", 6))


def test_a_matrix_outside_its_memory_is_a_crash_that_names_it() -> None:
    line = instruction(OUT, 4, "float16", "float16", "RowMajor", stride="%n4096")
    found = refused(line)
    assert "OpCooperativeVectorMatrixMulNV" in found
    assert "of buffer 'w'" in found


UNDEFINED = [
    ("%x = OpVectorShuffle %half_v4 %a %a 0 1 2 3", "", "OpVectorShuffle is not defined"),
    ("%x = OpDot %half %a %a", "", "OpDot is not defined"),
    ("%x = OpFOrdLessThan %bools %a %a", "%bools = OpTypeVector %bool 4", "OpFOrdLessThan is not defined"),
    ("%x = OpFRem %half_v4 %a %a", "", "OpFRem is not defined"),
    ("%x = OpExtInst %half_v4 %glsl Sin %a", "", "Sin is not defined"),
    ("%x = OpExtInst %half_v4 %glsl UMin %a %a", "", "must be integers"),
    ("%x = OpIAdd %half_v4 %a %a", "", "must be integers"),
    ("%x = OpFAdd %u16_v4 %b %b", "", "must be floating-point"),
    ("%x = OpFAdd %half_v4 %a %c", "", "one length"),
    ("%x = OpFConvert %float_v3 %a", "", "one length"),
    ("%x = OpBitcast %float_v2 %a", "", "one length"),
    ("%x = OpBitcast %uint_v4 %a", "", "equally many bits"),
    ("%x = OpIAdd %u16_v4 %b %d", "", "equally many bits"),
    ("%x = OpVectorTimesScalar %half_v4 %a %f", "%f = OpConstant %float 1", "scalar of its component type"),
    ("%x = OpVectorTimesScalar %u16_v4 %b %s", "%s = OpConstant %u16 1", "must be floating-point"),
    ("%x = OpFAdd %bf16_v4 %e %e", "", "BFloat16KHR has no arithmetic"),
    ("%x = OpCompositeExtract %half %a 4", "", "constituent 4 of 4"),
    ("%x = OpCompositeConstruct %half_v4 %a %a", "", "8 components for a vector of 4"),
    ("%x = OpCompositeConstruct %half_v4 %a", "", "two constituents at least, or one for each component"),
    (
        "%z = OpCompositeConstruct %v3uint %lane %lane %lane\n%x = OpCompositeConstruct %v3uint %z",
        "",
        "at least, or one",
    ),
    (
        "%at = OpAccessChain %in_memory %blocks %n0\n%x = OpLoad %half_v4 %at",
        "BLOCKS",
        "only OpCooperativeVectorLoadNV",
    ),
    ("%x = OpCooperativeVectorLoadNV %half_v4 %buffer_words %n0", "", "must point to an array"),
    ("%x = OpCooperativeVectorLoadNV %half_v4 %private %n0", "PRIVATE", "storage class of Pointer is Private"),
    ("%x = OpCooperativeVectorLoadNV %half_v4 %words %f", "%f = OpConstant %float 1", "must be a 32-bit integer"),
    ("%x = OpCooperativeVectorLoadNV %half %words %n0", "", "is not a cooperative vector"),
    ("%x = OpCooperativeVectorLoadNV %v3uint %words %n0", "", "is not a cooperative vector"),
]

_GLOBALS = {
    "BLOCKS": "%block = OpTypeStruct %half_v4\n%block_pointer = OpTypePointer StorageBuffer %block\n"
    "%in_memory = OpTypePointer StorageBuffer %half_v4\n%blocks = OpVariable %block_pointer StorageBuffer",
    "PRIVATE": "%list = OpTypeArray %half %n4\n%list_pointer = OpTypePointer Private %list\n"
    "%private = OpVariable %list_pointer Private",
}


@pytest.mark.parametrize(("body", "globals_", "says"), UNDEFINED, ids=[body for body, _, _ in UNDEFINED])
def test_what_is_not_defined_is_refused_by_name(body: str, globals_: str, says: str) -> None:
    inputs = {"a": H4, "b": Vec("u16", 4), "c": Vec("half", 3), "d": Vec("uint", 4), "e": Vec("bf16", 4)}
    code = Code(
        body,
        inputs,
        None,
        {"words": "uint"},
        globals=_GLOBALS.get(globals_, globals_) + "\n",
        types=(Vec("float", 3), Vec("float", 2)),
    )
    found = problem(code, {"words": np.zeros(4, np.uint32)})
    assert says in found
    assert body.split("= ")[-1].split()[0] in found or "OpExtInst" in found


def test_types_are_checked() -> None:
    empty = Code("", {}, None, globals="%none = OpTypeCooperativeVectorNV %half %n0\n")
    assert "a vector of 0 components (CV-010)" in problem(empty)
    huge = Code("", {}, None, globals="%huge = OpTypeCooperativeVectorNV %half %n99999999\n")
    assert "at most" in problem(huge)
    truths = Code("", {}, None, globals="%truths = OpTypeCooperativeVectorNV %bool %n4\n")
    assert "must be numbers (CV-010)" in problem(truths)
    pairs = Code("", {}, None, globals="%pairs = OpTypeCooperativeVectorNV %v3uint %n4\n")
    assert "must be scalars" in problem(pairs)


def test_options_have_two_values() -> None:
    with pytest.raises(BadInput, match="fp8_input cannot be 'sometimes'"):
        create({"fp8_input": "sometimes"})
