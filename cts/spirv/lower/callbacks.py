"""Callbacks as functions, and the instructions that call them (CM-020, CM-030, DV-010, DV-011)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cts.model import (
    AnyFunction,
    BlockField,
    Combine,
    Component,
    ComponentType,
    Decode,
    DecodeVector,
    Helper,
    MatrixPerElement,
    MatrixReduce,
    PerElement,
    StorageClass,
    block_offsets,
    body_of,
    returns_of,
    tables_of,
)
from cts.spirv.encode import Id
from cts.spirv.lower import sets
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.expressions import Evaluation, LoadEntry, MemberPointer
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.matrix_types import derived_type
from cts.spirv.lower.pointers import buffer_of, element
from cts.spirv.lower.types import scalar, stored
from cts.spirv.lower.values import component_value


@lower_instruction.register
def matrix_reduce(instruction: MatrixReduce, lowering: Lowering) -> None:
    """CM-020."""
    lowering.module.capability("CooperativeMatrixReductionsNV")
    source = lowering.results[instruction.matrix]
    type_ = derived_type(lowering, instruction, lowering.matrix(instruction.matrix))
    mode = "|".join(m.value for m in instruction.mode)
    combine = callback(lowering, instruction.combine)
    lowering.define(instruction.id, instruction.opcode, type_, source.id, mode, combine)


@lower_instruction.register
def matrix_per_element(instruction: MatrixPerElement, lowering: Lowering) -> None:
    """CM-030: the extra operands in the order of the function's parameters."""
    lowering.module.capability("CooperativeMatrixPerElementOperationsNV")
    source = lowering.results[instruction.matrix]
    function = lowering.functions[instruction.function]
    assert isinstance(function, PerElement)
    matrices, scalars = iter(instruction.matrices), iter(enumerate(instruction.scalars))
    extras = []
    for extra in function.extras:
        if extra.type is None:
            extras.append(lowering.results[next(matrices)].id)
        else:
            n, value = next(scalars)
            extras.append(component_value(lowering, extra.type, value, "scalars", n))
    call = callback(lowering, instruction.function)
    lowering.define(instruction.id, instruction.opcode, source.type, source.id, call, *extras)


def callback(lowering: Lowering, name: str) -> Id:
    """The OpFunction of a callback, written where it is first asked for."""
    if name not in lowering.callbacks:
        around = lowering.block
        lowering.callbacks[name] = _write(lowering, name, lowering.functions[name])
        lowering.block = around
    return lowering.callbacks[name]


def _write(lowering: Lowering, name: str, function: AnyFunction) -> Id:
    component = returns_of(function)
    match function:
        case Combine():
            parameters = {"x": component, "y": component}
        case Component():
            parameters = {"value": component}
        case Helper():
            parameters = {p.name: p.type for p in function.parameters}
        case PerElement():
            coords = ComponentType(function.coords)
            extras = {e.name: e.type or component for e in function.extras}
            parameters = {"row": coords, "col": coords, "value": component, **extras}
        case Decode() | DecodeVector():
            return _write_decode(lowering, name, function)
    types = [scalar(lowering.module, t) for t in parameters.values()]
    written, ids = _begin(lowering, name, scalar(lowering.module, component), types, list(parameters))
    names = dict(zip(parameters, ids, strict=True))
    evaluation = Evaluation(lowering, names, entry=_entry(lowering, function), function=partial(callback, lowering))
    return _end(lowering, written, evaluation.run(body_of(function, lowering.helpers)))


def _begin(
    lowering: Lowering, name: str, returns: Id, types: Sequence[Id], parameters: Sequence[str]
) -> tuple[Id, list[Id]]:
    """Begin a function: its id and those of its parameters."""
    op = lowering.module.op
    written = op("OpFunction", returns, "None", op("OpTypeFunction", returns, *types))
    lowering.module.name(written, name)
    ids = [op("OpFunctionParameter", t) for t in types]
    for i, parameter in zip(ids, parameters, strict=True):
        lowering.module.name(i, parameter)
    lowering.label()
    return written, ids


