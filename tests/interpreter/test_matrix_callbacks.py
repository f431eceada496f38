"""Reductions and per-element operations: functions called for the elements of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.interpreter.matrix_modules import Mat, problem, run

Array = Any


def function(name: str, result: str, parameters: dict[str, str], body: str) -> str:
    """A SPIR-V function that returns `%value` of its body, and its type (for `globals_`)."""
    types = " ".join(f"%{t}" for t in parameters.values())
    declared = f"%type_{name} = OpTypeFunction %{result} {types}\n"
    lines = "".join(f"%{p} = OpFunctionParameter %{t}\n" for p, t in parameters.items())
    text = f"%{name} = OpFunction %{result} None %type_{name}\n{lines}%entry_{name} = OpLabel\n{body}\n"
    return declared + "\n#\n" + text + "OpReturnValue %value\nOpFunctionEnd\n"


def options(*functions: str) -> dict[str, str]:
    """Functions as `functions` and `globals_` of a module."""
    parts = [f.split("\n#\n") for f in functions]
    return {"globals_": "".join(p[0] for p in parts), "functions": "\n".join(p[1] for p in parts)}


def combine(component: str, body: str) -> dict[str, str]:
    return options(function("combine", component, {"x": component, "y": component}, body))


def choose(component: str, comparison: str) -> str:
    return f"%c = {comparison} %bool %x %y\n%value = OpSelect %{component} %c %x %y"


#: A component type, a combine function's body, and the same over the elements of an array.
COMBINES: dict[str, tuple[str, str, Callable[[Array], Any]]] = {
    "add f32": ("float", "%value = OpFAdd %float %x %y", np.sum),
    "add f16": ("half", "%value = OpFAdd %half %x %y", np.sum),
    "min": ("half", choose("half", "OpFOrdLessThan"), np.min),
    "max int": ("int", choose("int", "OpSGreaterThan"), np.max),
    "mul": ("int", "%value = OpIMul %int %x %y", np.prod),
    "and": ("u8", "%value = OpBitwiseAnd %u8 %x %y", np.bitwise_and.reduce),
    "or": ("u16", "%value = OpBitwiseOr %u16 %x %y", np.bitwise_or.reduce),
    "xor": ("uint", "%value = OpBitwiseXor %uint %x %y", np.bitwise_xor.reduce),
}


def some(t: Mat, instances: int, seed: int = 1) -> Array:
    rng = np.random.default_rng(seed)
    low, high = (0, 200) if np.dtype(t.dtype).kind == "u" else (-9, 10)
    return rng.integers(low, high, (instances, t.rows, t.cols)).astype(t.dtype)


@pytest.mark.parametrize("name", COMBINES)
@pytest.mark.parametrize(
    ("mode", "shape"), [("Row", (5, 7)), ("Column", (5, 7)), ("Row|Column", (5, 7)), ("2x2", (6, 4))]
)
def test_reductions(name: str, mode: str, shape: tuple[int, int]) -> None:
    """CM-022, for two instances."""
    component, body, whole = COMBINES[name]
    t = Mat(component, *shape)
    out = Mat(component, 3, 2) if mode == "2x2" else t
    values = some(t, 2)
    found = run(
        f"%result = OpCooperativeMatrixReduceNV %{out.name} %a {mode} %combine",
        {"a": (t, values)},
        out,
        **combine(component, body),
    )
    for i, r, c in np.ndindex(found.shape):
        part = {
            "Row": values[i, r],
            "Column": values[i, :, c],
            "Row|Column": values[i].ravel(),
            "2x2": values[i, 2 * r : 2 * r + 2, 2 * c : 2 * c + 2].ravel(),
        }[mode]
        with np.errstate(over="ignore"):
            assert found[i, r, c] == whole(part.astype(t.dtype)).astype(t.dtype)


@pytest.mark.parametrize(
    ("mode", "out"),
    [
        ("Row", Mat("float", 3, 9)),
        ("Row", Mat("float", 3, 1)),
        ("Column", Mat("float", 8, 5)),
        ("Row|Column", Mat("float", 2, 11)),
    ],
)
def test_changed_free_dimension(mode: str, out: Mat) -> None:
    """CM-021."""
    t = Mat("float", 3, 5)
    values = some(t, 1)
    found = run(
        f"%result = OpCooperativeMatrixReduceNV %{out.name} %a {mode} %combine",
        {"a": (t, values)},
        out,
        **combine("float", "%value = OpFAdd %float %x %y"),
    )
    axes = {"Row": 2, "Column": 1, "Row|Column": (1, 2)}[mode]
    assert np.array_equal(found, np.broadcast_to(values.sum(axis=axes, keepdims=True), found.shape))


def test_a_single_element_stays() -> None:
    """AM-18: a function that is not idempotent is not called."""
    t = Mat("int", 1, 1)
    for mode in ("Row", "Column", "Row|Column"):
        found = run(
            f"%result = OpCooperativeMatrixReduceNV %{t.name} %a {mode} %combine",
            {"a": (t, [7])},
            t,
            **combine("int", "%value = OpIAdd %int %x %y"),
        )
        assert found.item() == 7


def test_combine_may_branch_call_and_loop() -> None:
    """gcd by Euclid's algorithm, in a function that the CombineFunc calls: lanes leave the loop one by one."""
    gcd = function(
        "gcd",
        "uint",
        {"p": "uint", "q": "uint"},
        """
OpBranch %head
%head = OpLabel
%m = OpPhi %uint %p %entry_gcd %n_ %again
%n_ = OpPhi %uint %q %entry_gcd %rest %again
OpLoopMerge %done %again None
OpBranch %test
%test = OpLabel
%more = OpINotEqual %bool %n_ %n0
OpBranchConditional %more %again %done
%again = OpLabel
%rest = OpUMod %uint %m %n_
OpBranch %head
%done = OpLabel
%value = OpCopyObject %uint %m""",
    )
    outer = """
%combine = OpFunction %uint None %type_gcd
%x = OpFunctionParameter %uint
%y = OpFunctionParameter %uint
%entry_combine = OpLabel
%found = OpFunctionCall %uint %gcd %x %y
OpReturnValue %found
OpFunctionEnd
"""
    parts = options(gcd)
    parts["functions"] += outer
    t = Mat("uint", 4, 6)
    values = np.random.default_rng(3).integers(1, 50, (1, 4, 6)) * 6
    found = run(f"%result = OpCooperativeMatrixReduceNV %{t.name} %a Row %combine", {"a": (t, values)}, t, **parts)
    assert np.array_equal(found[0, :, 0], np.gcd.reduce(values[0], axis=1))


