"""What a program has defined so far: the types of its results, the blocks around an instruction, and what is visible.

An instruction's typing rule asks here for the results that it refers to, and adds its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from cts.base.errors import did_you_mean
from cts.case.model.component import ComponentType
from cts.case.model.functions import AnyFunction, Combine, Component, Function, PerElement
from cts.case.model.operand import Scope, SpecInt, Use, constant_of
from cts.case.model.types import (
    LayoutType,
    MatrixShape,
    MatrixType,
    PointerType,
    Problem,
    ResultType,
    ScalarType,
    VectorShape,
    VectorType,
    ViewType,
)

if TYPE_CHECKING:
    from cts.case.model.buffer import Buffer
    from cts.case.model.case import Case
    from cts.case.model.instruction import Instruction
    from cts.case.model.opaque import OpaqueMatrix

#: Limits for hand-written cases; generators stay far below.
MAX_MATRIX_DIMENSION = 4096
MAX_VECTOR_LENGTH = 4096


class TypingContext:
    """What a typing rule may ask about results by id, and about functions, opaque matrices and buffers of the case."""

    def __init__(
        self,
        types: Mapping[str, ResultType],
        functions: Mapping[str, AnyFunction] | None = None,
        opaque: Mapping[str, OpaqueMatrix] | None = None,
        buffers: Mapping[str, Buffer] | None = None,
    ) -> None:
        self.types = types
        self.functions = functions or {}
        self.opaque = opaque or {}
        self.buffers = buffers or {}

    def matrix(self, name: str) -> MatrixShape:
        """The type of a result that is known to be a matrix."""
        shape = self.types[name]
        assert isinstance(shape, MatrixShape)
        return shape

    def vector(self, name: str) -> VectorShape:
        """The type of a result that is known to be a cooperative vector."""
        shape = self.types[name]
        assert isinstance(shape, VectorShape)
        return shape

    def scalar(self, name: str) -> ScalarType:
        """The type of a result that is known to be a scalar."""
        scalar_type = self.types[name]
        assert isinstance(scalar_type, ScalarType)
        return scalar_type

    def is_scalar(self, field: str, name: str, component: ComponentType) -> Iterator[Problem]:
        """The problem of a scalar of another type than a vector's components (CV-011)."""
        actual = self.scalar(name).component
        if actual is not component:
            yield Problem(field, f"{name!r} is of type {actual.value}", f"type {component.value}", "CV-011")

    def function(self, field: str, name: str, kind: type[Function], component: ComponentType) -> Iterator[Problem]:
        """Problems of a reference to a callback of a kind, for matrices of a component type."""
        function = self.functions.get(name)
        if function is None:
            functions = ", ".join(sorted(self.functions)) or "none is defined"
            yield Problem(field, f"no function {name!r}", f"a function of the case: {functions}")
        elif not isinstance(function, kind):
            yield Problem(
                field, f"{name!r} is of kind {type(function).__name__}", f"a function of kind {kind.__name__}"
            )
        elif isinstance(function, (Combine, PerElement, Component)) and function.type is not component:
            yield Problem(field, f"{name!r} is of type {function.type.value}", f"a function of type {component.value}")


