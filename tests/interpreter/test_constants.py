"""Constants, specialization, and what a module is specialized for."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from cts.device.driver import Outcome, Status
from cts.drivers.interpreter import Interpreter
from tests.interpreter.modules import assemble, assemble_unchecked, contents, dispatch, kernel, memory

SPEC = """
%count = OpSpecConstant %uint 3
%scale = OpSpecConstant %float 1.5
%flag = OpSpecConstantTrue %bool
%eight = OpTypeInt 8 1
%small = OpSpecConstant %eight -2
%doubled = OpSpecConstantOp %uint IMul %count %u2
%size = OpSpecConstantOp %uint IAdd %doubled %u1
%signed_small = OpSpecConstantOp %int SConvert %small
%chosen = OpSpecConstantOp %uint Select %flag %u10 %u11
%less = OpSpecConstantOp %bool ULessThan %count %u5
%pair = OpSpecConstantComposite %v2uint %count %chosen
%second = OpSpecConstantOp %uint CompositeExtract %pair 1
%swapped = OpSpecConstantOp %v2uint VectorShuffle %pair %pair 1 2
%inserted = OpSpecConstantOp %v2uint CompositeInsert %u9 %pair 0
%table = OpTypeArray %uint %size
%table_pointer = OpTypePointer Function %table
%uint_function = OpTypePointer Function %uint
"""
DECORATIONS = """
OpDecorate %count SpecId 0
OpDecorate %scale SpecId 1
OpDecorate %flag SpecId 2
OpDecorate %small SpecId 7
"""
BODY = """
%scaled = OpConvertFToU %uint %scale
%less_word = OpSelect %uint %less %u1 %u0
%sw0 = OpCompositeExtract %uint %swapped 0
%sw1 = OpCompositeExtract %uint %swapped 1
%in0 = OpCompositeExtract %uint %inserted 0
%in1 = OpCompositeExtract %uint %inserted 1
%last = OpISub %uint %size %u1
%last_at = OpAccessChain %uint_function %v %last
OpStore %last_at %u15
%last_value = OpLoad %uint %last_at
%small_word = OpBitcast %uint %signed_small
"""
RESULTS = ["size", "small_word", "chosen", "less_word", "second", "sw0", "sw1", "in0", "in1", "last_value", "scaled"]


def run(spec_constants: dict[int, bytes], driver: Interpreter | None = None) -> list[int]:
    body = BODY
    for k, name in enumerate(RESULTS):
        body += f"%at{k} = OpAccessChain %word_pointer %out %u0 %u{k}\nOpStore %at{k} %{name}\n"
    words = assemble(
        kernel(body, globals_=SPEC, lanes=1),
        decorations=DECORATIONS,
        variables="%v = OpVariable %table_pointer Function",
    )
    data = np.zeros(len(RESULTS), np.uint32)
    outcome = dispatch(words, {"in": memory(data), "out": memory(data)}, spec_constants=spec_constants, driver=driver)
    found: list[int] = contents(outcome, "out", np.int32).tolist()
    return found


def test_defaults() -> None:
    assert run({}) == [7, -2, 10, 1, 10, 10, 3, 9, 10, 15, 1]


def test_given_values() -> None:
    given = {0: struct.pack("<I", 9), 1: struct.pack("<f", 4.0), 2: struct.pack("<I", 0), 7: struct.pack("<b", 100)}
    assert run(given) == [19, 100, 11, 0, 11, 11, 9, 9, 11, 15, 4]


def test_one_module_serves_several_specializations() -> None:
    driver = Interpreter()
    assert run({}, driver)[0] == 7
    assert run({0: struct.pack("<I", 1)}, driver)[0] == 3
    assert run({}, driver)[0] == 7


def test_a_spec_constant_of_the_wrong_size_is_an_error() -> None:
    words = assemble(
        kernel("OpStore %slot %count", globals_="%count = OpSpecConstant %uint 3"),
        decorations="OpDecorate %count SpecId 0",
    )
    data = np.zeros(8, np.uint32)
    outcome = dispatch(words, {"in": memory(data), "out": memory(data)}, spec_constants={0: b"\1"})
    assert outcome.status is Status.ERROR
    assert "specialized with 1 bytes; the type has 4" in outcome.detail


def run_ids(head: str, globals_: str = "", decorations: str = "", **job: Any) -> Outcome:
    """Each invocation stores its global index there; `head` declares the workgroup's size."""
    body = "OpStore %slot %lane"
    text = kernel(body, globals_=globals_).replace("OpExecutionMode %main LocalSize 8 1 1", head)
    data = np.full(24, 99, np.uint32)
    return dispatch(assemble(text, decorations=decorations), {"in": memory(data), "out": memory(data)}, **job)


