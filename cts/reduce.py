"""Smaller versions of a failing case, by structure: instructions dropped or bypassed, blocks flattened, operands plain.

Hypothesis shrinks the draws behind a generated case; what one draw ties together (a store and the
tile it made room for, say) it cannot take apart. Reducing the case itself can, and needs no draws.
Whether a smaller case is valid and fails is for the caller to say; here it is well-formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from cts import reduce_vectors
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
    Pointer,
    Scalar,
    Scope,
    StorageClass,
    base_of,
    constant_of,
    number_of,
    references,
    renamed,
    types_of,
)
from cts.model.operand import SpecBool, SpecClampMode, SpecInt, SpecNumber, SpecScope, SpecUse
from cts.model.vectors import SpecInterpretation, SpecLayout
from cts.reduce_blocks import Program, flattened


def reduce(case: Case, still_fails: Callable[[Case], bool]) -> Case:
    """The smallest case that greedy reduction reaches; `case` itself where nothing can go.

    `still_fails` must answer True only for valid cases that fail in the same way.
    """
    progress = True
    while progress:
        progress = False
        for smaller in _of_whole(case):
            if still_fails(smaller):
                case, progress = smaller, True
                break
        # From the end, so that what made the operands of a dropped instruction is gone before its turn.
        position = len(case.program) - 1
        while position >= 0:
            found = next((s for s in _at(case, position) if still_fails(s)), None)
            if found is None:
                position -= 1
            else:
                case, progress = found, True
                position = min(position, len(case.program) - 1)
    return case


def reductions(case: Case) -> Iterator[Case]:
    """Well-formed cases with less in them than `case`, the largest steps first."""
    yield from _of_whole(case)
    for i in reversed(range(len(case.program))):
        yield from _at(case, i)


def _of_whole(case: Case) -> Iterator[Case]:
    """Reductions of everything at once."""
    yield from _formed(_one_workgroup(case), case)
    yield from _formed(_plain(case), case)
    yield from _formed(_in_subgroups(case), case)
    yield from _formed(_in_storage_buffers(case), case)
    for extent in sorted(_extents(case), reverse=True):
        yield from _formed(_halved(case, extent), case)
    for smaller in reduce_vectors.of_whole(case):
        yield from _formed(_tidy(smaller, smaller.program), case)


def _at(case: Case, i: int) -> Iterator[Case]:
    """Reductions at instruction `i`."""
    types = types_of(case)
    for program in (*flattened(case.program, i), *_without(case, i)):
        yield from _formed(_tidy(case, program), case)
    instruction = case.program[i]
    changed = (*_simpler(instruction), *reduce_vectors.simpler(instruction, types))
    for simpler in (*changed, *_loaded(case, instruction, types), *reduce_vectors.loaded(case, instruction, types)):
        yield from _formed(_tidy(case, (*case.program[:i], simpler, *case.program[i + 1 :])), case)


def _formed(smaller: Case, case: Case) -> Iterator[Case]:
    """`smaller`, if it is well-formed and has less in it."""
    try:
        if smaller.program and _size(smaller) < _size(case):
            yield smaller
    except ValueError:
        return


def _size(case: Case) -> tuple[int, int, int]:
    """Instructions, the extents of everything, length as text. Raises ValueError where it is not well-formed."""
    extents = sum(t.rows + t.cols for t in types_of(case).values() if isinstance(t, MatrixShape))
    return len(case.program), extents + reduce_vectors.extents(case), len(msgspec.json.encode(case))


def _without(case: Case, i: int) -> Iterator[Program]:
    """Programs without instruction `i`; its users refer to one of its operands instead, whose type may be another."""
    instruction: Any = case.program[i]
    before, after = case.program[:i], case.program[i + 1 :]
    name = getattr(instruction, "id", None)
    if name is None:
        yield before + after
        return
    sources = list(dict.fromkeys(references(instruction)))
    if isinstance(instruction, Pointer):
        sources.append(instruction.buffer)
    for source in sources:
        yield before + tuple(renamed(later, name, source) for later in after)


def _simpler(instruction: AnyInstruction) -> Iterator[AnyInstruction]:
    """The instruction with less of one thing."""
    for field, less in (("view", None), ("decode_vector", None), ("decode", None), ("offset", 0)):
        value = getattr(instruction, field, less)
        if value != less and not isinstance(value, tuple):
            yield msgspec.structs.replace(instruction, **{field: less})
    if isinstance(instruction, (MatrixLoad, MatrixStore)) and instruction.order is not Order.RowMajor:
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
    return _with_types(case, lambda t: msgspec.structs.replace(t, scope=Scope.Subgroup))


def _extents(case: Case) -> set[int]:
    """The even numbers of rows and columns of matrices."""
    types = types_of(case).values()
    return {n for t in types if isinstance(t, MatrixShape) for n in (t.rows, t.cols) if n % 2 == 0}


def _halved(case: Case, extent: int) -> Case:
    """Half as many rows and columns wherever there are `extent`; results of reductions as well."""

    def half(value: Any) -> Any:
        return extent // 2 if constant_of(value) == extent else value

    smaller = _with_types(case, lambda t: msgspec.structs.replace(t, rows=half(t.rows), cols=half(t.cols)))
    program = tuple(
        msgspec.structs.replace(i, rows=half(i.rows), cols=half(i.cols)) if isinstance(i, MatrixReduce) else i
        for i in smaller.program
    )
    return msgspec.structs.replace(smaller, program=program)


def _with_types(case: Case, change: Callable[[Any], Any]) -> Case:
    """The case with every matrix type that it writes down changed."""
    program = []
    for i in case.program:
        declared = getattr(i, "type", None)
        program.append(msgspec.structs.replace(i, type=change(declared)) if isinstance(declared, MatrixType) else i)
    return msgspec.structs.replace(case, program=tuple(program))


def _tidy(case: Case, program: Program) -> Case:
    """The case with `program`, without results, buffers, opaque matrices and functions that nothing uses."""
    kept: list[AnyInstruction] = []
    used = {place.of for c in case.conversions for place in (c.source, c.destination)}
    for instruction in reversed(program):
        name = getattr(instruction, "id", None)
        if name is None or name in used:
            kept.append(instruction)
            used.update(references(instruction))
            for field in ("buffer", "matrix", "bias", "combine", "function", "decode", "decode_vector"):
                used.update(filter(None, (getattr(instruction, field, None),)))
    return msgspec.structs.replace(
        case,
        program=tuple(reversed(kept)),
        buffers={name: buffer for name, buffer in case.buffers.items() if name in used},
        functions={name: function for name, function in case.functions.items() if name in used},
        opaque={name: matrix for name, matrix in case.opaque.items() if name in used},
    )
