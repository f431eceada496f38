"""Cooperative matrices to other component types, other uses, and transposed."""

from __future__ import annotations

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.conversions import CONVERSIONS, Conversion, conversion
from cts.drivers.interpreter.handlers.matrices.arithmetic import ACCUMULATOR, A, B
from cts.drivers.interpreter.handlers.matrices.strided import matrix_type
from cts.drivers.interpreter.machine import Machine, matrix_of
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Step, on_matrices, step
from cts.drivers.interpreter.values import Matrix


def _pair(c: Compiler, i: Instruction) -> tuple[ty.CooperativeMatrix, ty.CooperativeMatrix]:
    """The types of operand and result."""
    return matrix_type(c, i.id(0)), matrix_type(c, i.result)


def _shape(t: ty.CooperativeMatrix) -> tuple[int, int, int]:
    return t.scope, t.rows, t.cols


def _mapped(i: Instruction, source: ty.CooperativeMatrix, target: ty.CooperativeMatrix, function: Conversion) -> Step:
    """A step that applies a function to the components."""
    operand, result, dtype = i.id(0), i.result, source.component.dtype

    def run(m: Machine) -> None:
        m.topology.scopes[target.scope].active(m.mask)
        converted = function(matrix_of(m, operand).bits.view(dtype))
        m.registers[result] = Matrix(converted.view(target.bits), target.scope)

    return run


@on_matrices(*CONVERSIONS)
def convert(c: Compiler, i: Instruction) -> Step:
    """KM-018; the use may change from Accumulator to A or B at the same time (CM-050)."""
    source, target = _pair(c, i)
    if _shape(source) != _shape(target):
        raise Malformed("operand and result must have the same scope, rows and columns (KM-018)")
    if source.use not in (target.use, ACCUMULATOR):
        raise Malformed("the use may only change from Accumulator to A or B (KM-018, CM-050)")
    return _mapped(i, source, target, conversion(c.declared, i))


@on_matrices("OpBitcast")
def bitcast(c: Compiler, i: Instruction) -> Step:
    """KM-018: between integers of one width; bits stay."""
    source, target = _pair(c, i)
    integers = isinstance(source.component, ty.Int) and isinstance(target.component, ty.Int)
    if not integers or source.component.size != target.component.size:
        raise Malformed("only between matrices of integers of equal width (KM-018)")
    if _shape(source) != _shape(target) or source.use != target.use:
        raise Malformed("operand and result must have the same scope, rows, columns and use (KM-018)")
    return _mapped(i, source, target, lambda values: values)


@step("OpCooperativeMatrixConvertNV")
def convert_use(c: Compiler, i: Instruction) -> Step:
    """CM-051: elements stay."""
    source, target = _pair(c, i)
    if source.use != ACCUMULATOR or target.use not in (A, B):
        raise Malformed("it converts Accumulator to A or B (CM-051)")
    if source.component != target.component or _shape(source) != _shape(target):
        raise Malformed("operand and result must have the same component type, scope, rows and columns (CM-051)")
    return _mapped(i, source, target, lambda values: values)


@step("OpCooperativeMatrixTransposeNV")
def transpose(c: Compiler, i: Instruction) -> Step:
    """CM-052."""
    source, target = _pair(c, i)
    if source.use != ACCUMULATOR or target.use != B:
        raise Malformed("it makes a B of an Accumulator (CM-052)")
    if (source.scope, source.cols, source.rows) != _shape(target):
        raise Malformed("rows and columns must be swapped, and the scope the same (CM-052)")
    if source.component != target.component:
        raise Malformed("operand and result must have the same component type (AM-20)")
    return _mapped(i, source, target, lambda values: values.swapaxes(1, 2))
