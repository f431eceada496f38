"""Every instruction of the official grammar is executed, or out of scope for a reason that names it."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import numpy as np
import pytest

from cts.device.driver import Outcome, Status
from cts.drivers.interpreter.constants import CONSTANTS
from cts.drivers.interpreter.declared_types import TYPES
from cts.drivers.interpreter.parse import IGNORED
from cts.drivers.interpreter.reasons import OUT_OF_SCOPE, reason
from cts.drivers.interpreter.registry import lookup
from cts.spirv.grammar import extended_instructions, grammar
from tests.interpreter.modules import assemble, assemble_unchecked, dispatch, kernel, memory

#: What the parser and the declarations make use of themselves.
STRUCTURE = {
    "OpCapability",
    "OpDecorate",
    "OpDecorateId",
    "OpEntryPoint",
    "OpExecutionMode",
    "OpExecutionModeId",
    "OpExtInstImport",
    "OpExtInstWithForwardRefsKHR",  # only sets without semantics may use it
    "OpFunction",
    "OpFunctionEnd",
    "OpFunctionParameter",
    "OpGroupDecorate",
    "OpGroupMemberDecorate",
    "OpLabel",
    "OpMemberDecorate",
    "OpMemberName",
    "OpName",
    "OpPhi",
    "OpTypeForwardPointer",
    "OpUntypedVariableKHR",
    "OpVariable",
}


def handled() -> set[str]:
    handlers = lookup()
    known = [*handlers.pure, *handlers.step, *handlers.terminator, *handlers.on_matrices]
    names = {grammar().by_opcode[opcode].name for opcode in known}
    return names | set(TYPES) | set(CONSTANTS) | set(IGNORED) | STRUCTURE


def test_every_instruction_is_handled_or_out_of_scope_for_a_reason() -> None:
    names = {i.name for i in grammar().by_opcode.values()}
    assert sorted(n for n in names - handled() if not reason(n)) == []


def test_no_reason_is_given_for_what_is_handled() -> None:
    assert sorted(n for n in handled() if reason(n)) == []


def test_no_pattern_is_idle() -> None:
    """A pattern that no instruction needs would hide the next one."""
    unhandled = {i.name for i in grammar().by_opcode.values()} - handled()
    for what, patterns in OUT_OF_SCOPE.items():
        for pattern in patterns:
            mine = [n for n in unhandled if fnmatchcase(n, pattern) and reason(n) == what]
            assert mine, f"{pattern} of {what}"


def test_every_function_of_glsl_is_handled_but_interpolation() -> None:
    """IMix was withdrawn: it has a number, and no definition."""
    handlers = lookup()
    missing = (
        set(extended_instructions("GLSL.std.450").values()) - handlers.glsl_pure.keys() - handlers.glsl_step.keys()
    )
    assert missing == {"IMix", "InterpolateAtCentroid", "InterpolateAtSample", "InterpolateAtOffset"}


#: OpSpecConstantOp for shaders: operations that the specification lists, with operands of kinds that they take.
SPEC_OPERATIONS: dict[str, int | list[int]] = {
    "%int SConvert %small": -3,
    "%uint UConvert %usmall": 200,
    "%float FConvert %h": 0x40200000,
    "%int SNegate %si": 7,
    "%uint Not %a": 0xFFFFFFF3,
    "%uint IAdd %a %b": 17,
    "%uint ISub %b %a": 0xFFFFFFF9,
    "%uint IMul %a %b": 60,
    "%uint UDiv %a %b": 2,
    "%int SDiv %si %sj": -3,
    "%uint UMod %a %b": 2,
    "%int SRem %si %sj": -1,
    "%int SMod %si %sj": 1,
    "%uint ShiftRightLogical %a %one": 6,
    "%int ShiftRightArithmetic %si %one": -4,
    "%uint ShiftLeftLogical %a %one": 24,
    "%uint BitwiseOr %a %b": 13,
    "%uint BitwiseXor %a %b": 9,
    "%uint BitwiseAnd %a %b": 4,
    "%bool LogicalOr %yes %no": 1,
    "%bool LogicalAnd %yes %no": 0,
    "%bool LogicalNot %no": 1,
    "%bool LogicalEqual %yes %no": 0,
    "%bool LogicalNotEqual %yes %no": 1,
    "%uint Select %no %a %b": 5,
    "%bool IEqual %a %b": 0,
    "%bool INotEqual %a %b": 1,
    "%bool ULessThan %a %b": 0,
    "%bool SLessThan %si %sj": 1,
    "%bool UGreaterThan %a %b": 1,
    "%bool SGreaterThan %si %sj": 0,
    "%bool ULessThanEqual %a %b": 0,
    "%bool SLessThanEqual %si %sj": 1,
    "%bool UGreaterThanEqual %a %b": 1,
    "%bool SGreaterThanEqual %si %sj": 0,
    "%float QuantizeToF16 %f": 0x3EAAA000,
    "%uint CompositeExtract %pair 1": 5,
    "%v2uint CompositeInsert %one %pair 0": [1, 5],
    "%v2uint VectorShuffle %pair %pair 3 0": [5, 12],
    "%v2uint IAdd %pair %pair": [24, 10],
}

_SPEC = """
%byte = OpTypeInt 8 1
%ubyte = OpTypeInt 8 0
%half = OpTypeFloat 16
%small = OpSpecConstant %byte -3
%usmall = OpSpecConstant %ubyte 200
%h = OpSpecConstant %half 2.5
%f = OpSpecConstant %float 0.33333
%si = OpSpecConstant %int -7
%sj = OpSpecConstant %int 2
%a = OpSpecConstant %uint 12
%b = OpSpecConstant %uint 5
%one = OpSpecConstant %uint 1
%yes = OpSpecConstantTrue %bool
%no = OpSpecConstantFalse %bool
%pair = OpSpecConstantComposite %v2uint %a %b
"""


@pytest.mark.parametrize("operation", SPEC_OPERATIONS)
def test_specialization_constant_operations(operation: str) -> None:
    result = operation.split()[0]
    body = "\n".join(f"%at{k} = OpAccessChain %word_pointer %out %u0 %u{k}" for k in range(2))
    if result == "%v2uint":
        body += "\n%c0 = OpCompositeExtract %uint %r 0\n%c1 = OpCompositeExtract %uint %r 1"
    elif result == "%bool":
        body += "\n%c0 = OpSelect %uint %r %u1 %u0\n%c1 = OpCopyObject %uint %u0"
    else:
        cast = "OpCopyObject" if result == "%uint" else "OpBitcast"
        body += f"\n%c0 = {cast} %uint %r\n%c1 = OpCopyObject %uint %u0"
    body += "\nOpStore %at0 %c0\nOpStore %at1 %c1"
    globals_ = f"{_SPEC}%r = OpSpecConstantOp {operation}"
    outcome = run(kernel(body, globals_=globals_, lanes=1))
    wanted = SPEC_OPERATIONS[operation]
    pair = wanted if isinstance(wanted, list) else [wanted, 0]
    assert outcome.memory["out"][256:264].view(np.uint32).tolist() == [value & 0xFFFFFFFF for value in pair]


def run(text: str) -> Outcome:
    x = np.zeros(8, np.uint32)
    outcome = dispatch(assemble(text), {"in": memory(x), "out": memory(x)})
    assert outcome.status is Status.DONE, outcome.detail
    return outcome


def test_a_missing_instruction_says_what_it_is_part_of() -> None:
    outcome = dispatch(
        assemble_unchecked(
            kernel("%slope = OpDPdx %float %float_one\nOpKill")
            .replace("%float = OpTypeFloat 32", "%float = OpTypeFloat 32\n%float_one = OpConstant %float 1")
            .replace("OpKill\nOpReturn", "OpKill")
        ),
        {},
    )
    assert outcome.status is Status.UNSUPPORTED
    assert ": derivatives" in outcome.detail
    assert re.search(r"OpKill at word \d+: fragment shaders", outcome.detail)
