"""The per-invocation view of matrices, and what else may hold or pass them (KM-011, KM-015)."""

from __future__ import annotations

from collections.abc import Callable

from cts.case.model import ComponentType, CopyPath, MatrixComponents, MatrixCopy, PerElement, Walk
from cts.spirv.encode import Id
from cts.spirv.lower.callbacks import callback
from cts.spirv.lower.context import Lowering, Result
from cts.spirv.lower.control import counted_loop
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.types import scalar


@lower_instruction.register
def matrix_components(instruction: MatrixComponents, lowering: Lowering) -> None:
    """A variable of the matrix, whose components are passed through the function one after the other."""
    op = lowering.module.op
    source = lowering.results[instruction.matrix]
    component = scalar(lowering.module, lowering.matrix(instruction.matrix).declared.component)
    function = callback(lowering, instruction.function)
    variable = _variable(lowering, source.type)
    op("OpStore", variable, source.id)
    length = op("OpCooperativeMatrixLengthKHR", lowering.uint, source.type)

    def pass_through(index: Id) -> None:
        to_component = op("OpAccessChain", op("OpTypePointer", "Function", component), variable, index)
        value = op("OpLoad", component, to_component)
        arguments = (*_coordinates(instruction, lowering, source.id, index), value)
        op("OpStore", to_component, op("OpFunctionCall", component, function, *arguments))

    if instruction.walk is Walk.Ascending:
        with counted_loop(lowering, length) as index:
            pass_through(index)
    else:
        _by_invocation(lowering, length, pass_through)
    lowering.define(instruction.id, "OpLoad", source.type, variable)


def _coordinates(instruction: MatrixComponents, lowering: Lowering, matrix: Id, index: Id) -> tuple[Id, ...]:
    """Row and column of a component, where the function has them as parameters (MX-004)."""
    if not instruction.coordinates:
        return ()
    op, function = lowering.module.op, lowering.functions[instruction.function]
    assert isinstance(function, PerElement)
    lowering.module.capability("CooperativeMatrixGetCoordinateEXT")
    integer = scalar(lowering.module, ComponentType(function.coords))
    place = op("OpCooperativeMatrixGetCoordinateEXT", op("OpTypeVector", integer, 2), matrix, index)
    return tuple(op("OpCompositeExtract", integer, place, n) for n in range(2))


def _by_invocation(lowering: Lowering, length: Id, pass_through: Callable[[Id], None]) -> None:
    """Every second component from one on that the invocation's number says, then the others under a condition."""
    op, uint, one = lowering.module.op, lowering.uint, lowering.constant(1)
    number = op("OpLoad", uint, lowering.builtin("LocalInvocationIndex", uint))
    start = op("OpBitwiseAnd", uint, number, one)
    # (length - start + 1) / 2: of the components from `start` on every second one.
    rest = op("OpIAdd", uint, op("OpISub", uint, length, start), one)
    with counted_loop(lowering, op("OpShiftRightLogical", uint, rest, one)) as step:
        pass_through(op("OpIAdd", uint, op("OpShiftLeftLogical", uint, step, one), start))
    with counted_loop(lowering, length) as index:
        other = op("OpBitwiseAnd", uint, op("OpIAdd", uint, index, start), one)
        taken, merge = lowering.module.id(), lowering.module.id()
        condition = op("OpINotEqual", op("OpTypeBool"), other, lowering.constant(0))
        op("OpSelectionMerge", merge, "None")
        op("OpBranchConditional", condition, taken, merge)
        lowering.label(taken)
        pass_through(index)
        op("OpBranch", merge)
        lowering.label(merge)


@lower_instruction.register
def matrix_copy(instruction: MatrixCopy, lowering: Lowering) -> None:
    """One way for each member of `CopyPath`."""
    op, source = lowering.module.op, lowering.results[instruction.matrix]
    match instruction.through:
        case CopyPath.CopyObject:
            lowering.define(instruction.id, "OpCopyObject", source.type, source.id)
        case CopyPath.Function:
            lowering.define(instruction.id, "OpFunctionCall", source.type, _identity(lowering, source), source.id)
        case CopyPath.Component:
            component = scalar(lowering.module, lowering.matrix(instruction.matrix).declared.component)
            part = op("OpCompositeExtract", component, source.id, instruction.component)
            lowering.define(instruction.id, "OpCompositeInsert", source.type, part, source.id, instruction.component)
        case CopyPath.Variable:
            _through_memory(instruction, lowering, _variable(lowering, source.type))
        case CopyPath.Array:
            _through_member(instruction, lowering, op("OpTypeArray", source.type, lowering.constant(2)))
        case CopyPath.Struct:
            _through_member(instruction, lowering, op("OpTypeStruct", lowering.uint, source.type))
        case CopyPath.CopyMemory:
            first, second = (_variable(lowering, source.type) for _ in range(2))
            op("OpStore", first, source.id)
            op("OpCopyMemory", second, first)
            lowering.define(instruction.id, "OpLoad", source.type, second)
        case CopyPath.CopyLogical:
            held = op("OpTypeStruct", lowering.uint, source.type)
            part = op("OpCompositeConstruct", held, lowering.constant(0), source.id)
            copy = op("OpCopyLogical", _alike(lowering, held, source.type), part)
            lowering.define(instruction.id, "OpCompositeExtract", source.type, copy, 1)


def _alike(lowering: Lowering, struct: Id, matrix: Id) -> Id:
    """A type of structures that logically matches the one with a matrix, and is not the same."""
    key = (CopyPath.CopyLogical, struct)
    if key not in lowering.types:
        lowering.types[key] = lowering.module.op("OpTypeStruct", lowering.uint, matrix, result=lowering.module.id())
    return lowering.types[key]


def _through_member(instruction: MatrixCopy, lowering: Lowering, type_: Id) -> None:
    """Through element or member 1 of a variable."""
    variable, source = _variable(lowering, type_), lowering.results[instruction.matrix]
    to_member = lowering.module.op("OpTypePointer", "Function", source.type)
    member = lowering.module.op("OpAccessChain", to_member, variable, lowering.constant(1))
    _through_memory(instruction, lowering, member)


def _through_memory(instruction: MatrixCopy, lowering: Lowering, pointer: Id) -> None:
    source = lowering.results[instruction.matrix]
    lowering.module.op("OpStore", pointer, source.id)
    lowering.define(instruction.id, "OpLoad", source.type, pointer)


def _variable(lowering: Lowering, type_: Id) -> Id:
    return lowering.module.op("OpVariable", lowering.module.op("OpTypePointer", "Function", type_), "Function")


def _identity(lowering: Lowering, source: Result) -> Id:
    """A function that takes a matrix and returns it, one for each type."""
    key = (CopyPath.Function, source.type)
    if key not in lowering.types:
        op = lowering.module.op
        function = op("OpFunction", source.type, "None", op("OpTypeFunction", source.type, source.type))
        lowering.module.name(function, "identity")
        parameter = op("OpFunctionParameter", source.type)
        op("OpLabel")
        op("OpReturnValue", parameter)
        op("OpFunctionEnd")
        lowering.types[key] = function
    return lowering.types[key]