def test_workgroup_scope() -> None:
    t = Mat("int", 4, 4)
    values = some(t, 2)
    found = run(
        f"%result = OpCooperativeMatrixReduceNV %{t.name} %a Row|Column %combine",
        {"a": (t, values)},
        t,
        workgroups=2,
        lanes=64,
        scope="Workgroup",
        **combine("int", "%value = OpIAdd %int %x %y"),
    )
    assert np.array_equal(found[:, 0, 0], values.sum(axis=(1, 2)))


def test_per_element_knows_row_and_column() -> None:
    """CM-031, for every use and two instances."""
    f = function(
        "f",
        "int",
        {"r": "uint", "c": "int", "x": "int"},
        """
%ri = OpBitcast %int %r
%rr = OpIMul %int %ri %hundred
%cc = OpIMul %int %c %ten
%tens = OpIAdd %int %rr %cc
%value = OpIAdd %int %tens %x""",
    )
    parts = options(f)
    parts["globals_"] += "%hundred = OpConstant %int 100\n%ten = OpConstant %int 10\n"
    for use in ("A", "B", "acc"):
        t = Mat("int", 3, 4, use)
        values = some(t, 2)
        found = run(f"%result = OpCooperativeMatrixPerElementOpNV %{t.name} %a %f", {"a": (t, values)}, t, **parts)
        assert np.array_equal(found, values + np.arange(3)[:, None] * 100 + np.arange(4) * 10)


