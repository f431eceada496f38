"""Cooperative matrices as values like others: components, variables, functions, structs, control flow, memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.device.driver import Status
from cts.drivers.interpreter import Interpreter
from tests.interpreter.matrix_modules import Mat, module, outcome_of, problem, run
from tests.interpreter.modules import contents

Array = Any

F = Mat("float", 4, 4)

#: Pointers to a variable of type F and to its components, and to a struct of two.
POINTERS = f"""
%to_f = OpTypePointer Function %{F.name}
%to_component = OpTypePointer Function %float
%two = OpTypeStruct %{F.name} %{F.name}
%to_two = OpTypePointer Function %two
%three = OpTypeArray %{F.name} %n3
%to_three = OpTypePointer Function %three
"""


def numbers(instances: int = 1, t: Mat = F) -> Array:
    return np.arange(instances * t.rows * t.cols, dtype=np.float32).reshape(-1, t.rows, t.cols)


@pytest.mark.parametrize(
    ("scope", "lanes", "size", "expected"), [("Subgroup", 32, 32, 2), ("Workgroup", 96, 32, 1), ("Workgroup", 7, 7, 7)]
)
def test_length(scope: str, lanes: int, size: int, expected: int) -> None:
    """KM-015: 6 x 8 components over the invocations of an instance, at run time and as a constant."""
    t, out = Mat("float", 6, 8), Mat("uint", 1, 2)
    globals_ = f"%constant = OpSpecConstantOp %uint CooperativeMatrixLengthKHR %{t.name}\n"
    for length in (
        "%length = OpCooperativeMatrixLengthKHR %uint %float_6x8_acc",
        "%length = OpCopyObject %uint %constant",
    ):
        body = f"{length}\n%result = OpCompositeConstruct %{out.name} %length"
        driver = Interpreter(subgroup_size=size)
        found = run(
            body, {}, out, types=(t,), globals_=globals_, scope=scope, lanes=lanes, checked=False, driver=driver
        )
        assert (found == expected).all()


def test_length_knows_a_workgroup_size_that_is_declared_later() -> None:
    """CM-062: the constant is computed before the one that says how large the workgroup is."""
    t, out = Mat("float", 6, 8), Mat("uint", 1, 1)
    globals_ = f"""%constant = OpSpecConstantOp %uint CooperativeMatrixLengthKHR %{t.name}
%late3 = OpTypeVector %uint 3
%late = OpConstant %uint 64
%late1 = OpConstant %uint 1
%size = OpConstantComposite %late3 %late %late1 %late1
"""
    body = f"%result = OpCompositeConstruct %{out.name} %constant"
    text = module(body, {}, out, types=(t,), globals_=globals_, scope="Workgroup", lanes=32)
    first = text.index("OpDecorate")
    text = f"{text[:first]}OpDecorate %size BuiltIn WorkgroupSize\n{text[first:]}"
    assert (contents(outcome_of(text, {}, out, checked=False), "out", np.uint32) == 1).all()
    assert (
        contents(outcome_of(text.replace("uint 64", "uint 32"), {}, out, checked=False), "out", np.uint32) == 2
    ).all()


@pytest.mark.parametrize(
    ("scope", "lanes", "size", "words"),
    [
        ("Subgroup", 48, 32, "48x1x1 invocations, whose size in x is no multiple of the subgroup size 32 (VK-026)"),
        ("Subgroup", 48, 32, "right would be 64 in x, or a subgroup size that divides 48, such as 16"),
        ("Workgroup", 48, 32, "(VK-025)"),
        ("Subgroup", 31, 32, "(VK-026); right would be 32 in x"),
        ("Subgroup", 48, 16, ""),
    ],
)
def test_partial_subgroups_are_a_misuse(scope: str, lanes: int, size: int, words: str) -> None:
    t = Mat("float", 6, 8)
    text = module(f"%result = OpCopyObject %{t.name} %x", {"x": t}, t, scope=scope, lanes=lanes)
    values = {"x": (t, np.zeros((3, 6, 8), np.float32))}
    outcome = outcome_of(text, values, t, instances=3, driver=Interpreter(subgroup_size=size))
    if words:
        assert outcome.fault is not None and (outcome.fault.code, words in outcome.detail) == ("misuse", True)
    else:
        assert outcome.status is Status.DONE, outcome.detail


def doubled_by_components(t: Mat, access: str) -> str:
    """A body that doubles every component that the invocation holds, one by one, in `%result`."""
    return f"""
