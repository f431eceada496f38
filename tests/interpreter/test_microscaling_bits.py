"""Bits of microscaling types against ml_dtypes: in bodies oracle, emulator and interpreter, in modules the interpreter.

The numbers of tests/interpreter/test_microscaling.py are worked out with fractions; ml_dtypes is a second source.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from cts.case import model
from cts.case.model import ComponentType as T
from cts.case.model import Microscaling
from cts.device.driver import Outcome, Status
from cts.judging.judge import OpenDriver, judge
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.spirv.assembly import words_of
from tests.case_builder import yaml_case
from tests.interpreter.modules import contents, dispatch, memory
from tests.interpreter.test_microscaling import DRIVERS, TARGETS, case_of, outcome_of

M = Microscaling
Array = npt.NDArray[Any]

DTYPES = {
    M.float4_e2m1: ml_dtypes.float4_e2m1fn,
    M.float6_e2m3: ml_dtypes.float6_e2m3fn,
    M.float6_e3m2: ml_dtypes.float6_e3m2fn,
    M.float8_e8m0: ml_dtypes.float8_e8m0fnu,
}
FIELDS = [t for t in M if t.width < 8]
BASES = ("uint8", "int8", "uint16", "int16", "uint32", "int32")


def numbers(type_: M, patterns: Array) -> Array:
    """Patterns as float32, which has all numbers of these types; bits above the type's are ignored."""
    bits = (patterns & ((1 << type_.width) - 1)).astype(np.uint8)
    if type_ is M.mxint8:
        return bits.view(np.int8).astype(np.float32) / np.float32(64)
    read: Array = bits.view(DTYPES[type_]).astype(np.float32)
    return read


def check(body: str, wanted: Array) -> None:
    """A body that gives float32, by the three of them, on a matrix of the shape of `wanted`."""
    rows, cols = wanted.shape
    case = yaml_case(
        "op: MatrixNull, id: z, type: MATRIX\n"
        f"op: MatrixPerElement, id: m, matrix: z, function: f\nop: MatrixStore, matrix: m, buffer: dst, stride: {cols}",
        f"dst: {{type: float32, shape: [{rows}, {cols}], data: {{fill: 99}}}}",
        functions=f"{{f: {{kind: PerElement, type: float32, body: {json.dumps(body)}}}}}",
        controls="FastMathNone",
        MATRIX=f"{{component: float32, scope: Subgroup, rows: {rows}, cols: {cols}, use: Accumulator}}",
    )
    bits = wanted.view(np.uint32)
    expectation = registry.oracle().expect(case)
    assert np.array_equal(expectation.matrices["m"].reshape(bits.shape).view(np.uint32), bits)
    for name, driver in DRIVERS.items():
        attempt = judge(OpenDriver(name, driver, driver.capabilities()), case, expectation)
        assert attempt.verdict is Verdict.PASS, f"{name} {attempt.detail} {attempt.divergence}"
        stored = outcome_of(name, case).memory["dst"][model.GUARD_BYTES : -model.GUARD_BYTES]
        assert np.array_equal(stored.view(np.uint32), bits.reshape(-1)), name


@pytest.mark.parametrize("base", BASES[:2])
@pytest.mark.parametrize("type_", FIELDS, ids=lambda t: t.value)
def test_every_byte_at_every_constant_offset(type_: M, base: str) -> None:
    data = np.arange(256).reshape(16, 16)
    for offset in range(9 - type_.width):
        body = f"float32(as_{type_.value}({base}(row * 16 + col), {offset}))"
        check(body, numbers(type_, data >> offset))


