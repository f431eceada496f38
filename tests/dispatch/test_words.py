"""What a dispatch says in the author's words, what it has not compared, and what depends on who holds which element."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cts.device.driver import Status
from cts.modules.dispatch import run
from cts.modules.dispatch.report import document
from cts.spirv import tools
from cts.spirv.source_lines import Line, source_lines
from tests.dispatch.files import ADD, said, write

#: ADD, in which each invocation writes `factor` elements further, with names and lines.
NAMED = ADD.replace(
    'OpName %in "source"',
    """%file = OpString "add.comp"
OpSource GLSL 450 %file "void main() {
    sums[i + step] = x;
}"
OpName %in "source"
OpName %out "target"
OpMemberName %block 0 "sums"
OpName %lane "i"
OpMemberName %push_block 0 "step"
OpName %push "params\"""",
).replace(
    "%y_at = OpAccessChain %word_pointer %out %u0 %lane",
    "OpLine %file 2 5\n%far = OpIAdd %uint %lane %p\n%y_at = OpAccessChain %word_pointer %out %u0 %far",
)


def test_a_failure_is_told_in_the_authors_words(tmp_path: Path) -> None:
    path = write(tmp_path, assembly=NAMED, push_constants="push_constants: {values: [{type: uint32, value: 1}]}")
    fault = run(path).runs[0].outcome.fault
    assert fault is not None
    assert fault.where.startswith("OpStore at word ")
    assert fault.where.endswith(" to target.sums[i + params.step], at add.comp:2: sums[i + step] = x;")
    where = "offset 64 of buffer 'b', which has 64 (VUID-vkCmdDispatch-storageBuffers-06936; TA-069)"
    assert f"{where}, by invocation (15, 0, 0)" in fault.what


def test_lines_of_debug_information() -> None:
    words = tools.assemble("""
OpCapability Shader
OpExtension "SPV_KHR_non_semantic_info"
%debug = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%file = OpString "a.slang"
%text = OpString "one
two"
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%u2 = OpConstant %uint 2
%u7 = OpConstant %uint 7
%procedure = OpTypeFunction %void
%source = OpExtInst %void %debug DebugSource %file %text
%main = OpFunction %void None %procedure
%start = OpLabel
%a = OpIAdd %uint %u2 %u2
%line = OpExtInst %void %debug DebugLine %source %u2 %u2 %u7 %u7
%b = OpIAdd %uint %u2 %u2
%none = OpExtInst %void %debug DebugNoLine
OpReturn
OpFunctionEnd
""")
    assert list(source_lines(words).values()) == [Line("a.slang", 2, "two")]


def test_what_was_not_compared(tmp_path: Path) -> None:
    alone = run(write(tmp_path))
    assert said(alone).splitlines() == [
        "ran, not compared: interpreter, b",
        "  note: all 4 bytes of push constants are zeros",
    ]
    plain = json.loads(json.dumps(document([alone])))["drivers"][0]
    assert (plain["verdict"], plain["compared"], len(plain["notes"])) == ("pass", False, 1)
    assert alone.status == 0
    two = run(write(tmp_path), ["interpreter", "interpreter:subgroup_size=8"])
    assert said(two).splitlines() == ["pass: interpreter, b", "pass: interpreter:subgroup_size=8, b"]
    expected = run(write(tmp_path, expected="expected: {b: {iota: {start: 1}}}"))
    assert said(expected) == "pass: interpreter, b"


LOOP = """%bool = OpTypeBool
%main = OpFunction"""
ROUNDS = """OpBranch %head
%head = OpLabel
%k = OpPhi %uint %u0 %start %next %again
OpLoopMerge %done %again None
OpBranch %test
%test = OpLabel
%more = OpULessThan %bool %k %p
OpBranchConditional %more %body %done
%body = OpLabel
OpBranch %again
%again = OpLabel
%next = OpIAdd %uint %k %u1
OpBranch %head
%done = OpLabel
%y_at ="""


