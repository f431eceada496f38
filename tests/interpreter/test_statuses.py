"""Every way a run can end early, options, and words that were tampered with."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.device.driver import Outcome, Status
from cts.drivers.interpreter import Interpreter, create
from cts.drivers.interpreter.handlers import arithmetic
from cts.drivers.interpreter.registry import lookup
from cts.spirv.grammar import grammar
from tests.interpreter.modules import assemble, assemble_unchecked, dispatch, kernel, memory, named

X = np.array([3, 0, 7, 1, 10, 4, 2, 9], np.uint32)


def run(words: Any, **job: Any) -> Outcome:
    return dispatch(words, {"in": memory(X), "out": memory(X)}, **job)


def test_everything_missing_is_reported_at_once() -> None:
    body = """
%old = OpExtInst %float %glsl InterpolateAtCentroid %one
%slope = OpDPdx %float %one
OpStore %slot %x
"""
    text = kernel(body, globals_="%one = OpConstant %float 1", head="OpCapability Linkage\n").replace(
        "OpMemoryModel", '%glsl = OpExtInstImport "GLSL.std.450"\nOpMemoryModel', 1
    )
    text = named(text, "old")
    outcome = run(assemble_unchecked(text))
    assert outcome.status is Status.UNSUPPORTED
    assert "capability Linkage" in outcome.detail
    assert "instruction InterpolateAtCentroid of GLSL.std.450" in outcome.detail
    assert "OpDPdx %" in outcome.detail
    assert '"old"' in outcome.detail


def test_a_missing_type_does_not_hide_behind_its_uses() -> None:
    globals_ = """
%image = OpTypeImage %float 2D 0 0 0 1 Unknown
%image_pointer = OpTypePointer UniformConstant %image
%texture = OpVariable %image_pointer UniformConstant
"""
    body = "%loaded = OpLoad %image %texture\nOpStore %slot %x"
    decorations = "OpDecorate %texture DescriptorSet 0\nOpDecorate %texture Binding 2"
    outcome = run(assemble(kernel(body, globals_=globals_), interface="%texture", decorations=decorations))
    assert outcome.status is Status.UNSUPPORTED
    assert "OpTypeImage" in outcome.detail


def test_debug_instructions_are_ignored() -> None:
    text = kernel("OpLine %file 1 1\nOpStore %slot %x\nOpNoLine").replace(
        "OpDecorate %id_variable", '%file = OpString "f"\nOpDecorate %id_variable', 1
    )
    assert run(assemble(text)).status is Status.DONE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w[:3], "magic number"),
        (lambda w: np.concatenate([[0x1234], w[1:]]), "magic number"),
        (lambda w: w[:-1], "OpFunctionEnd"),
        (lambda w: np.concatenate([w[:3], [7], w[4:]]), "outside the bound 7"),
        (lambda w: np.concatenate([w[:3], [0x7FFFFFFF], w[4:]]), "id bound"),
        (lambda w: np.concatenate([w[:5], [0x0002FFFF, 0], w[5:]]), "opcode 65535"),
        (lambda w: np.concatenate([w[:5], [0x00FF0011], w[5:7]]), "OpCapability claims 255 words"),
        (lambda w: np.concatenate([w, w[-1:]]), "OpFunctionEnd outside a function"),
    ],
)
def test_malformed_words(change: Any, message: str) -> None:
    outcome = run(change(assemble(kernel("OpStore %slot %x"))).astype(np.uint32))
    assert outcome.status in (Status.ERROR, Status.UNSUPPORTED)
    assert message in outcome.detail


def test_an_unknown_entry_point_names_the_known_ones() -> None:
    outcome = run(assemble(kernel("OpStore %slot %x")), entry="other")
    assert outcome.status is Status.ERROR
    assert "'other'; the module has: main" in outcome.detail


def test_a_missing_binding_is_named() -> None:
    outcome = run(assemble(kernel("OpStore %slot %x")), bindings={(0, 0): "in"})
    assert outcome.status is Status.ERROR
    assert "set 0, binding 1, where no buffer is bound" in outcome.detail


def test_an_id_without_a_definition_is_named() -> None:
    text = named(kernel("OpStore %slot %nothing"), "nothing")
    outcome = run(assemble_unchecked(text))
    assert outcome.status is Status.ERROR
    assert "OpStore: %" in outcome.detail
    assert outcome.detail.endswith('"nothing" is defined nowhere')


def test_recursion_is_refused() -> None:
    functions = """
