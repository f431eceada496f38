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


def _laid(
    c: Compiler, i: Instruction, source: ty.CooperativeMatrix, target: ty.CooperativeMatrix, rule: str
) -> Conversion:
    """What becomes of the places of elements, checked with the uses: nothing, or rows for columns (MX-003).

    A new use is A or B of an Accumulator (CM-050, CM-051), or the other way round (MX-002). Raises Malformed.
    """
    uses = source.use, target.use
    from_accumulator = source.use == ACCUMULATOR and target.use in (A, B)
    back = source.use in (A, B) and target.use == ACCUMULATOR
    with_ext = "CooperativeMatrixConversionsEXT" in c.declared.module.capabilities
    if c.declared.decoration(i.result, "CooperativeMatrixTransposeEXT") is not None:
        if not from_accumulator:
            raise Malformed("CooperativeMatrixTransposeEXT is for an Accumulator that becomes A or B (MX-003)")
        if (source.scope, source.cols, source.rows) != _shape(target):
            raise Malformed("rows and columns must be swapped, and the scope the same (MX-003)")
        return lambda values: values.swapaxes(1, 2)
    if _shape(source) != _shape(target):
        raise Malformed(f"operand and result must have the same scope, rows and columns ({rule})")
    if uses[0] != uses[1] and not from_accumulator and not (back and with_ext):
        declared = " with the capability CooperativeMatrixConversionsEXT" if back else ""
        raise Malformed(f"the use may change from Accumulator to A or B, and back{declared} ({rule}, CM-050, MX-002)")
    return lambda values: values


@on_matrices(*CONVERSIONS)
def convert(c: Compiler, i: Instruction) -> Step:
    """KM-018; the use may change at the same time (CM-050, MX-002), and rows with columns (MX-003)."""
    source, target = _pair(c, i)
    laid, function = _laid(c, i, source, target, "KM-018"), conversion(c.declared, i)
    return _mapped(i, source, target, lambda values: laid(function(values)))


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
    """CM-051, MX-002, MX-003: elements stay what they are."""
    source, target = _pair(c, i)
    if source.use == target.use:
        raise Malformed("it converts between Accumulator and A or B (CM-051, MX-002)")
    if source.component != target.component:
        raise Malformed("operand and result must have the same component type (CM-051)")
    return _mapped(i, source, target, _laid(c, i, source, target, "CM-051"))


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
