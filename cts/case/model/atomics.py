"""Atomic additions of cooperative vectors' components to memory."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, ClassVar

from cts.case.model.component import ComponentType
from cts.case.model.feature import Feature
from cts.case.model.instruction import Accumulation, TypingResult
from cts.case.model.operand import Operand, SpecInt
from cts.case.model.types import Problem
from cts.case.model.vectors import VectorInstructionBase

if TYPE_CHECKING:
    from cts.case.model.names import TypingContext

__all__ = [
    "ATOMIC_ADDS", "AtomicScope", "VectorAtomicAdd",
]  # fmt: skip


class AtomicScope(enum.Enum):
    """Among which invocations an atomic instruction is atomic (CV-041)."""

    QueueFamily = "QueueFamily"
    Device = "Device"


#: The features for adding atomically to numbers of a type in buffers (CV-042), integers first.
ATOMIC_ADDS: dict[ComponentType, frozenset[Feature]] = {
    t: t.descriptor.atomic_add.features
    for t in sorted(ComponentType, key=lambda t: (t.is_float, -t.size))
    if t.descriptor.atomic_add is not None
}


class VectorAtomicAdd(VectorInstructionBase, Accumulation, frozen=True):
    """CV-040: memory gains the vector, by an atomic instruction for each component, at Relaxed order.

    `offset` counts bytes, whole components. The buffer is an array of scalars of the vector's component type.
    Floats are added by `opcode`, integers by OpAtomicIAdd.
    """

    opcode: ClassVar[str] = "OpAtomicFAddEXT"
    refers: ClassVar[tuple[str, ...]] = ("vector",)
    facts = ("CV-040",)
    vector: str
    buffer: str
    offset: Operand = 0
    scope: AtomicScope = AtomicScope.QueueFamily

    @property
    def features(self) -> frozenset[Feature]:
        return self.needs | ({Feature.DEVICE_SCOPE} if self.scope is AtomicScope.Device else frozenset())

    def typed(self, context: TypingContext) -> TypingResult:
        """CV-040: atomic instructions take a pointer to a number of the type that they add."""
        shape, buffer = context.vector(self.vector), context.buffers.get(self.buffer)
        component = shape.component
        if component not in ATOMIC_ADDS:
            right = ", ".join(c.value for c in ATOMIC_ADDS)
            yield Problem("vector", f"components {component.value}", right, "CV-040")
        elif buffer is not None and (buffer.type is not component or buffer.components != 1):
            elements = buffer.type.value if buffer.components == 1 else f"{buffer.components} {buffer.type.value}"
            right = f"an array of {component.value}, as the vector's components are"
            yield Problem("buffer", f"elements of {elements}", right, "CV-040")
        if isinstance(shape.declared.length, SpecInt):
            what, right = "a length by specialization", "a literal length: each component has an instruction"
            yield Problem("vector", what, right, "CV-040")
