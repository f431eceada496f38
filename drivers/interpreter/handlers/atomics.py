"""Atomic instructions. Lanes that share an address change it one after the other, in lane order.

All lanes run in lockstep and every access is visible at once, so scopes and semantics ask for nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cts.drivers.interpreter import layout
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.handlers.arithmetic import add, signed, subtract
from cts.drivers.interpreter.handlers.bits import bitwise_and, bitwise_or, bitwise_xor
from cts.drivers.interpreter.handlers.glsl.numbers import n_max, n_min, s_max, s_min, u_max, u_min
from cts.drivers.interpreter.handlers.variable import reader, writer
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.memory import AddressSpace
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Unsupported
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array

#: Each iteration does one lane of every address. When at most so many addresses have lanes left, each is finished
#: by itself.
_FEW = 32


@dataclass(frozen=True)
class Change:
    """What an atomic makes of the values in memory and its operands.

    `ufunc` does the same to bits read by `read`: NumPy can then accumulate a whole row of changes.
    """

    function: Callable[..., Array]
    ufunc: np.ufunc | None = None
    read: Callable[[Array], Array] = lambda a: a

    def in_sequence(self, first: Array, operands: list[Array]) -> Array:
        """All values (changes + 1,) that a place holds, the first of them `first` (1,)."""
        if self.ufunc is not None:
            row = self.read(np.concatenate([first, operands[0]]))
            return np.asarray(self.ufunc.accumulate(row, dtype=row.dtype)).view(first.dtype)
        values = [first]
        for k in range(len(operands[0])):
            values.append(self.function(values[-1], *[o[k : k + 1] for o in operands]))
        return np.concatenate(values)


def serial(memory: AddressSpace, addresses: Array, operands: list[Array], dtype: ty.DType, change: Change) -> Array:
    """Change the values at addresses (n,), one after the other; what each change found there."""
    if not len(addresses):
        return np.empty(0, dtype)
    order = np.argsort(addresses, kind="stable")
    sorted_ = addresses[order]
    starts = np.flatnonzero(np.concatenate([[True], sorted_[1:] != sorted_[:-1]]))
    counts = np.diff(starts, append=len(order))
    now = memory.gather(sorted_[starts], dtype)
    operands = [o[order] for o in operands]
    before = np.empty(len(order), dtype)
    for iteration in range(int(counts.max())):
        left = np.flatnonzero(counts > iteration)
        if len(left) <= _FEW:
            for k in left:
                row = slice(starts[k] + iteration, starts[k] + counts[k])
                values = change.in_sequence(now[k : k + 1], [o[row] for o in operands])
                before[row], now[k] = values[:-1], values[-1]
            break
        places = starts[left] + iteration
        before[places] = now[left]
        now[left] = change.function(now[left], *[o[places] for o in operands])
    memory.scatter(sorted_[starts], now)
    previous = np.empty_like(before)
    previous[order] = before
    return previous


def _atomic(c: Compiler, i: Instruction, change: Change, operands: Callable[[Machine, ty.DType], list[Array]]) -> Step:
    """A step for numbers, and vectors of numbers: each component is an atomic of its own."""
    pointer, result = i.id(0), i.result
    if c.declared.storage(pointer) in ty.NAMED:
        raise Unsupported("on a variable without an address")
    plan = layout.plan(c.declared.accessed(pointer, c.declared.result_type(i)))
    if not isinstance(plan, layout.Leaf) or plan.is_bool or plan.offsets.ndim > 1:
        raise Unsupported("on anything but a number or a vector of numbers")
    dtype, offsets = plan.dtype, plan.offsets

    def change_serially(m: Machine) -> None:
        lanes = m.topology.lanes
        mask = m.writing()
        active = np.arange(lanes) if mask is None else np.flatnonzero(mask)
        shape = (lanes, *offsets.shape)
        addresses = m.registers[pointer].reshape(-1, *(1,) * offsets.ndim) + offsets
        flat = [np.broadcast_to(a, shape)[active].reshape(-1) for a in (addresses, *operands(m, dtype))]
        previous = np.zeros(shape, dtype)
        previous[active] = serial(m.memory, flat[0], flat[1:], dtype, change).reshape(-1, *offsets.shape)
        if m.watched is not None:
            m.watched.changed_atomically(flat[0], dtype.itemsize, np.repeat(active, max(offsets.size, 1)))
        m.registers[result] = previous

    return change_serially


def _register(name: str, change: Change) -> None:
    @step(name)
    def make(c: Compiler, i: Instruction) -> Step:
        value = i.id(3)
        return _atomic(c, i, change, lambda m, _: [m.registers[value]])


def _register_by_one(name: str, change: Change) -> None:
    @step(name)
    def make(c: Compiler, i: Instruction) -> Step:
        return _atomic(c, i, change, lambda _, dtype: [np.ones(1, dtype)])


_ADD, _SUBTRACT = Change(add, np.add), Change(subtract, np.subtract)

for _name, _change in {
    "OpAtomicIAdd": _ADD,
    "OpAtomicISub": _SUBTRACT,
    "OpAtomicAnd": Change(bitwise_and, np.bitwise_and),
    "OpAtomicOr": Change(bitwise_or, np.bitwise_or),
    "OpAtomicXor": Change(bitwise_xor, np.bitwise_xor),
    "OpAtomicUMin": Change(u_min, np.minimum),
    "OpAtomicUMax": Change(u_max, np.maximum),
    "OpAtomicSMin": Change(s_min, np.minimum, signed),
    "OpAtomicSMax": Change(s_max, np.maximum, signed),
    "OpAtomicFAddEXT": _ADD,
    "OpAtomicFMinEXT": Change(n_min),
    "OpAtomicFMaxEXT": Change(n_max),
    "OpAtomicExchange": Change(lambda now, value: value),
}.items():
    _register(_name, _change)

_register_by_one("OpAtomicIIncrement", _ADD)
_register_by_one("OpAtomicIDecrement", _SUBTRACT)


def _if_expected(now: Array, value: Array, expected: Array) -> Array:
    return np.where(now == expected, value, now)


_COMPARE_EXCHANGE = Change(_if_expected)


@step("OpAtomicCompareExchange", "OpAtomicCompareExchangeWeak")
def compare_exchange(c: Compiler, i: Instruction) -> Step:
    value, comparator = i.id(4), i.id(5)
    return _atomic(c, i, _COMPARE_EXCHANGE, lambda m, _: [m.registers[value], m.registers[comparator]])


@step("OpAtomicLoad")
def atomic_load(c: Compiler, i: Instruction) -> Step:
    result, read = i.result, reader(c, i.id(0), c.declared.result_type(i))

    def load(m: Machine) -> None:
        with m.atomically():
            m.registers[result] = read(m)

    return load


@step("OpAtomicStore")
def atomic_store(c: Compiler, i: Instruction) -> Step:
    value = i.id(3)
    write = writer(c, i.id(0), c.declared.type(value))

    def store(m: Machine) -> None:
        with m.atomically():
            write(m, m.registers[value])

    return store
