"""The one place where ids are resolved, and types, operand counts and scopes of names are checked."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cts.model import control, vector_rules
from cts.model import instructions as ins
from cts.model import matrices as mat
from cts.model import vectors as vec
from cts.model.buffer import MAX_BUFFER_BYTES, initial_bits
from cts.model.case import Case
from cts.model.control import ControlInstruction
from cts.model.expression import ExpressionError
from cts.model.functions import Decode, DecodeVector, block_offsets, body_of
from cts.model.instruction import Instruction, Load, MatrixType, Setter, Store
from cts.model.matrices import MatrixInstruction
from cts.model.matrix_rules import Operands, derived, represents
from cts.model.operand import ClampMode, Scalar, Scope, StorageClass, Use, constant_of, factors_of
from cts.model.types import (
    LayoutType,
    MatrixShape,
    PointerType,
    Problem,
    ResultType,
    ScalarType,
    VectorShape,
    ViewType,
)

#: Limits that keep a hand-written case from being absurd; generators stay far below.
MAX_MATRIX_DIMENSION = 4096
MAX_VECTOR_LENGTH = 4096
MAX_INSTRUCTIONS = 512


def resolve(case: Case) -> tuple[dict[str, ResultType], list[Problem]]:
    """The type of every result id, and every problem of names, types, counts, limits and data.

    A program without problems can be given to the oracle, the drivers and the lowering.
    """
    global _recent
    found = next((r for r in _recent if r.case is case), None)
    if found is None:
        found = _Resolved(case, *_resolve(case))
        _recent = (found, *_recent[:3])
    return dict(found.types), list(found.problems)


@dataclass(frozen=True)
class _Resolved:
    case: Case
    types: dict[str, ResultType]
    problems: list[Problem]


#: The last cases: every room asks for the types of a case, one after the other.
_recent: tuple[_Resolved, ...] = ()


def _resolve(case: Case) -> tuple[dict[str, ResultType], list[Problem]]:
    problems = [*_buffer_problems(case), *_function_problems(case), *_conversion_problems(case)]
    if len(case.program) > MAX_INSTRUCTIONS:
        problems.append(
            Problem("program", f"{len(case.program)} instructions", f"at most {MAX_INSTRUCTIONS} instructions")
        )
    resolver = _Resolver(case)
    for i, instruction in enumerate(case.program[:MAX_INSTRUCTIONS]):
        problems += (replace(p, path=f"program[{i}].{p.path}".rstrip(".")) for p in resolver.run(instruction))
    problems += resolver.end()
    return resolver.types, problems


def types_of(case: Case) -> dict[str, ResultType]:
    """The type of every result id of a well-formed case."""
    types, problems = resolve(case)
    if problems:
        raise ValueError(f"{problems[0].path}: {problems[0].what}; {problems[0].remedy}")
    return types


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
    for n, conversion in enumerate(case.conversions):
        for field, place in (("source", conversion.source), ("destination", conversion.destination)):
            path = f"conversions[{n}].{field}"
            opaque = case.opaque.get(place.of)
            if opaque is None and place.of not in case.buffers:
                known = [*case.buffers, *case.opaque]
                yield Problem(f"{path}.of", f"no buffer or opaque matrix {place.of!r}", _nearest(place.of, known))
            elif opaque is not None:
                if (place.component, place.layout, place.stride, place.offset) != (None, None, 0, 0):
                    yield Problem(path, "more than the name of an opaque matrix", "`of` alone")
                if (opaque.rows, opaque.cols) != (conversion.rows, conversion.cols):
                    what = f"{conversion.rows}x{conversion.cols} of a {opaque.rows}x{opaque.cols} matrix"
                    yield Problem(path, what, "the whole matrix", "VK-053")
            elif place.component is None or place.layout is None or place.layout.optimal:
                yield Problem(path, "a matrix in a buffer without component or layout", "both: RowMajor or ColumnMajor")
    alone = case.dispatch.invocations is not None
    if alone and (case.dispatch.subgroups != 1 or case.dispatch.subgroup_size is not None):
        yield Problem("dispatch", "`invocations` beside `subgroups` or `subgroup_size`", "one or the other")
    if alone and any(isinstance(t, MatrixInstruction) for t in case.program):
        yield Problem("program", "cooperative matrices with `dispatch.invocations`", "`dispatch.subgroups`", "VK-026")


def _function_problems(case: Case) -> Iterator[Problem]:
    for name, function in case.functions.items():
        path = f"functions.{name}"
        if not name.isidentifier():
            yield Problem(
                path, f"{name!r} is not a valid function name", "a letter, then letters, digits and underscores"
            )
        if isinstance(function, (Decode, DecodeVector)):
            try:
                block_offsets(function.block)
            except ValueError as e:
                yield Problem(f"{path}.block", str(e), "fields whose last one ends at the block's alignment")
        try:
            body_of(function)
        except ExpressionError as e:
            yield Problem(f"{path}.body", e.what, e.remedy)


class _Resolver:
    """Checks one instruction after the other against the results before it, and adds its own."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.types: dict[str, ResultType] = {}
        #: The ids visible in the program and in each block around the instruction, outermost first.
        self._visible: list[set[str]] = [set()]
        #: The loops and conditions around the instruction, with the ids of an `If`'s first branch.
        self._open: list[ControlInstruction] = []
        self._arms: list[set[str]] = []

    def end(self) -> Iterator[Problem]:
        """What the end of the program leaves open."""
        if self._open:
            name = type(self._open[-1]).__name__
            yield Problem("program", f"{name} is not closed", "EndLoop after Loop, EndIf after If")

    def run(self, instruction: Instruction) -> Iterator[Problem]:
        yield from self._factors(instruction)
        match instruction:
            case ins.TensorLayout():
                yield from self._layout(instruction)
            case ins.TensorView():
                yield from self._view(instruction)
            case Setter():
                yield from self._setter(instruction)
            case mat.MatrixConstant():
                yield from represents("value", instruction.type.component, instruction.value)
                yield from self._matrix(instruction.id, instruction.type)
            case mat.MatrixNull():
                yield from self._matrix(instruction.id, instruction.type)
            case mat.MatrixLoadTensor():
                yield from self._refer("object", instruction.object, MatrixShape)
                yield from self._memory(instruction.buffer, instruction.layout, instruction.view)
                yield from self._decodes(instruction)
                yield from self._define(instruction.id, self.types.get(instruction.object))
            case mat.MatrixStoreTensor():
                yield from self._refer("matrix", instruction.matrix, MatrixShape)
                yield from self._memory(instruction.buffer, instruction.layout, instruction.view)
            case mat.MatrixLoad():
                yield from self._memory(instruction.buffer)
                yield from self._matrix(instruction.id, instruction.type)
            case mat.MatrixStore():
                yield from self._refer("matrix", instruction.matrix, MatrixShape)
                yield from self._memory(instruction.buffer)
            case mat.Pointer():
                if instruction.buffer in self.case.buffers:
                    yield from self._define(instruction.id, PointerType(instruction.buffer))
                else:
                    yield self._no_buffer(instruction.buffer)
            case mat.PointerSelect():
                yield from self._refer("a", instruction.a, PointerType)
                yield from self._refer("b", instruction.b, PointerType)
                a, b = self.types.get(instruction.a), self.types.get(instruction.b)
                if isinstance(a, PointerType) and isinstance(b, PointerType) and a != b:
                    yield Problem("b", f"a pointer into {b.buffer!r}", f"one into {a.buffer!r}, as a")
                yield from self._define(instruction.id, a)
            case _ if isinstance(instruction, ControlInstruction):
                yield from self._control(instruction)
            case _ if isinstance(instruction, vec.VectorInstruction):
                yield from self._of_vectors(instruction)
            case _:
                yield from self._derived(instruction)

    def _of_vectors(self, instruction: vec.VectorInstruction) -> Iterator[Problem]:
        """A vector instruction: what it refers to, then what follows from that."""
        sound = True
        kinds: dict[str, type[ResultType]] = {"scalar": ScalarType}
        for field in instruction.refers:
            value = getattr(instruction, field)
            for name in value if isinstance(value, tuple) else (value,):
                kind = kinds.get(field, VectorShape)
                if field == "parts" and isinstance(self.types.get(name), ScalarType):
                    kind = ScalarType
                if name is not None:
                    found = list(self._refer(field, name, kind))
                    sound = sound and not found
                    yield from found
        for field in ("buffer", "bias", "matrix"):
            name = getattr(instruction, field, None)
            known = {*self.case.buffers, *(self.case.opaque if field == "matrix" else ())}
            if name is not None and name not in known:
                yield replace(self._no_buffer(name), path=field)
            elif not isinstance(instruction, Load | Store):
                yield from self._global_memory(field, name)
        if self.case.dispatch.invocations is None:
            yield Problem("", "a cooperative vector without `dispatch.invocations`", "dispatch: {invocations: 32}")
        if not sound:
            return
        shapes = {n: t for n, t in self.types.items() if isinstance(t, VectorShape)}
        scalars = {n: t for n, t in self.types.items() if isinstance(t, ScalarType)}
        for result in vector_rules.derived(instruction, vector_rules.Vectors(shapes, scalars, self.case.opaque)):
            if isinstance(result, Problem):
                yield result
            elif isinstance(result, ScalarType):
                yield from self._define(instruction.id, result)  # type: ignore[union-attr]
            else:
                yield from self._vector(instruction.id, result)  # type: ignore[union-attr]

    def _global_memory(self, field: str, name: str | None) -> Iterator[Problem]:
        """What multiplications read and training writes (CV-016b, CV-037)."""
        buffer = None if name is None else self.case.buffers.get(name)
        if buffer is not None and buffer.storage is StorageClass.Workgroup:
            yield Problem(field, "Workgroup memory", "a StorageBuffer or PhysicalStorageBuffer", "CV-016b")
        if buffer is not None and buffer.components != 1 and field != "buffer":
            yield Problem(field, f"elements of {buffer.components} components", "an array of scalars", "CV-016b")

    def _vector(self, name: str, declared: vec.VectorType) -> Iterator[Problem]:
        length = constant_of(declared.length)
        assert isinstance(length, int)
        if not 1 <= length <= MAX_VECTOR_LENGTH:
            yield Problem("type.length", f"{length} components", f"1 to {MAX_VECTOR_LENGTH}", "CV-010")
        else:
            yield from self._define(name, VectorShape(declared.component, length, declared))

    def _factors(self, instruction: Instruction) -> Iterator[Problem]:
        """Operands that ask for the index of a loop which is not there."""
        loops = sum(isinstance(o, control.Loop) for o in self._open)
        alone = self.case.dispatch.invocations is not None
        for field in instruction.__struct_fields__:
            value = getattr(instruction, field)
            for operand in value if isinstance(value, tuple) else (value,):
                if isinstance(operand, Scalar):
                    factors = factors_of(operand)
                    if (factors.loop and loops < 1) or (factors.loop_outer and loops < 2):
                        name = "loop" if loops < 1 and factors.loop else "loop.outer"
                        yield Problem(field, f"{name!r} without such a loop", "a Loop around the instruction")
                    if factors.inv and not alone:
                        yield Problem(field, "'inv' without `dispatch.invocations`", "sg, the index of the subgroup")
                    if factors.sg and alone:
                        yield Problem(field, "'sg' with `dispatch.invocations`", "inv, the index of the invocation")

    def _control(self, instruction: ControlInstruction) -> Iterator[Problem]:
        match instruction:
            case control.Loop():
                for n, carry in enumerate(instruction.carry):
                    yield from self._refer(f"carry[{n}].init", carry.init, self._carried(carry.init))
                    yield from self._define(carry.id, self.types.get(carry.init))
                self._enter(instruction)
            case control.If():
                self._enter(instruction)
            case control.EndLoop():
                loop = self._open[-1] if self._open else None
                if not isinstance(loop, control.Loop):
                    yield Problem("", "EndLoop without a Loop to end", "one EndLoop for each Loop")
                    return
                if len(instruction.next) != len(loop.carry):
                    yield Problem(
                        "next", f"{len(instruction.next)} matrices", f"{len(loop.carry)}, as the loop carries"
                    )
                for n, (name, carry) in enumerate(zip(instruction.next, loop.carry, strict=False)):
                    yield from self._alike(f"next[{n}]", name, carry.init)
                self._leave()
            case control.Else():
                opened = self._open[-1] if self._open else None
                if not isinstance(opened, control.If):
                    yield Problem("", "Else without an If", "Else between If and EndIf, once")
                    return
                self._arms.append(self._visible.pop())
                self._visible.append(set())
                self._open[-1] = instruction
            case control.EndIf():
                yield from self._end_if(instruction)
            case control.ControlBarrier():
                if any(isinstance(o, (control.If, control.Else)) for o in self._open):
                    yield Problem("", "a barrier under a condition", "barriers that every invocation reaches")

    def _end_if(self, instruction: control.EndIf) -> Iterator[Problem]:
        opened = self._open[-1] if self._open else None
        if not isinstance(opened, (control.If, control.Else)):
            yield Problem("", "EndIf without an If to end", "one EndIf for each If")
            return
        second = self._visible.pop() if isinstance(opened, control.Else) else set[str]()
        first = self._arms.pop() if isinstance(opened, control.Else) else self._visible.pop()
        self._open.pop()
        for n, merge in enumerate(instruction.merge):
            for field, name, arm in (("then", merge.then, first), ("otherwise", merge.otherwise, second)):
                self._visible.append(arm)
                yield from self._refer(f"merge[{n}].{field}", name, self._carried(name))
                self._visible.pop()
            self._visible.append(first | second)
            yield from self._alike(f"merge[{n}].otherwise", merge.otherwise, merge.then)
            self._visible.pop()
        for merge in instruction.merge:
            yield from self._define(merge.id, self.types.get(merge.then))

    def _enter(self, instruction: ControlInstruction) -> None:
        self._open.append(instruction)
        self._visible.append(set())

    def _leave(self) -> None:
        self._open.pop()
        self._visible.pop()

    def _alike(self, field: str, name: str, other: str) -> Iterator[Problem]:
        """`name` is a matrix or vector of the same declared type as `other`."""
        yield from self._refer(field, name, self._carried(other))
        a, b = self.types.get(name), self.types.get(other)
        if isinstance(a, MatrixShape | VectorShape) and isinstance(b, type(a)) and a.declared != b.declared:
            yield Problem(field, f"{name!r} is of another type than {other!r}", "two of one type, declared alike")

    def _carried(self, name: str) -> type[ResultType]:
        """What a block may carry out under this name."""
        return VectorShape if isinstance(self.types.get(name), VectorShape) else MatrixShape

    def _derived(self, instruction: Instruction) -> Iterator[Problem]:
        """An instruction that makes a matrix of matrices: its type follows from theirs."""
        sound = True
        for name in ins.references(instruction):
            for problem in self._refer("matrix", name, MatrixShape):
                fields = (f for f in instruction.__struct_fields__ if f != "id" and getattr(instruction, f) == name)
                field = next(fields, "matrices")
                yield replace(problem, path=field)
                sound = False
        if not sound:
            return
        shapes = {n: t for n, t in self.types.items() if isinstance(t, MatrixShape)}
        for found in derived(instruction, Operands(shapes, self.case.functions)):
            if isinstance(found, Problem):
                yield found
            else:
                yield from self._matrix(getattr(instruction, "id"), found)  # noqa: B009 - every subclass here has one

    def _decodes(self, instruction: mat.MatrixLoadTensor) -> Iterator[Problem]:
        """DV-010, DV-011."""
        layout, shape = self.types.get(instruction.layout), self.types.get(instruction.object)
        kinds: tuple[tuple[str, str | None, type[Decode] | type[DecodeVector]], ...] = (
            ("decode", instruction.decode, Decode),
            ("decode_vector", instruction.decode_vector, DecodeVector),
        )
        for field, name, kind in kinds:
            if name is None:
                continue
            function = self.case.functions.get(name)
            if not isinstance(function, kind):
                what = f"no function {name!r}" if function is None else f"{name!r} is of another kind"
                yield Problem(field, what, f"a function of kind {kind.__name__}", "DV-010")
                continue
            if isinstance(shape, MatrixShape) and function.returns is not shape.component:
                yield Problem(field, f"{name!r} returns {function.returns.value}", shape.component.value, "DV-011")
            if isinstance(layout, LayoutType) and function.dim != layout.dim:
                yield Problem(field, f"{name!r} takes {function.dim} coordinates", f"{layout.dim}", "DV-011")
        if instruction.decode_vector is not None and instruction.decode is None:
            yield Problem("decode_vector", "without decode", "both functions", "DV-010")
        if instruction.decode is not None:
            buffer = self._buffer_of(instruction.buffer)
            if buffer is not None and self.case.buffers[buffer].storage is StorageClass.Workgroup:
                right = "a StorageBuffer or PhysicalStorageBuffer"
                yield Problem("buffer", "decode from Workgroup memory", right, "CM-010")

    def _layout(self, instruction: ins.TensorLayout) -> Iterator[Problem]:
        dim, clamp = constant_of(instruction.dim), constant_of(instruction.clamp)
        assert isinstance(dim, int) and isinstance(clamp, ClampMode)
        if not 1 <= dim <= 5:
            yield Problem("dim", f"dim is {dim}", "1 to 5 dimensions", "TA-010")
            return
        yield from self._define(instruction.id, LayoutType(dim, clamp))

    def _view(self, instruction: ins.TensorView) -> Iterator[Problem]:
        dim, has = constant_of(instruction.dim), constant_of(instruction.has_dimensions)
        permutation = tuple(constant_of(p) for p in instruction.permutation)
        assert isinstance(dim, int) and isinstance(has, bool)
        if not 1 <= dim <= 5:
            yield Problem("dim", f"dim is {dim}", "1 to 5 dimensions", "TA-011")
        elif sorted(map(repr, permutation)) != sorted(map(repr, range(dim))):
            yield Problem(
                "permutation", f"{list(permutation)} is not a permutation", f"each of 0 to {dim - 1} once", "TA-011"
            )
        else:
            yield from self._define(instruction.id, ViewType(dim, has, tuple(int(str(p)) for p in permutation)))

    def _setter(self, instruction: Setter) -> Iterator[Problem]:
        """TA-022: fields of several operands have one for each dimension."""
        kind = LayoutType if isinstance(instruction, ins.LayoutInstruction) else ViewType
        source = self.types.get(instruction.of)
        yield from self._refer("of", instruction.of, kind)
        if isinstance(source, LayoutType | ViewType) and isinstance(source, kind):
            for field in instruction.__struct_fields__:
                values = getattr(instruction, field)
                if isinstance(values, tuple) and len(values) != source.dim:
                    yield Problem(
                        field, f"{len(values)} operands for {source.dim} dimensions", f"{source.dim} operands", "TA-022"
                    )
            yield from self._define(instruction.id, source)

    def _matrix(self, name: str, declared: MatrixType) -> Iterator[Problem]:
        rows, cols = constant_of(declared.rows), constant_of(declared.cols)
        scope, use = constant_of(declared.scope), constant_of(declared.use)
        assert isinstance(rows, int) and isinstance(cols, int) and isinstance(scope, Scope) and isinstance(use, Use)
        bad = [f for f, v in (("rows", rows), ("cols", cols)) if not 1 <= v <= MAX_MATRIX_DIMENSION]
        for field in bad:
            yield Problem(f"type.{field}", "out of range", f"1 to {MAX_MATRIX_DIMENSION}", "KM-010")
        if not bad:
            yield from self._define(name, MatrixShape(declared.component, scope, rows, cols, use, declared))

    def _memory(self, buffer: str, layout: str | None = None, view: str | None = None) -> Iterator[Problem]:
        if buffer not in self.case.buffers:
            if buffer in self.types:
                yield from self._refer("buffer", buffer, PointerType)
            else:
                yield self._no_buffer(buffer)
        if layout is not None:
            yield from self._refer("layout", layout, LayoutType)
        if view is not None:
            yield from self._refer("view", view, ViewType)

    def _no_buffer(self, buffer: str) -> Problem:
        return Problem("buffer", f"no buffer {buffer!r}", _nearest(buffer, self.case.buffers))

    def _buffer_of(self, name: str) -> str | None:
        found = self.types.get(name)
        if isinstance(found, PointerType):
            return found.buffer
        return name if name in self.case.buffers else None

    def _refer(self, field: str, name: str, kind: type[ResultType]) -> Iterator[Problem]:
        found = self.types.get(name)
        noun = _NOUNS[kind]
        if found is None:
            defined = {n: t for n, t in self.types.items() if isinstance(t, kind)}
            yield Problem(field, f"{name!r} is not defined before this instruction", _nearest(name, defined))
        elif not isinstance(found, kind):
            yield Problem(field, f"{name!r} is not a {noun}", f"the id of a {noun}")
        elif not any(name in block for block in self._visible):
            right = "an id of this block or one around it; Carry and Merge bring matrices out"
            yield Problem(field, f"{name!r} is not visible here: it is defined in another block", right)

    def _define(self, name: str, result: ResultType | None) -> Iterator[Problem]:
        if name in self.types:
            yield Problem("id", f"{name!r} is defined twice", "a new id: programs are in SSA form")
        elif name in self.case.buffers:
            yield Problem("id", f"{name!r} is the name of a buffer", "an id that no buffer has")
        elif result is not None:
            self.types[name] = result
            self._visible[-1].add(name)


_NOUNS: dict[type[ResultType], str] = {
    LayoutType: "tensor layout",
    ViewType: "tensor view",
    MatrixShape: "matrix",
    PointerType: "pointer",
    VectorShape: "cooperative vector",
    ScalarType: "scalar",
}


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"one of {', '.join(sorted(known))}" if known else "define it first"
