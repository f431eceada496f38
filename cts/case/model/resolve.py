"""The one place where ids are resolved, and types, operand counts and scopes of names are checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cts.case.model import functions
from cts.case.model.buffer import MAX_BUFFER_BYTES, MAX_REACH, initial_bits
from cts.case.model.case import Case
from cts.case.model.control import BranchStart, EndSwitch, Loop, Switch
from cts.case.model.expression import ExpressionError
from cts.case.model.expression_parser import RESERVED
from cts.case.model.float_modes import FastMathBits, default_problems, fast_math_problems, float_mode_problems
from cts.case.model.instruction import Instruction, references
from cts.case.model.instructions import MatrixInstruction
from cts.case.model.names import TypeEnvironment, nearest
from cts.case.model.opaque import OpaqueMatrix
from cts.case.model.operand import Scalar, StorageClass, factors_of
from cts.case.model.types import MatrixShape, PointerType, Problem, ResultType, VectorShape

#: Limits for hand-written cases; generators stay far below.
MAX_INSTRUCTIONS = 512
MAX_FUNCTIONS = 128
MAX_BUFFERS = 512


def resolve(case: Case) -> tuple[dict[str, ResultType], list[Problem]]:
    """The type of every result id, and every problem of names, types, counts, limits and data.

    A program without problems can be given to the oracle, the drivers and the lowering.
    """
    global _recent
    resolved = next((r for r in _recent if r.case is case), None)
    if resolved is None:
        resolved = _Resolved(case, *_resolve(case))
        _recent = (resolved, *_recent[:3])
    return dict(resolved.types), list(resolved.problems)


@dataclass(frozen=True)
class _Resolved:
    case: Case
    types: dict[str, ResultType]
    problems: list[Problem]


#: The last cases: several modules ask for the types of a case, one after the other.
_recent: tuple[_Resolved, ...] = ()


def _resolve(case: Case) -> tuple[dict[str, ResultType], list[Problem]]:
    if too_many := [*_counts(case)]:
        return {}, too_many
    problems = [*_buffer_problems(case), *_function_problems(case), *_conversion_problems(case)]
    problems += _dispatch_problems(case)
    problems += float_mode_problems(case.float_modes, case.float_controls)
    problems += default_problems(case.fast_math, case.float_controls)
    environment = TypeEnvironment(case)
    for i, instruction in enumerate(case.program):
        own = [
            *_place_problems(instruction, environment),
            *_factor_problems(instruction, environment),
            *instruction.check(environment),
        ]
        own += _fast_math_problems(instruction, environment)
        problems += (replace(p, path=f"program[{i}].{p.path}".rstrip(".")) for p in own)
    problems += _table_problems(environment)
    if environment.open:
        what = f"{type(environment.open[-1]).__name__} is not closed"
        problems.append(Problem("program", what, "EndLoop after Loop, EndIf after If, EndSwitch after Switch"))
    return environment.types, problems


def _counts(case: Case) -> Iterator[Problem]:
    counts = (
        ("program", case.program, "instructions", MAX_INSTRUCTIONS),
        ("functions", case.functions, "functions", MAX_FUNCTIONS),
        ("buffers", case.buffers, "buffers", MAX_BUFFERS),
        ("opaque", case.opaque, "opaque matrices", MAX_BUFFERS),
        ("conversions", case.conversions, "conversions", MAX_BUFFERS),
    )
    for path, items, noun, most in counts:
        if len(items) > most:
            yield Problem(path, f"{len(items)} {noun}", f"at most {most} {noun}")


def types_of(case: Case) -> dict[str, ResultType]:
    """The type of every result id of a well-formed case."""
    types, problems = resolve(case)
    if problems:
        raise ValueError(f"{problems[0].path}: {problems[0].what}; {problems[0].remedy}")
    return types


def written(case: Case) -> tuple[str, ...]:
    """The buffers that a well-formed case stores, accumulates or converts to, in the order of the case."""
    types, names = resolve(case)[0], {conversion.destination.of for conversion in case.conversions}
    for instruction in case.program:
        if (name := instruction.writes) is not None:
            pointer = types.get(name)
            names.add(pointer.buffer if isinstance(pointer, PointerType) else name)
        function = case.functions.get(getattr(instruction, "function", ""))
        names.update(output.buffer for output in (functions.outputs_of(function) if function is not None else ()))
    return tuple(name for name in case.buffers if name in names)


def _buffer_problems(case: Case) -> Iterator[Problem]:
    for name, buffer in case.buffers.items():
        path = f"buffers.{name}"
        if name.startswith("$"):
            yield Problem(path, f"the name {name!r} is reserved", "a name that does not begin with $")
        if buffer.size > MAX_BUFFER_BYTES:
            yield Problem(
                f"{path}.shape",
                f"the buffer has {buffer.size} bytes",
                f"at most {MAX_BUFFER_BYTES} bytes ({MAX_BUFFER_BYTES >> 20} MiB)",
            )
            continue
        yield from _late_problems(case, name)
        workgroups = math.prod(case.dispatch.workgroups)
        if buffer.storage is StorageClass.Workgroup and (len(buffer.shape) < 2 or buffer.shape[0] != workgroups):
            yield Problem(
                f"{path}.shape",
                f"{list(buffer.shape)} in Workgroup memory",
                f"[{workgroups}, ...]: a part for each workgroup",
            )
        try:
            initial_bits(buffer)
        except ValueError as e:
            yield Problem(f"{path}.data", str(e), f"numbers that {buffer.type.value} represents, one per component")


def _late_problems(case: Case, name: str) -> Iterator[Problem]:
    """What may not be of a buffer whose contents begin late."""
    buffer, path = case.buffers[name], f"buffers.{name}.begins_at"
    if not buffer.begins_at:
        return
    if buffer.reach > MAX_REACH:
        what = f"{buffer.size} bytes from byte {buffer.begins_at} on"
        yield Problem(path, what, f"an end at byte {MAX_REACH} at most", "TA-042")
    if buffer.storage is StorageClass.Workgroup:
        yield Problem(path, "in Workgroup memory", "StorageBuffer or PhysicalStorageBuffer")
    if any(name == place.of for c in case.conversions for place in (c.source, c.destination)):
        yield Problem(path, "of a buffer that is converted", "another buffer")
    places = (p for f in case.functions.values() for p in (*functions.tables_of(f), *functions.outputs_of(f)))
    if any(name == place.buffer for place in places):
        yield Problem(path, "of a table or an output of a function", "another buffer")


def _conversion_problems(case: Case) -> Iterator[Problem]:
    """Opaque matrices and conversions: names, shapes, what each side declares."""
    for name, matrix in case.opaque.items():
        path = f"opaque.{name}"
        if name in case.buffers or name.startswith("$"):
            yield Problem(path, f"the name {name!r} is taken", "a name that no buffer has")
        if not matrix.layout.optimal:
            yield Problem(f"{path}.layout", matrix.layout.value, "InferencingOptimal or TrainingOptimal")
        if matrix.storage is StorageClass.Workgroup:
            yield Problem(f"{path}.storage", "Workgroup", "StorageBuffer or PhysicalStorageBuffer", "CV-016b")
        if matrix.within is not None:
            yield from _within_problems(case, path, matrix, matrix.within)
    for n, conversion in enumerate(case.conversions):
        for field, place in (("source", conversion.source), ("destination", conversion.destination)):
            path = f"conversions[{n}].{field}"
            opaque = case.opaque.get(place.of)
            if opaque is None and place.of not in case.buffers:
                names = [*case.buffers, *case.opaque]
                yield Problem(f"{path}.of", f"no buffer or opaque matrix {place.of!r}", nearest(place.of, names))
            elif opaque is not None:
                if (place.component, place.layout, place.stride, place.offset) != (None, None, 0, 0):
                    yield Problem(path, "more than the name of an opaque matrix", "`of` alone")
                if (opaque.rows, opaque.cols) != (conversion.rows, conversion.cols):
                    what = f"{conversion.rows}x{conversion.cols} of a {opaque.rows}x{opaque.cols} matrix"
                    yield Problem(path, what, "the whole matrix", "VK-053")
            elif place.component is None or place.layout is None or place.layout.optimal:
                yield Problem(path, "a matrix in a buffer without component or layout", "both: RowMajor or ColumnMajor")


def _within_problems(case: Case, path: str, matrix: OpaqueMatrix, within: str) -> Iterator[Problem]:
    """A matrix in the memory of another one."""
    memory = case.opaque.get(within)
    if memory is None or memory.within is not None:
        own = [name for name, other in case.opaque.items() if other.within is None]
        what = f"no opaque matrix {within!r}" if memory is None else f"{within!r} has no memory of its own"
        yield Problem(f"{path}.within", what, nearest(within, own) if memory is None else f"{memory.within}")
        return
    if (matrix.storage, matrix.zero) != (memory.storage, memory.zero):
        yield Problem(f"{path}.within", f"other memory than {within!r} has", "the same `storage` and `zero`")
    if matrix.offset <= memory.offset:
        yield Problem(f"{path}.offset", f"byte {matrix.offset}", f"one behind {within!r}, at byte {memory.offset}")


def _dispatch_problems(case: Case) -> Iterator[Problem]:
    """What a workgroup consists of, and how its shape divides that."""
    dispatch = case.dispatch
    alone = dispatch.invocations is not None
    if alone and (dispatch.subgroups != 1 or dispatch.subgroup_size is not None):
        yield Problem("dispatch", "`invocations` beside `subgroups` or `subgroup_size`", "one or the other")
    if alone and any(isinstance(t, MatrixInstruction) for t in case.program):
        yield Problem("program", "cooperative matrices with `dispatch.invocations`", "`dispatch.subgroups`", "VK-026")
    count, noun, rule = dispatch.invocations, "invocations", ""
    if count is None:
        count, noun, rule = dispatch.subgroups, "subgroups", "VK-026"
    if count % (dispatch.shape.y * dispatch.shape.z):
        what = f"y {dispatch.shape.y} times z {dispatch.shape.z} does not divide {count} {noun}"
        yield Problem("dispatch.shape", what, f"a product of y and z that divides {count}", rule)


def _function_problems(case: Case) -> Iterator[Problem]:
    for name, function in case.functions.items():
        path = f"functions.{name}"
        if not name.isidentifier():
            yield Problem(
                path, f"{name!r} is not a valid function name", "a letter, then letters, digits and underscores"
            )
        if isinstance(function, functions.Helper) and name in RESERVED:
            yield Problem(path, f"{name!r} already has a meaning", "another name for the helper")
        if isinstance(function, (functions.Decode, functions.DecodeVector)):
            try:
                functions.block_offsets(function.block)
            except ValueError as e:
                yield Problem(f"{path}.block", str(e), "fields whose last one ends at the block's alignment")
        try:
            functions.body_of(function, case.helpers)
        except ExpressionError as e:
            yield Problem(f"{path}.body", e.what, e.remedy)


def _fast_math_problems(instruction: Instruction, environment: TypeEnvironment) -> Iterator[Problem]:
    """A decoration that says something else than the module does, or of an operation on integers."""
    bits: FastMathBits | None = getattr(instruction, "fast_math", None)
    if bits is None:
        return
    yield from fast_math_problems("fast_math", bits, environment.case.float_controls)
    shapes = [environment.types.get(name) for name in (*references(instruction), *instruction.defines)]
    components = [s.component for s in shapes if isinstance(s, (MatrixShape, VectorShape))]
    if components and not any(c.is_float for c in components):
        yield Problem("fast_math", f"fast math of {components[0].value}", "no `fast_math`", "NU-048")


def _place_problems(instruction: Instruction, environment: TypeEnvironment) -> Iterator[Problem]:
    """A problem for an instruction inside a Switch but outside of its branches."""
    outside = bool(environment.open) and isinstance(environment.open[-1], Switch)
    if outside and not isinstance(instruction, (BranchStart, EndSwitch)):
        what = f"{type(instruction).__name__} right behind a Switch"
        yield Problem("", what, "a Branch or Default first: a Switch has instructions in its branches alone")


def _table_problems(environment: TypeEnvironment) -> Iterator[Problem]:
    """Buffers that callbacks read and write: of scalars of the type that is declared (CM-032, CM-035)."""
    case = environment.case
    bytes_of = functions.declared_in(case.functions)
    used = {getattr(i, field, None) for i in case.program for field in ("buffer", "matrix", "bias")}
    for function_name, function in case.functions.items():
        kinds: list[tuple[str, Sequence[functions.BodyBuffer], str]] = [
            ("tables", functions.tables_of(function), "CM-032"),
            ("outputs", functions.outputs_of(function), "CM-035"),
        ]
        for noun, declared, fact in kinds:
            for n, table in enumerate(declared):
                path, buffer = f"functions.{function_name}.{noun}[{n}]", case.buffers.get(table.buffer)
                if buffer is None:
                    yield replace(environment.no_buffer("buffer", table.buffer), path=f"{path}.buffer")
                elif (buffer.type, buffer.components) != (table.type, 1):
                    what = f"{table.buffer!r} holds {buffer.type.value}" + " vectors" * (buffer.components > 1)
                    yield Problem(f"{path}.type", what, f"a buffer of scalars of type {table.type.value}", fact)
                elif table.buffer in bytes_of and (
                    table.buffer in used or getattr(table, "of", None) is not bytes_of[table.buffer]
                ):
                    what = f"{table.buffer!r} holds {bytes_of[table.buffer].value}, and is something else elsewhere"
                    yield Problem(f"{path}.buffer", what, "a buffer that nothing but such tables names", "MT-003")


def _factor_problems(instruction: Instruction, environment: TypeEnvironment) -> Iterator[Problem]:
    """Operands that ask for the index of a loop which is not there."""
    loops = sum(isinstance(o, Loop) for o in environment.open)
    alone = environment.case.dispatch.invocations is not None
    for field in instruction.__struct_fields__:
        value = getattr(instruction, field)
        for operand in value if isinstance(value, tuple) else (value,):
            if isinstance(operand, Scalar):
                factors = factors_of(operand)
                if (factors.loop and loops < 1) or (factors.loop_outer and loops < 2):
                    name = "loop" if loops < 1 and factors.loop else "loop.outer"
                    yield Problem(field, f"{name!r} without such a loop", "a Loop around the instruction")
                if any(factors.of_invocation) and not alone:
                    yield Problem(field, "'inv' without `dispatch.invocations`", "sg, the index of the subgroup")
                if factors.sg and alone:
                    yield Problem(field, "'sg' with `dispatch.invocations`", "inv, the index of the invocation")
