"""Sweeps: the parameter set that a workgroup stands for, and its windows of buffers.

A dispatch has the template's workgroups once for each set, all in its x dimension, those of a set together.
"""

from __future__ import annotations

import math

from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.structure import BufferStructure


def begin(lowering: Lowering) -> None:
    """The first instructions of main: the number of the set, and what follows from it alone."""
    sets = lowering.structure.sets
    if sets is None:
        return
    op, uint, constant = lowering.module.op, lowering.uint, lowering.constant
    number = lowering.component_of_builtin("WorkgroupId", 0)
    count = math.prod(sets.workgroups)
    if count > 1:
        lowering.workgroup_in_set = op("OpUMod", uint, number, constant(count))
        number = op("OpUDiv", uint, number, constant(count))
    lowering.set_number = lowering.module.name(number, "set")
    if lowering.parameters:
        lowering.first_word = op("OpIMul", uint, number, constant(len(lowering.parameters)))


def element_in_window(lowering: Lowering, buffer: BufferStructure, index: Id) -> Id:
    """The index in the whole buffer of an element that the template counts from the beginning of its window."""
    return _in_window(lowering, buffer, index, buffer.element_size)


def byte_in_window(lowering: Lowering, buffer: BufferStructure, offset: Id) -> Id:
    """The offset in the whole buffer, in bytes, of what the template counts from the beginning of its window."""
    return _in_window(lowering, buffer, offset, 1)


def _in_window(lowering: Lowering, buffer: BufferStructure, place: Id, unit: int) -> Id:
    sets = lowering.structure.sets
    stride = None if sets is None else dict(sets.windows).get(buffer.name)
    if stride is None:
        return place
    assert lowering.set_number is not None, "main begins with it"
    op, uint = lowering.module.op, lowering.uint
    return op("OpIAdd", uint, place, op("OpIMul", uint, lowering.set_number, lowering.constant(stride // unit)))