def test_further_operands() -> None:
    """CM-030: a scalar for each instance, a struct, and a matrix whose elements correspond."""
    f = function(
        "f",
        "float",
        {"r": "uint", "c": "uint", "x": "float", "s": "float", "y": "float", "p": "pair"},
        """
%s0 = OpCompositeExtract %float %p 0
%xs = OpFMul %float %x %s
%xy = OpFAdd %float %xs %y
%value = OpFAdd %float %xy %s0""",
    )
    parts = options(f)
    parts["globals_"] = "%pair = OpTypeStruct %float %uint\n" + parts["globals_"]
    t = Mat("float", 3, 4)
    a, b = some(t, 3, 1), some(t, 3, 2)
    body = f"""
%s_ = OpLoad %float %at_b
%p_ = OpCompositeConstruct %pair %s_ %n3
%result = OpCooperativeMatrixPerElementOpNV %{t.name} %a %f %s_ %b %p_
"""
    found = run(body, {"a": (t, a), "b": (t, b)}, t, **parts)
    scale = b[:, :1, :1]
    assert np.array_equal(found, a * scale + b + scale)


def test_a_function_of_the_caller_is_called_by_a_callback_too() -> None:
    """CM-060: what it computed for the caller's invocations means nothing for elements, though the ids are the same."""
    helper = function(
        "helper",
        "int",
        {"v": "int"},
        """
%negative = OpSLessThan %bool %v %i_0
OpSelectionMerge %both None
OpBranchConditional %negative %below %both
%below = OpLabel
%opposite = OpSNegate %int %v
OpBranch %both
%both = OpLabel
%value = OpPhi %int %v %entry_helper %opposite %below""",
    )
    f = function(
        "f", "int", {"r": "uint", "c": "uint", "x": "int"}, "%f_value = OpFunctionCall %int %helper %x"
    ).replace("OpReturnValue %value", "OpReturnValue %f_value")
    parts = options(helper, f)
    parts["globals_"] += "%i_0 = OpConstant %int 0\n"
    t = Mat("int", 3, 4)
    values = some(t, 2)
    body = f"""
%lane_number = OpBitcast %int %lane
%below_zero = OpISub %int %lane_number %ten
%of_caller = OpFunctionCall %int %helper %below_zero
%result = OpCooperativeMatrixPerElementOpNV %{t.name} %a %f
"""
    parts["globals_"] += "%ten = OpConstant %int 10\n"
    assert np.array_equal(run(body, {"a": (t, values)}, t, **parts), np.abs(values))


def test_constants_are_mapped_once_and_still_right_everywhere() -> None:
    """A matrix that is the same everywhere, with a scalar that is not."""
    f = function("f", "uint", {"r": "uint", "c": "uint", "x": "uint", "s": "uint"}, "%value = OpIAdd %uint %x %s")
    parts = options(f)
    t = Mat("uint", 2, 2)
    parts["globals_"] += f"%ones = OpConstantComposite %{t.name} %n1\n"
    body = f"""
%same = OpCooperativeMatrixPerElementOpNV %{t.name} %ones %f %n5
%result = OpCooperativeMatrixPerElementOpNV %{t.name} %same %f %instance
"""
    found = run(body, {}, t, instances=3, **parts)
    assert found[:, 0, 0].tolist() == [6, 7, 8]
    assert (found == found[:, :1, :1]).all()


