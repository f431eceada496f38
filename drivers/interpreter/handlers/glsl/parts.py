"""Numbers split into whole and fraction, or significand and exponent, and put together again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.handlers.arithmetic import signed
from cts.drivers.interpreter.handlers.variable import writer
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Pure, Step, glsl, glsl_step, glsl_typed
from cts.drivers.interpreter.values import Array


@glsl("ModfStruct")
def modf(x: Array) -> tuple[Array, Array]:
    """Fraction and whole, both with the sign of x."""
    fraction, whole = np.modf(x)
    return fraction, whole


@glsl_step("Modf")
def modf_to(c: Compiler, i: Instruction) -> Step:
    return _second_to(c, i, modf)


@glsl_typed("FrexpStruct")
def frexp_struct(d: Declarations, i: Instruction) -> Pure:
    t = d.result_type(i)
    if not isinstance(t, ty.Struct) or len(t.members) != 2:
        raise Malformed("the result type must be a struct of significand and exponent")
    return _frexp(t.members[1])


@glsl_step("Frexp")
def frexp_to(c: Compiler, i: Instruction) -> Step:
    return _second_to(c, i, _frexp(c.declared.pointee(i.id(1))))


def _frexp(exponent: ty.Type) -> Callable[[Array], tuple[Array, Array]]:
    """Significands of 0.5 up to 1, and exponents of the given type: 0 for zeros, infinities and NaN."""
    dtype = ty.dense_dtype(exponent)
    if dtype is None or dtype.kind != "u":
        raise Malformed("the exponent must be of integers")

    def split(x: Array) -> tuple[Array, Array]:
        significand, power = np.frexp(x)
        return significand, np.where(np.isfinite(x), power, 0).astype(dtype)

    return split


def _second_to(c: Compiler, i: Instruction, split: Callable[[Array], tuple[Array, Array]]) -> Step:
    """A step whose first part is the result and whose second goes to where operand 1 points."""
    result, operand, write = i.result, i.id(0), writer(c, i.id(1), c.declared.pointee(i.id(1)))

    def step(m: Machine) -> None:
        m.registers[result], second = split(m.registers[operand])
        write(m, second)

    return step


@glsl("Ldexp")
def ldexp(x: Array, exponent: Array) -> Array:
    """Exponents far beyond every type's range are cut off, for NumPy takes 32 bits of them."""
    return np.ldexp(x, np.clip(signed(exponent).astype(np.int64), -5000, 5000).astype(np.int32))
