"""Multiply-add, element-wise arithmetic and multiplication by a scalar of cooperative matrices."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.float_modes import controlled
from cts.drivers.interpreter.handlers.matrices.strided import matrix_type
from cts.drivers.interpreter.machine import Machine, matrix_of
from cts.drivers.interpreter.matrices.products import Signs, multiply_add_floats, multiply_add_integers
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Step, lookup, on_matrices, step
from cts.drivers.interpreter.values import Matrix

#: Numbers of uses (KM-002).
A, B, ACCUMULATOR = range(3)


@step("OpCooperativeMatrixMulAddKHR")
def multiply_add(c: Compiler, i: Instruction) -> Step:
    """KM-014, NU-001, NU-002, NU-010."""
    result, ids = i.result, i.ids[:3]
    a, b, addend = (matrix_type(c, id_) for id_ in ids)
    t = matrix_type(c, result)
    if (a.use, b.use, addend.use, t.use) != (A, B, ACCUMULATOR, ACCUMULATOR):
        raise Malformed("A, B, C and the result must have the uses A, B, Accumulator and Accumulator (KM-014)")
    if (t.rows, t.cols) != (addend.rows, addend.cols) or (a.rows, a.cols, b.cols) != (t.rows, b.rows, t.cols):
        raise Malformed("A must be MxK, B KxN, C and the result MxN (KM-014)")
    types = (a, b, addend, t)
    if len({x.scope for x in types}) != 1 or len({type(x.component) for x in types}) != 1:
        raise Malformed("all matrices must have one scope, and all be integers or all floats (KM-014)")
    signs = _signs(str(i.operands[3]) if len(i.operands) > 3 else "NoneKHR")
    dtypes = tuple(x.component.dtype for x in (a, b, addend))
    dtype, is_float = t.component.dtype, isinstance(t.component, ty.Float)

    def run(m: Machine) -> None:
        m.topology.scopes[t.scope].active(m.mask)
        values = [matrix_of(m, id_).bits.view(d) for id_, d in zip(ids, dtypes, strict=True)]
        a, b, c = values
        sums = multiply_add_floats(a, b, c, dtype) if is_float else multiply_add_integers(a, b, c, signs, dtype)
        m.registers[result] = Matrix(sums.view(t.bits), t.scope)

    return run


def _signs(mask: str) -> Signs:
    names = mask.split("|")
    a, b, c, result = (f"Matrix{m}SignedComponentsKHR" in names for m in ("A", "B", "C", "Result"))
    return Signs(a, b, c, result, "SaturatingAccumulationKHR" in names)


def _arithmetic_type(c: Compiler, i: Instruction, kind: type) -> ty.CooperativeMatrix:
    """The result's type. Raises Malformed for components that the instruction is not for (KM-017, NU-034)."""
    t = matrix_type(c, i.result)
    if not isinstance(t.component, kind):
        raise Malformed(f"components are {t.component}; they must be {kind.__name__} (KM-017)")
    if isinstance(t.component, ty.Float) and t.component.encoding:
        raise Malformed(f"{t.component.encoding} has no arithmetic, only conversions and MulAdd (NU-034)")
    return t


@on_matrices(
    "OpSNegate", "OpFNegate", "OpIAdd", "OpISub", "OpIMul", "OpSDiv", "OpUDiv", "OpFAdd", "OpFSub", "OpFMul", "OpFDiv"
)
def element_wise(c: Compiler, i: Instruction) -> Step:
    """KM-017: what the instruction does to scalars, done to every element."""
    t = _arithmetic_type(c, i, ty.Float if i.name.startswith("OpF") else ty.Int)
    if any(c.declared.type(id_) != t for id_ in i.ids):
        raise Malformed("operands and result must be of one type (KM-017)")
    operation = controlled(c.declared, i, lookup().pure[i.opcode](c.declared, i))
    result, operands, dtype = i.result, i.ids, t.component.dtype

    def run(m: Machine) -> None:
        m.topology.scopes[t.scope].active(m.mask)
        results = operation(*(matrix_of(m, id_).bits.view(dtype) for id_ in operands))
        m.registers[result] = Matrix(results.view(t.bits), t.scope)

    return run


@on_matrices("OpMatrixTimesScalar")
def times_scalar(c: Compiler, i: Instruction) -> Step:
    """KM-017; integers as well."""
    matrix, scalar = i.ids
    t = _arithmetic_type(c, i, ty.Float if isinstance(matrix_type(c, matrix).component, ty.Float) else ty.Int)
    if matrix_type(c, matrix) != t or c.declared.type(scalar) != t.component:
        raise Malformed("the matrix must be of the result type and the scalar of its component type (KM-017)")
    result, dtype = i.result, t.component.dtype
    product = controlled(c.declared, i, np.multiply)

    def run(m: Machine) -> None:
        instances = m.topology.scopes[t.scope]
        instances.active(m.mask)
        factor = instances.value(m.registers[scalar], m.mask)[:, None, None]
        products = product(matrix_of(m, matrix).bits.view(dtype), factor)
        m.registers[result] = Matrix(products.view(t.bits), t.scope)

    return run
