"""Arrays of the invocations that become lines of matrices, and the other way round (QC-002 to QC-010).

An invocation loads and stores its array itself, element by element. Those that have no line give arrays of ones, which
nothing may take (QC-003), and store nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from cts.case.model import (
    ComponentType,
    MatrixOfArrays,
    MatrixShape,
    MatrixThroughArrays,
    MatrixToArrays,
    MatrixType,
    Order,
    Scope,
    Use,
    constant_of,
    line_of,
)
from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.matrix_types import declared_type
from cts.spirv.lower.pointers import buffer_of, element, load_operands, store_operands
from cts.spirv.lower.types import scalar
from cts.spirv.lower.values import constant_of_bits

CAPABILITY = "CooperativeMatrixConversionQCOM"


@lower_instruction.register
def of_arrays(instruction: MatrixOfArrays, lowering: Lowering) -> None:
    """QC-002, QC-003."""
    op, buffer = lowering.module.op, buffer_of(lowering, instruction.buffer)
    type_, shape = declared_type(lowering, instruction.type), _shape(instruction.type)
    places = _Places(lowering, instruction, shape, buffer.type)
    component, memory = scalar(lowering.module, buffer.type), load_operands(lowering, buffer)
    ones = constant_of_bits(lowering, buffer.type, (1 << 8 * buffer.type.size) - 1)
    elements = []
    for index in places.indices():
        loaded = op("OpLoad", component, element(lowering, buffer, index), *memory)
        elements.append(op("OpSelect", component, places.inside, loaded, ones))
    array = op("OpCompositeConstruct", _array_type(lowering, buffer.type, len(elements)), *elements)
    array = _cast(lowering, shape, array, buffer.type, instruction.element)
    lowering.module.capability(CAPABILITY)
    lowering.define(instruction.id, instruction.opcode, type_, array)


@lower_instruction.register
def to_arrays(instruction: MatrixToArrays, lowering: Lowering) -> None:
    """QC-004: only invocations that have a line store its array."""
    op, buffer = lowering.module.op, buffer_of(lowering, instruction.buffer)
    shape = _shape(lowering.matrix(instruction.matrix).declared)
    array = _extracted(lowering, shape, lowering.results[instruction.matrix].id, instruction.element)
    array = _cast(lowering, shape, array, instruction.element, buffer.type)
    places = _Places(lowering, instruction, shape, buffer.type)
    component, memory = scalar(lowering.module, buffer.type), store_operands(lowering, buffer)
    taken, merge = lowering.module.id(), lowering.module.id()
    op("OpSelectionMerge", merge, "None")
    op("OpBranchConditional", places.inside, taken, merge)
    lowering.label(taken)
    for n, index in enumerate(places.indices()):
        part = op("OpCompositeExtract", component, array, n)
        op("OpStore", element(lowering, buffer, index), part, *memory)
    op("OpBranch", merge)
    lowering.label(merge)


@lower_instruction.register
def through_arrays(instruction: MatrixThroughArrays, lowering: Lowering) -> None:
    """QC-002, QC-004, QC-009, QC-010."""
    op = lowering.module.op
    type_, target = declared_type(lowering, instruction.type), _shape(instruction.type)
    source = _shape(lowering.matrix(instruction.matrix).declared)
    array = _extracted(lowering, source, lowering.results[instruction.matrix].id, instruction.extracted)
    array = _cast(lowering, source, array, instruction.extracted, instruction.constructed)
    if instruction.part(source, target) is not None:
        start = instruction.start
        signed = (
            op("OpConstant", lowering.int, start)
            if isinstance(start, int)
            else op("OpBitcast", lowering.int, lowering.operand("start", start))
        )
        part = _array_type(lowering, instruction.constructed, _length(target, instruction.constructed))
        array = op("OpExtractSubArrayQCOM", part, array, signed)
    lowering.module.capability(CAPABILITY)
    lowering.define(instruction.id, instruction.opcode, type_, array)


class _Places:
    """Whether the invocation has a line (`inside`), and where its elements are in the buffer."""

    def __init__(
        self, lowering: Lowering, i: MatrixOfArrays | MatrixToArrays, shape: MatrixShape, type_: ComponentType
    ) -> None:
        self._lowering = lowering
        op, uint = lowering.module.op, lowering.uint
        lowering.module.capability("GroupNonUniform")
        lane = op("OpLoad", uint, lowering.builtin("SubgroupLocalInvocationId", uint))
        self.inside = op("OpULessThan", op("OpTypeBool"), lane, lowering.constant(line_of(shape)[0]))
        line = op("OpSelect", uint, self.inside, lane, lowering.constant(0))
        offset, stride = lowering.operand("offset", i.offset), lowering.operand("stride", i.stride)
        self._along = i.order is (Order.ColumnMajor if shape.use is Use.B else Order.RowMajor)
        across = op("OpIMul", uint, line, stride) if self._along else line
        self._first, self._stride = op("OpIAdd", uint, offset, across), stride
        self._count = _length(shape, type_)

    def indices(self) -> Iterator[Id]:
        """The index in the buffer of each element of the array, in turn."""
        op, uint = self._lowering.module.op, self._lowering.uint
        for n in range(self._count):
            step = self._lowering.constant(n)
            if not self._along:
                step = op("OpIMul", uint, step, self._stride)
            yield op("OpIAdd", uint, self._first, step)


def _extracted(lowering: Lowering, shape: MatrixShape, matrix: Id, element_: ComponentType) -> Id:
    lowering.module.capability(CAPABILITY)
    type_ = _array_type(lowering, element_, _length(shape, element_))
    return lowering.module.op("OpCompositeExtractCoopMatQCOM", type_, matrix)


def _cast(lowering: Lowering, shape: MatrixShape, array: Id, of: ComponentType, to: ComponentType) -> Id:
    """QC-009: the array of a line as one of other elements."""
    if of is to:
        return array
    lowering.module.capability(CAPABILITY)
    return lowering.module.op("OpBitCastArrayQCOM", _array_type(lowering, to, _length(shape, to)), array)


def _length(shape: MatrixShape, element_: ComponentType) -> int:
    """The elements of a type that hold a line of a matrix."""
    return line_of(shape)[1] * shape.component.size // element_.size


def _array_type(lowering: Lowering, element_: ComponentType, length: int) -> Id:
    """A type of arrays that are values: the ones of memory may have an ArrayStride."""
    key = (MatrixOfArrays, element_, length)
    if key not in lowering.types:
        op, module = lowering.module.op, lowering.module
        component = scalar(module, element_)
        lowering.types[key] = op("OpTypeArray", component, lowering.constant(length), result=module.id())
    return lowering.types[key]


def _shape(declared: MatrixType) -> MatrixShape:
    rows, cols, use = constant_of(declared.rows), constant_of(declared.cols), constant_of(declared.use)
    assert isinstance(rows, int) and isinstance(cols, int) and isinstance(use, Use)
    return MatrixShape(declared.component, Scope.Subgroup, rows, cols, use, declared)
