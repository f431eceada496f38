"""Cases with arrays of invocations become smaller, and show whether the arrays matter."""

from __future__ import annotations

from pathlib import Path

import pytest

import cts.cases
from cts.case import model
from cts.case.model import load_case, resolve
from cts.findings.reduction.passes import remove_operands
from cts.findings.reduction.reducer import reduce
from cts.reference import ORACLE

FILES = sorted((Path(cts.cases.__file__).parent / "matrix_memory" / "arrays").glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_reductions_keep_an_instruction_of_arrays(file: Path) -> None:
    """Every candidate is well-formed, and one with a single instruction of arrays is reached."""

    def interesting(candidate: model.Case) -> bool:
        assert resolve(candidate)[1] == []
        of_arrays = (isinstance(i, model.ArrayInstruction) for i in candidate.program)
        return any(of_arrays) and ORACLE.violations(candidate) == []

    reduced = reduce(load_case(file), interesting)
    assert sum(isinstance(i, model.ArrayInstruction) for i in reduced.program) == 1 and len(reduced.program) <= 3


def test_plain_loads_and_stores_are_proposed() -> None:
    case = load_case(next(f for f in FILES if f.stem == "bytes"))
    proposed = (smaller for n in (0, 1) for smaller in remove_operands.propose(case, n))
    assert {"MatrixLoad", "MatrixStore"} <= {type(i).__name__ for smaller in proposed for i in smaller.program}
