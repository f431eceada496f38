"""Where the contents of buffers begin, changed with all that leads to them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from cts.case.model.case import Case
from cts.case.model.instructions import AnyInstruction
from cts.case.model.matrix_memory import MemoryInstruction, Pointer
from cts.case.model.operand import Operand, Scalar


def with_beginnings(case: Case, beginnings: Mapping[str, int]) -> Case:
    """The case in which the contents of buffers begin at other bytes, and instructions of matrices find them there.

    Offsets that are reduced modulo a number, and instructions of vectors, stay as they are.
    """
    elements = {
        name: (begins_at - case.buffers[name].begins_at) // case.buffers[name].element_size
        for name, begins_at in beginnings.items()
    }
    buffers = {
        name: structs.replace(buffer, begins_at=beginnings.get(name, buffer.begins_at))
        for name, buffer in case.buffers.items()
    }
    return structs.replace(case, buffers=buffers, program=tuple(_moved(i, elements) for i in case.program))


def _moved(i: AnyInstruction, elements: Mapping[str, int]) -> AnyInstruction:
    """The instruction, so many elements further into its buffer."""
    if not isinstance(i, MemoryInstruction | Pointer) or i.buffer not in elements:
        return i
    return structs.replace(i, offset=_plus(i.offset, elements[i.buffer]))


def _plus(operand: Operand, by: int) -> Operand:
    if not isinstance(operand, Scalar):
        return operand + by
    return structs.replace(operand, **{operand.constness: operand.base + by})