def test_callbacks_see_global_variables() -> None:
    """A Private variable, a built-in and Workgroup memory, as the instance's first invocation sees them."""
    f = function(
        "f",
        "uint",
        {"r": "uint", "c": "uint", "x": "uint"},
        """
%g = OpLoad %uint %mine
%w3 = OpLoad %v3uint %in_workgroup
%w = OpCompositeExtract %uint %w3 0
%h = OpLoad %uint %shared
%gw = OpIAdd %uint %g %w
%gwh = OpIAdd %uint %gw %h
%value = OpIAdd %uint %gwh %x""",
    )
    parts = options(f)
    parts["globals_"] += """
%private_uint = OpTypePointer Private %uint
%workgroup_uint = OpTypePointer Workgroup %uint
%mine = OpVariable %private_uint Private
%shared = OpVariable %workgroup_uint Workgroup
%hundred = OpConstant %uint 100
%thousand = OpConstant %uint 1000
"""
    t = Mat("uint", 2, 2)
    body = f"""
%h1 = OpIMul %uint %instance %hundred
OpStore %mine %h1
%h2 = OpIMul %uint %workgroup %thousand
OpStore %shared %h2
%result = OpCooperativeMatrixPerElementOpNV %{t.name} %a %f
"""
    text = {**parts, "lanes": 64, "workgroups": 2, "instances": 4}
    found = run(body, {"a": (t, np.zeros((4, 2, 2)))}, t, interface="%mine %shared", **text)
    expected = [i * 100 + (i // 2) * 1001 for i in range(4)]
    assert found[:, 1, 1].tolist() == expected


def test_more_elements_than_one_call_takes() -> None:
    """A callback over 3 x 256 x 256 elements, in several calls."""
    f = function(
        "f", "uint", {"r": "uint", "c": "uint", "x": "uint"}, "%m = OpIMul %uint %r %n8\n%value = OpIAdd %uint %m %c"
    )
    t = Mat("uint", 256, 256)
    found = run(
        f"%result = OpCooperativeMatrixPerElementOpNV %{t.name} %a %f",
        {"a": (t, np.zeros((3, 256, 256)))},
        t,
        **options(f),
    )
    assert np.array_equal(found, np.broadcast_to(np.arange(256)[:, None] * 8 + np.arange(256), (3, 256, 256)))


ADD = combine("float", "%value = OpFAdd %float %x %y")
F = Mat("float", 4, 4)
WAITS = """
%waits = OpFunction %void None %type_waits
%entry_waits = OpLabel
OpControlBarrier %n2 %n2 %n0
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize(
    ("body", "a", "out", "parts", "says"),
    [
        (
            "OpCooperativeMatrixReduceNV %{t} %a Row %combine",
            Mat("float", 4, 4, "A"),
            Mat("float", 4, 4, "A"),
            ADD,
            "CM-020",
        ),
        ("OpCooperativeMatrixReduceNV %{t} %a Row %combine", Mat("half", 4, 4), F, ADD, "CM-020"),
        (
            "OpCooperativeMatrixReduceNV %{t} %a Row %combine",
            Mat("float", 5, 4),
            F,
            ADD,
            "must keep the number of rows",
        ),
        ("OpCooperativeMatrixReduceNV %{t} %a Column %combine", Mat("float", 4, 5), F, ADD, "number of columns"),
        ("OpCooperativeMatrixReduceNV %{t} %a 2x2 %combine", F, F, ADD, "2x2 must halve"),
        ("OpCooperativeMatrixReduceNV %{t} %a 2x2|Row %combine", F, F, ADD, "CM-004"),
        ("OpCooperativeMatrixReduceNV %{t} %a Row %combine", Mat("int", 4, 4), Mat("int", 4, 4), ADD, "it must return"),
        ("OpCooperativeMatrixPerElementOpNV %{t} %a %combine", F, F, ADD, "it must have 3"),
        (
            "OpCooperativeMatrixReduceNV %{t} %a Row %combine",
            F,
            F,
            combine("float", "OpControlBarrier %n2 %n2 %n0\n%value = OpCopyObject %float %x"),
            "CM-061",
        ),
        (
            "OpCooperativeMatrixReduceNV %{t} %a Row %combine",
            F,
            F,
            {
                "globals_": ADD["globals_"] + "%type_waits = OpTypeFunction %void\n",
                "functions": WAITS
                + ADD["functions"].replace("%value", "%nothing = OpFunctionCall %void %waits\n%value", 1),
            },
            "CM-061",
        ),
    ],
)
def test_what_is_not_allowed(body: str, a: Mat, out: Mat, parts: dict[str, str], says: str) -> None:
    assert says in problem("%result = " + body.format(t=out.name), {"a": a}, out, **parts)


def test_operands_that_vary_within_an_instance_are_noticed() -> None:
    """AM-19."""
    f = function("f", "uint", {"r": "uint", "c": "uint", "x": "uint", "s": "uint"}, "%value = OpIAdd %uint %x %s")
    t = Mat("uint", 2, 2)
    body = f"%result = OpCooperativeMatrixPerElementOpNV %{t.name} %a %f %lane"
    assert "dynamically uniform" in problem(body, {"a": t}, t, **options(f))
