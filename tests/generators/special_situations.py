"""Which numbers that are hard to get right meet which computations: zeros, denormals, infinities, NaNs, ties.

The classification behind the rows on special numbers in docs/generators.md, for matrices and vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case import model as m
from cts.case.oracle.expectation import Expectation

Bits = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
_A, _O = m.Arithmetic, m.VectorOperation

#: Computations by what they do.
_OPERATIONS = {
    "sum": (_A.FAdd, _A.FSub, _O.FAdd, _O.FSub),
    "product": (_A.FMul, _O.FMul),
    "negation": (_A.FNegate, _O.FNegate),
    "quotient": (_A.FDiv, _O.FDiv),
    "extreme": (_O.FMin, _O.FMax, _O.NMin, _O.NMax),
}
_INSTRUCTIONS: dict[type, str] = {
    m.MatrixTimesScalar: "product",
    m.VectorTimesScalar: "product",
    m.MatrixMulAdd: "multiply-add",
    m.VectorMatrixMul: "multiplication",
    m.MatrixReduce: "reduction",
    m.MatrixPerElement: "function",
    m.MatrixComponents: "function",
}


def special_situations(case: m.Case, expectation: Expectation) -> set[str]:
    """Every situation with special numbers that occurs in the case; `expectation` is the oracle's."""
    types = m.types_of(case)
    found = set(_of_conversions(case))
    for i in case.program:
        operands = {n: _component(types[n]) for n in m.references(i) if n in expectation.matrices}
        for name, component in operands.items():
            if component is None:
                continue
            bits = expectation.matrices[name]
            kinds = set(_kinds(i))
            if kinds & _OPERATIONS.keys():
                kinds.add("arithmetic")
            found.update(f"{kind} of {special}" for kind in kinds for special in _specials(component, bits))
            if isinstance(i, m.MatrixConvert | m.VectorConvert):
                signed = i.operation.value in ("ConvertSToF", "SConvert")
                found.update(_of_conversion(component, i.component, bits, signed))
        if isinstance(i, m.MatrixLoadTensor) and i.decode is not None:
            component = _component(types[i.id])
            assert component is not None
            found.update(f"decode gives {s}" for s in _specials(component, expectation.matrices[i.id]))
        if isinstance(i, m.VectorMatrixMul):
            found.update(_of_product(case, i, operands[i.input], expectation))
    return found


def _component(shape: Any) -> m.ComponentType | None:
    return shape.component if isinstance(shape, m.MatrixShape | m.VectorShape) else None


def _kinds(i: Any) -> Iterator[str]:
    yield from (kind for kind, operations in _OPERATIONS.items() if getattr(i, "operation", None) in operations)
    if type(i) in _INSTRUCTIONS:
        yield _INSTRUCTIONS[type(i)]


def _specials(component: m.ComponentType, bits: Bits) -> Iterator[str]:
    """Which kinds of special numbers there are among bit patterns of a float type."""
    if not component.is_float:
        return
    numbers = _numbers(component, bits)
    magnitude = bits & component.bits_dtype.type((1 << (8 * component.size - 1)) - 1)
    finite = np.isfinite(numbers)
    sizes = np.abs(numbers)
    greatest = _numbers(component, np.array([_greatest(component)], component.bits_dtype))[0]
    for name, mask in (
        ("-0", (magnitude == 0) & (bits != 0)),
        ("a denormal", finite & (sizes > 0) & (sizes < _least(component))),
        ("an infinity", np.isinf(numbers)),
        ("a NaN", np.isnan(numbers)),
        ("the greatest number", finite & (sizes == greatest)),
    ):
        if mask.any():
            yield name


def _numbers(component: m.ComponentType, bits: Bits) -> npt.NDArray[np.float64]:
    # A signalling NaN raises the flag where it is widened.
    with np.errstate(invalid="ignore"):
        return m.decode(component, bits).astype(np.float64)


