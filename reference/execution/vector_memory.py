"""Memory that only cooperative vectors have: opaque matrices, and sums that are not in memory yet."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cts.case.model import ComponentType, Scope, beside
from cts.reference.addressing.accesses import Access, instances_of
from cts.reference.addressing.coordinates import Status
from cts.reference.common.memory import Memory
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.value import Value
from cts.reference.vectors.opaque import OpaqueMatrices
from cts.reference.vectors.training import Accumulation, IntegerAccumulation


def opaque_users(evaluation: Evaluation, step: Step, name: str, field: str) -> dict[str, Mask]:
    """The matrices in the memory of an opaque one that it may stand for, and who finds each at its offset.

    Masks are (sets, invocations), or (1, 1) where all find the one that there is.
    """
    opaque = evaluation.case.opaque
    several = beside(opaque, name)
    if len(several) == 1:
        return {name: np.ones((1, 1), bool)}
    operand = getattr(evaluation.case.program[step.index], field)
    offset = evaluation.operands.scalar(step.index, field, operand, step.taken.iterations)
    return {other: offset == begins for begins, other in several.items()}


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
        taking = np.ones((1, self._invocations), bool) if active is None else active
        for name, users in opaque_users(self.evaluation, step, matrix, "offset").items():
            if (taking & users).any():
                self.opaque.gains(name, self.sets).add_products(a, b, taking & users)

    def settle(self, access: Access) -> None:
        """Before an access: what was accumulated to its locations is there, as a barrier orders them (TA-044).

        Not before an accumulation of the same type, which no barrier need order.
        """
        for (buffer, component), gains in self._gains.items():
            if buffer != access.buffer or (access.accumulates and component is access.shape.component):
                continue
            shape = np.broadcast_shapes(access.byte.shape, access.status.shape, (self.sets, 1, 1, 1))
            reached = np.broadcast_to(access.status == Status.OK, shape)
            places, numbers = np.broadcast_to(access.byte, shape)[reached], np.nonzero(reached)[0]
            touched = np.zeros((self.sets, gains.count), bool)
            for later in range(0, access.size, min(component.size, access.unit)):
                element = (places + later) // component.size
                inside = element < gains.count  # a component that the end of a buffer cuts off gains nothing
                touched[numbers[inside], element[inside]] = True
            self._keep(buffer, gains, touched)

    def finish(self) -> None:
        """The end of a dispatch, where everything has been accumulated."""
        for (buffer, _), gains in self._gains.items():
            self._keep(buffer, gains, np.ones((self.sets, gains.count), bool))
        self._gains.clear()
        self.opaque.finish()

    def _keep(self, buffer: str, gains: Accumulation | IntegerAccumulation, chosen: Mask) -> None:
        """Put the sums of elements of a mask (sets, count) into memory."""
        byte = (np.arange(gains.count, dtype=np.int64) * gains.component.size)[None, None, None]
        memory = self.memories[buffer]
        before = memory.load(byte, gains.component).broadcast((self.sets, *byte.shape[1:]))
        after, gained = gains.finished(before.map(lambda a: a[:, 0, 0]))
        kept = gained & chosen
        if kept.any():
            memory.store(byte, kept[:, None, None], after.map(lambda a: a[:, None, None]))
            gains.forget(kept)
