"""Memory that only cooperative vectors have: opaque matrices, and what a dispatch accumulates until its end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cts.model import ComponentType, Scope
from cts.reference.addressing.accesses import instances_of
from cts.reference.common.memory import Memory
from cts.reference.execution.program import Evaluation, Step
from cts.reference.numeric.value import Value
from cts.reference.vectors.opaque import OpaqueMatrices
from cts.reference.vectors.training import Accumulation, IntegerAccumulation


class VectorMemory:
    """Opaque matrices and accumulations of one execution under so many parameter sets."""

    def __init__(self, evaluation: Evaluation, sets: int, memories: Mapping[str, Memory]) -> None:
        self.evaluation = evaluation
        self.sets = sets
        self.memories = memories
        self.opaque = OpaqueMatrices(evaluation.case.opaque)
        self._gains: dict[tuple[str, ComponentType], Accumulation | IntegerAccumulation] = {}
        self._invocations = instances_of(evaluation.case.dispatch, Scope.Subgroup)

    def accumulate(self, step: Step, vector: Value) -> None:
        """CV-021, CV-040: every invocation that takes the step adds its vector (..., 1, n) to a buffer."""
        access = step.access
        assert access is not None
        component = access.shape.component
        count = self.memories[access.buffer].size // component.size
        kind = Accumulation if component.is_float else IntegerAccumulation
        gains = self._gains.setdefault((access.buffer, component), kind(component, self.sets, count))
        active = self.evaluation.active_at(step.taken, access.shape.scope)
        element = access.byte if active is None else np.where(active[..., None, None], access.byte, 0)
        everywhere = vector.broadcast((vector.shape[0], self._invocations, *vector.shape[2:]))
        gains.add(everywhere, element // component.size, active)

    def accumulate_products(self, step: Step, matrix: str, a: Value, b: Value) -> None:
        """CV-020: every invocation that takes the step adds a product to an opaque matrix."""
        active = self.evaluation.active_at(step.taken, Scope.Subgroup)
        everybody = np.ones((1, self._invocations), bool)
        self.opaque.gains(matrix, self.sets).add_products(a, b, everybody if active is None else active)

    def finish(self) -> None:
        """The end of a dispatch, where everything has been accumulated."""
        for (buffer, component), gains in self._gains.items():
            byte = (np.arange(gains.count, dtype=np.int64) * component.size)[None, None, None]
            memory = self.memories[buffer]
            before = memory.load(byte, component).broadcast((self.sets, *byte.shape[1:]))
            after, gained = gains.finished(before.map(lambda a: a[:, 0, 0]))
            memory.store(byte, gained[:, None, None], after.map(lambda a: a[:, None, None]))
        self._gains.clear()
        self.opaque.finish()
