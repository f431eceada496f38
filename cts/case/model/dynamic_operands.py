"""The operands a case reads at run time: their order, and the words that deliver them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cts.case.model.case import Case
from cts.case.model.component import ComponentType, encode
from cts.case.model.functions import PerElement, scalars_of
from cts.case.model.instruction import references
from cts.case.model.instructions import dynamic_operands
from cts.case.model.operand import Scalar, SpecNumber
from cts.case.model.resolve import resolve
from cts.case.model.types import MatrixShape, VectorShape


def case_dynamic_operands(case: Case) -> Iterator[tuple[int, str, Scalar | SpecNumber]]:
    """Every operand read at run time, as (instruction index, field path, operand), in program order.

    This order is the order of a parameter set, of the parameter buffer in the lowered module and of
    the leading axis' values in the oracle's batches.
    """
    for index, instruction in enumerate(case.program):
        for path, operand in dynamic_operands(instruction):
            yield index, path, operand


def dynamic_words(case: Case) -> npt.NDArray[np.uint32]:
    """The case's own parameter set: one 32-bit word per dynamic operand, shape (n,).

    An integer operand is its value mod 2^32; a component value is its bit pattern, zero-extended.
    """
    words = []
    for index, path, operand in case_dynamic_operands(case):
        assert operand.dynamic is not None
        if isinstance(operand, Scalar):
            words.append(operand.dynamic & 0xFFFFFFFF)
        else:
            component = component_of(case, index, path)
            words.append(int(encode(component, [operand.dynamic])[0]))
    return np.array(words, np.uint32)


def component_of(case: Case, index: int, path: str) -> ComponentType:
    """The component type of the value at `path` of an instruction: `value`, `values[n]`, `scalar` or `scalars[n]`."""
    instruction = case.program[index]
    if path.partition("[")[0] not in instruction.component_values:
        raise AssertionError(f"{type(instruction).__name__} has no component value {path!r}")
    declared = getattr(instruction, "type", None)
    if declared is not None:
        return ComponentType(declared.component)
    function = case.functions.get(getattr(instruction, "function", ""))
    if isinstance(function, PerElement):
        return scalars_of(function)[int(path.removeprefix("scalars[").removesuffix("]"))][1]
    source = resolve(case)[0][next(references(instruction))]
    assert isinstance(source, MatrixShape | VectorShape)
    return source.component
