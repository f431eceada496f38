"""Every instruction on cooperative vectors that CV-012 lists, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.interpreter.matrix_modules import COMPONENTS
from tests.interpreter.vector_modules import LANES, Vec, numbers, run

COUNT = 7
SHAPE = (LANES, COUNT)

SIGNED, UNSIGNED = ("i8", "i16", "int", "i64"), ("u8", "u16", "uint", "u64")
FLOATS = ("half", "float", "double")


def applied(instruction: str, result: str, *operands: tuple[str, Any]) -> Any:
    """What an instruction gives for vectors of some components: "FAdd", or "GLSL FMin"."""
    given = {"abc"[n]: operand for n, operand in enumerate(operands)}
    opcode = f"OpExtInst %{result}_v{COUNT} %glsl" if instruction.startswith("GLSL ") else f"Op{instruction}"
    if instruction.startswith("GLSL "):
        opcode += f" {instruction.removeprefix('GLSL ')}"
    else:
        opcode += f" %{result}_v{COUNT}"
    return run(f"%result = {opcode} {' '.join(f'%{n}' for n in given)}", given, Vec(result, COUNT))


def quotient(a: Any, b: Any) -> Any:
    """Toward zero, by Python's integers."""
    exact = [
        abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a.flat, b.flat, strict=True)
    ]
    return np.array(exact, object).reshape(a.shape)


def wrapped(exact: Any, dtype: Any) -> Any:
    """Python's integers in a type of few bits."""
    bits = 8 * np.dtype(dtype).itemsize
    low = np.array([int(x) % 2**bits for x in exact.flat], f"u{bits // 8}")
    return low.view(dtype).reshape(exact.shape)


INTEGERS: dict[str, Callable[..., Any]] = {
    "SNegate": lambda a: -a,
    "IAdd": lambda a, b: a + b,
    "ISub": lambda a, b: a - b,
    "IMul": lambda a, b: a * b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
    "BitwiseAnd": lambda a, b: a & b,
    "Not": lambda a: ~a,
}


def arity(function: Callable[..., Any]) -> int:
    return function.__code__.co_argcount


@pytest.mark.parametrize("component", SIGNED + UNSIGNED)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str, component: str) -> None:
    values = [numbers(component, SHAPE, seed) for seed in range(arity(INTEGERS[name]))]
    expected = wrapped(INTEGERS[name](*[v.astype(object) for v in values]), values[0].dtype)
    assert np.array_equal(applied(name, component, *[(component, v) for v in values]), expected)


@pytest.mark.parametrize("component", SIGNED + UNSIGNED)
def test_integer_division(component: str) -> None:
    a, b = (numbers(component, SHAPE, seed) for seed in (1, 2))
    b[(b == -1) if component in SIGNED else (b == 0)] = 3
    name = "SDiv" if component in SIGNED else "UDiv"
    assert np.array_equal(applied(name, component, (component, a), (component, b)).astype(object), quotient(a, b))


@pytest.mark.parametrize("component", ["i8", "u16", "int", "u64"])
@pytest.mark.parametrize("amounts", ["same", "u8", "uint"])
@pytest.mark.parametrize("name", ["ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic"])
def test_shifts(name: str, component: str, amounts: str) -> None:
    """Amounts may have another width than what is shifted."""
    amounts = component if amounts == "same" else amounts
    a = numbers(component, SHAPE, 1)
    bits = a.dtype.itemsize * 8
    b = np.random.default_rng(2).integers(0, bits, SHAPE).astype(COMPONENTS[amounts][1])
    unsigned, signed = a.view(f"u{bits // 8}").astype(object), a.view(f"i{bits // 8}").astype(object)
    by = b.astype(object)
    exact = {
        "ShiftLeftLogical": unsigned << by,
        "ShiftRightLogical": unsigned >> by,
        "ShiftRightArithmetic": signed >> by,
    }
    found = applied(name, component, (component, a), (amounts, b))
    assert np.array_equal(found, wrapped(exact[name], a.dtype))


@pytest.mark.parametrize("component", FLOATS)
@pytest.mark.parametrize("name", ["FNegate", "FAdd", "FSub", "FMul", "FDiv"])
def test_floats(name: str, component: str) -> None:
    functions: dict[str, Callable[..., Any]] = {
        "FNegate": lambda a: -a,
        "FAdd": lambda a, b: a + b,
        "FSub": lambda a, b: a - b,
        "FMul": lambda a, b: a * b,
        "FDiv": lambda a, b: a / b,
    }
    values = [numbers(component, SHAPE, seed) for seed in range(arity(functions[name]))]
    assert np.array_equal(applied(name, component, *[(component, v) for v in values]), functions[name](*values))