%f = OpFunction %void None %procedure
%f_start = OpLabel
%again = OpFunctionCall %void %f
OpReturn
OpFunctionEnd
"""
    text = kernel("%call = OpFunctionCall %void %f", functions=functions)
    outcome = run(assemble_unchecked(text))
    assert outcome.status is Status.ERROR
    assert "calls itself" in outcome.detail


def test_reaching_unreachable_is_named() -> None:
    body = """
%none = OpIEqual %bool %x %u0
OpSelectionMerge %on None
OpBranchConditional %none %never %on
%never = OpLabel
OpUnreachable
%on = OpLabel
OpStore %slot %x
"""
    outcome = run(assemble(kernel(body)))
    assert outcome.status is Status.ERROR
    assert re.fullmatch(r"OpUnreachable at word \d+: control reached it", outcome.detail)
    assert outcome.fault is not None
    assert (outcome.fault.code, outcome.fault.what) == ("misuse", "control reached it")


def test_a_bug_of_ours_names_the_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(a: Any, b: Any) -> Any:
        raise ZeroDivisionError("planted")

    opcode = grammar().opcode("OpIMul")
    monkeypatch.setitem(lookup().pure, opcode, lambda d, i: broken)
    text = kernel("%product = OpIMul %uint %x %x\nOpStore %slot %product")
    text = named(text, "product")
    outcome = run(assemble(text))
    assert outcome.status is Status.ERROR
    assert outcome.detail.startswith("OpIMul %")
    assert outcome.detail.endswith('"product": ZeroDivisionError: planted')


def test_options() -> None:
    assert create({}).capabilities().subgroup_size == 32
    assert create({"subgroup_size": "128"}).capabilities().subgroup_size == 128
    for options in ({"subgroup_size": "0"}, {"subgroup_size": "129"}, {"subgroup_size": "-1"}, {"subgroup_size": "x"}):
        with pytest.raises(BadInput, match="1 to 128"):
            create(options)
    with pytest.raises(BadInput, match="no option 'mutants'") as refused:
        create({"mutants": "x"})
    assert refused.value.remedy == "did you mean 'mutant'?"


def test_close_forgets_modules() -> None:
    driver = Interpreter()
    words = assemble(kernel("OpStore %slot %x"))
    assert run(words, driver=driver).status is Status.DONE
    driver.close()
    assert run(words, driver=driver).status is Status.DONE


def test_inputs_stay_as_they_were() -> None:
    given = memory(X)
    before = given.data.copy()
    dispatch(assemble(kernel("OpStore %slot %u5")), {"in": memory(X), "out": given})
    assert np.array_equal(given.data, before)


def test_flipped_bits_never_escape() -> None:
    """Whatever the words, the run ends with a status and, unless it is done, a reason."""
    words = assemble(kernel("%y = OpIAdd %uint %x %u1\nOpStore %slot %y"))
    draw = random.Random(20260101)
    driver = Interpreter(max_steps=1000)
    seen = set()
    for _ in range(400):
        flipped = words.copy()
        for _ in range(draw.randint(1, 3)):
            flipped[draw.randrange(len(flipped))] ^= np.uint32(1 << draw.randrange(32))
        outcome = run(flipped, driver=driver)
        seen.add(outcome.status)
        assert outcome.status is Status.DONE or outcome.detail
    assert {Status.DONE, Status.ERROR, Status.UNSUPPORTED} <= seen


def test_division_of_the_least_integer_does_not_raise() -> None:
    """Undefined in SPIR-V: any value will do, but it must be one."""
    least = np.array([0x80000000], np.uint32)
    with np.errstate(all="ignore"):
        assert arithmetic.s_div(least, np.array([0xFFFFFFFF], np.uint32)).dtype == np.uint32
        assert arithmetic.s_div(least, np.array([0], np.uint32)).shape == (1,)
