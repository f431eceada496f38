"""Hostile modules: whatever the words, a run ends soon, with a status and with what the matter is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cts.base.errors import BadInput
from cts.device.driver import Fault, Outcome, Status
from cts.drivers.interpreter import create
from cts.modules.dispatch import run
from tests.dispatch.files import ADD, said, write
from tests.dispatch.fuzzing import fuzz, seeds

#: After this in ADD the body begins; %lane, %x and %y_at are there.
STORE = "OpStore %y_at %y"


def outcome(folder: Path, assembly: str, driver: str = "interpreter", **replaced: str) -> Outcome:
    return run(write(folder, assembly=assembly, **replaced), [driver]).runs[0].outcome


def fault(folder: Path, assembly: str, driver: str = "interpreter", **replaced: str) -> Fault:
    found = outcome(folder, assembly, driver, **replaced)
    assert found.status is not Status.DONE
    assert found.fault is not None
    assert found.detail.startswith(found.fault.where)
    return found.fault


def test_a_thousand_damaged_modules() -> None:
    ends, wrong = fuzz(1000, 20260101, seeds())
    assert wrong == []
    assert ends.keys() >= {"done", "malformed", "unsupported", "out-of-bounds"}


@pytest.mark.parametrize(
    ("index", "offset"), [("%u4000", 16000), ("%minus", -4), ("%u16", 64)], ids=["far", "before", "first"]
)
def test_accesses_out_of_bounds_name_instruction_address_and_invocation(
    tmp_path: Path, index: str, offset: int
) -> None:
    constants = "%int = OpTypeInt 32 1\n%minus = OpConstant %int -1\n%u4000 = OpConstant %uint 4000\n"
    text = ADD.replace("%words =", f"{constants}%u16 = OpConstant %uint 16\n%words =", 1)
    text = text.replace("OpAccessChain %word_pointer %out %u0 %lane", f"OpAccessChain %word_pointer %out %u0 {index}")
    found = fault(tmp_path, text)
    assert (found.code, found.where[:8]) == ("out-of-bounds", "OpStore ")
    where = f"offset {offset} of buffer 'b', which has 64 (VUID-vkCmdDispatch-storageBuffers-06936; TA-069)"
    assert f"{where}, by invocation (0, 0, 0)" in found.what
    assert re.search(r"4 bytes at address 0x[0-9a-f]+,", found.what)


def test_robust_accesses(tmp_path: Path) -> None:
    """Lane 15 and only it writes to the end of out; reads past the end of in give 0."""
    text = ADD.replace("%lane = OpCompositeExtract %uint %id 0", "%from = OpCompositeExtract %uint %id 0\nLANE")
    text = text.replace("LANE", "%lane = OpIAdd %uint %from %u15").replace("%u1 =", "%u15 = OpConstant %uint 15\n%u1 =")
    assert fault(tmp_path, text).what.endswith("by invocation (1, 0, 0)")
    result = run(write(tmp_path, assembly=text), ["interpreter:robust=yes"])
    assert result.status == 0
    assert result.runs[0].outputs["b"].reshape(-1).tolist() == [0] * 15 + [16]


WORKGROUP = """
%u8 = OpConstant %uint 8
%eight = OpTypeArray %uint %u8
%shared_pointer = OpTypePointer Workgroup %eight
%shared_word = OpTypePointer Workgroup %uint
%shared = OpVariable %shared_pointer Workgroup
%u2 = OpConstant %uint 2
%u264 = OpConstant %uint 264
"""


def shared(body: str) -> str:
    """ADD with a workgroup array of 8 words, %local, %at the word of the invocation; `body` makes %y."""
    text = ADD.replace("%main = OpFunction", WORKGROUP + "%main = OpFunction", 1)
    local = "%local = OpUMod %uint %lane %u8\n%at = OpAccessChain %shared_word %shared %local\n"
    return re.sub(r"%x_at =.*%y_at =", lambda _: local + body + "\n%y_at =", text, flags=re.DOTALL)


def test_workgroup_memory_of_another_workgroup_is_out_of_bounds(tmp_path: Path) -> None:
    text = shared("%eighth = OpAccessChain %shared_word %shared %lane\nOpStore %eighth %lane\n%y = OpLoad %uint %at")
    assert "it must be below 8" in fault(tmp_path, text).what
    found = fault(tmp_path, text, "interpreter:check=none")
    assert found.code == "out-of-bounds"
    assert "offset 32 of workgroup variable" in found.what and "which has 32" in found.what
    assert found.what.endswith("by invocation (8, 0, 0)")


BARRIER = "OpControlBarrier %u2 %u2 %u264"
NEIGHBOUR = """
%next = OpIAdd %uint %local %u1
%wrapped = OpUMod %uint %next %u8
%other = OpAccessChain %shared_word %shared %wrapped
%y = OpLoad %uint %other
"""


def test_races_through_workgroup_memory(tmp_path: Path) -> None:
    racing = shared("OpStore %at %lane" + NEIGHBOUR)
    assert outcome(tmp_path, racing).status is Status.DONE
    found = fault(tmp_path, racing, "interpreter:check=races")
    assert found.code == "race" and found.where.startswith("OpLoad %")
    assert found.what.startswith("invocation (0, 0, 0) reads bytes 4 to 7 of workgroup variable %")
    assert re.search(r", which invocation \(1, 0, 0\) wrote by OpStore at word \d+, and no barrier", found.what)
    # Every invocation of both workgroups reads what its neighbour stored.
    assert found.what.endswith("lies between; 15 more accesses by this instruction race alike")
    ordered = shared(f"OpStore %at %lane\n{BARRIER}{NEIGHBOUR}")
    assert outcome(tmp_path, ordered, "interpreter:check=races").status is Status.DONE
    again = shared(f"OpStore %at %lane\n{BARRIER}{NEIGHBOUR}OpStore %at %y")
    found = fault(tmp_path, again, "interpreter:check=races")
    assert re.search(r"writes bytes 0 to 3 .* which invocation \(7, 0, 0\) read by OpLoad %\d+, and no", found.what)


def test_races_between_workgroups_know_no_barrier(tmp_path: Path) -> None:
    """Every workgroup reads in[0], which the first one writes at its end."""
    text = ADD.replace("OpAccessChain %word_pointer %in %u0 %lane", "OpAccessChain %word_pointer %out %u0 %u0")
    found = fault(tmp_path, text, "interpreter:check=races")
    assert found.code == "race" and found.where.startswith("OpStore at word ")
    told = "invocation (0, 0, 0) writes bytes 0 to 3 of buffer 'b', which invocation (15, 0, 0) read by OpLoad %"
    assert found.what.startswith(told)
    assert found.what.endswith(", and nothing orders different workgroups")


def test_two_invocations_that_write_one_word_race(tmp_path: Path) -> None:
    text = ADD.replace("OpAccessChain %word_pointer %out %u0 %lane", "OpAccessChain %word_pointer %out %u0 %u1")
    found = fault(tmp_path, text, "interpreter:check=races")
    assert "writes bytes 4 to 7 of buffer 'b', which invocation" in found.what
    assert "wrote by the same instruction" in found.what
    assert outcome(tmp_path, ADD, "interpreter:check=races").status is Status.DONE


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("%y = OpAtomicIAdd %uint %first %u1 %u0 %u1", ""),
        (f"OpAtomicStore %first %u2 %u0 %lane\n{BARRIER}\n%y = OpLoad %uint %first", ""),
        ("OpAtomicStore %first %u2 %u0 %lane\n%y = OpAtomicLoad %uint %first %u2 %u0", ""),
        ("%s = OpAtomicIAdd %uint %first %u1 %u0 %u1\n%y = OpLoad %uint %first", "changed atomically"),
        ("OpAtomicStore %first %u2 %u0 %lane\nOpStore %at %lane\n%y = OpLoad %uint %at", "changed atomically"),
        ("%y = OpAtomicLoad %uint %first %u2 %u0\nOpStore %at %lane", "read atomically"),
        ("OpStore %at %lane\n%y = OpAtomicIAdd %uint %first %u1 %u0 %u1", "wrote"),
        ("%y = OpLoad %uint %at\n%s = OpAtomicIAdd %uint %first %u1 %u0 %u1", "read"),
    ],
)
def test_atomics_race_with_what_is_not_atomic(tmp_path: Path, body: str, what: str) -> None:
    text = shared("%first = OpAccessChain %shared_word %shared %u0\n" + body)
    result = run(write(tmp_path, assembly=text), ["interpreter:check=races"])
    assert result.status == (1 if what else 0), said(result)
    assert f"{what} by Op" in said(result) if what else not result.runs[0].outcome.fault


def test_uninitialised_workgroup_memory(tmp_path: Path) -> None:
    text = shared("%y = OpLoad %uint %at")
    assert outcome(tmp_path, text, "interpreter:check=none").status is Status.DONE
    assert outcome(tmp_path, text).fault == fault(tmp_path, text, "interpreter:check=uninitialised")
    found = fault(tmp_path, text, "interpreter:check=uninitialised")
    assert (found.code, found.where[:8]) == ("uninitialised", "OpStore ")
    assert (
        "writes 0x00000000 or 0x" in found.what and "workgroup memory that is read before it is written" in found.what
    )
    assert found.what.endswith(", by invocation (0, 0, 0)")
    stored = shared(f"OpStore %at %lane\n{BARRIER}{NEIGHBOUR}")
    assert outcome(tmp_path, stored, "interpreter:check=uninitialised+races").status is Status.DONE


def local_variable(body: str) -> str:
    """ADD with a Function array %array of 2 words, %first and %second its words; `body` makes %y."""
    types = "%u2 = OpConstant %uint 2\n%two = OpTypeArray %uint %u2\n%two_pointer = OpTypePointer Function %two\n"
    types += "%word = OpTypePointer Function %uint\n%bool = OpTypeBool\n"
    text = ADD.replace("%main = OpFunction", types + "%main = OpFunction", 1)
    text = text.replace("%start = OpLabel", "%start = OpLabel\n%array = OpVariable %two_pointer Function", 1)
    parts = "%first = OpAccessChain %word %array %u0\n%second = OpAccessChain %word %array %u1\n"
    return re.sub(r"%x_at =.*%y_at =", lambda _: parts + body + "\n%y_at =", text, flags=re.DOTALL)


SOMETIMES = """
%odd = OpBitwiseAnd %uint %lane %u1
%is_odd = OpIEqual %bool %odd %u1
OpSelectionMerge %join None
OpBranchConditional %is_odd %then %join
%then = OpLabel
OpStore %first %lane
OpBranch %join
%join = OpLabel
%y = OpLoad %uint %first
"""


#: How front ends fill a value: they load it, change a part, and store it again.
FILL = """%none = OpLoad %two %array
%some = OpCompositeInsert %two %lane %none 0
OpStore %array %some"""


@pytest.mark.parametrize(
    ("body", "said_"),
    [
        ("OpStore %first %lane\n%y = OpLoad %uint %first", ""),
        (
            "OpStore %first %lane\n%y = OpLoad %uint %second",
            "that depends on %array, a variable that is read before all of it was stored",
        ),
        ("OpStore %first %lane\n%all = OpLoad %two %array\n%y = OpCompositeExtract %uint %all 1", "depends on"),
        ("OpStore %first %lane\n%all = OpLoad %two %array\n%y = OpCompositeExtract %uint %all 0", ""),
        (f"{FILL}\n%y = OpLoad %uint %first", ""),
        (f"{FILL}\n%y = OpLoad %uint %second", "depends on"),
        (f"{FILL}\n%z = OpCopyObject %two %some\n%y = OpLoad %uint %first", ""),
        ("%z = OpLoad %uint %first\n%y = OpIMul %uint %z %u0", ""),
        ("%none = OpUndef %uint\n%y = OpIAdd %uint %none %u1", "depends on %none, OpUndef"),
        (SOMETIMES, "depends on"),
        (SOMETIMES.replace("OpSelectionMerge", "OpStore %first %u0\nOpSelectionMerge"), ""),
    ],
)
def test_uninitialised_variables(tmp_path: Path, body: str, said_: str) -> None:
    text = local_variable(body)
    assert outcome(tmp_path, text, "interpreter:check=none").status is Status.DONE
    if not said_:
        assert outcome(tmp_path, text, "interpreter:check=uninitialised").status is Status.DONE
        return
    found = fault(tmp_path, text, "interpreter:check=uninitialised")
    assert (found.code, found.where[:8]) == ("uninitialised", "OpStore ")
    assert re.search(re.sub("%(none|array)", r"%\\d+", said_), found.what)
    assert found.what.endswith(", by invocation (0, 0, 0)")


LOOP = """
OpBranch %head
%head = OpLabel
OpLoopMerge %done %head None
OpBranch %head
%done = OpLabel
%y = OpIAdd %uint %u0 %u1
"""


def test_loops_without_end(tmp_path: Path) -> None:
    text = local_variable(LOOP).replace("OpLoopMerge %done %head None\nOpBranch %head", "OpLoopMerge %done %again None")
    text = text.replace("%done = OpLabel", "OpBranch %again\n%again = OpLabel\nOpBranch %head\n%done = OpLabel")
    result = run(write(tmp_path, assembly=text), ["interpreter:max_steps=500"])
    found = result.runs[0].outcome
    assert (found.status, result.status) == (Status.TIMEOUT, 1)
    assert found.fault is not None and found.fault.code == "too-many-steps"
    assert "OpBranch at word" in found.fault.where and "500 steps" in found.fault.what


def with_types(types: str, use: str = "") -> str:
    return ADD.replace("%main = OpFunction", types + "\n%main = OpFunction", 1).replace(
        "%id = OpLoad", use + "\n%id = OpLoad"
    )


SHARED = """%hp = OpTypePointer Workgroup %huge
%wp = OpTypePointer Workgroup %uint
%v = OpVariable %hp Workgroup"""
HUGE = "%many = OpConstant %uint 8000000\n%huge = OpTypeArray %uint %many\n"


@pytest.mark.parametrize(
    ("types", "use", "code", "what"),
    [
        (HUGE + "%null = OpConstantNull %huge", "", "out-of-memory", "constants have"),
        (HUGE, "%u = OpUndef %huge", "out-of-memory", "a workgroup needs up to"),
        (HUGE + "%hp = OpTypePointer Function %huge", "%v = OpVariable %hp Function", "out-of-memory", "a workgroup"),
        (HUGE + SHARED, "%w = OpAccessChain %wp %v %u0", "out-of-memory", "a workgroup"),
    ],
)  # fmt: skip
def test_huge_allocations(tmp_path: Path, types: str, use: str, code: str, what: str) -> None:
    found = fault(tmp_path, with_types(types, use), f"interpreter:max_memory={20 << 20}")
    assert (found.code, what in found.what) == (code, True), found


def test_huge_buffers(tmp_path: Path) -> None:
    buffer = "  a: {type: uint32, shape: [500000], fill: 0}"
    found = fault(tmp_path, ADD, f"interpreter:max_memory={1 << 20}", a=buffer)
    assert found == Fault("out-of-memory", f"the buffers have {2000000 + 64 + 4 * 1024} bytes; at most {1 << 20}")


def nested(levels: int, members: str) -> str:
    types = "%s0 = OpTypeStruct %uint\n"
    return types + "\n".join(f"%s{n} = OpTypeStruct {members.replace('S', f'%s{n - 1}')}" for n in range(1, levels + 1))


@pytest.mark.parametrize(
    ("types", "what"),
    [
        (nested(60, "S S"), "members in all"),
        (nested(400, "S"), "nested more than 255 deep"),
        ("%a = OpTypeStruct %a", "is not a type declared before its use"),
        ("%a = OpTypeStruct %b\n%b = OpTypeStruct %a", "is not a type declared before its use"),
        ("%a = OpTypeArray %a %u1", "is not a type declared before its use"),
        ("%u3000000000 = OpConstant %uint 3000000000\n%a = OpTypeArray %uint %u3000000000\n%n = OpConstantNull %a",
         "constants have 12000000016 bytes"),
        ("%float = OpTypeFloat 32\n%a = OpTypeVector %float 4000000000", "4000000000 components"),
    ],
)  # fmt: skip
def test_absurd_types(tmp_path: Path, types: str, what: str) -> None:
    assert what in fault(tmp_path, with_types(types)).what


def test_absurd_bounds(tmp_path: Path) -> None:
    from cts.spirv import tools

    words = tools.assemble(ADD)
    for bound in (0, 1, 20, 1 << 31, (1 << 32) - 1):
        changed = words.copy()
        changed[3] = bound
        changed.tofile(tmp_path / "add.spv")
        found = fault(tmp_path, "", module="module: add.spv")
        assert found.code == "malformed" and "bound" in found.what


def test_endless_dispatches(tmp_path: Path) -> None:
    driver = "interpreter:max_steps=10000,robust=yes"
    assert fault(tmp_path, ADD, driver, dispatch="dispatch: [65535, 65535, 65535]").code == "too-many-steps"
    most = fault(tmp_path, ADD, driver, dispatch="dispatch: [4294967295, 4294967295, 4294967295]")
    assert most.code == "unsupported" and "workgroups (at most" in most.what


def test_recursion(tmp_path: Path) -> None:
    again = (
        "%f = OpFunction %void None %procedure\n%fs = OpLabel\n%r = OpFunctionCall %void %f\nOpReturn\nOpFunctionEnd"
    )
    text = ADD.replace("%id = OpLoad", "%c = OpFunctionCall %void %f\n%id = OpLoad", 1) + again
    assert "calls itself" in fault(tmp_path, text).what


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"max_steps": "0"}, "1 to"),
        ({"max_memory": "1"}, "1048576 to"),
        ({"robust": "maybe"}, "one of: yes, no"),
        ({"check": "luck"}, "races"),
        ({"steps": "1"}, "max_steps"),
    ],
)
def test_options_that_are_none(options: dict[str, str], remedy: str) -> None:
    with pytest.raises(BadInput) as caught:
        create(options)
    assert remedy in caught.value.remedy


def test_cooperative_operations_that_are_not_uniform(tmp_path: Path) -> None:
    """A pointer that differs between the invocations of a subgroup."""
    text = ADD.replace("OpCapability Shader", COOPERATIVE)
    text = text.replace("OpMemoryModel Logical GLSL450", "OpMemoryModel Logical Vulkan").replace(
        "%words =", MATRIX + "%words =", 1
    )
    text = text.replace(STORE, f"%m = OpCooperativeMatrixLoadKHR %matrix %x_at %row_major %u1\n{STORE}")
    result = run(write(tmp_path, assembly=text), ["interpreter:subgroup_size=8"])
    found = result.runs[0].outcome.fault
    assert found is not None, said(result)
    assert (found.code, found.where[:26]) == ("misuse", "OpCooperativeMatrixLoadKHR"), found
    assert "Pointer %" in found.what and "it must be the same in all invocations of the scope" in found.what


COOPERATIVE = """OpCapability Shader
OpCapability VulkanMemoryModel
OpCapability CooperativeMatrixKHR
OpExtension "SPV_KHR_cooperative_matrix"
OpExtension "SPV_KHR_vulkan_memory_model\""""
MATRIX = """
%subgroup = OpConstant %uint 3
%use = OpConstant %uint 2
%row_major = OpConstant %uint 0
%matrix = OpTypeCooperativeMatrixKHR %uint %subgroup %use %use %use
"""


def test_a_bug_of_the_interpreter_is_told_from_an_invalid_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cts.drivers.interpreter.registry import lookup
    from cts.spirv.grammar import grammar

    def broken(a: Any, b: Any) -> Any:
        raise ZeroDivisionError("planted")

    monkeypatch.setitem(lookup().pure, grammar().opcode("OpIMul"), lambda d, i: broken)
    assert fault(tmp_path, ADD).code == "internal"
    invalid = ADD.replace(
        "OpCapability Shader", "OpCapability Shader\nOpCapability Shader\nOpCapability Int64"
    ).replace("%words =", "%other = OpTypeInt 32 0\n%words =", 1)
    found = fault(tmp_path, invalid)
    assert found.code == "malformed" and "spirv-val says" in found.what and "OpIMul" in found.where


@pytest.mark.parametrize(
    ("end", "what"),
    [("%uint", "is not a value of a known type"), ("%lane", "a value of type")],
)
def test_a_function_returns_a_value_of_its_type(tmp_path: Path, end: str, what: str) -> None:
    text = ADD.replace("OpReturn\n", f"OpReturnValue {end}\n")
    assert text != ADD
    found = fault(tmp_path, text)
    assert found.code == "malformed" and what in found.what
