"""What each result of a program is: the one place where ids are resolved and operand counts checked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cts.model import instructions as ins
from cts.model.buffer import MAX_BUFFER_BYTES, initial_bits
from cts.model.case import Case
from cts.model.component import ComponentType, encode
from cts.model.operand import (
    ClampMode,
    Operand,
    Scope,
    Use,
    constant_of,
    number_of,
)


@dataclass(frozen=True)
class LayoutType:
    """OpTypeTensorLayoutNV with its constants resolved."""

    dim: int
    clamp: ClampMode


@dataclass(frozen=True)
class ViewType:
    """OpTypeTensorViewNV with its constants resolved."""

    dim: int
    has_dimensions: bool
    permutation: tuple[int, ...]


@dataclass(frozen=True)
class MatrixShape:
    """OpTypeCooperativeMatrixKHR with its constants resolved; `declared` is the type as written."""

    component: ComponentType
    scope: Scope
    rows: int
    cols: int
    use: Use
    declared: ins.MatrixType


ResultType: TypeAlias = LayoutType | ViewType | MatrixShape

#: Limits that keep a hand-written case from being absurd; generators stay far below.
MAX_MATRIX_DIMENSION = 4096
MAX_INSTRUCTIONS = 512


@dataclass(frozen=True)
class Problem:
    """A case that is not well-formed: `path` as in YAML (`program[2].dims`), and what would be right."""

    path: str
    what: str
    remedy: str
    rule: str = ""


def resolve(case: Case) -> tuple[dict[str, ResultType], list[Problem]]:
    """The type of every result id, and every problem of names, types, counts, limits and data.

    A program without problems can be given to the oracle, the drivers and the lowering.
    """
    types: dict[str, ResultType] = {}
    problems = list(_buffer_problems(case))
    if len(case.program) > MAX_INSTRUCTIONS:
        problems.append(
            Problem("program", f"{len(case.program)} instructions", f"at most {MAX_INSTRUCTIONS} instructions")
        )
    for i, instruction in enumerate(case.program[:MAX_INSTRUCTIONS]):
        problems += (replace(p, path=f"program[{i}].{p.path}") for p in _Resolver(case, types).run(instruction))
    return types, problems


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
                f"{buffer.size} bytes",
                f"at most {MAX_BUFFER_BYTES} bytes ({MAX_BUFFER_BYTES >> 20} MiB)",
            )
            continue
        try:
            initial_bits(buffer)
        except ValueError as e:
            yield Problem(f"{path}.data", str(e), f"numbers that {buffer.type.value} represents, one per component")


_Setter: TypeAlias = (
    ins.TensorLayoutSetBlockSize
    | ins.TensorLayoutSetDimension
    | ins.TensorLayoutSetStride
    | ins.TensorLayoutSlice
    | ins.TensorLayoutSetClampValue
    | ins.TensorViewSetDimension
    | ins.TensorViewSetStride
    | ins.TensorViewSetClip
)


class _Resolver:
    """Checks one instruction against the results before it, and adds its own result."""

    def __init__(self, case: Case, types: dict[str, ResultType]) -> None:
        self.case = case
        self.types = types

    def run(self, instruction: ins.Instruction) -> Iterator[Problem]:
        match instruction:
            case ins.TensorLayout():
                yield from self._layout(instruction)
            case ins.TensorView():
                yield from self._view(instruction)
            case ins.TensorLayoutSetBlockSize():
                yield from self._setter(instruction, LayoutType, block_size=instruction.block_size)
            case ins.TensorLayoutSetDimension():
                yield from self._setter(instruction, LayoutType, dims=instruction.dims)
            case ins.TensorLayoutSetStride():
                yield from self._setter(instruction, LayoutType, strides=instruction.strides)
            case ins.TensorLayoutSlice():
                yield from self._setter(instruction, LayoutType, offset=instruction.offset, span=instruction.span)
            case ins.TensorLayoutSetClampValue():
                yield from self._setter(instruction, LayoutType)
            case ins.TensorViewSetDimension():
                yield from self._setter(instruction, ViewType, dims=instruction.dims)
            case ins.TensorViewSetStride():
                yield from self._setter(instruction, ViewType, strides=instruction.strides)
            case ins.TensorViewSetClip():
                yield from self._setter(instruction, ViewType)
            case ins.MatrixConstant():
                yield from self._constant(instruction)
            case ins.MatrixLoadTensor():
                yield from self._refer("object", instruction.object, MatrixShape)
                yield from self._memory(instruction.buffer, instruction.layout, instruction.view)
                source = self.types.get(instruction.object)
                yield from self._define(instruction.id, source)
            case ins.MatrixStoreTensor():
                yield from self._refer("matrix", instruction.matrix, MatrixShape)
                yield from self._memory(instruction.buffer, instruction.layout, instruction.view)
            case ins.MatrixLoad():
                yield from self._memory(instruction.buffer)
                yield from self._matrix(instruction.id, instruction.type)
            case ins.MatrixStore():
                yield from self._refer("matrix", instruction.matrix, MatrixShape)
                yield from self._memory(instruction.buffer)
            case _:
                raise AssertionError(f"no typing rule for {type(instruction).__name__}")

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

    def _setter(
        self, instruction: _Setter, kind: type[LayoutType] | type[ViewType], **operands: tuple[Operand, ...]
    ) -> Iterator[Problem]:
        of, result = instruction.of, instruction.id
        source = self.types.get(of)
        yield from self._refer("of", of, kind)
        if isinstance(source, kind):
            for field, values in operands.items():
                if len(values) != source.dim:
                    yield Problem(
                        field, f"{len(values)} operands for {source.dim} dimensions", f"{source.dim} operands", "TA-022"
                    )
            yield from self._define(result, source)

    def _constant(self, instruction: ins.MatrixConstant) -> Iterator[Problem]:
        try:
            encode(instruction.type.component, [number_of(instruction.value)])
        except ValueError as e:
            yield Problem("value", str(e), f"a value of {instruction.type.component.value}, or its bits as '0x...'")
        yield from self._matrix(instruction.id, instruction.type)

    def _matrix(self, name: str, declared: ins.MatrixType) -> Iterator[Problem]:
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
            yield Problem("buffer", f"no buffer {buffer!r}", _nearest(buffer, self.case.buffers))
        if layout is not None:
            yield from self._refer("layout", layout, LayoutType)
        if view is not None:
            yield from self._refer("view", view, ViewType)

    def _refer(self, field: str, name: str, kind: type[ResultType]) -> Iterator[Problem]:
        found = self.types.get(name)
        noun = {LayoutType: "tensor layout", ViewType: "tensor view", MatrixShape: "matrix"}[kind]
        if found is None:
            defined = {n: t for n, t in self.types.items() if isinstance(t, kind)}
            yield Problem(field, f"{name!r} is not defined before this instruction", _nearest(name, defined))
        elif not isinstance(found, kind):
            yield Problem(field, f"{name!r} is not a {noun}", f"the id of a {noun}")

    def _define(self, name: str, result: ResultType | None) -> Iterator[Problem]:
        if name in self.types:
            yield Problem("id", f"{name!r} is defined twice", "a new id: programs are in SSA form")
        elif result is not None:
            self.types[name] = result


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"one of {', '.join(sorted(known))}" if known else "define it first"
