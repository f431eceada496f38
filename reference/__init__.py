"""The oracle: expected memory and matrix contents as whole-array NumPy."""

from __future__ import annotations

from cts.expectation import Allowed, Expectation, Trace, Violation
from cts.model import Case
from cts.reference.execute import Execution, execute, run
from cts.reference.program import evaluate
from cts.reference.trace import trace
from cts.reference.validity import violations

__all__ = ["ORACLE", "Execution", "Reference", "execute"]


class Reference:
    """Implements `cts.expectation.Oracle`."""

    def violations(self, case: Case) -> list[Violation]:
        """Every rule the well-formed case breaks; empty when it may be run and judged."""
        return violations(evaluate(case))

    def expect(self, case: Case) -> Expectation:
        """Allowed contents of all buffers, and of every matrix. The case must have no violations."""
        execution = run(evaluate(case))
        return Expectation(
            {name: Allowed(contents[0]) for name, contents in execution.memory.items()},
            {name: bits[0] for name, bits in execution.matrices.items()},
        )

    def trace(self, case: Case, buffer: str, offset: int) -> Trace:
        """Every step behind the byte at `offset` of the buffer's contents, for the reader of a failure."""
        return trace(case, buffer, offset)


ORACLE = Reference()