def test_local_size_by_id() -> None:
    outcome = run_ids(
        "OpExecutionModeId %main LocalSizeId %wide %u1 %u1",
        "%wide = OpSpecConstant %uint 4",
        "OpDecorate %wide SpecId 3",
        spec_constants={3: struct.pack("<I", 6)},
        workgroups=(2, 1, 1),
    )
    assert contents(outcome, "out", np.uint32).tolist() == [*range(12), *[99] * 12]


def test_workgroup_size_constant_overrides_local_size() -> None:
    outcome = run_ids(
        "OpExecutionMode %main LocalSize 1 1 1",
        "%wide = OpSpecConstant %uint 5\n%size = OpSpecConstantComposite %v3uint %wide %u1 %u1",
        "OpDecorate %wide SpecId 3\nOpDecorate %size BuiltIn WorkgroupSize",
        workgroups=(3, 1, 1),
    )
    assert contents(outcome, "out", np.uint32).tolist() == [*range(15), *[99] * 9]


@pytest.mark.parametrize("declared", ["%size = OpConstant %uint 4", "%size = OpConstantComposite %v2uint %u1 %u1"])
def test_a_workgroup_size_that_is_none(declared: str) -> None:
    text = kernel("OpStore %slot %lane", globals_=declared)
    text = text.replace("DECORATIONS", "OpDecorate %size BuiltIn WorkgroupSize")
    data = memory(np.zeros(24, np.uint32))
    outcome = dispatch(assemble_unchecked(text), {"in": data, "out": data})
    assert outcome.fault is not None and outcome.fault.code == "malformed"
    assert "WorkgroupSize decorates" in outcome.detail and "no constant vector of 3 integers" in outcome.detail


BUILT_INS = [
    "NumWorkgroups",
    "WorkgroupId",
    "LocalInvocationId",
    "GlobalInvocationId",
    "LocalInvocationIndex",
    "SubgroupSize",
    "NumSubgroups",
    "SubgroupId",
    "SubgroupLocalInvocationId",
]


def test_built_ins() -> None:
    """All of them, for workgroups of 3x2x2 invocations in a grid of 2x2x2, subgroups of 5 (the last is partial)."""
    vectors = set(BUILT_INS[:4])
    globals_ = "%uint_input = OpTypePointer Input %uint\n"
    decorations, body, interface, words = "", "", "", 0
    for name in BUILT_INS:
        if name != "GlobalInvocationId":
            decorations += f"OpDecorate %{name} BuiltIn {name}\n"
            kind = "%id_pointer" if name in vectors else "%uint_input"
            globals_ += f"%{name} = OpVariable {kind} Input\n"
            interface += f" %{name}"
    store = ""
    for name in BUILT_INS:
        variable = "id_variable" if name == "GlobalInvocationId" else name
        t = "%v3uint" if name in vectors else "%uint"
        body += f"%{name}_value = OpLoad {t} %{variable}\n"
        for k in range(3 if name in vectors else 1):
            part = f"%{name}_value"
            if name in vectors:
                body += f"%{name}_{k} = OpCompositeExtract %uint %{name}_value {k}\n"
                part = f"%{name}_{k}"
            store += (
                f"%index_{words} = OpIAdd %uint %first %offset_{words}\n"
                f"%slot_{words} = OpAccessChain %word_pointer %out %u0 %index_{words}\nOpStore %slot_{words} {part}\n"
            )
            globals_ += f"%offset_{words} = OpConstant %uint {words}\n"
            words += 1
    globals_ += f"%words_each = OpConstant %uint {words}\n%twelve = OpConstant %uint 12\n"
    index = """
%wz = OpIMul %uint %WorkgroupId_2 %u2
%wyz = OpIAdd %uint %wz %WorkgroupId_1
%wy = OpIMul %uint %wyz %u2
%w = OpIAdd %uint %wy %WorkgroupId_0
%base = OpIMul %uint %w %u12
%row = OpIAdd %uint %base %LocalInvocationIndex_value
%first = OpIMul %uint %row %words_each
"""
    text = kernel(body + index + store, globals_=globals_, head="OpCapability GroupNonUniform")
    text = text.replace("LocalSize 8 1 1", "LocalSize 3 2 2").replace(
        "%slot = OpAccessChain %word_pointer %out %u0 %lane", ""
    )
    data = np.zeros(96 * words, np.uint32)
    outcome = dispatch(
        assemble(text, interface=interface, decorations=decorations),
        {"in": memory(data), "out": memory(data)},
        driver=Interpreter(subgroup_size=5),
        workgroups=(2, 2, 2),
    )
    found = contents(outcome, "out", np.uint32).reshape(96, words).tolist()
    expected = []
    for w in range(8):
        workgroup = [w % 2, w // 2 % 2, w // 4]
        for i in range(12):
            local = [i % 3, i // 3 % 2, i // 6]
            place = [workgroup[k] * (3, 2, 2)[k] + local[k] for k in range(3)]
            expected.append([2, 2, 2, *workgroup, *local, *place, i, 5, 3, i // 5, i % 5])
    assert found == expected