@pytest.mark.parametrize("base", BASES[2:])
@pytest.mark.parametrize("type_", FIELDS, ids=lambda t: t.value)
def test_every_constant_offset_of_wider_integers(type_: M, base: str) -> None:
    """One constant for each column; the last one for the columns that are left."""
    width, factor = int(base.lstrip("uint")), 0x9E3779B1
    last = width - type_.width
    choices = [f"float32(as_{type_.value}(b, {n}))" for n in range(last + 1)]
    body = " else ".join([*(f"{text} if col == {n}" for n, text in enumerate(choices[:-1])), choices[-1]])
    data = (np.arange(1, 17, dtype=np.uint64) * factor) & ((1 << width) - 1)
    offsets = np.minimum(np.arange(32, dtype=np.uint64), last)
    check(f"b = {base}((row + 1) * uint32({factor}))\n{body}", numbers(type_, data[:, None] >> offsets))


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.value)
@pytest.mark.parametrize("type_", M, ids=lambda t: t.value)
def test_conversions_have_the_bits_that_ml_dtypes_gives(type_: M, target: T) -> None:
    """All patterns, zeros with their signs; NaNs may be any."""
    case = case_of(type_, target)
    exact = numbers(type_, np.arange(256))
    exact[128] = 0.0 if type_ is M.mxint8 else exact[128]
    with np.errstate(over="ignore"):
        wanted = exact.astype(target.dtype)
    nan, bits = np.isnan(wanted), wanted.view(target.bits_dtype)
    for name in DRIVERS:
        found = outcome_of(name, case).memory["dst"][model.GUARD_BYTES : -model.GUARD_BYTES].view(target.bits_dtype)
        assert np.array_equal(found[~nan], bits[~nan]) and np.isnan(found.view(target.dtype)[nan]).all(), name
    expectation = registry.oracle().expect(case)
    spread = expectation.spreads.get("m")
    free = nan if spread is None else nan | (spread.flags.reshape(-1) != 0)
    assert np.array_equal(expectation.matrices["m"].reshape(-1)[~free], bits[~free])


HEAD = """; Version: 1.6
OpCapability Shader
OpCapability Float64
OpCapability Int8
OpCapability Int16
OpCapability Float4EXT
OpCapability Float6EXT
OpCapability Float8UnsignedE8M0EXT
OpCapability MXInt8EXT
OpCapability BitcastExtractEXT
OpExtension "SPV_EXT_ocp_microscaling_types"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id_variable %in %out
OpExecutionMode %main LocalSize 256 1 1
OpDecorate %id_variable BuiltIn LocalInvocationId
OpDecorate %words ArrayStride 4
OpDecorate %results ArrayStride {stride}
OpDecorate %block Block
OpDecorate %written Block
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %written 0 Offset 0
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
%void = OpTypeVoid
%procedure = OpTypeFunction %void
%uchar = OpTypeInt 8 0
%ushort = OpTypeInt 16 0
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%double = OpTypeFloat 64
%v3uint = OpTypeVector %uint 3
%v2uchar = OpTypeVector %uchar 2
%v3uchar = OpTypeVector %uchar 3
%v4uchar = OpTypeVector %uchar 4
%v2float = OpTypeVector %float 2
%v4float = OpTypeVector %float 4
%uint_0 = OpConstant %uint 0
%uint_4 = OpConstant %uint 4
"""
BODY = """%words = OpTypeRuntimeArray %uint
%results = OpTypeRuntimeArray {result}
%block = OpTypeStruct %words
%written = OpTypeStruct %results
%block_pointer = OpTypePointer StorageBuffer %block
%written_pointer = OpTypePointer StorageBuffer %written
%word_pointer = OpTypePointer StorageBuffer %uint
%result_pointer = OpTypePointer StorageBuffer {result}
%id_pointer = OpTypePointer Input %v3uint
%in = OpVariable %block_pointer StorageBuffer
%out = OpVariable %written_pointer StorageBuffer
%id_variable = OpVariable %id_pointer Input
%main = OpFunction %void None %procedure
%start = OpLabel
%id = OpLoad %v3uint %id_variable
%lane = OpCompositeExtract %uint %id 0
%x_pointer = OpAccessChain %word_pointer %in %uint_0 %lane
%x = OpLoad %uint %x_pointer
%slot = OpAccessChain %result_pointer %out %uint_0 %lane
"""
END = "OpStore %slot %r\nOpReturn\nOpFunctionEnd"

#: All bytes, and of each word the other bytes besides.
WORDS: Array = np.arange(256, dtype=np.uint64) * 0x9E3779B1 % 2**32 // 256 * 256 + np.arange(256, dtype=np.uint64)


def ran(types: Sequence[str], result: str, dtype: Any, count: int, lines: Sequence[str]) -> Outcome:
    """The kernel whose `lines` make %r, of `count` components, of %x, a word of WORDS."""
    size = count * np.dtype(dtype).itemsize
    text = [HEAD.format(stride=size).rstrip(), *types, BODY.format(result=result).rstrip(), *lines, END]
    out = np.full((256, count), 77, dtype)
    return dispatch(words_of("\n".join(text).splitlines()), {"in": memory(WORDS.astype(np.uint32)), "out": memory(out)})


def declared(type_: M) -> str:
    return f"%t = OpTypeFloat {type_.width} {type_.encoding}"


