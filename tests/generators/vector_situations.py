"""What a case of cooperative vectors contains, in words: the classification behind docs/generators.md."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from cts.case import model as m
from cts.case.model.matrices import effective
from cts.case.model.operand import factors_of, modulus_of
from cts.case.oracle.expectation import Oracle
from cts.device.capabilities import VectorMulSupport
from tests.generators.flow_situations import fast_math_situations, flow_situations

_T, _O = m.ComponentType, m.VectorOperation
#: The least normal number of float8 types.
_LEAST = {_T.float8_e4m3fn: 2.0**-6, _T.float8_e5m2: 2.0**-14}
_NARROWER = (_T.float16, _T.float8_e4m3fn, _T.float8_e5m2)
#: The most vectors that loops of other programs carry.
_SEVERAL = 4
#: What the bodies of functions of components do, by their text.
_DOES = {
    "branches": "^ *if ",
    "loops": "^for ",
    "selects": " else ",
    "looks up": r"lookup\(",
    "calls a helper": r"h0\(",
    "compares": " [<>=!]=? ",
}
_ACCUMULATIONS = (m.VectorOuterProductAccumulate, m.VectorReduceSumAccumulate, m.VectorAtomicAdd)


def vector_situations(case: m.Case, oracle: Oracle) -> set[str]:
    """Every situation of docs/generators.md that occurs in the case."""
    types = m.types_of(case)
    found = {*_of_dispatch(case), *_of_types(types), *_of_conversions(case), *_of_blocks(case), *_of_functions(case)}
    for i in case.program:
        found |= {*_of_instruction(case, i, types)}
    products = [i for i in case.program if isinstance(i, m.VectorMatrixMul)]
    if len(products) > 1:
        found.add("several layers")
    if any(sum(i.input in m.references(j) for j in case.program) > 1 for i in products):
        found.add("input of VectorMatrixMul used again")
    if _reads_a_sum(case):
        found.add("sum read behind a barrier")
    return found | {*_of_values(case, types, oracle), *flow_situations(case), *fast_math_situations(case)}


def _of_functions(case: m.Case) -> Iterator[str]:
    """What functions of components do, and how many vectors are held through the program."""
    for function in case.functions.values():
        if isinstance(function, m.PerElement):
            yield f"function of {1 + len(function.extras)} vectors"
            for does, text in _DOES.items():
                if re.search(text, function.body, re.MULTILINE):
                    yield f"function {does}"
    held = sum(isinstance(i, m.VectorLoad) and i.buffer == "held" for i in case.program)
    if held:
        yield f"{held} vectors held"
    if any(isinstance(i, m.Loop) and len(i.carry) > _SEVERAL for i in case.program):
        yield "loop carries many vectors"


def _of_blocks(case: m.Case) -> Iterator[str]:
    """What only some invocations compute."""
    around: list[m.Loop | m.If | m.Switch] = []
    for i in case.program:
        if isinstance(i, (m.Loop, m.If, m.Switch)):
            around.append(i)
        elif isinstance(i, m.BlockEnd):
            around.pop()
        elif around:
            inner = around[-1]
            where, decides = _around(inner)
            differs = factors_of(decides).inv
            if isinstance(i, _ACCUMULATIONS):
                yield f"accumulation {where}"
            if differs:
                yield f"{type(i).__name__} {where} by invocation"


def _around(block: m.Loop | m.If | m.Switch) -> tuple[str, m.Operand]:
    match block:
        case m.Loop():
            return "in a loop", block.count
        case m.If():
            return "under a condition", block.condition
        case m.Switch():
            return "in a switch", block.selector


def _of_values(case: m.Case, types: Any, oracle: Oracle) -> Iterator[str]:
    """What operations meet whose results are hard to get right."""
    watched = (_O.Tanh, _O.Exp, _O.Log, _O.Atan, _O.Step, _O.ShiftRightArithmetic, _O.SDiv)
    found = [i for i in case.program if isinstance(i, m.VectorArithmetic) and i.operation in watched]
    if not found:
        return
    matrices = oracle.expect(case).matrices
    for i in found:
        a, b = (_floats(types[n].component, matrices[n]) if n else None for n in (i.a, i.b))
        assert a is not None
        if (a < 0).any():
            yield f"{i.operation.value} of a negative number"
        if (a > 6).any():
            yield f"{i.operation.value} of more than 6"
        if ((a != 0) & (a != 1)).any():
            yield f"{i.operation.value} of more than 0 and 1"
        if b is not None and (a == b).any():
            yield f"{i.operation.value} of two equal numbers"


def _of_dispatch(case: m.Case) -> Iterator[str]:
    count = case.dispatch.invocations or 0
    if count % 32 and count < 32:
        yield "part of a subgroup"
    if count % 32 and count > 32:
        yield "a subgroup and a part"
    if case.dispatch.workgroups != (1, 1, 1):
        yield "several workgroups"
    yield from (b.storage.value for b in case.buffers.values())
    if any(b.components > 1 for b in case.buffers.values()):
        yield "elements of vectors"


def _of_types(types: Any) -> Iterator[str]:
    for shape in types.values():
        if isinstance(shape, m.VectorShape):
            n = shape.length
            yield f"length {n}"
            if n % 2 and n > 1:
                yield "length odd"
            if n > 128:
                yield "length above 128"
            if n * shape.component.size == 32:
                yield "32 bytes"


def _of_instruction(case: m.Case, i: Any, types: Any) -> Iterator[str]:
    for field in i.__struct_fields__:
        operand = getattr(i, field)
        if isinstance(operand, m.Scalar):
            if modulus_of(operand) is not None:
                yield "mod"
            if factors_of(operand).inv:
                yield f"{field.replace('_', ' ')} by invocation"
    match i:
        case m.VectorArithmetic() | m.VectorConvert():
            yield i.operation.value
        case m.VectorConstant():
            yield (
                "replicated constant"
                if i.replicated
                else "constant of one"
                if i.values is None
                else "constant of several"
            )
        case m.VectorNull():
            yield "null constant"
        case m.VectorLoad():
            if m.base_of(i.offset):
                yield "offset not 0"
            if case.buffers[i.buffer].type is not i.type.component:
                yield "another element type"
        case m.VectorTimesScalar() if i.scalar is not None:
            yield "scalar times vector"
        case m.VectorMatrixMul():
            yield from _of_product(case, i, types)
        case m.VectorOuterProductAccumulate():
            yield f"outer {m.interpretation_of(i.interpretation).value}"
            yield "zeroed matrix" if case.opaque[i.matrix].zero else "converted matrix"
        case m.VectorReduceSumAccumulate():
            yield from _of_sum(case, i, types[i.vector])
        case m.VectorAtomicAdd():
            yield f"atomic {types[i.vector].component.value}"
            yield f"atomic at {i.scope.value} scope"
            yield from _beside_a_sum(case, i)
        case _:
            names = {
                m.VectorConstruct: "construct",
                m.VectorInsert: "insert",
                m.VectorBitcast: "bitcast",
                m.ControlBarrier: "barrier",
                m.VectorComponents: "function",
            }
            yield from (name for kind, name in names.items() if isinstance(i, kind))


def _reads_a_sum(case: m.Case) -> bool:
    """Whether a load of a buffer stands behind an addition to it."""
    added: set[str] = set()
    for i in case.program:
        if isinstance(i, m.VectorReduceSumAccumulate | m.VectorAtomicAdd):
            added.add(i.buffer)
        if isinstance(i, m.VectorLoad) and i.buffer in added:
            return True
    return False


def _of_sum(case: m.Case, i: m.VectorReduceSumAccumulate, shape: m.VectorShape) -> Iterator[str]:
    yield f"sum {shape.component.value}"
    step = factors_of(i.offset).inv
    if (case.dispatch.invocations or 0) < 3:
        return
    if modulus_of(i.offset) is not None:
        yield "a few places"
    elif not step:
        yield "same place"
    else:
        yield "overlapping places" if step < shape.length * shape.component.size else "own place"


def _beside_a_sum(case: m.Case, i: m.VectorAtomicAdd) -> Iterator[str]:
    """Whether a reduced sum goes to the same buffer."""
    indices = [
        n
        for n, other in enumerate(case.program)
        if isinstance(other, m.VectorReduceSumAccumulate) and other.buffer == i.buffer
    ]
    if indices:
        at = case.program.index(i)
        yield f"atomic {'after' if min(indices) < at else 'before'} a sum"
        if math.prod(case.dispatch.workgroups) > 1:
            yield "atomic beside a sum of several workgroups"


def row_of(i: m.VectorMatrixMul, source: m.ComponentType) -> VectorMulSupport:
    """The row that a multiplication of a vector of `source` asks for; for a missing bias, the matrix's type."""
    reading, matrix = m.interpretation_of(i.input_interpretation), m.interpretation_of(i.matrix_interpretation)
    given = source if reading.packed else effective(source, m.MulAddOperand.MatrixBSigned in i.operands)
    result = effective(i.type.component, m.MulAddOperand.MatrixResultSigned in i.operands)
    bias = matrix if i.bias_interpretation is None else m.interpretation_of(i.bias_interpretation)
    return VectorMulSupport(given, reading, matrix, bias, result, transpose=bool(m.constant_of(i.transpose)))