OpStore %v %a
%length = OpCooperativeMatrixLengthKHR %uint %{t.name}
OpBranch %head
%head = OpLabel
%k = OpPhi %uint %n0 %start %next %again
%more = OpULessThan %bool %k %length
OpLoopMerge %done %again None
OpBranchConditional %more %again %done
%again = OpLabel
{access}
%next = OpIAdd %uint %k %n1
OpBranch %head
%done = OpLabel
%result = OpLoad %{t.name} %v
"""


@pytest.mark.parametrize("shape", [(4, 4), (5, 7), (1, 1), (16, 9)])
@pytest.mark.parametrize("instances", [1, 3])
def test_components_through_pointers(shape: tuple[int, int], instances: int) -> None:
    """Every element belongs to one component of one invocation; surplus components are harmless (KM-011)."""
    t = Mat("float", *shape)
    body = doubled_by_components(
        t,
        """
%at = OpAccessChain %to_component %v %k
%x = OpLoad %float %at
%y = OpFAdd %float %x %x
OpStore %at %y""",
    )
    globals_ = f"%to_f = OpTypePointer Function %{t.name}\n%to_component = OpTypePointer Function %float\n"
    values = numbers(instances, t) + 1
    found = run(body, {"a": (t, values)}, t, globals_=globals_, variables="%v = OpVariable %to_f Function")
    assert np.array_equal(found, values * 2)


def test_components_under_divergence() -> None:
    """Component access is not tangled (KM-019): odd invocations alone write theirs."""
    t = Mat("int", 8, 8)
    body = f"""
OpStore %v %a
%bit = OpBitwiseAnd %uint %lane %n1
%odd = OpIEqual %bool %bit %n1
OpSelectionMerge %after None
OpBranchConditional %odd %then %after
%then = OpLabel
%at = OpAccessChain %to_component %v %n1
%old = OpLoad %int %at
%new = OpIAdd %int %old %hundred
OpStore %at %new
OpBranch %after
%after = OpLabel
%result = OpLoad %{t.name} %v
"""
    globals_ = f"%to_f = OpTypePointer Function %{t.name}\n%to_component = OpTypePointer Function %int\n"
    globals_ += "%hundred = OpConstant %int 100\n"
    values = numbers(1, t).astype(np.int32)
    found = run(body, {"a": (t, values)}, t, globals_=globals_, variables="%v = OpVariable %to_f Function")
    expected = values.reshape(2, 32) + np.array([[0], [100]]) * (np.arange(32) % 2)
    assert np.array_equal(found.reshape(2, 32), expected)


@pytest.mark.parametrize("component", ["half", "i8", "bf16", "e4m3"])
def test_extract_and_insert(component: str) -> None:
    """Components 0 and 1 change places: elements 0..31 and 32..63."""
    t = Mat(component, 8, 8)
    body = f"""
%x = OpCompositeExtract %{component} %a 0
%y = OpCompositeExtract %{component} %a 1
%b = OpCompositeInsert %{t.name} %y %a 0
%result = OpCompositeInsert %{t.name} %x %b 1
"""
    values = numbers(2, t) % 16
    found = run(body, {"a": (t, values)}, t).astype(np.float32)
    assert np.array_equal(found.reshape(2, 2, 32), values.reshape(2, 2, 32)[:, ::-1])


def test_components_of_matrices_in_composites() -> None:
    """A path through a struct and an array to a component, by value."""
    body = f"""
