"""Opaque memory, and conversions of matrices around a dispatch: other layouts, other types (VK-053, VK-054)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from cts.device.job import LayoutConversion, MatrixRegion, OpaqueMemory
from cts.drivers.interpreter.memory import AddressSpace, OptimalMatrix
from cts.drivers.interpreter.problems import Malformed, Problem
from cts.drivers.interpreter.rounding import rounded
from cts.drivers.interpreter.values import Array
from cts.drivers.interpreter.vectors import opaque
from cts.drivers.interpreter.vectors.interpretations import Interpretation, interpretation


def allocate(o: OpaqueMemory) -> npt.NDArray[np.uint8]:
    """The memory of a matrix in an optimal layout: zeros or poison. Raises Malformed."""
    end = 0
    for matrix in (o, *o.beside):
        if matrix.offset < end:
            raise Malformed(
                f"an opaque matrix begins at byte {matrix.offset}, and the one before it ends at byte {end}"
            )
        end = matrix.offset
        end += opaque.size(matrix.layout, matrix.rows, matrix.cols, interpretation(matrix.component).dtype.itemsize)
    return np.full(end, 0 if o.zero else opaque.POISON, np.uint8)


def convert(memory: AddressSpace, bases: Mapping[str, int], number: int, c: LayoutConversion) -> None:
    """Do conversion `number` of a job. Raises Malformed, and OutOfBounds where a matrix leaves its memory."""
    try:
        source, destination = interpretation(c.source.component), interpretation(c.destination.component)
        _check_types(source, destination)
        addresses = _addresses(bases, c, c.source, source)
        if c.source.layout in opaque.OPTIMAL:
            read = OptimalMatrix(c.source.layout, c.rows, c.cols, source.name)
            opaque.expect(memory, bases[c.source.of] + c.source.offset, read, source.dtype)
        values = memory.gather(addresses, source.dtype)
        if source != destination:
            values = rounded(values, destination.dtype)
        addresses = _addresses(bases, c, c.destination, destination)
        if c.destination.layout in opaque.OPTIMAL:
            taken = opaque.size(c.destination.layout, c.rows, c.cols, destination.dtype.itemsize)
            start = bases[c.destination.of] + c.destination.offset
            memory.scatter(start + np.arange(taken), np.array(opaque.POISON, np.uint8))
            made = OptimalMatrix(c.destination.layout, c.rows, c.cols, destination.name)
            opaque.place_matrix(memory, start, made, destination.dtype.itemsize)
        memory.scatter(addresses, values)
    except Problem as problem:
        problem.where = problem.where or f"conversion {number} of {c.source.of!r} to {c.destination.of!r}"
        raise


def _addresses(bases: Mapping[str, int], c: LayoutConversion, place: MatrixRegion, component: Interpretation) -> Array:
    """Byte addresses (rows, cols) of the elements."""
    if place.of not in bases:
        raise Malformed(f"there is no memory {place.of!r}")
    element = component.dtype.itemsize
    length = c.rows if place.layout == opaque.COLUMN_MAJOR else c.cols
    if place.layout not in opaque.OPTIMAL and place.stride < length * element:
        raise Malformed(f"a stride of {place.stride} bytes for {length} {component.name} (VK-055)")
    offsets = opaque.offsets(place.layout, c.rows, c.cols, element, place.stride)
    return bases[place.of] + place.offset + offsets


def _check_types(source: Interpretation, destination: Interpretation) -> None:
    """VK-054: values change their type only between float32 or float16 and floats of fewer bits."""
    if source == destination:
        return
    if source.is_integer or destination.is_integer or source.dtype.itemsize == destination.dtype.itemsize:
        raise Malformed(f"{source.name} does not convert to {destination.name} (VK-054)")
    if max(source.dtype.itemsize, destination.dtype.itemsize) > np.dtype(np.float32).itemsize:
        raise Malformed(f"{source.name} does not convert to {destination.name} (VK-054)")
