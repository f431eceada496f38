"""Element-wise arithmetic on cooperative matrices, and matrices times scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.interpreter.matrix_modules import Mat, problem, run

SHAPE = (1, 5, 7)


def values(component: str, seed: int) -> Any:
    """Random bits that are finite numbers of the type, none of them zero."""
    t = Mat(component, *SHAPE[1:])
    dtype = np.dtype(t.dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = rng.integers(info.min, info.max, SHAPE, dtype, endpoint=True)
        return np.where(found == 0, dtype.type(3), found)
    return (rng.uniform(0.5, 2, SHAPE) * rng.choice([-1, 1], SHAPE) * 2.0 ** rng.integers(-4, 5, SHAPE)).astype(dtype)


def exact(op: str, a: Any, b: Any) -> Any:
    """The exact result of an operation on arrays of Python integers."""
    match op[3:]:
        case "Add":
            return a + b
        case "Sub":
            return a - b
        case "Mul":
            return a * b
    quotient = abs(a) // abs(b)
    return np.where((a < 0) == (b < 0), quotient, -quotient)


@pytest.mark.parametrize("component", ["i8", "u8", "i16", "u16", "int", "uint", "i64", "u64"])
def test_integers(component: str) -> None:
    """Results wrap; division truncates (KM-017, NU-004)."""
    t = Mat(component, *SHAPE[1:])
    a, b = values(component, 1), values(component, 2)
    signed = np.dtype(t.dtype).kind == "i"
    for op in ("OpIAdd", "OpISub", "OpIMul", "OpSDiv" if signed else "OpUDiv"):
        found = run(f"%result = {op} %{t.name} %a %b", {"a": (t, a), "b": (t, b)}, t)
        wide = exact(op, a.astype(object), b.astype(object))
        bits = 8 * a.itemsize
        assert (found.astype(object) % (1 << bits) == wide % (1 << bits)).all(), op


def test_signedness_of_the_opcode_counts() -> None:
    """SDiv of a matrix declared unsigned divides signed numbers."""
    t = Mat("u8", 1, 2)
    found = run(f"%result = OpSDiv %{t.name} %a %b", {"a": (t, [[249, 7]]), "b": (t, [[2, 254]])}, t)
    assert found.tolist() == [[[253, 253]]]


def test_s_negate() -> None:
    t = Mat("i16", 1, 3)
    assert run(f"%result = OpSNegate %{t.name} %a", {"a": (t, [[5, -32768, 0]])}, t).tolist() == [[[-5, -32768, 0]]]


@pytest.mark.parametrize("component", ["half", "float", "double"])
@pytest.mark.parametrize("op", ["FAdd", "FSub", "FMul", "FDiv"])
def test_floats_are_rounded_correctly(component: str, op: str) -> None:
    """NU-011, against NumPy in twice the precision where there is one."""
    t = Mat(component, *SHAPE[1:])
    a, b = values(component, 3), values(component, 4)
    found = run(f"%result = Op{op} %{t.name} %a %b", {"a": (t, a), "b": (t, b)}, t)
    function = {"FAdd": np.add, "FSub": np.subtract, "FMul": np.multiply, "FDiv": np.divide}[op]
    wide = np.float64 if component != "double" else np.longdouble
    assert np.array_equal(found, function(a.astype(wide), b.astype(wide)).astype(t.dtype))


def test_f_negate_flips_the_sign_bit() -> None:
    t = Mat("half", 1, 4)
    found = run(f"%result = OpFNegate %{t.name} %a", {"a": (t, [[0.0, -0.0, 1.5, float("inf")]])}, t)
    assert found.view(np.uint16).tolist() == [[[0x8000, 0, 0xBE00, 0xFC00]]]


@pytest.mark.parametrize("component", ["half", "float", "i8", "u16", "int", "u64"])
def test_times_scalar(component: str) -> None:
    """One factor for each instance, taken from a matrix's memory."""
    t = Mat(component, *SHAPE[1:])
    a = np.concatenate([values(component, 5), values(component, 6)])
    body = f"""
%factor = OpLoad %{component} %at_a
%result = OpMatrixTimesScalar %{t.name} %a %factor
"""
    found = run(body, {"a": (t, a)}, t)
    with np.errstate(over="ignore"):
        assert np.array_equal(found, a * a[:, :1, :1])


def test_every_use_and_scope() -> None:
    for use in ("A", "B"):
        t = Mat("float", 2, 3, use)
        for scope in ("Subgroup", "Workgroup"):
            a = np.arange(6).reshape(1, 2, 3)
            assert np.array_equal(run(f"%result = OpFAdd %{t.name} %a %a", {"a": (t, a)}, t, scope=scope), a * 2)


@pytest.mark.parametrize(
    ("body", "component", "says"),
    [
        ("OpFAdd %{t} %a %a", "bf16", "NU-034"),
        ("OpFNegate %{t} %a", "e4m3", "NU-034"),
        ("OpMatrixTimesScalar %{t} %a %c", "e5m2", "NU-034"),
        ("OpIAdd %{t} %a %a", "half", "must be Int"),
        ("OpFMul %{t} %a %a", "int", "must be Float"),
        ("OpBitwiseAnd %{t} %a %a", "uint", "not defined on cooperative matrices"),
        ("OpTranspose %{t} %a", "float", "not defined on cooperative matrices"),
        ("OpFAdd %{t} %a %b", "float", "must be of one type"),
    ],
)
def test_what_is_not_allowed(body: str, component: str, says: str) -> None:
    t = Mat(component, 2, 2)
    body = f"%c = OpLoad %{component} %at_a\n%result = " + body.format(t=t.name)
    assert says in problem(body, {"a": t, "b": Mat(component, 2, 2, "A")}, t)


def test_part_of_an_instance_is_refused() -> None:
    t = Mat("float", 2, 2)
    body = f"""
%few = OpULessThan %bool %lane %n3
OpSelectionMerge %after None
OpBranchConditional %few %then %after
%then = OpLabel
%sum = OpFAdd %{t.name} %a %a
OpBranch %after
%after = OpLabel
%result = OpCopyObject %{t.name} %a
"""
    assert "KM-010" in problem(body, {"a": t}, t)


def test_some_instances_only() -> None:
    """The second subgroup alone adds; the first keeps its matrix."""
    t = Mat("float", 2, 2)
    body = f"""
%second = OpIEqual %bool %instance %n1
OpSelectionMerge %after None
OpBranchConditional %second %then %after
%then = OpLabel
%sum = OpFAdd %{t.name} %a %a
OpBranch %after
%after = OpLabel
%result = OpPhi %{t.name} %a %start %sum %then
"""
    a = np.arange(8).reshape(2, 2, 2)
    assert np.array_equal(run(body, {"a": (t, a)}, t), a * np.array([1, 2])[:, None, None])
