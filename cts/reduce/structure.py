"""Less of the structure: instructions dropped or bypassed, blocks flattened, operands plain, extents halved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from cts.model import (
    AnyInstruction,
    Case,
    Dispatch,
    MatrixConstant,
    MatrixInstruction,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixReduce,
    MatrixShape,
    MatrixStore,
    MatrixStoreTensor,
    MatrixType,
    Order,
    Scalar,
    Scope,
    StorageClass,
    StridedInstruction,
    base_of,
    constant_of,
    number_of,
    references,
    renamed,
    types_of,
)
from cts.model.operand import SpecBool, SpecClampMode, SpecInt, SpecNumber, SpecScope, SpecUse
from cts.model.vectors import SpecInterpretation, SpecLayout
from cts.reduce import vectors
from cts.reduce.blocks import Program, flattened
from cts.reduce.form import formed, tidy


def of_whole(case: Case) -> Iterator[Case]:
    """Reductions of everything at once."""
    yield from formed(_one_workgroup(case), case)
    yield from formed(_plain(case), case)
    yield from formed(_in_subgroups(case), case)
    yield from formed(_in_storage_buffers(case), case)
    for extent in sorted(_extents(case), reverse=True):
        yield from formed(_halved(case, extent), case)
    for smaller in vectors.of_whole(case):
        yield from formed(tidy(smaller, smaller.program), case)


def at(case: Case, i: int) -> Iterator[Case]:
    """Reductions at instruction `i`."""
    types = types_of(case)
    for program in (*flattened(case.program, i), *_without(case, i)):
        yield from formed(tidy(case, program), case)
    instruction = case.program[i]
    changed = (*_simpler(instruction), *vectors.simpler(instruction, types))
    for simpler in (*changed, *_loaded(case, instruction, types), *vectors.loaded(case, instruction, types)):
        yield from formed(tidy(case, (*case.program[:i], simpler, *case.program[i + 1 :])), case)


def _without(case: Case, i: int) -> Iterator[Program]:
    """Programs without instruction `i`; its users refer to one of its operands instead, whose type may be another."""
    instruction: Any = case.program[i]
    before, after = case.program[:i], case.program[i + 1 :]
    name = getattr(instruction, "id", None)
    if name is None:
        yield before + after
        return
    fields = instruction.stands_for
    sources = references(instruction) if fields is None else (getattr(instruction, field) for field in fields)
    for source in dict.fromkeys(sources):
        yield before + tuple(renamed(later, name, source) for later in after)


def _simpler(instruction: AnyInstruction) -> Iterator[AnyInstruction]:
    """The instruction with less of one thing."""
    for field, less in (("view", None), ("decode_vector", None), ("decode", None), ("offset", 0)):
        value = getattr(instruction, field, less)
        if value != less and not isinstance(value, tuple):
            yield msgspec.structs.replace(instruction, **{field: less})
    if isinstance(instruction, StridedInstruction) and instruction.order is not Order.RowMajor:
        yield msgspec.structs.replace(instruction, order=Order.RowMajor)
    if isinstance(instruction, MatrixReduce) and (instruction.rows is not None or instruction.cols is not None):
        yield msgspec.structs.replace(instruction, rows=None, cols=None)
    for field in instruction.__struct_fields__:
        value = getattr(instruction, field)
        plain = _constant(value)
        if plain != value:
            yield msgspec.structs.replace(instruction, **{field: plain})


def _loaded(case: Case, instruction: AnyInstruction, types: dict[str, Any]) -> Iterator[AnyInstruction]:
    """Plain loads, stores and constants in place of what takes more."""
    if isinstance(instruction, MatrixStoreTensor):
        yield MatrixStore(instruction.matrix, instruction.buffer, types[instruction.matrix].cols)
    name = getattr(instruction, "id", None)
    if name is None or not isinstance(instruction, MatrixInstruction):
        return
    shape = types[name]
    if isinstance(instruction, MatrixLoadTensor):
        yield MatrixLoad(instruction.id, shape.declared, instruction.buffer, shape.cols)
    elif not isinstance(instruction, (MatrixLoad, MatrixConstant)):
        for buffer in case.buffers:
            if case.buffers[buffer].type is shape.component:
                yield MatrixLoad(name, shape.declared, buffer, shape.cols)
    if not isinstance(instruction, MatrixConstant):
        yield MatrixConstant(name, shape.declared, 1)


def _constant(value: Any) -> Any:
    """An operand, or every operand of several, as a literal."""
    match value:
        case tuple():
            return tuple(_constant(v) for v in value)
        case Scalar():
            return base_of(value)
        case SpecNumber():
            return number_of(value)
        case SpecInt() | SpecBool() | SpecClampMode() | SpecScope() | SpecUse():
            return constant_of(value)
        case SpecInterpretation() | SpecLayout():
            return value.spec
        case msgspec.Struct():
            return msgspec.structs.replace(value, **{f: _constant(getattr(value, f)) for f in value.__struct_fields__})
    return value


def _plain(case: Case) -> Case:
    """Every operand a literal that is the same everywhere."""
    return msgspec.structs.replace(case, program=tuple(_constant(i) for i in case.program))


def _one_workgroup(case: Case) -> Case:
    """One workgroup, of one subgroup or as many invocations; of buffers in workgroup memory the first part is left."""
    buffers = {
        name: msgspec.structs.replace(b, shape=(1, *b.shape[1:])) if b.storage is StorageClass.Workgroup else b
        for name, b in case.buffers.items()
    }
    left = Dispatch(subgroup_size=case.dispatch.subgroup_size, invocations=case.dispatch.invocations)
    return msgspec.structs.replace(case, buffers=buffers, dispatch=left)


def _in_storage_buffers(case: Case) -> Case:
    buffers = {
        name: msgspec.structs.replace(b, storage=StorageClass.StorageBuffer)
        if b.storage is StorageClass.PhysicalStorageBuffer
        else b
        for name, b in case.buffers.items()
    }
    return msgspec.structs.replace(case, buffers=buffers)


def _in_subgroups(case: Case) -> Case:
    return with_types(case, lambda t: msgspec.structs.replace(t, scope=Scope.Subgroup))


def _extents(case: Case) -> set[int]:
    """The even numbers of rows and columns of matrices."""
    types = types_of(case).values()
    return {n for t in types if isinstance(t, MatrixShape) for n in (t.rows, t.cols) if n % 2 == 0}


def _halved(case: Case, extent: int) -> Case:
    """Half as many rows and columns wherever there are `extent`; results of reductions as well."""

    def half(value: Any) -> Any:
        return extent // 2 if constant_of(value) == extent else value

    smaller = with_types(case, lambda t: msgspec.structs.replace(t, rows=half(t.rows), cols=half(t.cols)))
    program = tuple(
        msgspec.structs.replace(i, rows=half(i.rows), cols=half(i.cols)) if isinstance(i, MatrixReduce) else i
        for i in smaller.program
    )
    return msgspec.structs.replace(smaller, program=program)


def with_types(case: Case, change: Callable[[Any], Any]) -> Case:
    """The case with every matrix type that it writes down changed."""
    program = []
    for i in case.program:
        declared = getattr(i, "type", None)
        program.append(msgspec.structs.replace(i, type=change(declared)) if isinstance(declared, MatrixType) else i)
    return msgspec.structs.replace(case, program=tuple(program))