@pytest.mark.parametrize("rounds", [0, 3])
def test_a_loop_without_rounds_is_said(tmp_path: Path, rounds: int) -> None:
    text = ADD.replace("%main = OpFunction", LOOP, 1).replace("%y_at =", ROUNDS)
    text = text.replace(
        'OpName %in "source"', 'OpName %k "k"\nOpName %push "params"\nOpMemberName %push_block 0 "count"'
    )
    value = f"push_constants: {{values: [{{type: uint32, value: {rounds}}}]}}"
    notes = run(write(tmp_path, assembly=text, push_constants=value)).runs[0].notes
    loop = "no invocation comes to the end of the body of the loop while k < params.count"
    assert (loop in notes) == (rounds == 0)


ELEMENT = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpCapability CooperativeMatrixKHR
OpExtension "SPV_KHR_cooperative_matrix"
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main" %out
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u3 = OpConstant %uint 3
%u4 = OpConstant %uint 4
%u8 = OpConstant %uint 8
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%block_pointer = OpTypePointer StorageBuffer %block
%word_pointer = OpTypePointer StorageBuffer %uint
%out = OpVariable %block_pointer StorageBuffer
%m = OpTypeCooperativeMatrixKHR %uint %u3 %u8 %u8 %u2
%ones = OpConstantComposite %m %u1
%procedure = OpTypeFunction %void
%main = OpFunction %void None %procedure
%start = OpLabel
%at = OpAccessChain %word_pointer %out %u0 %u0
%a = OpCompositeInsert %m VALUE %ones 0
OpCooperativeMatrixStoreKHR %at %a %u0 %u8
OpReturn
OpFunctionEnd
"""
ELEMENTS = """
module: add.spvasm
dispatch: [1, 1, 1]
subgroup_size: 8
buffers: {b: {type: uint32, shape: [8, 8], fill: 0}}
bindings: {"0.0": b}
outputs: [b]
"""


def test_who_holds_which_element(tmp_path: Path) -> None:
    differs = run(write(tmp_path, ELEMENTS, ELEMENT.replace("VALUE", "%u4")))
    (remark,) = [r for r in differs.remarks if "holds which element" in r]
    # The first of 8 components: of a row, of a column, or of each row, which is a column as well.
    assert remark.endswith(
        "14 of 64 of b differ with `distribution=columns`, 14 of 64 of b differ with `distribution=blocks`"
    )
    same = run(write(tmp_path, ELEMENTS, ELEMENT.replace("VALUE", "%u1")))
    assert not [r for r in same.remarks if "holds which element" in r]


def test_wrong_inputs_are_said(tmp_path: Path) -> None:
    """A matrix, or any number without BuiltIn, in an input variable."""
    for kind, what in (
        ("%m", "storage class Input holds a cooperative matrix"),
        ("%uint", "an input without a BuiltIn"),
    ):
        text = ELEMENT.replace("%out\nOpExec", "%out %in\nOpExec", 1).replace("VALUE", "%u4")
        text = text.replace("%ones =", f"%input = OpTypePointer Input {kind}\n%in = OpVariable %input Input\n%ones =")
        text = text.replace("%at =", f"%x = OpLoad {kind} %in\n%at =")
        outcome = run(write(tmp_path, ELEMENTS, text)).runs[0].outcome
        assert outcome.status is Status.ERROR and outcome.fault is not None
        assert what in outcome.fault.what and outcome.fault.where.startswith("OpVariable %")


def test_a_module_by_itself_has_a_limit_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cts.modules.dispatch.running.BY_ITSELF_SECONDS", 1e-9)
    path = tmp_path / "add.spvasm"
    path.write_text(ADD)
    outcome = run(path).runs[0].outcome
    assert outcome.status is Status.TIMEOUT and "(max_seconds)" in outcome.detail


def test_names_with_control_characters(tmp_path: Path) -> None:
    path = tmp_path / "add.spvasm"
    path.write_text(ADD.replace('"source"', '"sou\x03\x7frce"'))
    assert run(path).status == 0


def test_a_broken_rule_is_a_reason_for_a_difference(tmp_path: Path) -> None:
    """Expected values differ on an interpreter that checks nothing, and the rule is said."""
    text = ELEMENT.replace("VALUE", "%u4").replace("%at %a %u0 %u8", "%at %a %u0 %u3")
    path = write(tmp_path, ELEMENTS + "expected: {b: {fill: 7}}\n", text)
    reasons = run(path, ["interpreter:check=none"]).runs[0].reasons
    assert any("a broken rule (`--check contract`)" in r and "VK-040" in r for r in reasons), reasons
