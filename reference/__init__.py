"""The oracle: expected memory and matrix contents as whole-array NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cts.case.model import Case
from cts.case.model.sweep import Sweep
from cts.case.oracle.dependence import Dependence
from cts.case.oracle.deviation import Deviation
from cts.case.oracle.expectation import AccessMap, Expectation, Extent, Swept, Trace, Violation
from cts.reference.common.broken import violations_of
from cts.reference.coordinates import coordinates, extents
from cts.reference.deviated import leaves
from cts.reference.execution.dependences import dependences
from cts.reference.execution.execute import execute, run
from cts.reference.execution.execution import Execution
from cts.reference.execution.machine import Recording
from cts.reference.execution.program import Evaluation, evaluate
from cts.reference.numeric.arrays import I64
from cts.reference.sweeping import swept
from cts.reference.trace.bytes import reached, trace, trace_element
from cts.reference.trace.element import Element
from cts.reference.validity import computes, violations
from cts.reference.validity.basis import with_basis

__all__ = ["ORACLE", "Execution", "Reference", "execute"]


class Reference:
    """Implements `cts.case.oracle.expectation.Oracle`."""

    def __init__(self) -> None:
        self._last: _Judged | None = None

    def violations(self, case: Case) -> list[Violation]:
        """Every rule the well-formed case breaks; empty when it may be run and judged."""
        return list(self._judged(case).violations)

    def expect(self, case: Case) -> Expectation:
        """Allowed contents of all buffers, and of every matrix. The case must have no violations."""
        execution = self._judged(case).execution
        return Expectation(
            {name: memory.allowed() for name, memory in execution.memories.items()},
            {name: bits[0] for name, bits in execution.matrices.items()},
            execution.spreads(),
        )

    def leaves(self, case: Case, deviations: Sequence[Deviation]) -> Expectation | None:
        """What buffers may hold if instructions of the case deviate; None if nobody can say."""
        return leaves(case, deviations)

    def sweep(self, sweep: Sweep) -> Swept:
        """Which parameter sets may be run, and what these may leave behind."""
        return swept(sweep)

    def coordinates(self, sweep: Sweep) -> dict[str, I64]:
        """Where tensor loads and stores go under each parameter set, by name, (n,)."""
        return coordinates(sweep)

    def extents(self, case: Case) -> dict[int, Extent]:
        """What each tensor load and store of a well-formed case reaches, by its place in the program."""
        return extents(case)

    def dependences(self, case: Case) -> tuple[Dependence, ...]:
        """Which instructions of a valid case depend on one another through memory."""
        return dependences(self._judged(case).evaluation)

    def trace(self, case: Case, buffer: str, offset: int, *, detail: bool = False, depth: int | None = None) -> Trace:
        """Every step behind the byte at `offset` of the buffer's contents, for the reader of a failure."""
        judged = self._judged(case)
        return trace(judged.evaluation, judged.recording, buffer, offset, detail=detail, depth=depth)

    def trace_element(
        self,
        case: Case,
        result: str,
        instance: int,
        row: int,
        col: int,
        *,
        iterations: tuple[int, ...] | None = None,
        depth: int | None = None,
    ) -> Trace:
        """Every step, in detail, behind an element of a matrix or (in row 0) of a vector."""
        judged = self._judged(case)
        element = Element(instance, row, col)
        return trace_element(judged.evaluation, judged.recording, result, element, iterations=iterations, depth=depth)

    def reached(self, case: Case, instruction: int) -> AccessMap | None:
        """Where a load or store accesses memory; None for other instructions, and where none is taken."""
        return reached(self._judged(case).evaluation, instruction)

    def _judged(self, case: Case) -> _Judged:
        """The case's evaluation: kept for the last case, as its questions come one after the other."""
        if self._last is None or self._last.evaluation.case is not case:
            self._last = _Judged(evaluate(case))
        return self._last


@dataclass
class _Judged:
    evaluation: Evaluation

    @cached_property
    def violations(self) -> list[Violation]:
        broken = violations(self.evaluation)
        # Values mean something only where addresses do, and only some programs can break rules by values.
        every = broken if broken or not computes(self.evaluation.case) else violations_of(self.execution.broken)
        return [with_basis(violation) for violation in every]

    @cached_property
    def execution(self) -> Execution:
        return run(self.evaluation)

    @cached_property
    def recording(self) -> Recording:
        """What each step gave, for traces."""
        recording = Recording()
        run(self.evaluation, recording=recording)
        return recording


ORACLE = Reference()
