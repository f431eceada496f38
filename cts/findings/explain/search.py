"""The search for the place where a divergence begins, and its state."""

from __future__ import annotations

from dataclasses import dataclass, field

from cts.base.errors import BadInput
from cts.case.model import Case, Load, Store, VectorAtomicAdd, VectorMatrixMul, VectorReduceSumAccumulate
from cts.case.oracle.expectation import Oracle, Trace
from cts.findings.explain import model
from cts.findings.explain.converted import wrongly_converted
from cts.findings.explain.results import Result
from cts.judging.judge import OpenDriver

#: Instructions that write memory, and instructions that read it.
STORES = (Store, VectorReduceSumAccumulate, VectorAtomicAdd)
LOADS = (Load, VectorMatrixMul)


@dataclass(frozen=True, eq=False)
class Located:
    """The place where a divergence begins; `how` is empty and `index` None if it is unknown.

    `result` is the instruction's result, or the matrix of a store as memory holds it. `trace` is the trace of
    a byte that no store of a known place explains.
    """

    index: int | None = None
    how: str = ""
    result: Result | None = None
    notes: tuple[str, ...] = ()
    trace: Trace | None = None


@dataclass(eq=False)
class Search:
    """The state of a search. `shown` are the results that the driver shows for the case itself, by name.

    `shy`: the failure disappears if any result is stored.
    """

    case: Case
    driver: OpenDriver
    oracle: Oracle
    shown: dict[str, Result]
    notes: list[str] = field(default_factory=list)
    shy: bool = False

    def located(self, how: str, result: Result) -> Located:
        instruction = self.case.program[result.index]
        if isinstance(instruction, VectorMatrixMul):
            trace = wrongly_converted(self.case, self.driver, self.oracle, instruction.matrix)
            if trace is not None:
                self.notes.append(f"{instruction.matrix!r} is wrong already where it is converted back")
                return Located(None, model.INSTRUMENTED, None, tuple(self.notes), trace)
        return Located(result.index, how, result, tuple(self.notes))

    def stored(self, result: Result) -> Located:
        """The instruction that the first wrong one of the stored results points to."""
        name = f"{result.name!r}, of program[{result.index}],"
        if result.block is not None:
            kind = type(self.case.program[result.block]).__name__
            self.notes.append(f"{name} ran although the {kind} at program[{result.block}] excludes it, or was skipped")
            return Located(result.block, model.INSTRUMENTED, result, tuple(self.notes))
        if result.after is not None:
            kind = type(self.case.program[result.after]).__name__
            self.notes.append(f"{name} is right at first and wrong behind program[{result.after}], which only reads it")
            return Located(result.after, model.INSTRUMENTED, result, tuple(self.notes))
        return self.located(model.INSTRUMENTED, result)


def refused(search: Search, case: Case) -> str:
    """Why the driver does not get a case, or nothing: a rule that the case breaks, or what the driver lacks."""
    try:
        violations = search.oracle.violations(case)
    except BadInput as e:
        return e.what
    if violations:
        return f"that would break {violations[0].rule}: {violations[0].what}"
    return "; ".join(search.driver.capabilities.missing(case))
