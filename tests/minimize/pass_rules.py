"""What every pass of the reducer must keep, checked on a case."""

from __future__ import annotations

from cts.case.model import Case, types_of
from cts.findings.reduction.cost import size
from cts.findings.reduction.passes import PASSES


def candidates(case: Case) -> list[Case]:
    """The candidates of all passes."""
    return [candidate.case for p in PASSES for candidate in p.candidates(case)]


def check_rules(case: Case, least: int) -> None:
    """All candidates, of which there are at least so many, are well-formed, smaller and the same each time."""
    found = candidates(case)
    assert len(found) >= least
    for smaller in found:
        types_of(smaller)
        assert size(smaller) < size(case)
    assert candidates(case) == found
