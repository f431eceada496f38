"""Cooperative matrices as composites: how many components an invocation has, and single ones (KM-011, KM-015)."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.matrices import components
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Misuse
from cts.drivers.interpreter.registry import Pure, Step, lookup, on_matrices, step, typed
from cts.drivers.interpreter.values import Matrix, Value


@typed("OpCooperativeMatrixLengthKHR")
def length(d: Declarations, i: Instruction) -> Pure:
    """KM-015: components per invocation."""
    t = d.types.get(i.id(0))
    if not isinstance(t, ty.CooperativeMatrix):
        raise Malformed("the operand must be a cooperative matrix type (KM-015)")
    value = np.array([components.count(t.rows, t.cols, d.invocations(t.scope))], np.uint32)
    return lambda *_: value


@step("OpCooperativeMatrixGetCoordinateEXT")
def coordinate(c: Compiler, i: Instruction) -> Step:
    """MX-004: row and column of the element that is a component of the invocation."""
    matrix, index, result = i.id(0), i.id(1), i.result
    t, vector = c.declared.type(matrix), c.declared.type(result)
    if not isinstance(t, ty.CooperativeMatrix):
        raise Malformed("the operand Matrix must be a cooperative matrix (MX-004)")
    if not isinstance(vector, ty.Vector) or vector.count != 2 or not _is_word(vector.component):
        raise Malformed("the result must be a vector of two 32-bit integers (MX-006)")
    if not _is_word(c.declared.type(index)):
        raise Malformed("Index must be a 32-bit integer (MX-006)")
    count = components.count(t.rows, t.cols, c.declared.invocations(t.scope))

    def run(m: Machine) -> None:
        which = m.registers[index]
        taken = which if m.mask is None or len(which) == 1 else which[m.mask]
        if (taken >= count).any():
            beyond = int(taken[taken >= count][0])
            raise Misuse(f"the coordinate of component {beyond} of the {count} that an invocation holds (MX-005)")
        m.registers[result] = components.places(t.rows, t.cols, m.topology.scopes[t.scope], which.astype(np.int64))

    return run


def _is_word(t: ty.Type) -> bool:
    return isinstance(t, ty.Int) and t.size == 4


def _split(c: Compiler, i: Instruction, whole: ty.Type, first: int) -> tuple[tuple[int, ...], int | None]:
    """The indices up to a matrix, and the component of it, None where the path ends before a component.

    Raises Malformed.
    """
    path = [i.number(k) for k in range(first, len(i.operands))]
    for depth, index in enumerate(path):
        if isinstance(whole, ty.CooperativeMatrix):
            if depth != len(path) - 1:
                raise Malformed("a component of a cooperative matrix has no constituents")
            count = components.count(whole.rows, whole.cols, c.declared.invocations(whole.scope))
            if index >= count:
                raise Malformed(f"component {index} of the {count} that an invocation holds (KM-015)")
            return tuple(path[:-1]), index
        whole = ty.element_of(whole, index)
    return tuple(path), None


@on_matrices("OpCompositeExtract")
def extract(c: Compiler, i: Instruction) -> Step:
    operand, result = i.id(0), i.result
    path, component = _split(c, i, c.declared.type(operand), 1)
    if component is None:
        return c.pure_step(i, lookup().pure[i.opcode])
    index, dtype = component, ty.component_of(c.declared.type(result)).dtype

    def run(m: Machine) -> None:
        matrix = _matrix(m.registers[operand], path)
        m.registers[result] = components.take(matrix, m.topology.scopes[matrix.scope], index).view(dtype)

    return run


@on_matrices("OpCompositeInsert")
def insert(c: Compiler, i: Instruction) -> Step:
    part, operand, result = i.id(0), i.id(1), i.result
    path, component = _split(c, i, c.declared.type(operand), 2)
    if component is None:
        return c.pure_step(i, lookup().pure[i.opcode])
    index = component

    def run(m: Machine) -> None:
        whole = m.registers[operand]
        matrix = _matrix(whole, path)
        instances = m.topology.scopes[matrix.scope]
        bits = np.broadcast_to(matrix.bits, (instances.count, *matrix.bits.shape[1:])).copy()
        changed = Matrix(bits, matrix.scope)
        components.set_component(changed, instances, index, m.registers[part], m.mask)
        m.registers[result] = _with(whole, path, changed)

    return run


def _matrix(value: Value, path: tuple[int, ...]) -> Matrix:
    for index in path:
        value = value[index]
    assert isinstance(value, Matrix)
    return value


def _with(whole: Value, path: tuple[int, ...], part: Value) -> Value:
    """The composite (of tuples) with another constituent at the path."""
    if not path:
        return part
    index, rest = path[0], path[1:]
    return (*whole[:index], _with(whole[index], rest, part), *whole[index + 1 :])
