"""Matrices that are made of arrays of the invocations, and taken apart into them (QC-001 to QC-012).

An array of each invocation of a subgroup is a line of the matrix: a row, or of a B a column. Arrays live within an
instruction: it loads and stores them, or takes them from one matrix to another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from cts.case.model.component import ComponentType
from cts.case.model.feature import Feature
from cts.case.model.instruction import Instruction
from cts.case.model.matrix_memory import MatrixLoad, MatrixStore
from cts.case.model.operand import Operand, Order, Scope, Use
from cts.case.model.types import MatrixShape, MatrixType, Problem

if TYPE_CHECKING:
    from cts.case.model.buffer import Buffer
    from cts.case.model.names import TypeEnvironment

__all__ = [
    "ArrayInstruction", "MatrixOfArrays", "MatrixThroughArrays", "MatrixToArrays", "has_arrays", "line_of",
]  # fmt: skip

#: The floats of IEEE 754 and the integers of so many bytes that matrices of arrays have (QC-006, QC-007).
_FLOATS = tuple(c for c in ComponentType if c.is_float and not c.descriptor.encoding)
_BYTES, _WORDS = (tuple(c for c in ComponentType if not c.is_float and c.size == size) for size in (1, 4))
#: Bytes of a line of an A or B (QC-006).
_LINE = 32
#: Elements of arrays that are bitcast or taken apart (QC-009, QC-010).
_CAST = (*_WORDS, *_FLOATS)
_WORD = ComponentType.uint32


def line_of(shape: MatrixShape) -> tuple[int, int]:
    """The number of a matrix's lines, each the array of one invocation, and the components of each (QC-002)."""
    return (shape.cols, shape.rows) if shape.use is Use.B else (shape.rows, shape.cols)


def _shaped(field: str, shape: MatrixShape, subgroup_size: int | None) -> Iterator[Problem]:
    """QC-006, QC-007, QC-008: what a matrix must be to have arrays."""
    declared, lines, length = shape.declared, *line_of(shape)
    for name in ("scope", "rows", "cols", "use"):
        if getattr(declared, name) is not getattr(shape, name):
            yield Problem(f"{field}.{name}", "a specialization constant", "a literal: arrays have literal lengths")
    if shape.scope is not Scope.Subgroup:
        yield Problem(f"{field}.scope", f"arrays of {shape.scope.value} scope", "Subgroup", "QC-008")
    accumulator = shape.use is Use.Accumulator
    rule, allowed = ("QC-007", _CAST) if accumulator else ("QC-006", (*_BYTES, *_FLOATS))
    if shape.component not in allowed:
        right = ", ".join(component.value for component in allowed)
        yield Problem(f"{field}.component", f"{shape.component.value} of use {shape.use.value}", right, rule)
    elif not accumulator and length * shape.component.size != _LINE:
        what = f"{length} {'rows' if shape.use is Use.B else 'columns'} of {shape.component.value}"
        yield Problem(field, what, f"{_LINE // shape.component.size}", "QC-006")
    if subgroup_size is None:
        yield Problem("", "arrays of invocations without `dispatch.subgroup_size`", "dispatch: {subgroup_size: 32}")
    elif subgroup_size & (subgroup_size - 1):
        yield Problem("", f"arrays in subgroups of {subgroup_size}", "a power of two", "QC-008")
    elif max(lines, length if accumulator else 1) > subgroup_size:
        what = f"{shape.rows}x{shape.cols} of use {shape.use.value} in subgroups of {subgroup_size}"
        yield Problem(field, what, "no more rows, or of a B columns, than invocations", rule)


def has_arrays(shape: MatrixShape, subgroup_size: int) -> bool:
    """Whether a matrix can be made of arrays of the invocations of such a subgroup (QC-006, QC-007)."""
    return not any(_shaped("", shape, subgroup_size))