def _end(lowering: Lowering, written: Id, result: Id) -> Id:
    lowering.module.op("OpReturnValue", result)
    lowering.module.op("OpFunctionEnd")
    return written


def _write_decode(lowering: Lowering, name: str, function: Decode | DecodeVector) -> Id:
    """DV-011: a physical pointer to a block, and two arrays of coordinates by value."""
    op = lowering.module.op
    lowering.module.capability("PhysicalStorageBufferAddresses")
    coords = ComponentType(function.coords)
    array = op("OpTypeArray", scalar(lowering.module, coords), lowering.constant(function.dim))
    pointer = op("OpTypePointer", "PhysicalStorageBuffer", _block(lowering, name, function.block))
    component = scalar(lowering.module, function.returns)
    returns = component
    if isinstance(function, DecodeVector):
        if function.lanes > 4:
            lowering.module.capability("LongVectorEXT")
        returns = op("OpTypeVector", component, function.lanes)
    arrays = ("blockCoord", "coordInBlock")
    written, (block, *ids) = _begin(lowering, name, returns, (pointer, array, array), ("block", *arrays))
    lowering.module.decorate(block, "Aliased")
    coordinates = dict(zip(arrays, ids, strict=True))
    member, body = _member(lowering, function.block, block), body_of(function, lowering.helpers)
    others = (_entry(lowering, function), partial(callback, lowering))
    if isinstance(function, Decode):
        return _end(lowering, written, Evaluation(lowering, {}, coordinates, member, *others).run(body))
    lanes = []
    for lane in range(function.lanes):
        names = {"lane": op("OpConstant", scalar(lowering.module, coords), lane)}
        lanes.append(Evaluation(lowering, names, coordinates, member, *others).run(body))
    return _end(lowering, written, op("OpCompositeConstruct", returns, *lanes))


def _entry(lowering: Lowering, function: AnyFunction) -> LoadEntry:
    """Loads from the function's tables (CM-032). Nothing writes them: no access is ordered with others."""
    tables = {table.name: table for table in tables_of(function)}

    def load(name: str, index: Id) -> Id:
        table = tables[name]
        buffer = buffer_of(lowering, table.buffer)
        with sets.in_function(lowering, buffer):
            pointer = element(lowering, buffer, index)
        aligned = ("Aligned", table.type.size) if buffer.storage is StorageClass.PhysicalStorageBuffer else ()
        return lowering.module.op("OpLoad", scalar(lowering.module, table.type), pointer, *aligned)

    return load


def _block(lowering: Lowering, name: str, block: tuple[BlockField, ...]) -> Id:
    """The struct of a block. Its types are its own: those that carry strides and offsets are shared with none."""
    module = lowering.module
    members = []
    for field in block:
        member = stored(module, field.type)
        if field.count is not None:
            member = module.op("OpTypeArray", member, lowering.constant(field.count), result=module.id())
            module.decorate(member, "ArrayStride", field.type.size)
        members.append(member)
    struct = module.name(module.op("OpTypeStruct", *members, result=module.id()), f"block of {name}")
    module.decorate(struct, "Block")
    offsets, _ = block_offsets(block)
    for n, field in enumerate(block):
        module.op("OpMemberDecorate", struct, n, "Offset", offsets[field.name])
        module.op("OpMemberName", struct, n, field.name)
    return struct


def _member(lowering: Lowering, block: tuple[BlockField, ...], base: Id) -> MemberPointer:
    numbers = {field.name: n for n, field in enumerate(block)}

    def pointer(name: str, index: Id | None) -> Id:
        number = numbers[name]
        to = lowering.module.op("OpTypePointer", "PhysicalStorageBuffer", scalar(lowering.module, block[number].type))
        chain = [lowering.constant(number), *(() if index is None else (index,))]
        return lowering.module.op("OpAccessChain", to, base, *chain)

    return pointer