%pair = OpCompositeConstruct %two %a %a
%list = OpCompositeConstruct %holder %pair
%x = OpCompositeExtract %float %list 0 1 0
%y = OpFAdd %float %x %x
%list2 = OpCompositeInsert %holder %y %list 0 1 0
%first = OpCompositeExtract %{F.name} %list2 0 0
%second = OpCompositeExtract %{F.name} %list2 0 1
%result = OpFAdd %{F.name} %first %second
"""
    globals_ = POINTERS + "%holder = OpTypeStruct %two\n"
    values = numbers(2)
    assert np.array_equal(run(body, {"a": (F, values)}, F, globals_=globals_), values * 3)


def test_variables_of_structs_and_arrays() -> None:
    """Parts stored and loaded, also by a dynamic index that is uniform."""
    body = f"""
%m1 = OpAccessChain %to_f %pair %n1
OpStore %m1 %a
%back = OpLoad %{F.name} %m1
%index = OpUMod %uint %instance %n3
%slot = OpAccessChain %to_f %list %index
OpStore %slot %back
%x_at = OpAccessChain %to_component %list %index %n0
%x = OpLoad %float %x_at
%y = OpFAdd %float %x %x
OpStore %x_at %y
%l0 = OpAccessChain %to_f %list %n0
%e0 = OpLoad %{F.name} %l0
%e1 = OpLoad %{F.name} %slot
%result = OpFAdd %{F.name} %e0 %e1
"""
    variables = "%pair = OpVariable %to_two Function\n%list = OpVariable %to_three Function %nulls"
    values = numbers(3)
    globals_ = POINTERS + "%nulls = OpConstantNull %three\n"
    found = run(body, {"a": (F, values)}, F, globals_=globals_, variables=variables)
    assert np.array_equal(found, values * np.array([4, 2, 2])[:, None, None])


def test_functions_take_and_return_matrices() -> None:
    functions = f"""
%twice = OpFunction %{F.name} None %type_twice
%x = OpFunctionParameter %{F.name}
%p = OpFunctionParameter %to_f
%e1 = OpLabel
%y = OpLoad %{F.name} %p
%sum = OpFAdd %{F.name} %x %y
OpStore %p %sum
OpReturnValue %sum
OpFunctionEnd
"""
    body = f"""
OpStore %v %a
%once = OpFunctionCall %{F.name} %twice %a %v
%more = OpFunctionCall %{F.name} %twice %once %v
%stored = OpLoad %{F.name} %v
%result = OpFAdd %{F.name} %more %stored
"""
    globals_ = POINTERS + f"%type_twice = OpTypeFunction %{F.name} %{F.name} %to_f\n"
    values = numbers()
    found = run(
        body, {"a": (F, values)}, F, globals_=globals_, functions=functions, variables="%v = OpVariable %to_f Function"
    )
    assert np.array_equal(found, values * 8)


def test_loops_carry_matrices() -> None:
    """A phi of a matrix in a loop whose trip count differs between instances."""
    body = f"""
