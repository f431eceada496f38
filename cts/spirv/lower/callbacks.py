"""Callbacks as functions, and the instructions that call them (CM-020, CM-030, DV-010, DV-011)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

from cts.case import model
from cts.spirv.encode import Id
from cts.spirv.lower import sets
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.expressions import Evaluation, LoadEntry, MemberPointer, StoreEntry
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.pointers import buffer_of, element, load_operands, pointer_type, store_operands
from cts.spirv.lower.structure import BufferStructure
from cts.spirv.lower.types import of_value, scalar, stored
from cts.spirv.lower.values import component_value


@lower_instruction.register
def matrix_per_element(instruction: model.MatrixPerElement, lowering: Lowering) -> None:
    """CM-030, CM-036: the extra operands in the order of the function's parameters."""
    lowering.declare("CooperativeMatrixPerElementOperations")
    source = lowering.results[instruction.matrix]
    function = lowering.functions[instruction.function]
    assert isinstance(function, model.PerElement)
    values = [
        component_value(lowering, type_, value, "scalars", n)
        for n, ((_, type_), value) in enumerate(zip(model.scalars_of(function), instruction.scalars, strict=True))
    ]
    waiting = iter(values)
    others = iter(lowering.results[name] for name in instruction.matrices)
    each = iter(lowering.results[name] for name in instruction.pointers)
    integers = iter(lowering.operands("integers", instruction.integers))
    extras = []
    for extra in function.extras:
        if extra.matrix or extra.pointer:
            extras.append(next(others if extra.matrix else each).id)
            continue
        if extra.integer:
            extras.append(next(integers))
            continue
        parts = list(itertools.islice(waiting, len(extra.scalars)))
        composite = _composite(lowering, extra)
        extras.append(parts[0] if composite is None else lowering.module.op("OpCompositeConstruct", composite, *parts))
    call = callback(lowering, instruction.function, tuple(lowering.pointees[name] for name in instruction.pointers))
    lowering.define(instruction.id, instruction.opcode, source.type, source.id, call, *extras)


@lower_instruction.register
def vector_components(instruction: model.VectorComponents, lowering: Lowering) -> None:
    """CV-011: a call for each component, of row 0 and of its number as column."""
    op, source = lowering.module.op, lowering.results[instruction.vector]
    declared, function = lowering.vector(instruction.vector).declared, lowering.functions[instruction.function]
    component, length = scalar(lowering.module, declared.component), model.constant_of(declared.length)
    assert isinstance(function, model.PerElement) and isinstance(length, int)
    call, coords = (
        callback(lowering, instruction.function),
        scalar(lowering.module, model.ComponentType(function.coords)),
    )
    named = [lowering.results[name].id for name in (instruction.vector, *instruction.vectors)]
    results = []
    for n in range(length):
        place = [op("OpConstant", coords, number) for number in (0, n)]
        values = [op("OpCompositeExtract", component, vector, n) for vector in named]
        results.append(op("OpFunctionCall", component, call, *place, *values))
    lowering.define(instruction.id, "OpCompositeConstruct", source.type, *results)


def _composite(lowering: Lowering, extra: model.Extra) -> Id | None:
    """The type of an extra operand that is a vector or a structure (CM-036)."""
    types = [scalar(lowering.module, type_) for _, type_ in extra.scalars]
    if extra.members:
        struct = lowering.module.op("OpTypeStruct", *types)
        for n, member in enumerate(extra.members):
            lowering.module.op("OpMemberName", struct, n, member.name)
        return struct
    return lowering.module.op("OpTypeVector", types[0], extra.count) if extra.count is not None else None


def callback(lowering: Lowering, name: str, pointees: tuple[str, ...] = ()) -> Id:
    """The OpFunction of a callback, written where it is first asked for: one for each list of buffers that it is
    passed pointers into, since these have types of their own.
    """
    key = (name, pointees)
    if key not in lowering.callbacks:
        around = lowering.block
        lowering.callbacks[key] = _write(lowering, name, lowering.functions[name], pointees)
        lowering.block = around
    return lowering.callbacks[key]


def _write(lowering: Lowering, name: str, function: model.AnyFunction, pointees: tuple[str, ...]) -> Id:
    component = model.returns_of(function)
    parameters: Mapping[str, model.ComponentType | model.Microscaling]
    match function:
        case model.Combine():
            parameters = {"x": component, "y": component}
        case model.Component():
            parameters = {"value": component}
        case model.Helper():
            parameters = {p.name: p.of for p in function.parameters}
        case model.PerElement():
            return _write_per_element(lowering, name, function, pointees)
        case model.Decode() | model.DecodeVector():
            return _write_decode(lowering, name, function)
    types = [of_value(lowering.module, t) for t in parameters.values()]
    written, ids = _begin(lowering, name, scalar(lowering.module, component), types, list(parameters))
    names = dict(zip(parameters, ids, strict=True))
    evaluation = Evaluation(lowering, names, entry=_entry(lowering, function), function=partial(callback, lowering))
    return _end(lowering, written, evaluation.run(model.body_of(function, lowering.helpers)))


