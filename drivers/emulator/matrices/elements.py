"""Element-wise instructions: which program does each of them, and on which types."""

from __future__ import annotations

from cts.case.model import Arithmetic, ComponentType, Conversion
from cts.drivers.emulator import vm
from cts.drivers.emulator.callbacks import Program, program
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.numbers import TYPE_NUMBERS

_OPERATIONS = {
    Arithmetic.IAdd: vm.ADD, Arithmetic.ISub: vm.SUBTRACT, Arithmetic.IMul: vm.MULTIPLY,
    Arithmetic.FAdd: vm.ADD, Arithmetic.FSub: vm.SUBTRACT, Arithmetic.FMul: vm.MULTIPLY,
    Arithmetic.FDiv: vm.DIVIDE, Arithmetic.SDiv: vm.DIVIDE, Arithmetic.UDiv: vm.DIVIDE,
}  # fmt: skip

#: The signedness with which an instruction reads its integers, where it does not follow the type.
_SIGNED = {
    Arithmetic.SDiv: 1, Arithmetic.UDiv: 0, Arithmetic.SNegate: 1,
    Conversion.SConvert: 1, Conversion.UConvert: 0, Conversion.ConvertFToS: 1, Conversion.ConvertFToU: 0,
    Conversion.ConvertSToF: 1, Conversion.ConvertUToF: 0,
}  # fmt: skip


def _read_as(t: int, operation: Arithmetic | Conversion) -> int:
    return t if operation not in _SIGNED else (t & ~1) | _SIGNED[operation]


def arithmetic(operation: Arithmetic, component: ComponentType, parameters: int) -> Program:
    """A program of one or two parameters."""
    t = TYPE_NUMBERS[component]
    if not component.is_float:
        t = _read_as(t, operation)
    if parameters == 1:
        return program([(vm.PARAMETER, t, 0, 0), (vm.NEGATE, t, 0, 0)])
    return program([(vm.PARAMETER, t, 0, 0), (vm.PARAMETER, t, 1, 0), (_OPERATIONS[operation], t, 0, t)])


def times_scalar(component: ComponentType) -> Program:
    """A program of the element and the scalar."""
    t = TYPE_NUMBERS[component]
    return program([(vm.PARAMETER, t, 0, 0), (vm.PARAMETER, t, 1, 0), (vm.MULTIPLY, t, 0, t)])


def conversion(
    operation: Conversion, component: ComponentType, target: ComponentType, bug: int, *, saturate: bool
) -> Program:
    """A program of one parameter."""
    source, t = TYPE_NUMBERS[component], TYPE_NUMBERS[target]
    if not component.is_float:
        source = _read_as(source, operation)
    elif not target.is_float:
        t = _read_as(t, operation)
    wider = target.size > component.size
    zero_extends = bug == m.SCONVERT_ZERO_EXTENDS and operation is Conversion.SConvert and wider
    if zero_extends or (bug == m.STOF_UNSIGNED and operation is Conversion.ConvertSToF):
        source &= ~1
    sign_extends = bug == m.UCONVERT_SIGN_EXTENDS and operation is Conversion.UConvert and wider
    if sign_extends or (bug == m.UTOF_SIGNED and operation is Conversion.ConvertUToF):
        source |= 1
    return program([(vm.PARAMETER, source, 0, 0), (vm.CONVERT, t, int(saturate), source)])


def bitcast(source: ComponentType, target: ComponentType) -> Program:
    """A program of one parameter."""
    a, b = TYPE_NUMBERS[source], TYPE_NUMBERS[target]
    return program([(vm.PARAMETER, a, 0, 0), (vm.BITCAST, b, 0, a)])