def _greatest(component: m.ComponentType) -> int:
    """The bit pattern of the greatest finite number."""
    every = np.arange(1 << 8 if component.size == 1 else 1 << 15, dtype=np.int64)
    if component.size == 1:
        every = every[:128]
    high = (
        every.astype(component.bits_dtype)
        if component.size < 4
        else (every << 16).astype(np.uint32) | np.uint32(0xFFFF)
    )
    return int(high[np.isfinite(_numbers(component, high))].max())


def _least(component: m.ComponentType) -> float:
    """The least normal number: the first that is twice what half its bit pattern's place would give."""
    fraction = {"float32": 23, "float16": 10, "bfloat16": 7, "float8_e4m3fn": 3, "float8_e5m2": 2}[component.value]
    return float(_numbers(component, np.array([1 << fraction], component.bits_dtype))[0])


def _of_conversion(source: m.ComponentType, target: m.ComponentType, bits: Bits, signed: bool) -> Iterator[str]:
    """A conversion by an instruction."""
    kind = "floats" if target.is_float else "integers"
    if source.is_float:
        yield from (f"conversion to {kind} of {special}" for special in _specials(source, bits))
        numbers = _numbers(source, bits)
    else:
        width = 8 * source.size
        read = m.ComponentType(f"{'int' if signed else 'uint'}{width}")
        numbers = m.decode(read, bits).astype(np.float64)
        info = np.iinfo(read.dtype)
        if np.isin(numbers, [info.max, info.min] if info.min else [info.max]).any():
            yield f"conversion to {kind} of an extreme integer"
    if target.is_float and are_ties(numbers, target).any():
        yield f"conversion of a tie to {target.value}"


def are_ties(numbers: npt.NDArray[np.float64], target: m.ComponentType) -> Mask:
    """Which numbers lie halfway between two neighbours of a float type."""
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    with np.errstate(over="ignore"):
        bits = finite.astype(target.dtype).view(target.bits_dtype)
    near = _numbers(target, bits)
    found = np.zeros(numbers.shape, bool)
    one = target.bits_dtype.type(1)
    for other in (bits + one, np.where(bits & ~(one << (8 * target.size - 1)), bits - one, bits)):
        beside = _numbers(target, other)
        with np.errstate(invalid="ignore"):
            found |= (finite != near) & ((finite - near) == (beside - finite))
    return found & np.isfinite(near)


def _of_product(
    case: m.Case, i: m.VectorMatrixMul, given: m.ComponentType | None, expectation: Expectation
) -> Iterator[str]:
    """What inputs become, and what lies in matrix and bias."""
    reading = m.interpretation_of(i.input_interpretation)
    assert given is not None
    bits = expectation.matrices[i.input]
    if not reading.packed and reading.component is not given:
        if given.is_float and not reading.component.is_float:
            yield from (f"input read as integers of {special}" for special in _specials(given, bits))
            numbers = _numbers(given, bits)
            finite = numbers[np.isfinite(numbers)]
            if (np.abs(finite - np.trunc(finite)) == 0.5).any():
                yield "input read as integers of a tie"
        elif not given.is_float and reading.component.is_float:
            numbers = m.decode(given, bits).astype(np.float64)
            if are_ties(numbers, reading.component).any():
                yield "input read as floats of a tie"
    for name, of in (("matrix", i.matrix), ("bias", i.bias)):
        if of is not None and of in case.buffers and case.buffers[of].type.is_float:
            component = case.buffers[of].type
            yield from (f"{name} with {s}" for s in _specials(component, m.initial_bits(case.buffers[of])))


def _of_conversions(case: m.Case) -> Iterator[str]:
    """Conversions of matrices in memory."""
    for conversion in case.conversions:
        source = case.buffers.get(conversion.source.of)
        target = conversion.destination.component
        if conversion.destination.of in case.opaque:
            target = case.opaque[conversion.destination.of].component
        if source is None or not source.type.is_float or target is None:
            continue
        bits = m.initial_bits(source)
        same = "copied" if source.type is target else "converted"
        yield from (f"matrix {same} with {special}" for special in _specials(source.type, bits))
        if source.type is not target and are_ties(_numbers(source.type, bits), target).any():
            yield f"matrix converted with a tie of {target.value}"
