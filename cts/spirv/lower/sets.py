"""Sweeps: the parameter set that a workgroup stands for, and its windows of buffers.

A dispatch has the template's workgroups once for each set, all in its x dimension, those of a set together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from cts.case.model import StorageClass
from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.structure import BufferStructure


def begin(lowering: Lowering) -> None:
    """The first instructions of main: the number of the set, and what follows from it alone."""
    sets = lowering.structure.sets
    if sets is None:
        return
    op, uint, constant = lowering.module.op, lowering.uint, lowering.constant
    workgroup, count = lowering.component_of_builtin("WorkgroupId", 0), math.prod(sets.workgroups)
    if count > 1:
        lowering.workgroup_in_set = op("OpUMod", uint, workgroup, constant(count))
    number = lowering.set_number = lowering.module.name(_set_of(lowering, workgroup, count), "set")
    if lowering.parameters:
        lowering.first_word = op("OpIMul", uint, number, constant(len(lowering.parameters)))


def _set_of(lowering: Lowering, workgroup: Id, count: int) -> Id:
    """The number of the set of a workgroup, of sets of `count` workgroups."""
    return workgroup if count == 1 else lowering.module.op("OpUDiv", lowering.uint, workgroup, lowering.constant(count))


@contextmanager
def in_function(lowering: Lowering, buffer: BufferStructure) -> Iterator[None]:
    """A function other than main is being written, which finds the set by itself, for its window of the buffer."""
    sets, of_main = lowering.structure.sets, lowering.set_number
    if sets is not None and buffer.name in dict(sets.windows):
        workgroup = lowering.component_of_builtin("WorkgroupId", 0)
        lowering.set_number = _set_of(lowering, workgroup, math.prod(sets.workgroups))
    yield
    lowering.set_number = of_main


def element_in_window(lowering: Lowering, buffer: BufferStructure, index: Id) -> Id:
    """The index in the whole buffer of an element that the template counts from the beginning of its window."""
    return _in_window(lowering, buffer, index, buffer.element_size)


def byte_in_window(lowering: Lowering, buffer: BufferStructure, offset: Id) -> Id:
    """The offset, in bytes, of what the template counts from the beginning of its window: in the whole buffer.

    A part in workgroup memory is not cut into windows: each set has workgroups of its own.
    """
    if buffer.storage is StorageClass.Workgroup:
        return offset
    return _in_window(lowering, buffer, offset, 1)


def _in_window(lowering: Lowering, buffer: BufferStructure, place: Id, unit: int) -> Id:
    sets = lowering.structure.sets
    stride = None if sets is None else dict(sets.windows).get(buffer.name)
    if stride is None:
        return place
    assert lowering.set_number is not None, "main begins with it"
    op, uint = lowering.module.op, lowering.uint
    return op("OpIAdd", uint, place, op("OpIMul", uint, lowering.set_number, lowering.constant(stride // unit)))
