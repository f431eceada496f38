"""Cooperative matrix instructions that call functions of the case: reductions, operations per element."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec import structs

from cts.case.model.feature import Feature
from cts.case.model.functions import Combine, Component, PerElement, integers_of, pointers_of, scalars_of
from cts.case.model.instruction import Computation, TypingResult
from cts.case.model.matrices import represents
from cts.case.model.operand import ComponentValue, Operand, SpecInt, StorageClass, Use, constant_of
from cts.case.model.types import PointerType, Problem

if TYPE_CHECKING:
    from cts.case.model.names import TypingContext

__all__ = [
    "MatrixComponents", "MatrixPerElement", "MatrixReduce", "ReduceMode", "Walk",
]  # fmt: skip


class ReduceMode(enum.Enum):
    """What a reduction combines (CM-004)."""

    Row = "Row"
    Column = "Column"
    Square = "2x2"

    @property
    def spirv(self) -> str:
        """The bit by its name in the grammar."""
        return self.value


class MatrixReduce(Computation, frozen=True):
    """CM-020..CM-023. `rows` and `cols` of the result where the mode leaves them free; else those of the source."""

    opcode: ClassVar[str] = "OpCooperativeMatrixReduceNV"
    form = "matrix mode combine"
    capability = "CooperativeMatrixReductions"
    facts = ("CM-022", "CM-020", "CM-021", "CM-023")
    exercises = ("CM-004",)
    needs = frozenset({Feature.REDUCTIONS})
    id: str
    matrix: str
    mode: tuple[ReduceMode, ...]
    combine: str
    rows: int | SpecInt | None = None
    cols: int | SpecInt | None = None

    def typed(self, context: TypingContext) -> TypingResult:
        """CM-004, CM-020, CM-021."""
        source = context.matrix(self.matrix)
        yield from context.function("combine", self.combine, Combine, source.component)
        if source.use is not Use.Accumulator:
            yield Problem("matrix", f"a matrix of Use {source.use.value}", "an Accumulator", "CM-020")
        modes = set(self.mode)
        if modes not in (
            {ReduceMode.Row},
            {ReduceMode.Column},
            {ReduceMode.Row, ReduceMode.Column},
            {ReduceMode.Square},
        ):
            what = ", ".join(m.value for m in self.mode) or "nothing"
            yield Problem("mode", what, "Row, Column, both, or 2x2 alone", "CM-004")
            return
        if len(modes) != len(self.mode):
            yield Problem("mode", "a mode is given twice", "each mode once", "CM-004")
        d = source.declared
        if modes == {ReduceMode.Square}:
            for field, extent in (("rows", source.rows), ("cols", source.cols)):
                if extent % 2:
                    yield Problem("matrix", f"{extent} {field}", "an even number", "CM-021")
            free = {"rows", "cols"}
            halves: dict[str, int] = {"rows": source.rows // 2, "cols": source.cols // 2}
        else:
            free = {field for field, mode in (("rows", ReduceMode.Column), ("cols", ReduceMode.Row)) if mode in modes}
            halves = {}
        result: dict[str, int | SpecInt] = {}
        for field in ("rows", "cols"):
            declared: int | SpecInt | None = getattr(self, field)
            wanted = constant_of(declared)
            if declared is None:
                result[field] = halves.get(field, getattr(d, field))
            elif halves and wanted != halves[field]:
                yield Problem(field, f"{wanted} {field}", f"half of the source's: {halves[field]}", "CM-021")
            elif field not in free and wanted != getattr(source, field):
                yield Problem(field, f"{wanted} {field}", f"those of the source: {getattr(source, field)}", "CM-021")
            if declared is not None:
                result[field] = declared
        yield structs.replace(d, **result)


class MatrixPerElement(Computation, frozen=True):
    """CM-030, CM-031. `matrices`, `scalars`, `pointers` and `integers` are its extra operands, each kind in order.

    Vectors and structures are passed as the scalars that they are made of (CM-036).
    """

    opcode: ClassVar[str] = "OpCooperativeMatrixPerElementOpNV"
    facts = ("CM-030", "CM-031")
    needs = frozenset({Feature.PER_ELEMENT})
    component_values = ("scalars",)
    refers = ("matrix", "matrices", "pointers")
    stands_for = ("matrix", "matrices")
    id: str
    matrix: str
    function: str
    matrices: tuple[str, ...] = ()
    scalars: tuple[ComponentValue, ...] = ()
    pointers: tuple[str, ...] = ()
    integers: tuple[Operand, ...] = ()

    def typed(self, context: TypingContext) -> TypingResult:
        """CM-030."""
        source = context.matrix(self.matrix)
        yield from context.function("function", self.function, PerElement, source.component)
        function = context.functions.get(self.function)
        if isinstance(function, PerElement):
            wanted = [e for e in function.extras if e.matrix]
            if len(wanted) != len(self.matrices):
                yield Problem(
                    "matrices", f"{len(self.matrices)} matrices", f"{len(wanted)}, as the function has", "CM-030"
                )
            for n, name in enumerate(self.matrices):
                if context.matrix(name).declared != source.declared:
                    what = "an extra matrix of another type than matrix"
                    yield Problem(f"matrices[{n}]", what, "matrices of one type, declared alike", "CM-030")
            types = [t for _, t in scalars_of(function)]
            if len(types) != len(self.scalars):
                yield Problem("scalars", f"{len(self.scalars)} scalars", f"{len(types)}, as the function has", "CM-030")
            for n, (component, value) in enumerate(zip(types, self.scalars, strict=False)):
                yield from represents(f"scalars[{n}]", component, value)
            if len(self.integers) != len(integers_of(function)):
                what, right = f"{len(self.integers)} integers", f"{len(integers_of(function))}, as the function has"
                yield Problem("integers", what, right, "CM-036")
            yield from self._pointers(context, function)
        yield source.declared

    def _pointers(self, context: TypingContext, function: PerElement) -> TypingResult:
        wanted = pointers_of(function)
        if len(wanted) != len(self.pointers):
            yield Problem("pointers", f"{len(self.pointers)} pointers", f"{len(wanted)}, as the function has", "CM-036")
        for n, (extra, name) in enumerate(zip(wanted, self.pointers, strict=False)):
            pointer = context.types[name]
            assert isinstance(pointer, PointerType) and extra.type is not None
            buffer = context.buffers[pointer.buffer]
            if (buffer.type, buffer.components) != (extra.type, 1):
                what = f"a pointer into {pointer.buffer!r}, which holds {buffer.type.value}"
                what += " vectors" * (buffer.components > 1)
                yield Problem(f"pointers[{n}]", what, f"one to scalars of type {extra.type.value}", "CM-036")
            elif buffer.storage is not StorageClass.PhysicalStorageBuffer:
                what = f"a pointer into {pointer.buffer!r}, which is in {buffer.storage.value} memory"
                yield Problem(f"pointers[{n}]", what, "one into PhysicalStorageBuffer memory", "CM-036")


class Walk(enum.Enum):
    """In which order an invocation goes through the components that it holds."""

    #: From the first to the last, every invocation at the same one.
    Ascending = "Ascending"
    #: Those first, in steps of two, at whose index it begins, 0 or 1 by its number; the others in divergent flow.
    ByInvocation = "ByInvocation"


class MatrixComponents(Computation, frozen=True):
    """A function of every component, reached through the per-invocation view (KM-011, KM-015).

    Each invocation loops over its OpCooperativeMatrixLengthKHR components through pointers, in the order that `walk`
    says (KM-019). With `coordinates` the function is a per-element one, whose row and column
    OpCooperativeMatrixGetCoordinateEXT says (MX-004).
    """

    opcode: ClassVar[str] = "OpCooperativeMatrixLengthKHR"
    facts = ("KM-011", "KM-015")
    id: str
    matrix: str
    function: str
    walk: Walk = Walk.Ascending
    coordinates: bool = False

    @property
    def features(self) -> frozenset[Feature]:
        return self.needs | {Feature.GET_COORDINATE} if self.coordinates else self.needs

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *(("MX-004",) if self.coordinates else ()))

    def typed(self, context: TypingContext) -> TypingResult:
        source = context.matrix(self.matrix)
        kind = PerElement if self.coordinates else Component
        yield from context.function("function", self.function, kind, source.component)
        function = context.functions.get(self.function)
        if isinstance(function, PerElement) and (function.extras or function.tables or function.outputs):
            what = "a function with more than row, column and value"
            yield Problem("function", what, "no extras, tables or outputs: nothing passes or binds them", "MX-004")
        yield source.declared


MatrixCallbackInstruction: TypeAlias = MatrixReduce | MatrixPerElement | MatrixComponents
