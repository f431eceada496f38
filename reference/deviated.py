"""What a case leaves if its instructions deviate from the specifications."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cts.base.errors import BadInput
from cts.case.model import Case
from cts.case.oracle.deviation import Deviation
from cts.case.oracle.expectation import Expectation
from cts.reference.deviation.moves import NotComputable
from cts.reference.deviation.parts import parts_of, rewritten
from cts.reference.execution.execute import run
from cts.reference.execution.program import evaluate

#: What a wrong program may end in: it is not checked against the rules that make a case computable.
_NOT_COMPUTABLE = (AssertionError, BadInput, LookupError, NotComputable, OverflowError, ValueError)


def leaves(case: Case, deviations: Sequence[Deviation]) -> Expectation | None:
    """The allowed contents of the buffers of a well-formed case; None if nobody can say what a wrong program leaves."""
    try:
        wrong = rewritten(case, deviations)
        with np.errstate(all="ignore"):
            execution = run(evaluate(wrong, parts=parts_of(deviations)))
            return Expectation({name: memory.allowed() for name, memory in execution.memories.items()})
    except _NOT_COMPUTABLE:
        return None
