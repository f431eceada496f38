"""The facts that cooperative vectors, their products and the conversions of their matrices exercise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from cts.capabilities import EVERYWHERE, covers, vector_mul
from cts.model import (
    AtomicScope,
    BlockStart,
    Case,
    Instruction,
    MulAddOperand,
    StorageClass,
    VectorArithmetic,
    VectorAtomicAdd,
    VectorConvert,
    VectorMatrixMul,
    VectorReduceSumAccumulate,
    VectorShape,
    constant_of,
    factors_of,
    interpretation_of,
    layout_of,
)
from cts.model.matrices import effective
from cts.model.types import ResultType


def of_vectors(case: Case, types: Mapping[str, ResultType]) -> Iterator[str]:
    """The types of vectors, and the invocations that have them."""
    vectors = [t for t in types.values() if isinstance(t, VectorShape)]
    if not vectors:
        return
    yield "CV-010"
    if max(v.length for v in vectors) >= 128:
        yield "VK-051"
    storages = {b.storage for b in case.buffers.values()}
    if StorageClass.Workgroup in storages:
        yield "CV-013"


def _of_operations(i: VectorArithmetic | VectorConvert, case: Case, types: Mapping[str, ResultType]) -> Iterator[str]:
    """The numbers of element-wise operations."""
    shape = types[i.a if isinstance(i, VectorArithmetic) else i.vector]
    if isinstance(shape, VectorShape):
        yield "NU-011 NU-012" if shape.component.is_float else "NU-004"


def _of_product(i: VectorMatrixMul, case: Case, types: Mapping[str, ResultType]) -> Iterator[str]:
    """How the input is converted, where the matrix is, and what is added."""
    source = types[i.input]
    assert isinstance(source, VectorShape)
    reading, matrix = interpretation_of(i.input_interpretation), interpretation_of(i.matrix_interpretation)
    given = source.component
    if not reading.packed:
        given = effective(given, MulAddOperand.MatrixBSigned in i.operands)
    result = effective(i.type.component, MulAddOperand.MatrixResultSigned in i.operands)
    yield "NU-010" if result.is_float else "NU-003"
    if i.operands or not result.is_float:
        yield "CV-017"
    if reading.packed:
        yield "CV-034"
    elif given is not reading.component:
        to = {(False, False): "CV-030", (True, False): "CV-031", (False, True): "CV-032", (True, True): "CV-033"}
        yield to[given.is_float, reading.component.is_float]
    if matrix.component.is_float and matrix.component.size == 1:
        yield "NU-035 VK-051"
    bias = None if i.bias_interpretation is None else interpretation_of(i.bias_interpretation)
    if bias is not None:
        yield "CV-015 AM-32"
    if any(covers(row, (*vector_mul(i, types)[:-1], False)) for row in EVERYWHERE):
        yield "CV-036"
    constants = (i.input_interpretation, i.matrix_interpretation, i.m, i.k, i.layout, i.transpose)
    if any(constant_of(c) is not c or hasattr(c, "spec") for c in constants):
        yield "CV-016"
    if layout_of(i.layout).optimal:
        yield "CV-002"
    if constant_of(i.transpose):
        yield "VK-055"
    around = any(isinstance(other, BlockStart) for other in case.program)
    if around or any(any(factors_of(o).of_invocation) for o in (i.matrix_offset, i.bias_offset)):
        yield "CV-010"


def _of_atomic_addition(i: VectorAtomicAdd, case: Case, types: Mapping[str, ResultType]) -> Iterator[str]:
    """What else adds to the same memory, and what a device needs."""
    if any(isinstance(other, VectorReduceSumAccumulate) and other.buffer == i.buffer for other in case.program):
        yield "CV-041 AM-52"
    shape = types[i.vector]
    if i.scope is AtomicScope.Device or (isinstance(shape, VectorShape) and shape.component.is_float):
        yield "CV-042"


#: Facts that depend on the operands of vector instructions: functions of the instruction, its case and the types.
VECTOR_RULES: Sequence[tuple[type[Instruction] | tuple[type[Instruction], ...], Callable[..., Iterator[str]]]] = (
    (VectorMatrixMul, _of_product),
    ((VectorArithmetic, VectorConvert), _of_operations),
    (VectorAtomicAdd, _of_atomic_addition),
)


def of_conversions(case: Case) -> Iterator[str]:
    """The types and layouts on both sides of each conversion."""
    for conversion in case.conversions:
        yield "VK-053"
        sides = [
            case.opaque[place.of].component if place.of in case.opaque else place.component
            for place in (conversion.source, conversion.destination)
        ]
        if sides[0] is not sides[1]:
            yield "VK-054"
        if any(place.stride for place in (conversion.source, conversion.destination)):
            yield "VK-055"
    if any(matrix.zero for matrix in case.opaque.values()):
        yield "CV-038"
