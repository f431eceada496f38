"""Elements of a tensor load that a function decodes from blocks of memory: DecodeFunc and DecodeVectorFunc."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.drivers.interpreter import layout as memory_layout
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.matrices.addressing import Elements
from cts.drivers.interpreter.matrices.callbacks import Callback, signature
from cts.drivers.interpreter.problems import Malformed, Misuse
from cts.drivers.interpreter.values import Array, Instances, Layout

#: Components that a DecodeVectorFunc may return (DV-010).
VECTOR_LENGTHS = (2, 4, 8)


@dataclass(frozen=True)
class _Located:
    """Elements to decode: their instance, the address and index of TA-036, blockCoord and coordInBlock (n, dim)."""

    instance: Array
    base: Array
    index: Array
    block: Array
    in_block: Array

    def chosen(self, which: Array) -> _Located:
        return _Located(*(part[which] for part in vars(self).values()))


class _Function:
    """One of the two functions (DV-011), called for one element or group of elements per lane."""

    def __init__(self, c: Compiler, function: int, role: str, result: ty.Type, dim: int) -> None:
        self.call = Callback(c, function, role, result, [None, None, None])
        pointer, *arrays = self.call.parameters
        if not isinstance(pointer, ty.Pointer) or pointer.storage != "PhysicalStorageBuffer":
            raise Malformed(f"the first parameter of {role} must be a PhysicalStorageBuffer pointer (DV-011)")
        for t in arrays:
            if (
                not isinstance(t, ty.Array)
                or t.length != dim
                or not isinstance(t.element, ty.Int)
                or t.element.size != 4
            ):
                raise Malformed(
                    f"blockCoord and coordInBlock of {role} must be arrays of {dim} 32-bit integers (DV-011)"
                )
        self.size = memory_layout.size_of(c.declared.pointee(self.call.code.parameters[0]))

    def __call__(self, m: Machine, instances: Instances, requests: _Located) -> Array:
        pointer = requests.base + requests.index.astype(np.int64) * self.size  # TA-037
        return self.call(m, instances, requests.instance, [pointer, requests.block, requests.in_block])


class Decoder:
    """Decodes elements one by one, or with a DecodeVectorFunc in groups that are wanted as a whole (DV-013)."""

    def __init__(
        self, c: Compiler, t: ty.CooperativeMatrix, layout: ty.TensorLayout, function: int, vector: int | None
    ) -> None:
        self._one = _Function(c, function, "DecodeFunc", t.component, layout.dim)
        self._group: _Function | None = None
        self._length = 1
        self._scope, self._bits = t.scope, t.bits
        if vector is not None:
            result = signature(c, vector).result
            if (
                not isinstance(result, ty.Vector)
                or result.component != t.component
                or result.count not in VECTOR_LENGTHS
            ):
                raise Malformed(f"DecodeVectorFunc returns {result}, no vector of 2, 4 or 8 components (DV-010)")
            group = _Function(c, vector, "DecodeVectorFunc", result, layout.dim)
            if c.target.vector_decode:
                self._group, self._length = group, result.count
        #: Whether equal elements of two instances may decode differently.
        self.varies = any(f is not None and f.call.globals for f in (self._one, self._group))

    def __call__(self, m: Machine, located: Elements, base: Array, layout: Layout, wanted: Array) -> Array:
        """Bit patterns (n,) of the elements where `wanted` (instances or 1, rows, cols) is true, in its order."""
        instances = m.topology.scopes[self._scope]
        shape = wanted.shape
        by_dimension = (len(located.block), *shape)
        requests = _Located(
            np.nonzero(wanted)[0],
            np.broadcast_to(base, shape)[wanted],
            np.broadcast_to(located.index, shape)[wanted],
            np.broadcast_to(located.block, by_dimension)[:, wanted].T,
            np.broadcast_to(located.in_block, by_dimension)[:, wanted].T,
        )
        if not len(requests.instance):
            return np.empty(0, self._bits)
        if self._group is None:
            return self._one(m, instances, requests).view(self._bits)
        sizes = layout.block_size[:, -1]
        if ((sizes if len(sizes) == 1 else sizes[requests.instance]) % np.uint32(self._length)).any():
            raise Misuse(
                f"the last block size is not a multiple of the {self._length} components decoded together (DV-014)"
            )
        return self._in_groups(m, instances, requests, self._group).view(self._bits)

    def _in_groups(self, m: Machine, instances: Instances, requests: _Located, function: _Function) -> Array:
        lane = requests.in_block[:, -1] % np.uint32(self._length)
        lowest = requests.in_block.copy()
        lowest[:, -1] -= lane
        group, count = _numbered([requests.instance, *requests.block.T, *lowest.T])
        present = np.zeros((count, self._length), np.bool_)
        present[group, lane] = True
        whole = np.asarray(present.all(axis=1))
        member = whole[group]
        out = np.empty(len(group), self._one.call.dtype)
        if not member.all():
            out[~member] = self._one(m, instances, requests.chosen(~member))
        if member.any():
            some = np.empty(count, np.intp)
            some[group] = np.arange(len(group))  # any element of a group: they differ in their lane only
            of_groups = _Located(requests.instance, requests.base, requests.index, requests.block, lowest)
            number = np.cumsum(whole) - 1
            out[member] = function(m, instances, of_groups.chosen(some[whole]))[number[group[member]], lane[member]]
        return out


def _numbered(columns: list[Array]) -> tuple[Array, int]:
    """Numbers from 0 for the different rows of a table given by columns (n,), and how many there are."""
    number, count = np.zeros(len(columns[0]), np.intp), 1
    for column in columns:
        values, rank = np.unique(column, return_inverse=True)
        if len(values) > 1:
            distinct, number = np.unique(number * len(values) + rank, return_inverse=True)
            count = len(distinct)
    return number, count