def _of_product(case: m.Case, i: m.VectorMatrixMul, types: Any) -> Iterator[str]:
    layout, source = m.layout_of(i.layout), types[i.input]
    row = row_of(i, source.component)
    given, reading, matrix = row.input, row.input_interpretation, row.matrix_interpretation
    yield layout.value
    yield f"{given.value} as {reading.value} to {row.result.value}"
    k, rows = m.constant_of(i.k), m.constant_of(i.m)
    assert isinstance(k, int) and isinstance(rows, int)
    if k % 8:
        yield "K no multiple of 8"
    if rows % 8:
        yield "M no multiple of 8"
    if m.constant_of(i.transpose):
        yield "transposed"
    if i.bias is not None:
        yield "bias"
    if reading.packed and source.length > -(-k // 4):
        yield "spare packed components"
    line = (k if layout is m.MatrixLayout.RowMajor else rows) * matrix.component.size
    if not layout.optimal and m.base_of(i.stride) >= line + 16:
        yield "stride larger than the line"
    if not reading.packed and not reading.component.is_float and reading.component is not given:
        yield from _of_input(case, i, given, reading.component)


def _of_input(case: m.Case, i: m.VectorMatrixMul, given: m.ComponentType, reading: m.ComponentType) -> Iterator[str]:
    """Whether numbers of an input from memory saturate or are rounded."""
    for other in case.program:
        if isinstance(other, m.VectorLoad) and other.id == i.input:
            buffer = case.buffers[other.buffer]
            numbers = _floats(buffer.type, m.initial_bits(buffer))
            limits = np.iinfo(reading.dtype)
            if ((numbers < limits.min) | (numbers > limits.max)).any():
                yield "saturates"
            if given.is_float and (numbers != np.trunc(numbers)).any():
                yield "rounds"


def _numbers(case: m.Case, place: m.ConversionSide) -> Any:
    """The numbers of a buffer that is converted; none of an opaque matrix, whose numbers come from another one."""
    buffer = case.buffers.get(place.of)
    return np.zeros(0) if buffer is None else _floats(buffer.type, m.initial_bits(buffer))


def _floats(component: m.ComponentType, bits: Any) -> Any:
    """The numbers behind bit patterns: a signalling NaN raises the flag where it is widened."""
    with np.errstate(invalid="ignore"):
        return m.decode(component, bits).astype(np.float64)


def _of_conversions(case: m.Case) -> Iterator[str]:
    for conversion in case.conversions:
        sides = []
        for place in (conversion.source, conversion.destination):
            matrix = case.opaque.get(place.of)
            sides.append((place.component, place.layout) if matrix is None else (matrix.component, matrix.layout))
        (source, before), (target, after) = sides
        assert source is not None and target is not None and before is not None and after is not None
        yield f"{source.value} to {target.value}"
        yield f"to {after.value}"
        yield "host conversion" if conversion.host else "device conversion"
        if conversion.after:
            yield "after the dispatch"
        if before is m.MatrixLayout.ColumnMajor:
            yield "column-major source"
        if source in _LEAST and target is not source:
            yield from (
                f"denormal of {source.value}" for x in _numbers(case, conversion.source) if 0 < abs(x) < _LEAST[source]
            )
        if target in _NARROWER and target is not source:
            numbers = _numbers(case, conversion.source)
            with np.errstate(invalid="ignore", over="ignore"):
                narrow = numbers.astype(target.dtype).astype(np.float64)
            if (narrow != numbers).any():
                yield f"rounds to {target.value}"
        if before.optimal and after.optimal and before is not after:
            yield "one optimal layout to another"
        if not before.optimal and not after.optimal:
            yield "buffer to buffer"
    for matrix in case.opaque.values():
        if matrix.storage is m.StorageClass.PhysicalStorageBuffer:
            yield "physical opaque"
        if matrix.offset:
            yield "offset opaque"
