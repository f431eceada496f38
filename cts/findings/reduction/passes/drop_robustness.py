"""No robustness, or the weaker kind."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case, Robustness


def propose(case: Case) -> Iterator[Case]:
    if case.robustness is not None:
        yield structs.replace(case, robustness=None)
    if case.robustness is Robustness.ROBUST_BUFFER_ACCESS_2:
        yield structs.replace(case, robustness=Robustness.ROBUST_BUFFER_ACCESS)