@pytest.mark.parametrize("type_", M, ids=lambda t: t.value)
def test_every_pattern_becomes_a_double(type_: M) -> None:
    """MT-014 has float64, too, which bodies of callbacks do not have."""
    read = "%v = OpBitcast %t %b" if type_.width == 8 else "%v = OpBitcastExtractEXT %t %b %uint_0"
    if type_ is M.mxint8:
        # 0x80 is undefined (MT-030).
        read = "%is = OpIEqual %bool %b %uchar_128\n%c = OpSelect %uchar %is %uchar_0 %b\n%v = OpBitcast %t %c"
    types = ["%bool = OpTypeBool", "%uchar_0 = OpConstant %uchar 0", "%uchar_128 = OpConstant %uchar 128"]
    lines = ["%b = OpUConvert %uchar %x", *read.splitlines(), "%r = OpFConvert %double %v"]
    found = contents(ran([*types, declared(type_)], "%double", np.float64, 1, lines), "out", np.float64)
    wanted = numbers(type_, WORDS & 0xFF).astype(np.float64)
    wanted[128] = 0.0 if type_ is M.mxint8 else wanted[128]
    assert np.array_equal(found, wanted, equal_nan=True) and np.array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.parametrize("type_", FIELDS, ids=lambda t: t.value)
def test_a_vector_is_extracted_at_one_offset(type_: M) -> None:
    offset = 8 - type_.width
    types = [declared(type_), "%vt = OpTypeVector %t 4", f"%at = OpConstant %uint {offset}"]
    lines = ["%b = OpBitcast %v4uchar %x", "%v = OpBitcastExtractEXT %vt %b %at", "%r = OpFConvert %v4float %v"]
    found = contents(ran(types, "%v4float", np.float32, 4, lines), "out", np.uint32).reshape(256, 4)
    octets = WORDS.astype("<u4").view(np.uint8).reshape(256, 4)
    assert np.array_equal(found, numbers(type_, octets >> offset).view(np.uint32))


@pytest.mark.parametrize(("integer", "count"), [("%uchar", 2), ("%ushort", 4), ("%v2uchar", 4)])
def test_bit_casts_give_the_lower_bits_to_the_lower_components(integer: str, count: int) -> None:
    """As glslang writes unpackFloat2xfe2m1EXT and unpackFloat4xfe2m1EXT; and back again."""
    types = [declared(M.float4_e2m1), f"%vt = OpTypeVector %t {count}"]
    first = {
        "%uchar": ["%i = OpUConvert %uchar %x"],
        "%ushort": ["%i = OpUConvert %ushort %x"],
        "%v2uchar": ["%four = OpBitcast %v4uchar %x", "%i = OpVectorShuffle %v2uchar %four %four 0 1"],
    }[integer]
    cast = [*first, f"%v = OpBitcast %vt {'%i'}"]
    found = contents(ran(types, f"%v{count}float", np.float32, count, [*cast, f"%r = OpFConvert %v{count}float %v"]),
                     "out", np.uint32).reshape(256, count)  # fmt: skip
    fields = WORDS[:, None] >> np.arange(0, 4 * count, 4, dtype=np.uint64)
    assert np.array_equal(found, numbers(M.float4_e2m1, fields).view(np.uint32))
    wide = "OpUConvert %uint %back" if integer != "%v2uchar" else "OpUConvert %uint %joined"
    joined = ["%joined = OpBitcast %ushort %back"] if integer == "%v2uchar" else []
    back = [*cast, f"%back = OpBitcast {integer} %v", *joined, f"%r = {wide}"]
    found = contents(ran(types, "%uint", np.uint32, 1, back), "out", np.uint32)
    assert np.array_equal(found, WORDS & ((1 << 4 * count) - 1))


@pytest.mark.parametrize(
    ("type_", "integer", "count", "words"),
    [
        (M.float4_e2m1, "%uchar", 4, "4 x 4 bits of 1 x 8"),
        (M.float6_e2m3, "%v3uchar", 4, "4 x 6 bits of 3 x 8"),
    ],
)
def test_bit_casts_of_other_bits_or_of_parts_of_components_are_refused(
    type_: M, integer: str, count: int, words: str
) -> None:
    """The number of components of the larger type is a multiple of the smaller one's (OpBitcast)."""
    types = [declared(type_), f"%vt = OpTypeVector %t {count}", f"%nothing = OpConstantNull {integer}"]
    outcome = ran(types, "%uint", np.uint32, 1, ["%v = OpBitcast %vt %nothing", "%r = OpCopyObject %uint %x"])
    assert outcome.status is Status.ERROR and words in outcome.detail, outcome.detail