@pytest.mark.parametrize("component", FLOATS)
def test_times_scalar(component: str) -> None:
    """The scalar is another one in every lane."""
    a = numbers(component, SHAPE, 1)
    body = f"%s = OpCompositeExtract %{component} %a 3\n%result = OpVectorTimesScalar %{component}_v7 %a %s"
    assert np.array_equal(run(body, {"a": (component, a)}, Vec(component, COUNT)), a * a[:, [3]])


MIN_MAX: dict[str, Callable[..., Any]] = {
    "Min": np.minimum,
    "Max": np.maximum,
    "Clamp": lambda x, low, high: np.minimum(np.maximum(x, low), high),
}


@pytest.mark.parametrize("component", SIGNED + UNSIGNED + FLOATS)
@pytest.mark.parametrize("name", MIN_MAX)
def test_minima_maxima_and_clamps(name: str, component: str) -> None:
    values = [numbers(component, SHAPE, seed) for seed in range(3 if name == "Clamp" else 2)]
    if name == "Clamp":
        values[1:] = [np.minimum(*values[1:]), np.maximum(*values[1:])]
    for kind in "FN" if component in FLOATS else "S" if component in SIGNED else "U":
        found = applied(f"GLSL {kind}{name}", component, *[(component, v) for v in values])
        assert np.array_equal(found, MIN_MAX[name](*values))


@pytest.mark.parametrize("component", ["half", "float"])
@pytest.mark.parametrize(
    ("name", "function"), [("Exp", np.exp), ("Log", np.log), ("Tanh", np.tanh), ("Atan", np.arctan)]
)
def test_functions_are_rounded_once(name: str, function: Callable[..., Any], component: str) -> None:
    a = np.abs(numbers(component, SHAPE, 1))
    assert np.array_equal(
        applied(f"GLSL {name}", component, (component, a)), function(a.astype(np.float64)).astype(a.dtype)
    )


@pytest.mark.parametrize("component", ["half", "float"])
def test_step_and_fma(component: str) -> None:
    a, b, c = (numbers(component, SHAPE, seed) for seed in range(3))
    b[:, 0] = a[:, 0]
    found = applied("GLSL Step", component, (component, a), (component, b))
    assert np.array_equal(found, np.where(b < a, 0, 1))
    found = applied("GLSL Fma", component, *[(component, v) for v in (a, b, c)])
    product = a.astype(np.float64) * b.astype(np.float64)  # exact
    assert np.array_equal(found, (product + c).astype(a.dtype))


CONVERSIONS = [
    ("FConvert", "half", "float"),
    ("FConvert", "float", "half"),
    ("FConvert", "double", "half"),
    ("FConvert", "float", "bf16"),
    ("FConvert", "half", "e4m3"),
    ("FConvert", "e5m2", "float"),
    ("SConvert", "i8", "int"),
    ("SConvert", "int", "i8"),
    ("UConvert", "u16", "u64"),
    ("UConvert", "uint", "u8"),
    ("ConvertFToS", "half", "i8"),
    ("ConvertFToS", "float", "int"),
    ("ConvertFToU", "half", "uint"),
    ("ConvertSToF", "int", "float"),
    ("ConvertSToF", "i8", "half"),
    ("ConvertUToF", "u64", "half"),
]


@pytest.mark.parametrize(("name", "source", "target"), CONVERSIONS)
def test_conversions(name: str, source: str, target: str) -> None:
    a = numbers(source, SHAPE, 1)
    if name.startswith("ConvertFTo"):
        a = (np.abs(a) if name.endswith("U") else a) * a.dtype.type(8)
    if name == "ConvertUToF":
        a = a % np.uint64(60000)
    wide = a.astype(np.float32) if source in ("half", "float", "e5m2") else a
    expected = wide.astype(COMPONENTS[target][1])
    assert np.array_equal(applied(name, target, (source, a)), expected)


@pytest.mark.parametrize(("source", "target"), [("half", "i16"), ("uint", "float"), ("i8", "u8"), ("double", "u64")])
def test_bit_casts(source: str, target: str) -> None:
    a = numbers(source, SHAPE, 1)
    assert np.array_equal(applied("Bitcast", target, (source, a)).view(a.dtype), a)