class TypeEnvironment:
    """The results before an instruction, each with its type, and where they are visible."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.types: dict[str, ResultType] = {}
        #: The loops and conditions around the instruction, innermost last.
        self.open: list[Instruction] = []
        #: Of every open If and Switch, innermost last, the ids of each branch that has ended.
        self.earlier_branches: list[list[set[str]]] = []
        #: Of every open Switch, innermost last, its literals so far as they are written, by their 32 bits.
        self.literals: list[dict[int, int]] = []
        #: The ids visible in the program and in each block around the instruction, outermost first.
        self._visible: list[set[str]] = [set()]

    def refer(self, field: str, name: str, kind: type[ResultType], within: set[str] | None = None) -> Iterator[Problem]:
        """The problem of a reference to a result of a kind, visible here or among the ids of a closed block."""
        result_type = self.types.get(name)
        if result_type is None:
            defined = {n: t for n, t in self.types.items() if isinstance(t, kind)}
            yield Problem(field, f"{name!r} is not defined before this instruction", nearest(name, defined))
        elif not isinstance(result_type, kind):
            noun = _NOUNS[kind]
            yield Problem(field, f"{name!r} is not a {noun}", f"the id of a {noun}")
        elif not (within and name in within) and not any(name in block for block in self._visible):
            right = "an id of this block or one around it; Carry and Merge carry matrices out"
            yield Problem(field, f"{name!r} is not visible here: it is defined in another block", right)

    def alike(self, field: str, name: str, other: str, within: set[str] | None = None) -> Iterator[Problem]:
        """`name` is a matrix or vector of the same declared type as `other`."""
        yield from self.refer(field, name, self.carried(other), within)
        a, b = self.types.get(name), self.types.get(other)
        if isinstance(a, MatrixShape | VectorShape) and isinstance(b, type(a)) and a.declared != b.declared:
            yield Problem(field, f"{name!r} is of another type than {other!r}", "two of one type, declared alike")

    def carried(self, name: str) -> type[ResultType]:
        """What a block may carry out under this name."""
        return VectorShape if isinstance(self.types.get(name), VectorShape) else MatrixShape

    def define(self, name: str, result: ResultType | None) -> Iterator[Problem]:
        """Add a result; None where its type is not known for an earlier problem."""
        if name in self.types:
            yield Problem("id", f"{name!r} is defined twice", "a new id: programs are in SSA form")
        elif name in self.case.buffers:
            yield Problem("id", f"{name!r} is the name of a buffer", "an id that no buffer has")
        elif result is not None:
            self.types[name] = result
            self._visible[-1].add(name)

    def conclude(self, instruction: Instruction) -> Iterator[Problem]:
        """Ask the typing rule of an instruction whose references are sound, and add the result it gives."""
        context = TypingContext(self.types, self.case.functions, self.case.opaque, self.case.buffers)
        for outcome in instruction.typed(context):
            match outcome:
                case Problem():
                    yield outcome
                case MatrixType():
                    yield from self.define_matrix(getattr(instruction, "id"), outcome)  # noqa: B009 - it has a result
                case VectorType():
                    yield from self._define_vector(getattr(instruction, "id"), outcome)  # noqa: B009
                case ScalarType():
                    yield from self.define(getattr(instruction, "id"), outcome)  # noqa: B009

    def define_matrix(self, name: str, declared: MatrixType) -> Iterator[Problem]:
        """Add a matrix of a declared type (KM-010)."""
        rows, cols = constant_of(declared.rows), constant_of(declared.cols)
        scope, use = constant_of(declared.scope), constant_of(declared.use)
        assert isinstance(rows, int) and isinstance(cols, int) and isinstance(scope, Scope) and isinstance(use, Use)
        bad = [f for f, v in (("rows", rows), ("cols", cols)) if not 1 <= v <= MAX_MATRIX_DIMENSION]
        for field in bad:
            yield Problem(f"type.{field}", "out of range", f"1 to {MAX_MATRIX_DIMENSION}", "KM-010")
        if not bad:
            yield from self.define(name, MatrixShape(declared.component, scope, rows, cols, use, declared))

    def _define_vector(self, name: str, declared: VectorType) -> Iterator[Problem]:
        length = constant_of(declared.length)
        assert isinstance(length, int)
        least, most = (2, 4) if declared.ordinary else (1, MAX_VECTOR_LENGTH)
        if not least <= length <= most:
            yield Problem("type.length", f"{length} components", f"{least} to {most}", "CV-010" if least == 1 else "")
        elif declared.ordinary and isinstance(declared.length, SpecInt):
            yield Problem("type.length", "a length by specialization", "a literal length of an ordinary vector")
        else:
            yield from self.define(name, VectorShape(declared.component, length, declared))

    def memory(self, buffer: str, layout: str | None = None, view: str | None = None) -> Iterator[Problem]:
        """The problems of where a memory instruction points to: a buffer or a pointer, with a layout and a view."""
        if buffer not in self.case.buffers:
            if buffer in self.types:
                yield from self.refer("buffer", buffer, PointerType)
            else:
                yield self.no_buffer("buffer", buffer)
        if layout is not None:
            yield from self.refer("layout", layout, LayoutType)
        if view is not None:
            yield from self.refer("view", view, ViewType)

    def no_buffer(self, field: str, buffer: str) -> Problem:
        """The problem of a buffer that is not there."""
        return Problem(field, f"no buffer {buffer!r}", nearest(buffer, self.case.buffers))

    def buffer_of(self, name: str) -> str | None:
        """The buffer behind the name of a buffer or pointer."""
        result_type = self.types.get(name)
        if isinstance(result_type, PointerType):
            return result_type.buffer
        return name if name in self.case.buffers else None

    def enter(self, block: Instruction) -> None:
        """A block begins: what is defined in it is not visible outside."""
        self.open.append(block)
        self._visible.append(set())

    def leave(self) -> set[str]:
        """The innermost block ends; its ids."""
        self.open.pop()
        return self._visible.pop()


_NOUNS: dict[type[ResultType], str] = {
    LayoutType: "tensor layout",
    ViewType: "tensor view",
    MatrixShape: "matrix",
    PointerType: "pointer",
    VectorShape: "cooperative vector",
    ScalarType: "scalar",
}


def nearest(name: str, known: Iterable[str]) -> str:
    """What would be right instead of an unknown name."""
    known = sorted(known)
    return did_you_mean(name, known) if known else "define it first"
