"""The oracle: expected memory and matrix contents as whole-array NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cts.expectation import Expectation, Trace, Violation
from cts.model import Case
from cts.reference.execute import Execution, execute, run
from cts.reference.program import Evaluation, evaluate
from cts.reference.trace import trace
from cts.reference.validity import computes, violations

__all__ = ["ORACLE", "Execution", "Reference", "execute"]


class Reference:
    """Implements `cts.expectation.Oracle`."""

    def __init__(self) -> None:
        self._last: _Judged | None = None

    def violations(self, case: Case) -> list[Violation]:
        """Every rule the well-formed case breaks; empty when it may be run and judged."""
        judged = self._judged(case)
        found = violations(judged.evaluation)
        # Values mean something only where addresses do, and only some programs can break rules by values.
        return found if found or not computes(case) else judged.execution.violations

    def expect(self, case: Case) -> Expectation:
        """Allowed contents of all buffers, and of every matrix. The case must have no violations."""
        execution = self._judged(case).execution
        return Expectation(
            {name: memory.allowed() for name, memory in execution.memories.items()},
            {name: bits[0] for name, bits in execution.matrices.items()},
            execution.spreads(),
        )

    def trace(self, case: Case, buffer: str, offset: int) -> Trace:
        """Every step behind the byte at `offset` of the buffer's contents, for the reader of a failure."""
        return trace(self._judged(case).evaluation, buffer, offset)

    def _judged(self, case: Case) -> _Judged:
        """The case's evaluation: kept for the last case, as its questions come one after the other."""
        if self._last is None or self._last.evaluation.case is not case:
            self._last = _Judged(evaluate(case))
        return self._last


@dataclass
class _Judged:
    evaluation: Evaluation

    @cached_property
    def execution(self) -> Execution:
        return run(self.evaluation)


ORACLE = Reference()