def _elements(field: str, shape: MatrixShape, element: ComponentType) -> Iterator[Problem]:
    """QC-005: components, or words that hold them."""
    if element not in (shape.component, _WORD):
        yield Problem(field, f"elements {element.value}", f"{shape.component.value} or uint32", "QC-005")
    elif line_of(shape)[1] * shape.component.size % element.size:
        what = f"{line_of(shape)[1]} components of {shape.component.value} in words"
        yield Problem(field, what, "whole words", "QC-005")


def _in_memory(
    instruction: MatrixOfArrays | MatrixToArrays, environment: TypeEnvironment, name: str
) -> Iterator[Problem]:
    """What the arrays of a load or store must be: as QC-005 to QC-009 say, and as the module can write them."""
    shape, case = environment.types.get(name), environment.case
    buffer = case.buffers.get(instruction.buffer)
    if not isinstance(shape, MatrixShape):
        return
    field = "type" if isinstance(instruction, MatrixOfArrays) else "matrix"
    yield from _shaped(field, shape, case.dispatch.subgroup_size)
    yield from _elements("element", shape, instruction.element)
    if case.robustness is not None:
        yield Problem("", "arrays of invocations in a case with `robustness`", "no robustness")
    if buffer is None:
        yield Problem("buffer", f"arrays through the pointer {instruction.buffer!r}", "a buffer")
        return
    if buffer.components != 1:
        yield Problem("buffer", f"arrays of elements of {buffer.components} components", "an array of scalars")
    if instruction.order.blocked:
        yield Problem("order", f"arrays in {instruction.order.value}", "RowMajor or ColumnMajor")
    yield from _cast(shape, instruction.element, buffer, instruction.order)


def _cast(shape: MatrixShape, element: ComponentType, buffer: Buffer, order: Order) -> Iterator[Problem]:
    """QC-009: an array of the buffer's type is bitcast, if the matrix takes or gives another one."""
    along = Order.ColumnMajor if shape.use is Use.B else Order.RowMajor
    if (element is not shape.component or buffer.type is not element) and order is not along:
        yield Problem("order", f"arrays of words in {order.value}", f"{along.value}, along the arrays")
    if buffer.type is element:
        return
    if buffer.type not in _CAST or element not in _CAST:
        yield Problem("buffer", f"arrays of {buffer.type.value} for {element.value}", f"{element.value}", "QC-009")
    elif buffer.type.is_float and buffer.type is not shape.component:
        what = f"components of {shape.component.value} in arrays of {buffer.type.value}"
        yield Problem("buffer", what, "no floats that are none: a move need not keep them (AM-64)")
    elif line_of(shape)[1] * shape.component.size % buffer.type.size:
        what = f"arrays of {line_of(shape)[1]} {shape.component.value} in elements of {buffer.type.value}"
        yield Problem("buffer", what, "whole elements", "QC-009")


def _facts_of_cast(element: ComponentType, other: ComponentType | None) -> tuple[str, ...]:
    return () if other in (None, element) else ("QC-009",)


class MatrixOfArrays(MatrixLoad, frozen=True):
    """OpCompositeConstructCoopMatQCOM of arrays that the invocations load themselves (QC-002, QC-003).

    The matrix has the elements that a MatrixLoad has. `element` is the type of the arrays' elements: the matrix's
    component, or uint32 (QC-005). If the buffer has another type, the arrays are bitcast in between (QC-009).
    """

    opcode: ClassVar[str] = "OpCompositeConstructCoopMatQCOM"
    capability = "CooperativeMatrixConversionQCOM"
    facts = ("QC-002", "QC-005")
    exercises = ("QC-001", "QC-008", "QC-012")
    needs = frozenset({Feature.ARRAY_CONVERSIONS})
    element: ComponentType = ComponentType.uint32

    @property
    def exercised(self) -> tuple[str, ...]:
        by_use = "QC-007" if self.type.use is Use.Accumulator else "QC-006"
        return (*self.facts, *self.exercises, by_use, *(("AM-62",) if self.element is not self.type.component else ()))

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        """QC-005 to QC-009."""
        yield from super().check(environment)
        yield from _in_memory(self, environment, self.id)


