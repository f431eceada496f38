"""What an execution gives: memory, and every matrix and vector, with the freedom that each has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import VectorShape
from cts.case.model.types import ResultType, ScalarType
from cts.case.oracle.expectation import Spread
from cts.reference.addressing.accesses import Shape, instances_of
from cts.reference.common.broken import Broken
from cts.reference.common.memory import Memory, interval_bits
from cts.reference.execution.program import Evaluation
from cts.reference.numeric.arrays import U8, Bits, Mask
from cts.reference.numeric.value import Value, anything, loosened


@dataclass
class Execution:
    """The result under each parameter set.

    `memories` are the buffers afterwards, `values` every matrix, vector (of one row) and scalar: in a
    loop, the last iteration's, (sets, instances, rows, cols) or with extents of 1. `broken` are the
    rules that sets break in computing them.
    `skipped` says which instances, (sets, instances), never reached the definition of a matrix.
    """

    evaluation: Evaluation
    sets: int
    memories: dict[str, Memory]
    values: dict[str, Value] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    skipped: dict[str, Mask] = field(default_factory=dict)

    def note(self, rule: Broken) -> None:
        """Remember a rule that is broken, once for each set and path."""
        noted = (b.sets for b in self.broken if (b.rule, b.path) == (rule.rule, rule.path))
        if not any((sets | ~rule.sets).all() for sets in noted):
            self.broken.append(rule)

    @cached_property
    def memory(self) -> dict[str, U8]:
        """Each buffer's contents, guard bytes excluded, uint8, (sets, size)."""
        return {name: m.contents(self.sets) for name, m in self.memories.items()}

    @cached_property
    def matrices(self) -> dict[str, Bits]:
        """Each matrix's bit patterns, (sets, instances, rows, cols), the instances being those of its scope.

        Those of vectors are (sets, invocations, length).
        """
        every = {name: self.values.get(name) or _nothing(shape) for name, shape in self._reported()}
        return {name: self._full(name, value.bits) for name, value in every.items()}

    def spreads(self) -> dict[str, Spread]:
        """Under the first parameter set, the matrices with more than one allowed value."""
        spreads = {}
        for name, shape in self._reported():
            value, skipped = self.values.get(name) or _nothing(shape), self.skipped.get(name)
            if skipped is not None:
                assert value.component is not None
                unknown = np.broadcast_to(
                    skipped[..., None, None], np.broadcast_shapes((*skipped.shape, 1, 1), value.shape)
                )
                value = loosened(value.broadcast(unknown.shape), unknown, ())
            if value.free is not None:
                spreads[name] = Spread(*(self._full(name, a)[0] for a in _spread(value)))
        return spreads

    def _reported(self) -> Iterator[tuple[str, Shape]]:
        """Every matrix and vector."""
        return (item for item in self.evaluation.shapes.items() if not isinstance(self._type(item[0]), ScalarType))

    def _full(self, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        shape = self.evaluation.shape_of(name)
        instances = instances_of(self.evaluation.case.dispatch, shape.scope)
        full = np.broadcast_to(array, (self.sets, instances, shape.rows, shape.cols))
        return full[:, :, 0] if isinstance(self._type(name), VectorShape) else full

    def _type(self, name: str) -> ResultType:
        return self.evaluation.types[name]


def _nothing(shape: Shape) -> Value:
    """The value of a matrix that is never computed."""
    return anything(shape.component, (1, 1, 1, 1), ())


def _spread(value: Value) -> tuple[Bits, Bits, U8]:
    """Least and greatest bit patterns of every element, and its flags."""
    free = value.free
    assert free is not None and value.component is not None
    exact = free.flags == 0
    low, high = interval_bits(value.component, free.flags, *(np.where(exact, 0.0, b) for b in (free.lo, free.hi)))
    low, high = np.where(exact, value.bits, low), np.where(exact, value.bits, high)
    return low, high, free.flags & np.uint8(7)