def _write_per_element(lowering: Lowering, name: str, function: model.PerElement, pointees: tuple[str, ...]) -> Id:
    """CM-030, CM-036: row, column and element, then the extra operands; vectors and structures are taken apart."""
    op, component = lowering.module.op, scalar(lowering.module, function.type)
    coords = scalar(lowering.module, model.ComponentType(function.coords))
    behind = iter(buffer_of(lowering, pointee) for pointee in pointees)
    pointers = {extra.name: next(behind) for extra in model.pointers_of(function)}
    types = [coords, coords, component]
    for extra in function.extras:
        if extra.pointer:
            types.append(pointer_type(lowering, pointers[extra.name]))
        elif extra.matrix or extra.integer:
            types.append(component if extra.matrix else lowering.uint)
        else:
            types.append(_composite(lowering, extra) or scalar(lowering.module, extra.scalars[0][1]))
    parameters = ["row", "col", "value", *(extra.name for extra in function.extras)]
    written, ids = _begin(lowering, name, component, types, parameters)
    names, passed = dict(zip(parameters, ids, strict=True)), {}
    for extra in function.extras:
        own = names[extra.name]
        if extra.pointer:
            passed[extra.name] = own, pointers[extra.name]
        elif extra.members or extra.count is not None:
            for n, (part, type_) in enumerate(extra.scalars):
                names[part] = op("OpCompositeExtract", scalar(lowering.module, type_), own, n)
    entry, store = _entry(lowering, function, passed), _store(lowering, function)
    evaluation = Evaluation(lowering, names, entry=entry, function=partial(callback, lowering), store=store)
    return _end(lowering, written, evaluation.run(model.body_of(function, lowering.helpers)))


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


def _write_decode(lowering: Lowering, name: str, function: model.Decode | model.DecodeVector) -> Id:
    """DV-011: a physical pointer to a block, and two arrays of coordinates by value."""
    op = lowering.module.op
    lowering.module.capability("PhysicalStorageBufferAddresses")
    coords = model.ComponentType(function.coords)
    array = op("OpTypeArray", scalar(lowering.module, coords), lowering.constant(function.dim))
    pointer = op("OpTypePointer", "PhysicalStorageBuffer", _block(lowering, name, function.block))
    component = scalar(lowering.module, function.returns)
    returns = component
    if isinstance(function, model.DecodeVector):
        if function.lanes > 4:
            lowering.module.capability("LongVectorEXT")
        returns = op("OpTypeVector", component, function.lanes)
    arrays = ("blockCoord", "coordInBlock")
    written, (block, *ids) = _begin(lowering, name, returns, (pointer, array, array), ("block", *arrays))
    lowering.module.decorate(block, "Aliased")
    coordinates = dict(zip(arrays, ids, strict=True))
    member, body = _member(lowering, function.block, block), model.body_of(function, lowering.helpers)
    others = (_entry(lowering, function), partial(callback, lowering))
    if isinstance(function, model.Decode):
        return _end(lowering, written, Evaluation(lowering, {}, coordinates, member, *others).run(body))
    lanes = []
    for lane in range(function.lanes):
        names = {"lane": op("OpConstant", scalar(lowering.module, coords), lane)}
        lanes.append(Evaluation(lowering, names, coordinates, member, *others).run(body))
    return _end(lowering, written, op("OpCompositeConstruct", returns, *lanes))


def _entry(
    lowering: Lowering, function: model.AnyFunction, pointers: Mapping[str, tuple[Id, BufferStructure]] | None = None
) -> LoadEntry:
    """Loads from the function's tables (CM-032), and from the buffers behind its pointers (CM-036)."""
    tables = {table.name: table for table in model.tables_of(function)}

    def load(name: str, index: Id) -> Id:
        if pointers and name in pointers:
            base, buffer = pointers[name]
            pointer = lowering.module.op("OpPtrAccessChain", pointer_type(lowering, buffer), base, index)
        else:
            buffer = buffer_of(lowering, tables[name].buffer)
            with sets.in_function(lowering, buffer):
                pointer = element(lowering, buffer, index)
        return lowering.module.op(
            "OpLoad", of_value(lowering.module, buffer.of), pointer, *load_operands(lowering, buffer)
        )

    return load


def _store(lowering: Lowering, function: model.PerElement) -> StoreEntry:
    """Stores to the function's outputs (CM-035)."""
    outputs = {output.name: output.buffer for output in model.outputs_of(function)}

    def store(name: str, index: Id, value: Id) -> None:
        buffer = buffer_of(lowering, outputs[name])
        with sets.in_function(lowering, buffer):
            pointer = element(lowering, buffer, index)
        lowering.module.op("OpStore", pointer, value, *store_operands(lowering, buffer))

    return store


def _block(lowering: Lowering, name: str, block: tuple[model.BlockField, ...]) -> Id:
    """The struct of a block. Its types are its own: those that carry strides and offsets are shared with none."""
    module = lowering.module
    members = []
    for field in block:
        member = _member_type(lowering, field, memory=True)
        if field.count is not None:
            member = module.op("OpTypeArray", member, lowering.constant(field.count), result=module.id())
            module.decorate(member, "ArrayStride", field.type.size)
        members.append(member)
    struct = module.name(module.op("OpTypeStruct", *members, result=module.id()), f"block of {name}")
    module.decorate(struct, "Block")
    offsets, _ = model.block_offsets(block)
    for n, field in enumerate(block):
        module.op("OpMemberDecorate", struct, n, "Offset", offsets[field.name])
        module.op("OpMemberName", struct, n, field.name)
    return struct


def _member_type(lowering: Lowering, field: model.BlockField, *, memory: bool = False) -> Id:
    """The type of a member's scalars: as the struct declares them, in `memory`, or as they are loaded."""
    return (stored if memory else of_value)(lowering.module, field.of)


def _member(lowering: Lowering, block: tuple[model.BlockField, ...], base: Id) -> MemberPointer:
    numbers = {field.name: n for n, field in enumerate(block)}

    def pointer(name: str, index: Id | None) -> Id:
        number = numbers[name]
        member = _member_type(lowering, block[number])
        to = lowering.module.op("OpTypePointer", "PhysicalStorageBuffer", member)
        chain = [lowering.constant(number), *(() if index is None else (index,))]
        return lowering.module.op("OpAccessChain", to, base, *chain)

    return pointer