class MatrixToArrays(MatrixStore, frozen=True):
    """OpCompositeExtractCoopMatQCOM; each invocation that has a line then stores its array (QC-004).

    Memory takes what a MatrixStore stores. `element` and the buffer's type are as in MatrixOfArrays.
    """

    opcode: ClassVar[str] = "OpCompositeExtractCoopMatQCOM"
    capability = "CooperativeMatrixConversionQCOM"
    facts = ("QC-004", "QC-005")
    exercises = ("QC-001", "QC-008", "QC-012")
    needs = frozenset({Feature.ARRAY_CONVERSIONS})
    element: ComponentType = ComponentType.uint32

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*self.facts, *self.exercises)

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        """QC-005 to QC-009."""
        yield from super().check(environment)
        yield from _in_memory(self, environment, self.matrix)


class MatrixThroughArrays(Instruction, frozen=True):
    """A matrix's arrays become those of another matrix of the same component (QC-002, QC-004).

    Arrays have elements of type `extracted` when they leave `matrix`, and `constructed` when they make the result: if
    these differ, they are bitcast in between (QC-009). Longer arrays give the elements from `start` on, which counts
    `constructed` (QC-010).
    """

    opcode: ClassVar[str] = "OpCompositeConstructCoopMatQCOM"
    capability = "CooperativeMatrixConversionQCOM"
    facts = ("QC-002", "QC-004", "QC-005")
    exercises = ("QC-001", "QC-008", "QC-012")
    needs = frozenset({Feature.ARRAY_CONVERSIONS})
    id: str
    matrix: str
    type: MatrixType
    extracted: ComponentType
    constructed: ComponentType
    start: Operand = 0

    def part(self, source: MatrixShape, target: MatrixShape) -> tuple[int, int] | None:
        """Elements of an array and of the part of it that the result takes (QC-010); None: arrays are taken whole."""
        sizes = (line_of(s)[1] * s.component.size // self.constructed.size for s in (source, target))
        length, wanted = sizes
        return None if wanted == length else (length, wanted)

    @property
    def exercised(self) -> tuple[str, ...]:
        cut = () if self.start == 0 else ("QC-010", "QC-011")
        return (*self.facts, *self.exercises, *_facts_of_cast(self.extracted, self.constructed), *cut)

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        """QC-005 to QC-010."""
        yield from environment.refer("matrix", self.matrix, MatrixShape)
        yield from environment.define_matrix(self.id, self.type)
        source, target = environment.types.get(self.matrix), environment.types.get(self.id)
        if not isinstance(source, MatrixShape) or not isinstance(target, MatrixShape):
            return
        size = environment.case.dispatch.subgroup_size
        yield from _shaped("matrix", source, size)
        yield from _shaped("type", target, size)
        yield from _elements("extracted", source, self.extracted)
        yield from _elements("constructed", target, self.constructed)
        if source.component is not target.component:
            yield Problem("type.component", f"{target.component.value} of {source.component.value}", "the same")
        (lines, length), (of_result, wanted) = line_of(source), line_of(target)
        if of_result > lines:
            what = f"{of_result} arrays of a matrix that has {lines}"
            yield Problem("type", what, "no more: other invocations have undefined arrays", "QC-004")
        if wanted > length:
            yield Problem("type", f"arrays of {wanted} components from {length}", "no more", "QC-010")
        elif wanted == length and self.start != 0:
            yield Problem("start", "a start in arrays that are taken whole", "no start", "QC-010")
        changed = self.extracted is not self.constructed
        for field in ("extracted", "constructed"):
            if getattr(self, field) not in _CAST and (changed or wanted != length):
                what = f"arrays of {getattr(self, field).value} that are bitcast or taken apart"
                yield Problem(field, what, ", ".join(c.value for c in _CAST), "QC-009" if changed else "QC-010")


ArrayInstruction: TypeAlias = MatrixOfArrays | MatrixToArrays | MatrixThroughArrays
