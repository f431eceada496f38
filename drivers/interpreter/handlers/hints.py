"""Instructions that state assumptions, or query something that does not depend on data."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Misuse
from cts.drivers.interpreter.registry import Step, pure, step
from cts.drivers.interpreter.values import Value


@pure("OpExpectKHR")
def expect(value: Value, expected: Value) -> Value:
    """The expected value is only a hint."""
    return value


@pure("OpArithmeticFenceEXT")
def arithmetic_fence(value: Value) -> Value:
    """Nothing here reorders arithmetic."""
    return value


@step("OpAssumeTrueKHR")
def assume_true(c: Compiler, i: Instruction) -> Step:
    """Behaviour is undefined where the condition is false."""
    condition = i.id(0)

    def check(m: Machine) -> None:
        false = ~m.registers[condition]
        if (false if m.mask is None else false & m.mask).any():
            raise Misuse("the condition is false")

    return check


@step("OpReadClockKHR")
def read_clock(c: Compiler, i: Instruction) -> Step:
    """A clock that ticks once per block executed, so that runs repeat."""
    t, result = c.declared.result_type(i), i.result
    if t not in (ty.Int(64, False), ty.Vector(ty.Int(32, False), 2)):
        raise Malformed("the result type must be a 64-bit integer or two 32-bit ones")

    def read(m: Machine) -> None:
        now = np.array([m.budget.total - m.budget.left], np.uint64)
        m.registers[result] = now if isinstance(t, ty.Int) else now.view(np.uint32)[None]

    return read
