"""Instructions that call a function for every element: reductions and per-element operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.handlers.matrices.arithmetic import ACCUMULATOR
from cts.drivers.interpreter.handlers.matrices.strided import matrix_type
from cts.drivers.interpreter.machine import Machine, matrix_of
from cts.drivers.interpreter.matrices.callbacks import Callback, per_lane
from cts.drivers.interpreter.matrices.reductions import Combine, reduce_all, reduce_columns, reduce_rows, reduce_squares
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array, Instances, Matrix

Reduction: TypeAlias = Callable[[Array, Combine], Array]

#: By Reduce mask: the function, and whether the result's rows and columns are those of the source (CM-021).
_REDUCTIONS: dict[str, tuple[Reduction, bool, bool]] = {
    "Row": (reduce_rows, True, False),
    "Column": (reduce_columns, False, True),
    "Row|Column": (reduce_all, False, False),
}


@step("OpCooperativeMatrixReduceNV")
def reduce(c: Compiler, i: Instruction) -> Step:
    """CM-020 to CM-024."""
    operand, result = i.id(0), i.result
    source, target = matrix_type(c, operand), matrix_type(c, result)
    if (source.use, target.use) != (ACCUMULATOR, ACCUMULATOR):
        raise Malformed("operand and result must have the use Accumulator (CM-020)")
    if (source.component, source.scope) != (target.component, target.scope):
        raise Malformed("operand and result must have the same component type and scope (CM-020)")
    reduction = _reduction(str(i.operands[1]), source, target)
    component = source.component
    combine = Callback(c, i.id(2), "CombineFunc", component, [component, component])
    dtype, shape = component.dtype, (target.rows, target.cols)

    def run(m: Machine) -> None:
        instances = m.topology.scopes[source.scope]
        bits, numbers = _active(m, instances, matrix_of(m, operand).bits, every=bool(combine.globals))

        def pairs(a: Array, b: Array) -> Array:
            instance = np.repeat(numbers, a[0].size)
            return combine(m, instances, instance, [a.reshape(-1), b.reshape(-1)]).reshape(a.shape)

        reduced = reduction(bits.view(dtype), pairs).view(target.bits)
        reduced = np.broadcast_to(reduced, (len(reduced), *shape))
        m.registers[result] = Matrix(_for_all_instances(reduced, numbers, instances), target.scope)

    return run


def _reduction(mask: str, source: ty.CooperativeMatrix, target: ty.CooperativeMatrix) -> Reduction:
    """The function of a Reduce mask. Raises Malformed for masks and shapes that do not fit."""
    if mask == "2x2":
        if (source.rows, source.cols) != (2 * target.rows, 2 * target.cols):
            raise Malformed("2x2 must halve rows and columns (CM-021)")
        return reduce_squares
    if mask not in _REDUCTIONS:
        raise Malformed(f"Reduce is {mask}; Row, Column, Row|Column or 2x2 (CM-004)")
    function, same_rows, same_cols = _REDUCTIONS[mask]
    if (same_rows and source.rows != target.rows) or (same_cols and source.cols != target.cols):
        raise Malformed(f"{mask} must keep the number of {'rows' if same_rows else 'columns'} (CM-021)")
    return function


@step("OpCooperativeMatrixPerElementOpNV")
def per_element(c: Compiler, i: Instruction) -> Step:
    """CM-030, CM-031."""
    result, operand, extras = i.result, i.id(0), i.ids[2:]
    t = matrix_type(c, operand)
    if matrix_type(c, result) != t:
        raise Malformed("the matrix must be of the result type (CM-030)")
    types = [c.declared.type(id_) for id_ in extras]
    if any(isinstance(x, ty.CooperativeMatrix) and x != t for x in types):
        raise Malformed("a matrix among the further operands must be of the type of the first (CM-030)")
    expected = [t.component if x == t else x for x in types]
    call = Callback(c, i.id(1), "Func", t.component, [None, None, t.component, *expected])
    if not all(isinstance(p, ty.Int) and p.width == 32 for p in call.parameters[:2]):
        raise Malformed("the first two parameters of Func must be 32-bit integers: row and column (CM-030)")
    is_matrix = [x == t for x in types]
    dtype = t.component.dtype
    row, col = np.divmod(np.arange(t.rows * t.cols, dtype=np.uint32), np.uint32(t.cols))

    def run(m: Machine) -> None:
        instances = m.topology.scopes[t.scope]
        values = [m.registers[id_] for id_ in extras]
        every = bool(call.globals) or not all(_is_uniform(x) for x in values)
        bits, numbers = _active(m, instances, matrix_of(m, operand).bits, every=every)
        instance = np.repeat(numbers, row.size)
        arguments = [np.tile(row, len(numbers)), np.tile(col, len(numbers)), bits.reshape(-1).view(dtype)]
        for value, of_matrix in zip(values, is_matrix, strict=True):
            if of_matrix:
                others = np.broadcast_to(value.bits, (instances.count, t.rows, t.cols))[numbers]
                arguments.append(others.reshape(-1).view(dtype))
            else:
                arguments.append(per_lane(value, instances, instance, m.mask))
        results = call(m, instances, instance, arguments).view(t.bits).reshape(-1, t.rows, t.cols)
        m.registers[result] = Matrix(_for_all_instances(results, numbers, instances), t.scope)

    return run


def _is_uniform(value: object) -> bool:
    """Whether a value is known to be the same in all instances."""
    if isinstance(value, Matrix):
        return len(value.bits) == 1
    return isinstance(value, np.ndarray) and len(value) == 1


def _active(m: Machine, instances: Instances, bits: Array, *, every: bool) -> tuple[Array, Array]:
    """The matrices that take part, and their instances' numbers; one for all where they do not differ."""
    active = instances.active(m.mask)
    numbers = np.arange(instances.count) if active is None else np.flatnonzero(active)
    if len(bits) == 1 and not every:
        return bits, numbers[:1]
    return np.broadcast_to(bits, (instances.count, *bits.shape[1:]))[numbers], numbers


def _for_all_instances(results: Array, numbers: Array, instances: Instances) -> Array:
    """Results of some instances as an array for all of them; one stands for all."""
    if len(numbers) in (1, instances.count) and len(results) == len(numbers):
        return results
    out = np.zeros((instances.count, *results.shape[1:]), results.dtype)
    out[numbers] = results
    return out