OpBranch %head
%head = OpLabel
%k = OpPhi %uint %n0 %start %next %again
%sum = OpPhi %{F.name} %a %start %longer %again
%more = OpULessThan %bool %k %instance
OpLoopMerge %done %again None
OpBranchConditional %more %again %done
%again = OpLabel
%longer = OpFAdd %{F.name} %sum %a
%next = OpIAdd %uint %k %n1
OpBranch %head
%done = OpLabel
%result = OpCopyObject %{F.name} %sum
"""
    values = numbers(4)
    assert np.array_equal(run(body, {"a": (F, values)}, F), values * np.arange(1, 5)[:, None, None])


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("OpConstantNull %{t}", 0),
        ("OpConstantComposite %{t} %five", 5),
        ("OpSpecConstantComposite %{t} %spec", 9),
        ("OpConstantCompositeReplicateEXT %{t} %five", 5),
        ("OpSpecConstantCompositeReplicateEXT %{t} %spec", 9),
    ],
)
def test_constants(declaration: str, expected: int) -> None:
    globals_ = "%five = OpConstant %float 5\n%spec = OpSpecConstant %float 7\n%c = " + declaration.format(t=F.name)
    text = {"globals_": globals_, "decorations": "OpDecorate %spec SpecId 3\n"}
    found = run(
        f"%result = OpCopyObject %{F.name} %c", {}, F, job={"spec_constants": {3: np.float32(9).tobytes()}}, **text
    )
    assert (found == expected).all()


@pytest.mark.parametrize("op", ["OpCompositeConstruct", "OpCompositeConstructReplicateEXT"])
def test_splat(op: str) -> None:
    body = f"%x = OpLoad %float %at_a\n%result = {op} %{F.name} %x"
    values = numbers(2)
    assert np.array_equal(run(body, {"a": (F, values)}, F), np.broadcast_to(values[:, :1, :1], (2, 4, 4)))


def test_undefined_and_copied() -> None:
    body = f"%u = OpUndef %{F.name}\n%c = OpCopyObject %{F.name} %u\n%result = OpFAdd %{F.name} %c %a"
    found = run(body, {"a": (F, numbers())}, F)
    assert found.shape == (1, 4, 4)


WORKGROUP = """
%n128 = OpConstant %uint 128
%acquire_release = OpConstant %uint 264
%tiles = OpTypeArray %float %n128
%to_tiles = OpTypePointer Workgroup %tiles
%to_tile = OpTypePointer Workgroup %float
%shared = OpVariable %to_tiles Workgroup
"""


def test_workgroup_memory_at_offsets() -> None:
    """Each subgroup stores its tile at its own offset; after a barrier it loads the next one's, transposed."""
    body = f"""
%my_offset = OpIMul %uint %subgroup %n16
%mine = OpAccessChain %to_tile %shared %my_offset
OpCooperativeMatrixStoreKHR %mine %a %n0 %n4
OpControlBarrier %n2 %n2 %acquire_release
%next = OpIAdd %uint %subgroup %n1
%wrapped = OpUMod %uint %next %subgroups
%other_offset = OpIMul %uint %wrapped %n16
%others = OpAccessChain %to_tile %shared %other_offset
%result = OpCooperativeMatrixLoadKHR %{F.name} %others %n1 %n4
"""
    values = numbers(8)
    found = run(body, {"a": (F, values)}, F, lanes=128, workgroups=2, globals_=WORKGROUP, interface="%shared ")
    order = [1, 2, 3, 0, 5, 6, 7, 4]
    assert np.array_equal(found, values[order].swapaxes(1, 2))


def test_variable_pointers() -> None:
    """OpSelect, OpPhi, OpPtrAccessChain and variables of pointers that differ between subgroups."""
    body = f"""
%even_bit = OpBitwiseAnd %uint %instance %n1
%even = OpIEqual %bool %even_bit %n0
%chosen = OpSelect %pointer_float %even %at_a %at_b
OpSelectionMerge %after None
OpBranchConditional %even %then %after
%then = OpLabel
%moved = OpPtrAccessChain %pointer_float %at_b %n16
OpBranch %after
%after = OpLabel
%joined = OpPhi %pointer_float %chosen %start %moved %then
OpStore %kept %joined
%phi = OpLoad %pointer_float %kept
%x = OpCooperativeMatrixLoadKHR %{F.name} %chosen %n0 %n4
%y = OpCooperativeMatrixLoadKHR %{F.name} %phi %n0 %n4
%result = OpFAdd %{F.name} %x %y
"""
    a, b = numbers(4), numbers(4) * 100
    head = "OpCapability VariablePointers\nOpCapability VariablePointersStorageBuffer\n"
    parts = {
        "head": head,
        "decorations": "OpDecorate %pointer_float ArrayStride 4\n",
        "globals_": "%to_pointer = OpTypePointer Function %pointer_float\n",
        "variables": "%kept = OpVariable %to_pointer Function",
    }
    found = run(body, {"a": (F, a), "b": (F, b)}, F, **parts)
    assert np.array_equal(found, np.array([a[0] + b[1], b[1] * 2, a[2] + b[3], b[3] * 2]))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("%x = OpCompositeExtract %float %a 1\n%result = OpCopyObject %float_4x4_acc %a", "component 1 of the 1"),
        (
            "%at = OpAccessChain %to_component %v %n1\n%x = OpLoad %float %at\n%result = OpLoad %float_4x4_acc %v",
            "index 1 of 1",
        ),
    ],
)
def test_components_that_do_not_exist(body: str, says: str) -> None:
    assert says in problem(body, {"a": F}, F, globals_=POINTERS, variables="%v = OpVariable %to_f Function")
